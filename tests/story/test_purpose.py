"""What was given for one purpose is returned for no other, by any verb."""

import pytest

from conftest import World
from principals import history_of
from simonides import Draft, Memory, NotReplayable, Record, ScopeDenied
from simonides.domain.errors import NotFound
from simonides.prompting import Prompting

CARE = "Ana is allergic to nuts"
NAME = {"category": "entity_fact"}


@pytest.fixture
def care(world: World) -> Memory:
    """Whoever reads for the purpose that the memory was given for."""
    return world.store.memory(user="ana", purpose="care")


@pytest.fixture
def given(care: Memory) -> Record:
    draft = Draft(CARE, key="allergy", purpose="care", tags=("secret",), **NAME)
    (outcome,) = care.remember_many([draft])
    assert outcome.record is not None
    return outcome.record


@pytest.mark.parametrize("purpose", [None, "sales", "CARE", "care2"], ids=str)
def test_no_verb_returns_it_for_another_purpose(
    world: World, care: Memory, given: Record, purpose: str | None
) -> None:
    asked = "what is Ana allergic to"
    world.store.admin(actor="root").grant("ana", "org_write")
    digest, recall = care.digest(asked, min_relevance=0), care.recall(asked)
    assert CARE in digest.text
    other = world.store.memory(user="ana", purpose=purpose)

    for past in ({}, {"known_at": given.created_at}, {"valid_at": given.created_at}):
        assert list(other.recall(asked, limit=50, **past)) == []
    assert (other.list(), other.get(given.id)) == ((), None)
    assert (history_of(other, "allergy"), history_of(other, given.id)) == ((), ())
    for block in (
        other.digest(asked, min_relevance=0),
        Prompting(other).push(asked),
        Prompting(other).search(asked),
    ):
        assert "nuts" not in block.text
    assert "nuts" not in other.tools("search").call("search_memory", {"query": asked}).text
    assert other.explain(given.id, asked).excluded == ("purpose_mismatched",)
    assert sum(other.status()["memories"].values()) == 0
    assert given.id not in str(other.receipts.list())
    assert given.id in other.receipts.verify(f"See {given.id}", digest.receipt).gone
    for again, receipt in (
        (other.receipts.replay, digest.receipt),
        (other.receipts.replay, recall.receipt),
    ):
        with pytest.raises((ScopeDenied, NotReplayable)):
            again(receipt)
    for change in (
        lambda: other.confirm(given.id),
        lambda: other.correct(given.id, "none"),
        lambda: other.promote(given.id, "org"),
    ):
        with pytest.raises(NotFound):
            change()
    assert care.get(given.id) == given


def test_a_repetition_by_another_is_not_told_what_stands(
    world: World, care: Memory, given: Record
) -> None:
    other = world.store.memory(user="ana")
    again = Draft(CARE, key="allergy", purpose="care", **NAME)

    (outcome,) = other.remember_many([again])

    assert (outcome.kind.value, outcome.record) == ("refreshed", None)
    assert outcome.reasons[-1] == "purpose_mismatched"
    assert care.get(given.id) is not None


def test_what_is_said_for_different_purposes_does_not_meet(
    world: World, care: Memory, given: Record
) -> None:
    sales = world.store.memory(user="ana", purpose="sales")

    (outcome,) = sales.remember_many([Draft("none", key="allergy", purpose="sales", **NAME)])

    assert outcome.kind.value == "created"
    assert [m.content for m in care.list()] == [CARE]
    assert [m.content for m in sales.list()] == ["none"]


def test_a_promoted_copy_is_for_the_same_purpose(world: World) -> None:
    task = world.store.memory(user="ana", purpose="care").task(name="t1").memory
    (outcome,) = task.remember_many([Draft(CARE, purpose="care", audience=("nurse",), **NAME)])
    assert outcome.record is not None
    nurse = world.store.memory(user="ana", purpose="care", agent="nurse").task(name="t1").memory
    copied = nurse.promote(outcome.record.id, "user").record
    assert copied is not None

    assert (copied.purpose, copied.audience) == ("care", frozenset({"nurse"}))
    assert copied.origin.memory == outcome.record.id
    for purpose, agent in ((None, "nurse"), ("care", None), ("care", "sales")):
        reader = world.store.memory(user="ana", purpose=purpose, agent=agent)
        assert reader.list() == ()


def test_what_is_derived_is_for_the_purpose_of_its_parents(
    world: World, care: Memory, given: Record
) -> None:
    sales = Draft("Ana buys almonds", purpose="sales", **NAME)
    (other,) = world.store.memory(user="ana", purpose="sales").remember_many([sales])
    assert other.record is not None

    alone = Draft("Ana avoids almonds", parents=(given.id,), **NAME)
    both = Draft("Ana buys what she avoids", parents=(given.id, other.record.id), **NAME)
    (one, none) = care.remember_many([alone, both])

    assert one.record is not None
    assert one.record.purpose == "care"
    assert (none.kind.value, none.reasons) == ("blocked", ("purposes_differ",))
    assert world.store.memory(user="ana").list() == ()
