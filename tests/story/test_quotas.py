"""A scope holds what its quota allows, exactly; what is worth least gives way."""

import json
from collections.abc import Callable
from pathlib import Path
from threading import Barrier, Thread
from typing import Any

import pytest

from conftest import World
from principals import history_of, principal_of
from simonides import Draft, Memory, Outcome, QuotaExceeded, UndoRefused
from simonides.domain.scope import Scope

NewWorld = Callable[..., World]
DAY_US = 86_400_000_000


@pytest.fixture
def with_quotas(new_world: NewWorld, tmp_path: Path) -> Callable[[str], World]:
    """A maker of worlds under a policy with quotas."""

    def make(quotas: str) -> World:
        file = tmp_path / "policy.yaml"
        file.write_text(f"quotas: {{{quotas}}}\n")
        return new_world(policy=file, embedder="none")

    return make


def kept(manager: Memory) -> list[str]:
    own = [memory for memory in manager.list() if memory.scope == principal_of(manager).home]
    return sorted(memory.content for memory in own)


def told(outcome: Outcome) -> tuple[str, str]:
    return outcome.kind.value, outcome.reasons[0]


def trail(world: World, owner: Scope, kind: str) -> list[dict[str, Any]]:
    links = world.store._driver.run(world.store.runtime.store.links(owner, limit=10_000))
    events = [json.loads(link.payload) for link in links if link.payload is not None]
    return [event for event in events if event["type"] == kind]


def test_the_least_useful_gives_way_in_the_same_commit(with_quotas: Callable[[str], World]) -> None:
    world = with_quotas("memories: 4")
    ana = world.store.memory(user="ana")
    unsure = ana.remember(Draft("guess", source="agent_inferred", confidence=0.5)).record
    ana.remember("old")
    ana.remember("grave", importance="critical")
    ana.remember("rule", pinned=True)
    world.clock.advance(us=40 * DAY_US)

    first = ana.remember("new 1")
    second = ana.remember("new 2")

    assert kept(ana) == ["grave", "new 1", "new 2", "rule"]
    assert unsure is not None
    evicted = trail(world, principal_of(ana).home, "evicted")
    assert evicted[0]["subjects"] == [unsure.id]
    assert [e["reasons"] for e in evicted] == [["quota:memories", "by:value"]] * 2
    assert [e.type.value for e in (*first.events, *second.events)] == ["created", "evicted"] * 2
    # It is out of use, not out of history.
    (found,) = history_of(ana, unsure.id)
    assert (found.status.value, found.content) == ("evicted", "guess")
    assert world.store.admin(actor="root").check_audit().ok


@pytest.mark.parametrize(
    ("eviction", "gone"),
    [("value", "unsure"), ("lru", "said again first"), ("fifo", "first"), ("ttl", "unsure")],
)
def test_what_gives_way_can_be_chosen(
    with_quotas: Callable[[str], World], eviction: str, gone: str
) -> None:
    world = with_quotas(f"memories: 3, eviction: {eviction}")
    ana = world.store.memory(user="ana")
    texts = ("first", "said again first", "unsure")
    for text in texts:
        world.clock.advance(us=DAY_US)
        days = 300.0 if text == "unsure" else None
        ana.remember(Draft(text, ttl_days=days, confidence=0.6 if text == "unsure" else None))
    for text in ("first", "unsure"):
        world.clock.advance(us=DAY_US)
        ana.confirm(next(m.id for m in ana.list() if m.content == text))

    ana.remember("news")

    assert set(texts) - set(kept(ana)) == {gone}


def test_the_pinned_and_constraints_give_way_to_their_like_only(
    with_quotas: Callable[[str], World],
) -> None:
    world = with_quotas("memories: 2")
    ana = world.store.memory(user="ana")
    ana.remember("pinned", pinned=True)
    ana.remember("never", category="constraint")

    with pytest.raises(QuotaExceeded) as caught:
        ana.remember("news", idempotency_key="w")

    error = caught.value
    assert (error.what, error.limit, error.retry_after_s) == ("memories", 2, None)
    assert "quotas.memories: 2 is the limit" in str(error)
    mine = Draft("mine", key="mine", pinned=True)
    batch = ana.remember_many([Draft("more news"), Draft("pinned"), mine])
    assert [told(outcome) for outcome in batch] == [
        ("blocked", "quota_exceeded:memories"),
        ("refreshed", "explicit_remember"),
        ("created", "explicit_remember"),
    ]
    assert kept(ana) == ["mine", "pinned"]
    # What was blocked for want of room is no answer for good.
    ana.forget("mine")
    assert ana.remember("news", idempotency_key="w").kind.value == "created"


