"""What readers did is written off the path of their reads, and moves the floor."""

import asyncio
import json
import os
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from conftest import World
from principals import principal_of
from simonides import Receipt, StoreFull
from simonides.api.agent import AgentResult
from simonides.api.open.assemble import assemble
from simonides.api.sync import Memory, Store
from simonides.domain.canonical_json import canonical_json
from simonides.domain.policy.floors import FloorState
from simonides.domain.writing.change import JournalEntry
from simonides.engine.recall import read_journal as journal_module
from simonides.engine.recall.read_journal import ReadJournal
from simonides.prompting import Prompting
from simonides.settings import Settings
from simonides.testing import CountingIds, ManualClock
from simonides.testing.contracts.base import drive
from simonides.types import Scope

ANA = Scope.of_user("acme", "ana")


def written(world: World, kind: str, owner: Scope = ANA) -> list[Any]:
    found = here(world, world.store.runtime.store.journaled(owner, kind=kind))
    return [json.loads(entry.body) for entry in found]


def here(world: World, call: Any) -> Any:
    """The result of a call of the store, on the loop that its connections belong to."""
    return world.store._driver.run(call)


@pytest.fixture
def ana(world: World) -> Memory:
    ana = world.store.memory(user="ana", org="acme", agent="bot")
    ana.remember("Always deploy to us-east-1", key="deploy_region", category="preference")
    ana.remember("Ana grew up near the sea in Porto", category="entity_fact")
    return ana


def test_recall_writes_nothing_until_five_seconds_have_passed(world: World, ana: Memory) -> None:
    (deploy,) = ana.recall("where do I deploy?", limit=1)
    ana.recall("where do I deploy?", limit=1)
    sea = ana.recall("near the sea in Porto", limit=1)[0]

    world.clock.advance(seconds=4.999)
    assert written(world, "access") == []
    world.clock.advance(seconds=0.001)

    assert written(world, "access") == [
        {"memories": {ANA.path: {deploy.record.id: 2, sea.record.id: 1}}}
    ]
    world.clock.advance(seconds=60)
    assert len(written(world, "access")) == 1
    ana.recall("where do I deploy?", limit=1)
    world.clock.advance(seconds=5)
    assert len(written(world, "access")) == 2


def test_it_raises_no_revision_and_is_in_no_chain(world: World, ana: Memory) -> None:
    store = world.store.runtime.store
    before = here(world, store.heads([ANA])), world.store.admin(actor="root").check_audit()
    answer = ana.recall("where do I deploy?")

    ana.digest("where do I deploy?")
    world.clock.advance(seconds=5)

    assert (
        here(world, store.heads([ANA])),
        world.store.admin(actor="root").check_audit(),
    ) == before
    assert [h.to_dict() for h in ana.recall("where do I deploy?")] == [h.to_dict() for h in answer]


def test_it_is_the_readers_own_owner_that_keeps_it(world: World, ana: Memory) -> None:
    world.store.admin(actor="root").grant("boss", "read_user:ana", org="acme")
    task = world.store.memory(user="ana", org="acme").task(name="upgrade").memory
    boss = world.store.memory(user="boss", org="acme")

    task.recall("where do I deploy?", limit=1)
    boss.recall("where do I deploy?", limit=1, scopes=["/org/acme/user/ana/"])
    world.clock.advance(seconds=5)

    assert len(written(world, "access")) == 1
    (by_boss,) = written(world, "access", Scope.of_user("acme", "boss"))
    assert [*by_boss["memories"]] == [ANA.path]
    assert written(world, "access", Scope.of_org("acme")) == []


def test_capture_finds_it_written(world: World, ana: Memory) -> None:
    ana.recall("where do I deploy?")
    other = world.store.memory(user="bob", org="acme")
    other.recall("anything")
    other.digest("anything")

    ana.add("Call me Ana.")

    assert len(written(world, "access")) == 1
    assert written(world, "digest", Scope.of_user("acme", "bob")) == []


def test_what_waits_is_written_on_close(tmp_path: Path) -> None:
    def opened() -> Store:
        return Store(assemble(tmp_path / "m.db", inline=True, settings=Settings()))

    with opened() as opened_store:
        ana = opened_store.memory(user="ana")
        ana.remember("Deploy to Dublin")
        given = ana.digest("deploy to Dublin")
        ana.recall("deploy")

    with opened() as opened_store:
        store = opened_store.runtime.store
        (entry,) = drive(store, store.journaled(Scope.of_user("default", "ana"), kind="access"))
        assert [*json.loads(entry.body)["memories"].values()] == [{given.items[0].record.id: 2}]
        assert opened_store.memory(user="ana").receipts.list() == (given.receipt,)


