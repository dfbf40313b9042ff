"""What becomes of a write, and that the past stays readable."""

from collections.abc import Iterator
from datetime import timedelta
from typing import Any

import pytest

from conftest import World
from principals import history_of, principal_of
from simonides import (
    Draft,
    IdempotencyMismatch,
    Memory,
    Outcome,
    OutcomeKind,
    Record,
)
from simonides.domain.errors import NotFound
from simonides.domain.value import from_us

KEY = "deploy_region"
CHANNEL = "update_channel"


@pytest.fixture
def ana(world: World) -> Iterator[Memory]:
    """A user; whatever the test did, the chains of all owners hold at its end."""
    yield world.store.memory(user="ana")
    assert world.store.admin(actor="root").check_audit().ok


def stored(outcome: Outcome) -> Record:
    assert outcome.record is not None, outcome.reasons
    return outcome.record


def standing(own: Memory, key: str = KEY) -> list[str]:
    return [memory.content for memory in own.list(filter={"key": key})]


# What stands, what is said next under the same key, and what comes of it.
FACT = {"content": "us-east-1", "key": KEY}
GUESS = {"source": "agent_inferred", "confidence": 0.6}
OUTCOMES: dict[str, tuple[dict[str, Any], dict[str, Any], str, str]] = {
    "the same again": (FACT, FACT, "refreshed", "us-east-1"),
    "the same in other letters": (
        FACT,
        {**FACT, "content": " US-East-1 "},
        "refreshed",
        "us-east-1",
    ),
    "the same by an equal witness": (
        {**FACT, "source": "task_outcome"},
        {**FACT, "source": "task_learning"},
        "bumped",
        "us-east-1",
    ),
    "the same by a lesser witness": (FACT, {**FACT, **GUESS}, "refreshed", "us-east-1"),
    "something newer": (FACT, {**FACT, "content": "eu-west-1"}, "superseded", "eu-west-1"),
    "something as confident": (
        {**FACT, **GUESS},
        {**FACT, **GUESS, "content": "eu-west-1"},
        "superseded",
        "eu-west-1",
    ),
    "something less confident": (
        FACT,
        {**FACT, **GUESS, "content": "eu-west-1"},
        "touched",
        "us-east-1",
    ),
    "a correction, though unsure": (
        FACT,
        {**FACT, "source": "user_correction", "confidence": 0.2, "content": "eu-west-1"},
        "superseded",
        "eu-west-1",
    ),
    "something from outside, however sure": (
        {**FACT, **GUESS},
        {**FACT, "source": "external", "confidence": 1.0, "content": "eu-west-1"},
        "touched",
        "us-east-1",
    ),
    "outside on outside": (
        {**FACT, "source": "external"},
        {**FACT, "source": "external", "content": "eu-west-1"},
        "superseded",
        "eu-west-1",
    ),
}


@pytest.mark.parametrize("story", OUTCOMES.values(), ids=OUTCOMES)
def test_what_comes_of_a_second_statement(
    world: World, ana: Memory, story: tuple[dict[str, Any], dict[str, Any], str, str]
) -> None:
    before, after, kind, content = story
    first = ana.remember(Draft(**before))
    world.clock.advance(days=1)

    second = ana.remember(Draft(**after))

    assert first.kind == "created"
    assert second.kind == kind
    assert standing(ana) == [content]
    assert stored(second).content == content
    assert stored(second) in ana.list()
    assert [event.type for event in second.events] == [kind]
    assert ana.get(stored(second).id) == stored(second)


def test_a_lesser_repeat_changes_neither_trust_nor_source_nor_weight(
    world: World, ana: Memory
) -> None:
    known = stored(ana.remember("us-east-1", key=KEY, category="preference"))
    world.clock.advance(days=1)

    again = stored(
        ana.remember(
            Draft(
                "us-east-1",
                key=KEY,
                source="external",
                confidence=1.0,
                importance="critical",
                pinned=True,
                tags=["urgent"],
                ttl_days=0.5,
            )
        )
    )

    kept = ("trust", "source", "confidence", "importance", "pinned", "tags", "verified_at")
    assert [getattr(again, name) for name in kept] == [getattr(known, name) for name in kept]
    assert again.hard_expires_at is None
    world.clock.advance(days=1)
    assert standing(ana) == ["us-east-1"]


