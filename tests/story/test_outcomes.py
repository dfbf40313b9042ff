"""An outcome says what became of a write; a correction, a batch and the trail say what was done."""

from datetime import UTC, datetime
from typing import Any

import pytest

from conftest import World
from simonides import Draft, InvalidInput, Memory, Outcome, Refused
from simonides.domain.writing.decision import OutcomeKind, Outcomes

SECRET = "My password is hunter2"


@pytest.fixture
def ana(world: World) -> Memory:
    return world.store.memory(user="ana")


@pytest.mark.parametrize("kind", OutcomeKind)
def test_an_outcome_is_done_pending_or_refused_and_says_so(kind: OutcomeKind) -> None:
    outcome = Outcome(kind)

    assert [outcome.done, outcome.pending, outcome.refused].count(True) == 1
    assert bool(outcome) is outcome.done
    assert outcome.explanation.endswith(".")
    if outcome.refused:
        with pytest.raises(Refused):
            outcome.raise_for_refusal()
    else:
        assert outcome.raise_for_refusal() is outcome


def test_outcomes_are_told_apart_and_a_refusal_counts_the_others() -> None:
    done, held = Outcome(OutcomeKind.CREATED), Outcome(OutcomeKind.HELD)
    first = Outcome(OutcomeKind.BLOCKED, reasons=("quota",))
    second = Outcome(OutcomeKind.DROPPED, reasons=("no_news",))
    outcomes = Outcomes([done, first, held, second])

    assert (outcomes.done, outcomes.pending, outcomes.refused) == (
        (done,),
        (held,),
        (first, second),
    )
    with pytest.raises(Refused, match=r"a quota is exhausted\. \(and 1 more\)") as caught:
        outcomes.raise_for_refusal()
    assert caught.value.outcomes == (first, second)
    assert Outcomes([done, held]).raise_for_refusal() == (done, held)
    assert Outcomes().raise_for_refusal() == ()


def test_an_outcome_says_whether_it_was_done_or_refused(ana: Memory) -> None:
    done = ana.remember("Ana likes tea", key="drink")
    refused = ana.remember(SECRET)
    assert (done.done, done.pending, done.refused, bool(done)) == (True, False, False, True)
    assert (refused.done, refused.pending, refused.refused) == (False, False, True)
    assert not refused
    assert done.explanation == "Stored."
    assert "secret:password" in refused.explanation
    assert SECRET not in refused.explanation
    assert done.raise_for_refusal() is done
    with pytest.raises(Refused) as caught:
        refused.raise_for_refusal()
    assert caught.value.outcomes == (refused,)
    assert isinstance(caught.value, PermissionError)


@pytest.mark.parametrize("atomic", [True, False])
def test_a_refusal_in_a_batch_concerns_its_item_only(ana: Memory, *, atomic: bool) -> None:
    outcomes = ana.remember_many([Draft("Ana likes tea"), Draft(SECRET)], atomic=atomic)

    assert [len(outcomes.done), len(outcomes.refused)] == [1, 1]
    assert [each.content for each in ana.list()] == ["Ana likes tea"]
    with pytest.raises(Refused):
        outcomes.raise_for_refusal()


@pytest.mark.parametrize("atomic", [True, False])
@pytest.mark.parametrize(
    ("bad", "field"),
    [
        (Draft(""), "drafts[1].content"),
        (Draft("a\0b"), "drafts[1].content"),
        (Draft("x", key="A b"), "drafts[1].key"),
        (Draft("x", category="zzz"), "drafts[1].category"),
        (Draft("x", scope="/org/other/"), "drafts[1].scope"),
        ("a text", "drafts[1]"),
        (None, "drafts[1]"),
    ],
)
def test_a_wrong_draft_names_its_place_and_nothing_is_stored(
    ana: Memory, bad: Any, field: str, *, atomic: bool
) -> None:
    with pytest.raises(InvalidInput) as caught:
        ana.remember_many([Draft("Ana likes tea"), bad, Draft("Ana sails")], atomic=atomic)

    assert caught.value.field == field
    assert ana.list() == ()


@pytest.mark.parametrize("drafts", [None, 7, "Ana likes tea", Draft("Ana likes tea"), {}])
def test_drafts_come_in_a_sequence(ana: Memory, drafts: Any) -> None:
    with pytest.raises(InvalidInput, match="drafts"):
        ana.remember_many(drafts)


def test_a_batch_is_one_transaction_of_at_most_500_or_any_number_in_slices(ana: Memory) -> None:
    drafts = [Draft(f"Ana visited harbour {n}") for n in range(501)]

    with pytest.raises(InvalidInput, match="500"):
        ana.remember_many(drafts)
    assert ana.list() == ()
    assert len(ana.remember_many(drafts, atomic=False).done) == 501


NEW_YEAR = datetime(2027, 1, 1, tzinfo=UTC)


