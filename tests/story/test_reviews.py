"""What contradicts itself waits for a person, who decides once."""

from collections.abc import Iterator

import pytest

from conftest import World
from simonides import (
    Draft,
    InvalidInput,
    Memory,
    Outcome,
    Record,
)
from simonides.domain.errors import NotFound
from simonides.domain.event import EventType
from simonides.types import Review


def lives(where: str, source: str = "user_stated", **more: object) -> Draft:
    said = f"Ana lives in {where}"
    return Draft(said, source=source, triple=("Ana", "lives_in", where), **more)  # type: ignore[arg-type]


def told(memory: Memory, draft: Draft) -> Outcome:
    (outcome,) = memory.remember_many([draft])
    return outcome


def stored(outcome: Outcome) -> Record:
    assert outcome.record is not None, outcome.reasons
    return outcome.record


@pytest.fixture
def ana(world: World) -> Iterator[Memory]:
    """A user; whatever the test did, the chains of all owners hold at its end."""
    yield world.store.memory(user="ana")
    assert world.store.admin(actor="root").check_audit().ok


@pytest.fixture
def review(ana: Memory) -> Review:
    """Ana said Oslo, and a tool says Rome."""
    told(ana, lives("Oslo"))
    asked = told(ana, lives("Rome", "tool_verified"))
    assert asked.kind == "review"
    (opened,) = ana.pending.list(kind="review")
    assert opened.id == asked.events[0].details["review"]
    return opened


def contents(review: Review) -> list[str | None]:
    return [None if side is None else side.content for side in review.sides]


def test_a_review_shows_what_stood_and_what_came(review: Review) -> None:
    assert (review.status, review.reason) == ("open", "small_gap")
    assert contents(review) == ["Ana lives in Oslo", "Ana lives in Rome"]
    assert {side.status for side in review.sides if side} == {"review"}


def test_what_is_kept_is_verified_and_the_other_gives_way(
    world: World, ana: Memory, review: Review
) -> None:
    world.clock.advance(days=1)

    outcome = ana.pending.resolve(review.id, "new", reason="She moved last week.")

    kept = stored(outcome)
    assert (outcome.kind, outcome.reasons) == ("superseded", ("decided", "kept:b"))
    assert (kept.content, kept.status) == ("Ana lives in Rome", "active")
    assert kept.verified_at == kept.updated_at
    assert [memory.content for memory in ana.list()] == ["Ana lives in Rome"]
    gone = ana.get(str(review.a))
    assert gone is not None
    assert (gone.status, gone.superseded_by) == ("superseded", kept.id)
    (event,) = outcome.events
    assert (event.type, event.details["reason"]) == (EventType.DECIDED, "She moved last week.")
    assert ana.pending.list(kind="review") == ()
    (closed,) = ana.pending.list(kind="review", status="decided")
    assert (closed.id, closed.kept, closed.decided_at) == (review.id, "b", kept.updated_at)


def test_both_may_be_kept(ana: Memory, review: Review) -> None:
    outcome = ana.pending.resolve(review.id, "both")

    assert outcome.kind == "coexists"
    assert [memory.status for memory in ana.list()] == ["active", "active"]


def test_a_review_is_decided_once(ana: Memory, review: Review) -> None:
    ana.pending.resolve(review.id, "old")

    again = ana.pending.resolve(review.id, "new")

    assert (again.kind, again.reasons) == ("dropped", ("already_decided",))
    assert [memory.content for memory in ana.list()] == ["Ana lives in Oslo"]


def test_a_side_that_was_corrected_is_decided_on_as_it_is_now(ana: Memory, review: Review) -> None:
    ana.correct(review.a, "Ana lives in Bergen")

    (now,) = ana.pending.list(kind="review")
    outcome = ana.pending.resolve(now.id, "old")

    assert contents(now) == ["Ana lives in Bergen", "Ana lives in Rome"]
    assert stored(outcome).content == "Ana lives in Bergen"
    assert [memory.content for memory in ana.list()] == ["Ana lives in Bergen"]