def test_a_better_repeat_takes_confidence_with_its_source(ana: Memory) -> None:
    ana.remember(Draft("us-east-1", key=KEY, **GUESS))

    again = stored(ana.remember("us-east-1", key=KEY))

    assert (again.source, again.trust, again.confidence) == ("user_stated", "user", 1.0)
    assert again.version == 1


def test_a_repeat_renews_times_and_expiry(world: World, ana: Memory) -> None:
    first = stored(ana.remember("The build is green", ttl_days=2))
    world.clock.advance(days=1)

    again = stored(ana.remember("the build  is GREEN", ttl_days=2))

    assert again.id == first.id
    assert again.updated_at - first.updated_at == timedelta(days=1)
    assert again.created_at == first.created_at
    assert again.hard_expires_at == again.updated_at + timedelta(days=2)


def test_free_text_of_another_kind_is_another_memory(ana: Memory) -> None:
    kinds = ("semantic", "episodic", "procedural")

    outcomes = [ana.remember(Draft("Deploys happen on Friday", kind=kind)).kind for kind in kinds]

    assert outcomes == ["created"] * 3


def test_texts_that_differ_in_a_number_or_a_negation_coexist(ana: Memory) -> None:
    texts = (
        "They call at 5",
        "They call at 6",
        "They do not call at 5",
        "They call at 5 on 2026-01-02",
    )

    kinds = [ana.remember(text).kind for text in texts]

    assert kinds == ["created", "created", "coexists", "created"]
    assert len(ana.list()) == 4


def test_versions_are_gapless_and_history_runs_from_old_to_new(world: World, ana: Memory) -> None:
    for number in range(1, 8):
        world.clock.advance(seconds=1)
        ana.remember(Draft(f"region {number}", key=KEY, **GUESS if number in (3, 6) else {}))

    chain = history_of(ana, KEY)

    assert [memory.version for memory in chain] == [1, 2, 3, 4, 5, 6, 7]
    assert [memory.content for memory in chain] == [f"region {n}" for n in range(1, 8)]
    assert [m.status for m in chain].count("active") == 1
    assert chain[-1].status == "active"
    assert len({memory.root for memory in chain}) == 1
    assert all(memory.scope == principal_of(ana).home for memory in chain)
    assert history_of(ana, chain[2].id) == chain
    by_id = {memory.id: memory for memory in chain}
    for memory in chain[:-1]:
        assert memory.superseded_by in by_id


def test_a_batch_may_repeat_and_correct_itself(ana: Memory) -> None:
    drafts = [
        Draft("us-east-1", key=KEY),
        Draft("us-east-1", key=KEY),
        Draft("eu-west-1", key=KEY),
        Draft("us-west-2", key=KEY, source="agent_inferred"),
        Draft("ap-south-1", key=KEY, source="user_correction"),
        Draft("Free text"),
        Draft("free  TEXT"),
    ]

    outcomes = ana.remember_many(drafts)

    kinds = ["created", "refreshed", "superseded", "touched", "superseded", "created", "refreshed"]
    assert [outcome.kind for outcome in outcomes] == kinds
    assert [memory.version for memory in history_of(ana, KEY)] == [1, 2, 3, 4]
    assert standing(ana) == ["ap-south-1"]
    assert len(ana.list()) == 2
    assert all(outcome.record == ana.get(stored(outcome).id) for outcome in outcomes)


def test_a_batch_with_one_bad_write_writes_nothing(ana: Memory) -> None:
    ana.remember("one", idempotency_key="k")

    with pytest.raises(IdempotencyMismatch):
        ana.remember_many([Draft("two"), Draft("three", idempotency_key="k")])

    assert [memory.content for memory in ana.list()] == ["one"]