@pytest.mark.parametrize("content", [None, "Ana likes milk"])
@pytest.mark.parametrize(
    ("how", "kept"),
    [
        ({"pinned": True}, (True, "normal")),
        ({"importance": "critical"}, (False, "critical")),
        ({"pinned": True, "importance": "high", "expires": NEW_YEAR}, (True, "high", NEW_YEAR)),
        ({"expires": "2027-01-01T00:00:00Z"}, (False, "normal", NEW_YEAR)),
        ({"expires": "never"}, (False, "normal", None)),
    ],
)
def test_how_a_memory_is_kept_is_changed_with_its_text_or_without(
    ana: Memory, content: str | None, how: dict[str, Any], kept: tuple[Any, ...]
) -> None:
    ana.remember("Ana likes tea", key="drink", ttl_days=10)

    outcome = ana.correct("drink", content, **how)

    assert outcome.done
    changed = ana.get("drink")
    assert changed is not None
    assert (changed.pinned, changed.importance, changed.hard_expires_at)[: len(kept)] == kept
    assert changed.content == content or content is None
    assert len(ana.history("drink")) == (1 if content is None else 2)
    assert outcome.record == changed


def test_a_correction_is_taken_back_as_a_whole(ana: Memory) -> None:
    ana.remember("Ana likes tea", key="drink")

    ana.undo(ana.correct("drink", "Ana likes milk", pinned=True))

    record = ana.get("drink")
    assert record is not None
    assert (record.content, record.pinned) == ("Ana likes tea", False)


@pytest.mark.parametrize(
    ("how", "field"),
    [
        ({}, "content"),
        ({"content": ""}, "content"),
        ({"content": 7}, "content"),
        ({"content": "Ana likes milk", "pinned": "yes"}, "pinned"),
        ({"content": "Ana likes milk", "importance": "huge"}, "importance"),
        ({"content": "Ana likes milk", "expires": "soon"}, "expires"),
        ({"expires": 7}, "expires"),
    ],
)
def test_a_wrong_correction_changes_nothing(ana: Memory, how: dict[str, Any], field: str) -> None:
    before = ana.remember("Ana likes tea", key="drink").record

    with pytest.raises(InvalidInput) as caught:
        ana.correct("drink", **how)

    assert caught.value.field == field
    assert ana.get("drink") == before


def test_a_refused_correction_changes_nothing(ana: Memory) -> None:
    before = ana.remember("Ana likes tea", key="drink").record

    assert ana.correct("drink", SECRET, pinned=True).refused

    assert ana.get("drink") == before


@pytest.fixture
def trail(world: World, ana: Memory) -> Memory:
    """Four changes, a minute from each other, the last by an operator."""
    ana.remember("Ana likes tea", key="drink")
    world.clock.advance(seconds=60)
    ana.remember("Ana reads on a phone", key="device")
    world.clock.advance(seconds=60)
    ana.correct("drink", "Ana likes milk")
    world.clock.advance(seconds=60)
    world.store.memory(user="ana", actor="support").remember("Ana sails", key="sport")
    return ana


@pytest.mark.parametrize(
    ("how", "types"),
    [
        ({}, ["created", "superseded", "created", "created"]),
        ({"type": "created"}, ["created", "created", "created"]),
        ({"type": "forgotten"}, []),
        ({"which": "drink"}, ["superseded", "created"]),
        ({"which": "drink", "type": "created"}, ["created"]),
        ({"since": "2026-01-01T00:01:00Z"}, ["created", "superseded", "created"]),
        ({"until": "2026-01-01T00:01:00Z"}, ["created"]),
        (
            {"since": "2026-01-01T00:01:00Z", "until": "2026-01-01T00:03:00Z"},
            ["superseded", "created"],
        ),
        ({"since": "2027-01-01"}, []),
        ({"limit": 2}, ["created", "superseded"]),
        ({"actor": "nobody"}, []),
    ],
)
def test_the_trail_is_listed_newest_first_and_filtered(
    trail: Memory, how: dict[str, Any], types: list[str]
) -> None:
    assert [str(event.type) for event in trail.audit.list(**how)] == types


def test_the_trail_tells_who_did_what(trail: Memory) -> None:
    actors = {event.actor for event in trail.audit.list()}

    assert len(actors) == 2
    for actor in actors:
        assert {event.actor for event in trail.audit.list(actor=actor)} == {actor}


@pytest.mark.parametrize(
    ("how", "field"),
    [
        ({"type": "vanished"}, "type"),
        ({"type": 7}, "type"),
        ({"actor": 7}, "actor"),
        ({"since": "soon"}, "since"),
        ({"until": 7}, "until"),
        ({"which": 7}, "which"),
    ],
)
def test_a_wrong_filter_of_the_trail_is_named(
    trail: Memory, how: dict[str, Any], field: str
) -> None:
    with pytest.raises(InvalidInput) as caught:
        trail.audit.list(**how)

    assert caught.value.field == field


@pytest.mark.parametrize(
    ("wrong", "field", "advice"),
    [
        ({"category": "preferences"}, "category", "did you mean 'preference'"),
        ({"category": "zzz"}, "category", "use configuration"),
        ({"key": "A b"}, "key", "such as deploy_region"),
        ({"key": "019b76da-a800-7000-8000-000000000088"}, "key", "looks like the id"),
        ({"importance": "huge"}, "importance", "critical"),
        ({"ttl_days": 0}, "ttl_days", "must be over 0"),
    ],
)
def test_a_callers_mistake_is_an_error_that_says_what_is_right(
    ana: Memory, wrong: dict[str, Any], field: str, advice: str
) -> None:
    with pytest.raises(InvalidInput, match=advice) as caught:
        ana.remember("Ana likes tea", **wrong)

    assert caught.value.field == field
    assert caught.value.code == "invalid_input"
    assert ana.list() == ()
