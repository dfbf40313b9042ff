"""What contradicts itself waits for a person, who decides once (LT-3, HY-5)."""

from collections.abc import Iterator

import pytest

from conftest import World
from memstrata import Draft, InvalidInput, Memory, MemoryManager, Outcome, Review
from memstrata.domain.event import EventType


def lives(where: str, source: str = "user_stated", **more: object) -> Draft:
    said = f"Ana lives in {where}"
    return Draft(said, source=source, triple=("Ana", "lives_in", where), **more)  # type: ignore[arg-type]


def told(manager: MemoryManager, draft: Draft) -> Outcome:
    (outcome,) = manager.remember_many([draft])
    return outcome


def stored(outcome: Outcome) -> Memory:
    assert outcome.memory is not None, outcome.reasons
    return outcome.memory


@pytest.fixture
def ana(world: World) -> Iterator[MemoryManager]:
    """A user; whatever the test did, the chains of all owners hold at its end."""
    yield world.strata.manager(user="ana")
    assert world.strata.verify_audit().ok


@pytest.fixture
def review(ana: MemoryManager) -> Review:
    """Ana said Oslo, and a tool says Rome."""
    told(ana, lives("Oslo"))
    asked = told(ana, lives("Rome", "tool_verified"))
    assert asked.kind == "review"
    (opened,) = ana.reviews()
    assert opened.id == asked.events[0].details["review"]
    return opened


def contents(review: Review) -> list[str | None]:
    return [None if side is None else side.content for side in review.sides]


def test_a_review_shows_what_stood_and_what_came(review: Review) -> None:
    assert (review.status, review.reason) == ("open", "small_gap")
    assert contents(review) == ["Ana lives in Oslo", "Ana lives in Rome"]
    assert {side.status for side in review.sides if side} == {"review"}


def test_what_is_kept_is_verified_and_the_other_gives_way(
    world: World, ana: MemoryManager, review: Review
) -> None:
    world.clock.advance(days=1)

    outcome = ana.decide(review.id, "b", reason="She moved last week.")

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
    assert ana.reviews() == ()
    (closed,) = ana.reviews(status="decided")
    assert (closed.id, closed.kept, closed.decided_at) == (review.id, "b", kept.updated_at)


def test_both_may_be_kept(ana: MemoryManager, review: Review) -> None:
    outcome = ana.decide(review.id, "both")

    assert outcome.kind == "coexists"
    assert [memory.status for memory in ana.list()] == ["active", "active"]


def test_a_review_is_decided_once(ana: MemoryManager, review: Review) -> None:
    ana.decide(review.id, "a")

    again = ana.decide(review.id, "b")

    assert (again.kind, again.reasons) == ("dropped", ("already_decided",))
    assert [memory.content for memory in ana.list()] == ["Ana lives in Oslo"]


def test_a_side_that_was_corrected_is_decided_on_as_it_is_now(
    ana: MemoryManager, review: Review
) -> None:
    ana.correct(review.a, "Ana lives in Bergen")

    (now,) = ana.reviews()
    outcome = ana.decide(now.id, "a")

    assert contents(now) == ["Ana lives in Bergen", "Ana lives in Rome"]
    assert stored(outcome).content == "Ana lives in Bergen"
    assert [memory.content for memory in ana.list()] == ["Ana lives in Bergen"]


def test_a_forgotten_side_cannot_be_kept(ana: MemoryManager, review: Review) -> None:
    ana.forget(id=review.b)

    (left,) = ana.reviews()
    refused, kept = ana.decide(left.id, "b"), ana.decide(left.id, "a")

    assert contents(left) == ["Ana lives in Oslo", None]
    assert refused.reasons == ("side_gone",)
    assert stored(kept).status == "active"
    assert ana.reviews() == ()


def test_a_review_of_which_nothing_stands_is_not_shown(ana: MemoryManager, review: Review) -> None:
    for root in (review.a, review.b):
        ana.forget(id=root)

    assert ana.reviews() == ()
    assert ana.decide(review.id, "a").reasons == ("not_found",)


def test_reviews_are_told_to_nobody_else(world: World, ana: MemoryManager, review: Review) -> None:
    private = {"audience": ("nurse",)}
    told(ana, lives("Bonn", **private))
    told(ana, lives("Lima", "tool_verified", **private))

    others = [
        world.strata.manager(user="bob"),
        world.strata.manager(user="ana", org="acme"),
        world.strata.manager(user="ana", task="t1"),
    ]
    assert [other.reviews() for other in others] == [(), (), ()]
    assert [other.decide(review.id, "a").reasons for other in others] == [("not_found",)] * 3
    assert [contents(shown)[0] for shown in ana.reviews()] == ["Ana lives in Oslo"]
    nurse = world.strata.manager(user="ana", agent="nurse")
    assert len(nurse.reviews()) == 2


def test_a_review_survives_a_restart(world: World, review: Review) -> None:
    ana = world.reopen().manager(user="ana")

    (again,) = ana.reviews()

    assert again == review


@pytest.mark.parametrize(
    ("arguments", "field"),
    [(("x", "neither"), "keep"), (("x", "a", "r" * 1001), "reason")],
    ids=["keep", "reason"],
)
def test_what_makes_no_sense_is_said(
    ana: MemoryManager, arguments: tuple[str, ...], field: str
) -> None:
    with pytest.raises(InvalidInput) as caught:
        ana.decide(*arguments[:2], reason="".join(arguments[2:]))

    assert caught.value.field == field
    with pytest.raises(InvalidInput, match="'open', 'decided'"):
        ana.reviews(status="lost")


def test_metrics_count_writes_and_the_gate_that_decided(ana: MemoryManager) -> None:
    said = "I like strong green tea with fresh mint"
    for content in (said, said, f"{said}!"):
        ana.remember(content)
    for _ in range(2):
        ana.remember("eu-west-1", key="deploy_region")
        ana.remember("Once", idempotency_key="once")

    counted = ana.get_metrics()

    assert counted["writes"]["created"] == 3
    assert counted["writes"]["refreshed"] == 3
    dedups = {gate: count for gate, count in counted["dedups"].items() if count}
    assert dedups == {"key": 1, "hash": 1, "near_text": 1}