def test_the_machines_own_alarm_writes_it_too(tmp_path: Path, monkeypatch: Any) -> None:
    monkeypatch.setattr(journal_module, "FLUSH_S", 0.0)
    opened = Store(assemble(tmp_path / "m.db", inline=True, settings=Settings()))
    store, done = opened.runtime.store, threading.Event()
    plain = store.journal

    async def told(*given: Any) -> None:
        await plain(*given)
        done.set()

    monkeypatch.setattr(store, "journal", told, raising=False)
    ana = opened.memory(user="ana")
    ana.remember("Deploy to Dublin")

    ana.recall("deploy")

    assert done.wait(timeout=60)
    assert drive(store, store.journaled(Scope.of_user("default", "ana")))[0].kind == "access"
    opened.close()


def test_on_an_event_loop_the_loop_writes_it(tmp_path: Path) -> None:
    clock = ManualClock()

    async def scene() -> list[str]:
        core = assemble(
            tmp_path / "m.db", inline=False, settings=Settings(), clock=clock, alarm=clock
        )
        async with core as opened:
            ana, store = opened.memory(user="ana"), opened.runtime.store
            await ana.remember("Deploy to Dublin")
            await ana.digest("deploy", min_relevance=0)
            clock.advance(seconds=5)
            while not (found := await store.journaled(principal_of(ana).home)):
                await asyncio.sleep(0)
            return [entry.kind for entry in found]

    assert asyncio.run(scene()) == ["access", "digest", "echo"]


def test_receipts_of_digests_pushes_and_pulls_can_be_read_and_replayed(
    world: World, ana: Memory
) -> None:
    given = [
        ana.digest("where do I deploy?"),
        Prompting(ana).push("sea"),
        Prompting(ana).search("sea"),
    ]
    world.store.memory(user="ana", org="acme", agent="spy").digest("sea")
    world.store.memory(user="bob", org="acme", agent="bot").digest("sea")

    kept = world.reopen().memory(user="ana", org="acme", agent="bot").receipts.list()

    assert kept == tuple(digest.receipt for digest in given)
    again = world.store.memory(user="ana", org="acme", agent="bot")
    assert [again.receipts.replay(receipt).text for receipt in kept] == [
        digest.text for digest in given
    ]


def test_what_cannot_be_written_waits_and_status_says_so(
    world: World, ana: Memory, monkeypatch: pytest.MonkeyPatch
) -> None:
    store = world.store.runtime.store
    plain, full = store.journal, [True]

    async def journal(*given: Any) -> None:
        if full[0]:
            raise StoreFull("here", "no space left")
        await plain(*given)

    monkeypatch.setattr(store, "journal", journal, raising=False)
    ana.digest("where do I deploy?")
    world.clock.advance(seconds=5)
    ana.recall("where do I deploy?")

    assert ana.add("Call me Ana.").outcomes
    assert "journal_unwritten:StoreFull" in ana.status()["problems"]
    full[0] = False
    assert ana.status()["problems"] == []
    assert len(written(world, "digest")) == 1
    (access,) = written(world, "access")
    assert max(access["memories"][ANA.path].values()) == 2


def test_many_owners_are_written_together_and_a_broken_entry_stops_its_owner_only(
    world: World, ana: Memory, monkeypatch: pytest.MonkeyPatch
) -> None:
    bob, store = Scope.of_user("acme", "bob"), world.store.runtime.store
    plain, calls = store.journal, list[set[Scope]]()

    async def journal(notes: Any) -> None:
        # By which model entries are made is noted too, with what is global.
        if Scope.of_global() not in notes:
            calls.append({*notes})
        await plain(notes)

    monkeypatch.setattr(store, "journal", journal, raising=False)
    for user in ("bob", "cem", "ana"):
        memory = world.store.memory(user=user, org="acme")
        receipt = memory.digest("where do I deploy?", min_relevance=0.5).receipt
        if user == "bob":
            memory.receipts.verify([], receipt)
    here(world, plain({bob: [JournalEntry(1, "feedback", b"[]")]}))
    world.clock.advance(seconds=5)

    assert calls == [{ANA, Scope.of_user("acme", "cem")}]
    assert len(written(world, "digest")) == 1
    assert written(world, "digest", bob) == []
    assert "journal_unwritten:StoreCorrupt" in ana.status()["problems"]

    sound = canonical_json(FloorState().to_dict())
    here(world, plain({bob: [JournalEntry(2, "feedback", sound)]}))
    world.clock.advance(seconds=5)
    assert len(written(world, "digest", bob)) == 1
    assert ana.status()["problems"] == []


