"""What writes did not find, the hygiene cycle does, and says how much."""

import json
from collections.abc import Iterator

import pytest
from principals import principal_of

from conftest import World
from simonides import Draft, Memory
from simonides.api.open.assemble import assemble
from simonides.api.open.store import IN_MEMORY
from simonides.api.sync import Store
from simonides.engine.maintenance.daily_gc import FIRST_S
from simonides.engine.write import write_turn as turn
from simonides.engine.write.rules import resolution
from simonides.engine.write.rules.near import NOTHING_NEAR
from simonides.testing import ManualClock


@pytest.fixture
def ana(world: World) -> Iterator[Memory]:
    """A user; whatever the test did, the chains of all owners hold at its end."""
    yield world.store.memory(user="ana")
    assert world.store.admin(actor="root").check_audit().ok


@pytest.fixture
def unlooked(world: World, ana: Memory, monkeypatch: pytest.MonkeyPatch) -> Memory:
    """Ana's memories as a version left them that looked for nothing on write."""
    with monkeypatch.context() as patched:
        patched.setattr(turn, "opposed", lambda *_: None)
        for text in (
            "I live in Oslo",
            "I like dogs",
            "The staging gate is enabled",
            "My sister works at Google",
        ):
            ana.remember(text)
            world.clock.advance(seconds=60)
        ana.remember("I moved to Rome")
        ana.remember("The staging gate is disabled")
        ana.remember(Draft("The cellar door is open", source="agent_inferred"))
        ana.remember("The cellar door is closed")
    return ana


def standing(own: Memory) -> dict[str, str]:
    return {memory.content: memory.status.value for memory in own.list()}


def test_a_cycle_finds_what_writes_did_not(world: World, unlooked: Memory) -> None:
    before = standing(unlooked)

    foreseen = unlooked.maintenance.hygiene(dry_run=True)
    assert standing(unlooked) == before
    done = unlooked.maintenance.hygiene()
    again = unlooked.maintenance.hygiene()

    assert foreseen.dry_run
    assert foreseen.counts == done.counts
    assert (done.memories, done.updates, done.resolved, done.contradictions) == (8, 1, 1, 1)
    assert standing(unlooked) == {
        "I like dogs": "active",
        "My sister works at Google": "active",
        "I moved to Rome": "active",
        "The staging gate is enabled": "review",
        "The staging gate is disabled": "review",
        "The cellar door is closed": "active",
    }
    (asked,) = unlooked.pending.list(kind="review")
    assert [side.content for side in asked.sides if side] == [
        "The staging gate is enabled",
        "The staging gate is disabled",
    ]
    assert (again.updates, again.resolved, again.contradictions) == (0, 0, 0)


def test_what_a_cycle_decided_is_in_the_trail_and_can_be_taken_back(
    world: World, unlooked: Memory
) -> None:
    unlooked.maintenance.hygiene()

    store = world.store.runtime.store
    links = world.store._driver.run(store.links(principal_of(unlooked).home.owner))
    events = [json.loads(link.payload) for link in links if link.payload]
    (moved,) = [e for e in events if e["reasons"] == ["update:slot:residence"]]
    assert moved["type"] == "superseded"
    unlooked.undo(moved["id"])

    assert {"I live in Oslo", "I moved to Rome"} <= set(standing(unlooked))


def test_statements_that_stand_twice_are_merged(
    world: World, ana: Memory, monkeypatch: pytest.MonkeyPatch
) -> None:
    with monkeypatch.context() as patched:
        # Two processes of a version without these gates.
        patched.setattr(resolution, "_same_text", lambda *_: ())
        patched.setattr(resolution, "find_near", lambda *_: NOTHING_NEAR)
        first = ana.remember("I like strong tea").record
        world.clock.advance(seconds=60)
        ana.remember("i like strong  TEA")
        ana.remember("I really like strong tea.")

    report = ana.maintenance.hygiene()

    assert report.duplicates == 2
    assert [memory.id for memory in ana.list()] == [first.id if first else None]
    assert ana.maintenance.hygiene().duplicates == 0


def test_reviews_expire_with_an_event(world: World, unlooked: Memory) -> None:
    unlooked.maintenance.hygiene()
    world.clock.advance(days=31)

    report = unlooked.maintenance.hygiene()

    assert report.reviews_expired == 1
    (expired,) = unlooked.pending.list(kind="review", status="expired")
    assert expired.expired_at is not None
    assert unlooked.maintenance.hygiene().reviews_expired == 0
    assert unlooked.pending.resolve(expired.id, "both").kind == "coexists"


def test_stale_memories_are_counted(world: World, ana: Memory) -> None:
    ana.remember("Ana's locker is 12", category="entity_fact")
    world.clock.advance(days=800)

    assert ana.maintenance.hygiene(dry_run=True).stale == 1


def test_once_a_day_it_is_done_by_itself(monkeypatch: pytest.MonkeyPatch) -> None:
    clock = ManualClock()
    with Store(assemble(IN_MEMORY, inline=True, clock=clock, sweeps=clock)) as store:
        ana = store.memory(user="ana")
        with monkeypatch.context() as patched:
            patched.setattr(turn, "opposed", lambda *_: None)
            ana.remember("I live in Oslo")
            ana.remember("I moved to Rome")

        clock.advance(seconds=FIRST_S)

        assert list(standing(ana)) == ["I moved to Rome"]
        assert ana.status()["problems"] == []


def test_a_cycle_compares_nobody_with_anybody_else(world: World, ana: Memory) -> None:
    ana.remember("I live in Oslo")
    world.store.memory(user="ben").remember("I moved to Rome")
    world.store.memory(user="ana").task(name="t1").memory.remember("I moved to Rome")

    assert ana.maintenance.hygiene().updates == 0
    assert "I live in Oslo" in standing(ana)