@pytest.mark.parametrize("keep", ["new", "neither"])
def test_a_correction_is_not_ended_by_a_decision_about_what_stood_before(
    ana: Memory, review: Review, keep: str
) -> None:
    ana.correct(review.a, "Ana lives in Bergen")

    refused = ana.pending.resolve(review.id, keep)

    assert (refused.kind, refused.reasons) == ("dropped", ("side_changed",))
    assert contents(ana.pending.list(kind="review")[0]) == [
        "Ana lives in Bergen",
        "Ana lives in Rome",
    ]
    ana.forget(str(ana.pending.list(kind="review")[0].sides[0].id))  # type: ignore[union-attr]
    assert ana.pending.resolve(review.id, "new").kind == "coexists"
    assert [memory.content for memory in ana.list()] == ["Ana lives in Rome"]


def test_a_side_of_two_reviews_is_no_side_that_changed(ana: Memory) -> None:
    told(ana, lives("Oslo"))
    told(ana, lives("Rome", "tool_verified"))
    first, *_ = ana.pending.list(kind="review")
    assert ana.pending.resolve(first.id, "old").kind == "superseded"
    told(ana, lives("Bern", "tool_verified"))
    (second,) = ana.pending.list(kind="review")

    assert ana.pending.resolve(second.id, "new").kind == "superseded"
    assert [memory.content for memory in ana.list()] == ["Ana lives in Bern"]


def test_a_forgotten_side_cannot_be_kept(ana: Memory, review: Review) -> None:
    ana.forget(review.b)

    (left,) = ana.pending.list(kind="review")
    refused, kept = ana.pending.resolve(left.id, "new"), ana.pending.resolve(left.id, "old")

    assert contents(left) == ["Ana lives in Oslo", None]
    assert refused.reasons == ("side_gone",)
    assert stored(kept).status == "active"
    assert ana.pending.list(kind="review") == ()


def test_a_review_of_which_nothing_stands_is_not_shown(ana: Memory, review: Review) -> None:
    for root in (review.a, review.b):
        ana.forget(root)

    assert ana.pending.list(kind="review") == ()
    with pytest.raises(NotFound):
        ana.pending.resolve(review.id, "old")


def test_reviews_are_told_to_nobody_else(world: World, ana: Memory, review: Review) -> None:
    private = {"audience": ("nurse",)}
    told(ana, lives("Bonn", **private))
    told(ana, lives("Lima", "tool_verified", **private))

    others = [
        world.store.memory(user="bob"),
        world.store.memory(user="ana", org="acme"),
        world.store.memory(user="ana").task(name="t1").memory,
    ]
    assert [other.pending.list(kind="review") for other in others] == [(), (), ()]
    for other in others:
        with pytest.raises(NotFound):
            other.pending.resolve(review.id, "old")
    assert [contents(shown)[0] for shown in ana.pending.list(kind="review")] == [
        "Ana lives in Oslo"
    ]
    nurse = world.store.memory(user="ana", agent="nurse")
    assert len(nurse.pending.list(kind="review")) == 2


def test_a_review_survives_a_restart(world: World, review: Review) -> None:
    ana = world.reopen().memory(user="ana")

    (again,) = ana.pending.list(kind="review")

    assert again == review


@pytest.mark.parametrize(
    ("arguments", "field"),
    [(("x", "c"), "keep"), (("x", "old", "r" * 1001), "reason")],
    ids=["keep", "reason"],
)
def test_what_makes_no_sense_is_said(ana: Memory, arguments: tuple[str, ...], field: str) -> None:
    with pytest.raises(InvalidInput) as caught:
        ana.pending.resolve(*arguments[:2], reason="".join(arguments[2:]))

    assert caught.value.field == field
    with pytest.raises(InvalidInput, match="'open', 'decided', 'expired'"):
        ana.pending.list(kind="review", status="lost")


def test_metrics_count_writes_and_the_gate_that_decided(ana: Memory) -> None:
    said = "I like strong green tea with fresh mint"
    for content in (said, said, f"{said}!"):
        ana.remember(content)
    for _ in range(2):
        ana.remember("eu-west-1", key="deploy_region")
        ana.remember("Once", idempotency_key="once")

    counted = ana.maintenance.metrics()

    assert counted["writes"]["created"] == 3
    assert counted["writes"]["refreshed"] == 3
    dedups = {gate: count for gate, count in counted["dedups"].items() if count}
    assert dedups == {"key": 1, "hash": 1, "near_text": 1}


def test_neither_side_may_be_kept(ana: Memory, review: Review) -> None:
    outcome = ana.pending.resolve(review.id, "neither", reason="I have moved to Bern.")

    assert (outcome.kind, outcome.record) == ("superseded", None)
    assert outcome.reasons == ("decided", "kept:neither")
    assert ana.list() == ()
    for root in (review.a, review.b):
        gone = ana.get(root)
        assert gone is not None
        assert (gone.status, gone.superseded_by) == ("superseded", None)
    assert ana.undo(outcome.events[0].id).kind == "undone"
    assert len(ana.list()) == 2