def test_each_scope_has_its_own_and_turns_are_counted_apart(
    with_quotas: Callable[[str], World],
) -> None:
    world = with_quotas("memories: 2, turns: 3")
    ana, bob = (world.store.memory(user=name) for name in ("ana", "bob"))
    task = world.store.memory(user="ana").task(name="t1").memory
    for memory in (ana, bob, task):
        for number in range(3):
            memory.remember(f"fact {number}")
        turns = [
            Draft(f"turn {n}", kind="episodic", category="turn", session="s", turn=n)
            for n in range(5)
        ]
        outcomes = memory.remember_many(turns)
        # What a batch itself brings does not give way to the rest of it.
        assert [told(o)[0] for o in outcomes] == ["created"] * 3 + ["blocked"] * 2
        assert outcomes[-1].reasons == ("quota_exceeded:turns", "limit:3")

    facts, turns_kept = ["fact 1", "fact 2"], ["turn 0", "turn 1", "turn 2"]
    for memory in (ana, bob, task):
        assert kept(memory) == [*facts, *turns_kept]


def test_what_adds_nothing_needs_no_room(with_quotas: Callable[[str], World]) -> None:
    world = with_quotas("memories: 1")
    ana = world.store.memory(user="ana")
    ana.remember("blue", key="colour", pinned=True)

    assert ana.remember("blue", key="colour").kind.value == "refreshed"
    assert ana.remember("green", key="colour").kind.value == "superseded"
    assert ana.correct("colour", "red").kind.value == "superseded"
    assert kept(ana) == ["red"]
    task = world.store.memory(user="ana").task(name="t1").memory
    copied = task.remember("from the task").record
    assert copied is not None
    with pytest.raises(QuotaExceeded):
        task.promote(copied.id, "user")


def test_a_lowered_quota_is_kept_by_the_next_write(
    with_quotas: Callable[[str], World], tmp_path: Path
) -> None:
    world = with_quotas("memories: 6")
    ana = world.store.memory(user="ana")
    for number in range(6):
        world.clock.advance(us=DAY_US)
        ana.remember(f"fact {number}")
    (tmp_path / "policy.yaml").write_text("quotas: {memories: 3}\nversion: lower\n")

    outcome = ana.remember("news")

    assert kept(ana) == ["fact 4", "fact 5", "news"]
    assert [event.type.value for event in outcome.events] == ["created", *["evicted"] * 4]


def test_writes_are_counted_by_the_minute(with_quotas: Callable[[str], World]) -> None:
    world = with_quotas("writes_per_minute: 3")
    ana = world.store.memory(user="ana")
    ana.remember("one")
    world.clock.advance(us=20_000_000)

    batch = ana.remember_many([Draft(str(number)) for number in range(3)])

    assert [told(outcome)[0] for outcome in batch] == ["created", "created", "blocked"]
    late = ("quota_exceeded:writes_per_minute", "limit:3", "retry_after_s:40.000")
    assert batch[-1].reasons == late
    with pytest.raises(QuotaExceeded) as caught:
        ana.remember("four")
    assert (caught.value.what, caught.value.retry_after_s) == ("writes_per_minute", 40.0)
    assert world.store.memory(user="bob").remember("mine").stored
    world.clock.advance(us=40_000_000)
    assert ana.remember("four").stored
    with pytest.raises(QuotaExceeded):
        ana.remember("five")


def test_an_org_has_so_many_bytes_as_of_the_last_sweep(
    with_quotas: Callable[[str], World],
) -> None:
    world = with_quotas("org_bytes: 6000")
    ana, bob = (world.store.memory(user=name, org="acme") for name in ("ana", "bob"))
    assert ana.remember("a" * 2000).stored
    assert bob.remember("b" * 2000).stored
    world.clock.advance(us=15 * 60_000_000)

    outcomes = bob.remember_many([Draft("c" * 400), Draft("d" * 2000), Draft("e")])

    assert [told(outcome)[0] for outcome in outcomes] == ["created", "blocked", "blocked"]
    with pytest.raises(QuotaExceeded) as caught:
        ana.remember("f" * 2000)
    assert (caught.value.what, caught.value.limit) == ("org_bytes", 6000)
    assert caught.value.retry_after_s == 15 * 60
    assert world.store.memory(user="cy", org="other").remember("x" * 5000).stored
    ana.forget_many(scope="user")
    world.clock.advance(us=15 * 60_000_000)
    assert ana.remember("f" * 2000).stored


