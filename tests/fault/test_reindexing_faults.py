"""Killed, closed or doubled in the midst of it, making entries anew leaves each row old or new."""

import asyncio
import os
import threading
from pathlib import Path

import pytest
from killing import Child

from embedders import HashedEmbedder
from simonides import Draft
from simonides.api.open.assemble import assemble
from simonides.api.store import AsyncStore
from simonides.api.sync import Store
from simonides.engine.maintenance import reindex as reindexing
from simonides.engine.maintenance.reindex_worker import PAUSE_S, START_S, ReindexWorker
from simonides.settings import Settings
from simonides.testing import ManualClock

COUNT = 400
BATCH = 20
KILLS = 12
STEP_S = 400e-6


def make(target: str | Path, embedder, **more) -> AsyncStore:
    settings = Settings(reindex="manual", synchronous="normal")
    return assemble(target, **{"inline": True, "settings": settings, "embedder": embedder} | more)


def old() -> HashedEmbedder:
    return HashedEmbedder("old", 16)


def new() -> HashedEmbedder:
    return HashedEmbedder("new", 32)


def fill(target: str | Path) -> None:
    with Store(make(target, old())) as store:
        drafts = [Draft(f"boat {n} lies in the harbour", key=f"boat_{n}") for n in range(COUNT)]
        store.memory(user="ana").remember_many(drafts)


def all_rows(opened: Store):
    store = opened.runtime.store
    (owner,) = opened._driver.run(store.owners())
    return opened._driver.run(store.rows(owner, limit=COUNT + 1))


def answers(store: Store):
    found = store.memory(user="ana").recall("boat 17 in the harbour", limit=20)
    return [(hit.record.content, hit.score) for hit in found]


@pytest.fixture(params=["sqlite", "postgres"])
def target(request, tmp_path):
    if request.param == "sqlite":
        yield str(tmp_path / "m.db")
        return
    server = request.getfixturevalue("postgres")
    name = server.new_database()
    yield server.url("simonides_app", name)
    server.give_back(name)


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system does not fork")
def test_killed_at_any_point_it_is_gone_on_with(target, monkeypatch):
    monkeypatch.setattr(reindexing, "PAGE_ROWS", BATCH)
    fill(target)
    with Store(make(target, old())) as store:
        before = {row.id: row.entry for row in all_rows(store)}
    with Store(make(":memory:", new())) as reference:
        drafts = [Draft(f"boat {n} lies in the harbour", key=f"boat_{n}") for n in range(COUNT)]
        reference.memory(user="ana").remember_many(drafts)
        right = answers(reference)

    def work(say):
        with Store(make(target, new())) as store:
            store.admin(actor="root").reindex(progress=lambda report: say(report.rows))

    done = 0
    for turn in range(KILLS):
        child = Child(work)
        child.hear(1 + turn % 3)
        threading.Event().wait(turn * STEP_S)
        child.kill()

        with Store(make(target, new())) as store:
            made = store.runtime.indexes.indexer.is_current
            rows = all_rows(store)
            assert [row.id for row in rows] == [*before]
            assert all(made(row.entry) or row.entry == before[row.id] for row in rows)
            # What was written is not made a second time.
            now = sum(made(row.entry) for row in rows)
            assert now >= done
            done = now
            assert answers(store) == right
    with Store(make(target, new())) as store:
        report = store.admin(actor="root").reindex()
        assert report.ok
        assert report.remade == COUNT - done
        assert store.admin(actor="root").check_audit().ok


def test_two_at_once_do_no_harm(target, monkeypatch):
    monkeypatch.setattr(reindexing, "PAGE_ROWS", BATCH)
    fill(target)
    reports = []

    def work():
        with Store(make(target, new())) as store:
            reports.append(store.admin(actor="root").reindex())

    threads = [threading.Thread(target=work) for _ in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert sum(report.remade for report in reports) == COUNT
    assert all(report.ok for report in reports)
    with Store(make(target, new())) as store:
        assert store.admin(actor="root").reindex().remade == 0


class Gated(HashedEmbedder):
    """An embedder that waits before each batch of several texts."""

    def __init__(self):
        super().__init__("new", 32)
        self.begun, self.gate = threading.Event(), threading.Event()

    def encode(self, texts):
        if len(texts) > 1 and self.is_gated:
            self.begun.set()
            self.gate.wait()
        return super().encode(texts)

    is_gated = False


def patient(target, embedder, clock, *, inline):
    return make(target, embedder, inline=inline, clock=clock, alarm=clock, settings=Settings())


def test_on_an_event_loop_it_goes_on_beside_others_and_ends_with_the_store(target):
    fill(target)

    async def live() -> int:
        clock, embedder = ManualClock(), Gated()
        store = patient(target, embedder, clock, inline=False)
        async with store:
            ana = store.memory(user="ana")
            before = await ana.recall("boat 17")
            embedder.is_gated = True
            clock.advance(seconds=START_S)
            await until(embedder.begun.is_set)
            # The embedder has a thread of its own: others go on.
            during = await ana.recall("boat 17")
            assert [h.to_dict() for h in during] == [h.to_dict() for h in before]
        embedder.gate.set()
        return store.runtime.part(ReindexWorker).problems

    assert asyncio.run(live()) == ()
    with Store(make(target, new())) as store:
        assert not any(map(store.runtime.indexes.indexer.is_current, entries(store)))


def test_on_an_event_loop_all_is_made_anew(target):
    fill(target)

    async def live() -> None:
        clock = ManualClock()
        async with patient(target, new(), clock, inline=False) as store:
            ana = store.memory(user="ana")
            await ana.recall("boat 17")
            (owner,) = await store.runtime.store.owners()
            index = store.runtime.indexes.of(owner)
            assert len(index.stale) == COUNT
            clock.advance(seconds=START_S)

            def is_done() -> bool:
                clock.advance(seconds=PAUSE_S)
                return not index.stale

            await until(is_done)
            assert (await ana.status())["stale_entries"] == 0

    asyncio.run(live())
    with Store(make(target, new())) as store:
        assert all(map(store.runtime.indexes.indexer.is_current, entries(store)))


def test_without_an_event_loop_closing_waits_for_the_batch_under_way(target):
    fill(target)
    clock, embedder = ManualClock(), Gated()
    store = Store(patient(target, embedder, clock, inline=True))
    answers(store)
    embedder.is_gated = True
    alarm = threading.Thread(target=lambda: clock.advance(seconds=START_S))
    alarm.start()
    embedder.begun.wait()

    closing = threading.Thread(target=store.close)
    closing.start()
    embedder.gate.set()
    closing.join()
    alarm.join()

    with Store(make(target, new())) as again:
        made = sum(map(again.runtime.indexes.indexer.is_current, entries(again)))
        assert made in (0, 64), "all of a batch or none"
    problems = store.runtime.part(ReindexWorker).problems
    assert problems in ((), ("reindexing:StoreUnavailable",))


def entries(store: Store):
    return [row.entry for row in all_rows(store)]


async def until(is_so) -> None:
    """Let others on the loop work until something is so."""
    for _ in range(1_000_000):
        if is_so():
            return
        await asyncio.sleep(0)
    raise AssertionError("it did not come to be")


def test_the_machines_own_alarm_gives_each_call_a_thread():
    from simonides.providers.system import ThreadedAlarm

    where, called = [], threading.Event()

    def call():
        where.append(threading.current_thread().name)
        called.set()

    ThreadedAlarm().after(0, call)

    assert called.wait(30)
    assert where == ["simonides-reindexing"]