def test_an_idempotency_key_writes_once(world: World, ana: Memory) -> None:
    first = ana.remember("us-east-1", key=KEY, idempotency_key="w1")
    events = world.store.admin(actor="root").check_audit().events
    world.clock.advance(days=1)

    again = ana.remember("us-east-1", key=KEY, idempotency_key="w1")

    assert (again.kind, again.record, again.reasons) == (first.kind, first.record, first.reasons)
    assert world.store.admin(actor="root").check_audit().events == events
    world.reopen()
    ana = world.store.memory(user="ana")
    assert ana.remember("us-east-1", key=KEY, idempotency_key="w1").record == first.record
    for other in ({"content": "eu-west-1", "key": KEY}, {"content": "us-east-1", "key": "other"}):
        with pytest.raises(IdempotencyMismatch):
            ana.remember(**other, idempotency_key="w1")
    assert standing(ana) == ["us-east-1"]


def test_a_correction_wins_and_keeps_what_the_fact_was(ana: Memory) -> None:
    known = stored(
        ana.remember("us-east-1", key=KEY, category="preference", tags=["ops"], importance="high")
    )

    outcome = ana.correct(KEY, "eu-west-1", quote="no, eu-west-1")

    new = stored(outcome)
    assert outcome.kind == "superseded"
    assert (new.source, new.confidence, new.version) == ("user_correction", 1.0, 2)
    assert (new.key, new.category, new.tags, new.importance) == (
        KEY,
        "preference",
        ("ops",),
        "high",
    )
    assert (new.quote, new.supersedes) == ("no, eu-west-1", known.id)
    assert ana.correct(new.id, "us-west-2").kind == "superseded"
    with pytest.raises(NotFound):
        ana.correct(known.id, "too late")
    assert standing(ana) == ["us-west-2"]


def test_confirming_verifies(world: World, ana: Memory) -> None:
    guess = stored(ana.remember(Draft("us-east-1", key=KEY, **GUESS)))
    assert guess.needs_verification
    world.clock.advance(days=1)

    outcome = ana.confirm(guess.id)

    assert outcome.kind == "bumped"
    assert not stored(outcome).needs_verification
    assert stored(outcome).verified_at == from_us(world.clock.now_us())
    with pytest.raises(NotFound):
        ana.confirm("unknown")


def test_what_was_forgotten_is_gone_and_capture_does_not_relearn_it(ana: Memory) -> None:
    said = "Use email as the primary channel for updates."
    assert [o.kind for o in ana.add(said).outcomes.done] == ["created"]
    first = stored(ana.remember("chat", key=CHANNEL))
    ana.remember("email", key=CHANNEL)

    outcome = ana.forget(CHANNEL)

    assert outcome.kind == "forgotten"
    assert history_of(ana, CHANNEL) == ()
    assert ana.get(first.id) is None
    assert ana.list() == ()
    assert len(ana.recall("email channel")) == 0
    assert {o.kind for o in ana.add(said).outcomes} == {OutcomeKind.BLOCKED}
    assert ana.add(said).outcomes.refused[0].reasons == ("tombstoned",)
    with pytest.raises(NotFound):
        ana.forget(CHANNEL)


def test_the_user_who_says_it_anew_takes_the_block_away(ana: Memory) -> None:
    said = "Use email as the primary channel for updates."
    ana.add(said)
    ana.forget(CHANNEL)

    anew = ana.remember("email", key=CHANNEL)

    assert anew.kind == "created"
    assert stored(anew).version == 1
    assert {o.kind for o in ana.add(said).outcomes} <= {"refreshed", "superseded"}