def test_an_agent_does_not_decide_about_what_it_brought(world: World, ana: Memory) -> None:
    told(ana, lives("Oslo"))
    helper = world.store.memory(user="ana", agent="helper")
    told(helper, lives("Rome", "tool_verified"))
    (asked,) = ana.pending.list(kind="review")

    refused = helper.pending.resolve(asked.id, "new", reason="I am sure.")

    assert asked.proposed_by.endswith(" helper")
    assert (refused.kind, refused.reasons) == ("blocked", ("own_proposal",))
    assert refused.events[0].details == {"review": asked.id}
    assert [side.status for side in ana.list()] == ["review", "review"]
    other = world.store.memory(user="ana", agent="auditor")
    assert other.pending.resolve(asked.id, "old").kind == "superseded"
    assert contents(ana.pending.list(kind="review", status="decided")[0])[0] == "Ana lives in Oslo"


def test_what_nobody_decides_is_not_asked_for_ever(
    world: World, ana: Memory, review: Review
) -> None:
    world.clock.advance(days=29)
    assert [asked.id for asked in ana.pending.list(kind="review")] == [review.id]

    world.clock.advance(days=2)

    assert ana.pending.list(kind="review") == ()
    (expired,) = ana.pending.list(kind="review", status="expired")
    assert (expired.id, expired.status, expired.kept) == (review.id, "expired", None)
    assert all("in review" in hit.warnings for hit in ana.recall("Where does Ana live?"))
    assert ana.pending.resolve(review.id, "old").kind == "superseded"
    assert ana.pending.list(kind="review", status="expired") == ()


def test_a_plain_contradiction_waits_though_one_person_said_both(ana: Memory) -> None:
    ana.remember("The staging gate is enabled")

    outcome = ana.remember("The staging gate is disabled")

    assert (outcome.kind, outcome.reasons[-1]) == ("review", "contradiction:antonym")
    assert [hit.warnings for hit in ana.recall("staging gate")] == [("in review",)] * 2


def test_who_is_clearly_surer_is_believed(ana: Memory) -> None:
    ana.remember("The staging gate is enabled")
    ana.remember(Draft("The cellar door is open", source="agent_inferred"))

    weaker = ana.remember(Draft("The staging gate is disabled", source="agent_inferred"))
    surer = ana.remember("The cellar door is closed")

    assert (weaker.kind, weaker.reasons[-2:]) == (
        "touched",
        ("less_confident", "contradiction:antonym"),
    )
    assert (surer.kind, surer.reasons[-2:]) == (
        "superseded",
        ("more_confident", "contradiction:antonym"),
    )
    assert sorted(memory.content for memory in ana.list()) == [
        "The cellar door is closed",
        "The staging gate is enabled",
    ]


def test_an_update_in_one_batch_meets_what_the_batch_said_before(ana: Memory) -> None:
    said = ["I live in Oslo", "I like dogs", "I moved to Rome"]

    outcomes = ana.remember_many([Draft(text) for text in said])

    assert [outcome.kind for outcome in outcomes] == ["created", "created", "superseded"]
    assert sorted(memory.content for memory in ana.list()) == ["I like dogs", "I moved to Rome"]


def test_what_comes_from_outside_updates_nothing(ana: Memory) -> None:
    ana.remember("I live in Oslo")

    outcome = ana.remember(Draft("I moved to Rome", source="external", confidence=1.0))

    assert (outcome.kind, outcome.reasons[-2]) == ("touched", "less_trusted")
    assert [memory.content for memory in ana.list()] == ["I live in Oslo"]


def test_two_people_of_one_memory_do_not_contradict_each_other(ana: Memory) -> None:
    for who, where in (("Ana", "Oslo"), ("Ben", "Rome")):
        told(ana, Draft(f"I live in {where}", speaker=who))

    assert len(ana.list()) == 2


def test_an_update_is_taken_back(ana: Memory) -> None:
    ana.remember("I drink coffee every day")
    over = ana.remember("I no longer drink coffee")

    ana.undo(over.events[0].id)

    assert [memory.content for memory in ana.list()] == ["I drink coffee every day"]