def test_eight_threads_at_the_limit_never_pass_it(with_quotas: Callable[[str], World]) -> None:
    world = with_quotas("memories: 10")
    ready, failed = Barrier(8), list[BaseException]()

    def write(number: int) -> None:
        memory = world.store.memory(user="ana")
        ready.wait()
        try:
            for turn in range(6):
                memory.remember(f"thread {number} says {turn}")
                assert len(memory.list()) <= 10
        except BaseException as error:
            failed.append(error)
            raise

    threads = [Thread(target=write, args=(number,)) for number in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert failed == []
    ana = world.store.memory(user="ana")
    assert len(kept(ana)) == 10
    assert len(trail(world, principal_of(ana).home, "evicted")) == 38


def test_too_many_live_tasks_are_told_of(world: World) -> None:
    ana = world.store.memory(user="ana")
    for number in range(50):
        world.store.memory(user="ana").task(name=f"t{number}").memory.remember("x")
    assert ana.status()["problems"] == []

    one_more = world.store.memory(user="ana").task(name="t50").memory
    outcome = one_more.remember("x")
    one_more.remember("y")

    # Of its siblings a task is not told.
    assert [event.type.value for event in outcome.events] == ["created"]
    assert one_more.status()["problems"] == []
    alerts = trail(world, principal_of(ana).home, "alerted")
    assert [alert["reasons"] for alert in alerts] == [["live_task_scopes:51"]]
    assert ana.status()["problems"] == ["live_task_scopes:51"]
    ana.maintenance.end_task("t50")
    assert ana.status()["problems"] == []


def test_what_stands_again_by_an_undo_takes_its_place_within_the_quota(
    with_quotas: Callable[[str], World],
) -> None:
    world = with_quotas("memories: 3")
    ana = world.store.memory(user="ana")
    ana.remember(Draft("Ana lives in Oslo", source="tool_verified"))
    ana.remember(Draft("guess", source="agent_inferred", confidence=0.5))
    asked = ana.remember("Ana lives in Rome")
    (review,) = ana.pending.list(kind="review")
    assert asked.kind == "review"
    decided = ana.pending.resolve(review.id, "new")
    ana.remember("one more")
    assert kept(ana) == ["Ana lives in Rome", "guess", "one more"]

    undone = ana.undo(decided.events[0].id)

    assert undone.kind == "undone"
    assert [event.type.value for event in undone.events] == ["undone", "evicted"]
    assert kept(ana) == ["Ana lives in Oslo", "Ana lives in Rome", "one more"]
    assert world.store.admin(actor="root").check_audit().ok


def test_an_undo_for_which_nothing_gives_way_is_refused(
    with_quotas: Callable[[str], World],
) -> None:
    world = with_quotas("memories: 3")
    ana = world.store.memory(user="ana")
    ana.remember(Draft("Ana lives in Oslo", source="tool_verified"))
    ana.remember("Ana lives in Rome")
    (review,) = ana.pending.list(kind="review")
    decided = ana.pending.resolve(review.id, "new")
    ana.remember("rule one", pinned=True)
    ana.remember("rule two", pinned=True)
    ana.confirm(ana.list()[0].id)
    for memory in ana.list():
        if not memory.pinned:
            ana.forget(memory.id)
    ana.remember("rule three", pinned=True)
    before = kept(ana)

    # Of the review one side is gone; what it displaced would be a fourth.
    with pytest.raises((QuotaExceeded, UndoRefused)):
        ana.undo(decided.events[0].id)

    assert kept(ana) == before


def test_an_undo_that_only_puts_back_what_gave_way_needs_no_room(
    with_quotas: Callable[[str], World],
) -> None:
    world = with_quotas("memories: 2")
    ana = world.store.memory(user="ana")
    ana.remember("eu-west-1", key="region")
    ana.remember("rule", pinned=True)
    corrected = ana.correct("region", "us-east-1")

    assert [e.type.value for e in ana.undo(corrected.events[0].id).events] == ["undone"]
    assert kept(ana) == ["eu-west-1", "rule"]


@pytest.mark.parametrize("keep", ["old", "new", "both", "neither"])
def test_a_decision_never_makes_more_memories_stand(
    with_quotas: Callable[[str], World], keep: str
) -> None:
    world = with_quotas("memories: 2")
    ana = world.store.memory(user="ana")
    ana.remember(Draft("Ana lives in Oslo", source="tool_verified"))
    ana.remember("Ana lives in Rome")
    (review,) = ana.pending.list(kind="review")

    ana.pending.resolve(review.id, keep)

    assert len(kept(ana)) <= 2


def test_a_restored_owner_is_whole_and_the_next_write_brings_it_within_the_quota(
    with_quotas: Callable[[str], World], new_world: NewWorld, tmp_path: Path
) -> None:
    source = new_world(embedder="none").store.memory(user="ana")
    source.remember_many([Draft(f"text {number}") for number in range(5)])
    source.data.export(tmp_path / "ana.jsonl")
    ana = with_quotas("memories: 2").store.memory(user="ana")

    ana.data.restore(tmp_path / "ana.jsonl")

    assert len(kept(ana)) == 5
    ana.remember("news")
    assert len(kept(ana)) == 2
    assert "news" in kept(ana)