def test_forgetting_by_id_takes_every_version_and_leaves_the_rest(ana: Memory) -> None:
    ana.remember("us-east-1", key=KEY)
    newest = stored(ana.remember("eu-west-1", key=KEY))
    other = stored(ana.remember("Another fact", tags=["x"]))

    outcome = ana.forget(newest.id)

    assert outcome.reasons == ("count:2",)
    assert [memory.id for memory in ana.list()] == [other.id]
    assert ana.forget_many(filter={"tags": "x"}).reasons == ("count:1",)
    assert ana.list() == ()


def test_hard_expiry_holds_from_the_very_instant(world: World, ana: Memory) -> None:
    memory = stored(ana.remember("The code is 1234", key="code", ttl_days=1))
    world.clock.advance(us=86_400_000_000 - 1)
    assert [hit.record.id for hit in ana.recall("code")] == [memory.id]

    world.clock.advance(us=1)

    assert len(ana.recall("code")) == 0
    assert ana.list() == ()
    assert ana.get(memory.id) is None
    assert history_of(ana, "code") == ()
    assert ana.explain(memory.id, "code").excluded == ("expired",)
    with pytest.raises(NotFound):
        ana.confirm(memory.id)
    assert ana.status()["memories"] == {}


def test_a_new_value_after_expiry_carries_the_chain_on(world: World, ana: Memory) -> None:
    ana.remember("1234", key="code", ttl_days=1)
    world.clock.advance(days=1)

    outcome = ana.remember(Draft("9999", key="code", **GUESS))

    assert outcome.kind == "created"
    assert "previous_expired" in outcome.reasons
    assert stored(outcome).version == 2
    assert standing(ana, "code") == ["9999"]


def test_known_at_tells_what_was_believed_then(world: World, ana: Memory) -> None:
    times = []
    for region in ("us-east-1", "eu-west-1", "ap-south-1"):
        ana.remember(region, key=KEY)
        times.append(from_us(world.clock.now_us()))
        world.clock.advance(days=1)
    world.reopen()
    ana = world.store.memory(user="ana")

    believed = [[h.record.content for h in ana.recall("deploy region", known_at=t)] for t in times]
    before = ana.recall("deploy region", known_at=times[0] - timedelta(microseconds=1))
    between = ana.recall("deploy region", known_at=times[1] - timedelta(microseconds=1))

    assert believed == [["us-east-1"], ["eu-west-1"], ["ap-south-1"]]
    assert len(before) == 0
    assert [hit.record.content for hit in between] == ["us-east-1"]


def test_known_at_shows_the_state_of_that_time(world: World, ana: Memory) -> None:
    guess = stored(ana.remember(Draft("us-east-1", key=KEY, **GUESS, ttl_days=10)))
    then = from_us(world.clock.now_us())
    world.clock.advance(days=1)
    ana.remember("us-east-1", key=KEY, pinned=True)

    past = ana.recall("us-east-1", known_at=then)[0].record

    assert (past.confidence, past.source, past.pinned) == (0.6, "agent_inferred", False)
    assert past.hard_expires_at == guess.hard_expires_at
    world.clock.advance(days=30)
    assert len(ana.recall("us-east-1", known_at=then + timedelta(days=9, hours=23))) == 1


def test_system_time_rises_though_the_wall_clock_falls_back(world: World, ana: Memory) -> None:
    first = stored(ana.remember("one", key=KEY))
    world.clock.set(first.created_at - timedelta(days=30))

    second = stored(ana.remember("two", key=KEY))

    assert second.known_from == first.known_from + timedelta(microseconds=1)
    assert standing(ana) == ["two"]
    assert [memory.content for memory in history_of(ana, KEY)] == ["one", "two"]


def test_a_tag_that_a_repeat_brings_is_searched_at_once(world: World) -> None:
    ana = world.store.memory(user="ana")
    ana.remember("The gate code is 4711")
    before = ana.recall("holidays")
    ana.remember("The gate code is 4711", tags=["holidays"])

    assert not before
    assert [hit.record.tags for hit in ana.recall("holidays")] == [("holidays",)]
    assert len(world.reopen().memory(user="ana").recall("holidays")) == 1