def test_what_is_lost_on_close_is_warned_of(tmp_path: Path, monkeypatch: Any) -> None:
    store = Store(assemble(tmp_path / "m.db", inline=True, settings=Settings()))

    async def full(*_: Any) -> None:
        raise StoreFull("here", "no space left")

    monkeypatch.setattr(store.runtime.store, "journal", full, raising=False)
    store.memory(user="ana").digest("x")

    with pytest.warns(RuntimeWarning, match="StoreFull"):
        store.close()


def test_many_reads_are_counted_up_and_many_receipts_are_bounded(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(journal_module, "MAX_RECEIPTS", 6)
    ana = world.store.memory(user="ana", org="acme")
    ana.remember("Always deploy to us-east-1", key="deploy_region", category="preference")
    journal = world.store.runtime.part(ReadJournal)

    for _ in range(57):
        (hit,) = ana.recall("where do I deploy?", limit=1)
    receipts = [ana.digest(f"deploy {n}", min_relevance=1).receipt for n in range(30)]
    assert written(world, "digest") == []
    world.clock.advance(us=1)  # there is so much of it that the alarm is set to at once

    (access,) = written(world, "access")
    assert access["memories"][ANA.path][hit.record.id] == 57
    assert [Receipt.from_dict(raw) for raw in written(world, "digest")] == receipts[-6:]
    assert journal.lost == 24
    assert "receipts_lost" in ana.status()["problems"]


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork here")
def test_a_forked_child_writes_nothing_of_its_parents(tmp_path: Path) -> None:
    store = Store(assemble(tmp_path / "m.db", inline=True, settings=Settings()))
    ana = store.memory(user="ana")
    ana.digest("x")

    child = os.fork()
    if child == 0:  # pragma: no cover
        store.close()
        os._exit(0)
    _, code = os.waitpid(child, 0)

    assert code == 0
    assert len(ana.receipts.list()) == 1
    store.close()


# -- the floor ------------------------------------------------------------------------------------


@pytest.fixture
def quick(new_world: Callable[..., World], tmp_path: Path) -> World:
    """A world whose floor moves after every four reads."""
    policy = tmp_path / "policy.yaml"
    policy.write_text("feedback: {reads: 4}\n")
    return new_world(policy=str(policy))


def asked(world: World, times: int, query: str, used: Callable[[Receipt], Any]) -> None:
    ana = world.store.memory(user="ana", org="acme")
    for _ in range(times):
        receipt = ana.digest(query).receipt
        ana.receipts.verify(used(receipt), receipt)
        world.clock.advance(seconds=6)


def floors(world: World, user: str = "ana") -> dict[str, Any]:
    found: dict[str, Any] = world.store.memory(user=user, org="acme").status()["floors"]
    return found


def nothing(receipt: Receipt) -> list[str]:
    return []


def test_empty_digests_lower_the_floor_of_that_owner_and_no_other(quick: World) -> None:
    asked(quick, 4, "zebra", nothing)

    assert floors(quick) == {
        "digest": 0.7, "push": 0.75, "hit_rate": 0.0, "false_positives": 0.0, "reads": 0,
    }  # fmt: skip
    assert floors(quick, "bob")["digest"] == 0.75
    ana = quick.store.memory(user="ana", org="acme")
    lowered = ana.digest("zebra").receipt
    assert lowered.floor == 0.7
    assert lowered.page is not None
    assert lowered.page.rules.floor == 0.7
    assert Prompting(ana).push("zebra").receipt.floor == 0.75
    assert ana.digest("zebra", min_relevance=0.6).receipt.floor == 0.6


def test_what_is_shown_and_never_used_raises_it(quick: World) -> None:
    ana = quick.store.memory(user="ana", org="acme")
    ana.remember("Always deploy to us-east-1", key="deploy_region")

    asked(quick, 4, "always deploy to us-east-1", nothing)

    assert floors(quick)["digest"] == 0.8
    assert floors(quick)["false_positives"] == 1.0


def test_what_is_used_leaves_it(quick: World) -> None:
    ana = quick.store.memory(user="ana", org="acme")
    ana.remember("Always deploy to us-east-1", key="deploy_region")

    asked(quick, 4, "always deploy to us-east-1", lambda r: [r.returned[0].key])
    asked(quick, 4, "always deploy to us-east-1", lambda r: f"Done ({r.returned[0].id}).")

    assert (floors(quick)["digest"], floors(quick)["hit_rate"]) == (0.75, 1.0)


def test_a_text_that_names_nothing_says_nothing(quick: World) -> None:
    asked(quick, 9, "zebra", lambda _: "Zebras live in Kenya.")

    assert (floors(quick)["digest"], floors(quick)["reads"]) == (0.75, 0)


def test_one_read_counts_once_and_a_strangers_receipt_never(quick: World) -> None:
    ana = quick.store.memory(user="ana", org="acme")
    bob = quick.store.memory(user="bob", org="acme")
    receipt = ana.digest("zebra").receipt
    for _ in range(3):
        ana.receipts.verify([], receipt)
        quick.clock.advance(seconds=6)
    elsewhere = bob.digest("zebra", scopes=["org"]).receipt
    ana.receipts.verify([], elsewhere)

    assert floors(quick)["reads"] == 1
    assert floors(quick, "bob")["reads"] == 0


def test_it_is_kept_over_the_end_of_the_process_and_found_by_another(quick: World) -> None:
    ana = quick.store.memory(user="ana", org="acme")
    ana.remember("Always deploy to us-east-1")  # reads alone make no file
    ana.digest("zebra")  # so that this process knows how it stood
    if quick.is_durable:
        other = Store(
            assemble(
                quick.target, settings=quick._settings, inline=True, clock=quick.clock,
                ids=CountingIds(), alarm=quick.clock,
            )
        )  # fmt: skip
        elsewhere = other.memory(user="ana", org="acme")
        for n in range(4):
            elsewhere.receipts.verify([], elsewhere.digest(f"zebra {n}").receipt)
        other.close()
        quick.clock.advance(seconds=6)
        ana.recall("zebra")
        quick.clock.advance(seconds=6)
    else:
        asked(quick, 4, "zebra", nothing)
    assert ana.digest("zebra").receipt.floor == 0.7

    again = quick.reopen().memory(user="ana", org="acme")

    assert again.digest("zebra").receipt.floor == 0.7


def test_a_receipt_of_another_floor_is_replayed_at_its_own(quick: World) -> None:
    ana = quick.store.memory(user="ana", org="acme")
    ana.remember("Always deploy to us-east-1", key="deploy_region")
    early = ana.digest("always deploy to us-east-1")
    asked(quick, 8, "always deploy to us-east-1", nothing)
    assert floors(quick)["digest"] == 0.85

    again = ana.receipts.replay(early.receipt)

    assert (again.text, again.made) == (early.text, "ranked")


def test_the_reference_agent_teaches_the_floor(quick: World) -> None:
    memory = quick.store.memory(user="ana", org="acme")
    agent = quick.store.agent(memory)
    agent.capture("Use email as the primary channel.")

    results: list[AgentResult] = []
    for n in range(4):
        results.append(agent.answer(f"Draft an update on incident number {n}"))
        quick.clock.advance(seconds=6)

    assert {result.used_memory_keys for result in results} == {("update_channel",)}
    assert (floors(quick)["hit_rate"], floors(quick)["digest"]) == (1.0, 0.75)


def test_switched_off_it_stays_as_the_policy_says(
    new_world: Callable[..., World], tmp_path: Path
) -> None:
    policy = tmp_path / "policy.yaml"
    policy.write_text("feedback: {reads: 1, enabled: false}\ndigest: {floor: 0.6}\n")
    world = new_world(policy=str(policy))

    asked(world, 3, "zebra", nothing)

    assert (floors(world)["digest"], floors(world)["reads"]) == (0.6, 0)


def test_readers_of_many_threads_and_writers_of_the_journal_do_not_meet(world: World) -> None:
    ana = world.store.memory(user="ana", org="acme")
    ana.remember("Always deploy to us-east-1")
    journal = world.store.runtime.part(ReadJournal)
    digests, stop = list[int](), threading.Event()

    def read() -> None:
        mine = world.store.memory(user="ana", org="acme")
        for _ in range(60):
            mine.recall("deploy")
            mine.digest("deploy", min_relevance=0)
        digests.append(60)

    def write() -> None:
        while not stop.is_set():
            here(world, journal.flush())

    writers = [threading.Thread(target=write) for _ in range(2)]
    readers = [threading.Thread(target=read) for _ in range(4)]
    for thread in (*writers, *readers):
        thread.start()
    for thread in readers:
        thread.join()
    stop.set()
    for thread in writers:
        thread.join()
    here(world, journal.flush())

    store = world.store.runtime.store
    kept = here(world, store.journaled(ANA, kind="digest", limit=10_000))
    assert len(kept) == sum(digests) == 240
    reads = sum(
        times
        for entry in here(world, store.journaled(ANA, kind="access", limit=10_000))
        for times in json.loads(entry.body)["memories"][ANA.path].values()
    )
    assert 240 <= reads <= 480
