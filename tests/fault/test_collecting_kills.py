"""Killed at any moment, collecting leaves each memory as it was or as it should be, and goes on."""

import os
import threading

import pytest
from killing import Child

from simonides import Draft
from simonides.api.open.assemble import assemble
from simonides.api.sync import Store
from simonides.domain.codecs.memory import status_of
from simonides.domain.scope import Scope
from simonides.engine.maintenance import gc as collecting
from simonides.engine.maintenance.gc import LEASE_US
from simonides.settings import Settings
from simonides.testing import ManualClock
from simonides.testing.store_contract import drive

ANA = Scope.of_user("default", "ana")
COUNT = 60
TURN = 6
KILLS = 8
STEP_S = 300e-6
TOOL = {"source": "tool_verified", "category": "tool_result"}
FACT = {"source": "tool_verified", "category": "entity_fact"}


def opened(target, days, leases=0) -> Store:
    clock = ManualClock()
    clock.advance(days=days, us=leases * LEASE_US)
    settings = Settings(embedder="none", synchronous="normal")
    return Store(assemble(target, inline=True, settings=settings, clock=clock))


def fill(target) -> None:
    with opened(target, 0) as store:
        ana = store.memory(user="ana")
        said = [Draft(f"Build {n} is green", **TOOL) for n in range(COUNT)]
        said += [Draft(f"Room {n} has a desk", **FACT) for n in range(COUNT)]
        said += [Draft(f"us-east-{n}", key=f"region_{n}", **FACT) for n in range(COUNT)]
        ana.remember_many(said)
    with opened(target, 1) as store:
        ana = store.memory(user="ana")
        ana.remember_many([Draft(f"eu-west-{n}", key=f"region_{n}") for n in range(COUNT)])
        ana.recall("Room 7 has a desk", limit=20)


def standing(opened) -> dict[str, str]:
    store = opened.runtime.store
    rows = drive(store, store.rows(ANA, limit=10 * COUNT))
    return {row.id: status_of(row.state).value for row in rows}


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system does not fork")
def test_killed_at_any_point_collecting_is_gone_on_with(tmp_path, monkeypatch):
    monkeypatch.setattr(collecting, "TURN_ROWS", TURN)
    monkeypatch.setattr(collecting, "PURGED_ROWS", 2 * TURN)
    target = str(tmp_path / "m.db")
    fill(target)
    with opened(target, 350) as store:
        before = standing(store)
        wanted = store.admin(actor="root").gc(dry_run=True)
    wanted = {rule: count for rule, count in wanted.counts.items() if rule != "in_review"}
    assert set(wanted) == {"hard_expired", "queued", "superseded_old"}

    for turn in range(KILLS):

        def work(say, turn=turn):
            with opened(target, 350, leases=turn) as store:
                store.admin(actor="root").gc(
                    progress=lambda report: say(sum(report.counts.values()))
                )
                say("end")
                threading.Event().wait()

        child = Child(work)
        child.hear(1)
        threading.Event().wait(turn * STEP_S)
        child.kill()

        with opened(target, 350, leases=turn) as store:
            now = standing(store)
            assert set(now) <= set(before)
            assert {now[id] for id in now} <= {"active", "superseded", "stale", "evicted"}
            assert all(before[id] == "superseded" for id in set(before) - set(now))
            assert len(store.memory(user="ana").list(limit=1_000)) == 2 * COUNT
            assert drive(store.runtime.store, store.runtime.store.damaged(ANA)) == ()
            assert store.admin(actor="root").check_audit().ok
    with opened(target, 350, leases=KILLS) as store:
        store.admin(actor="root").gc()
        done = list(standing(store).values())
        assert done.count("evicted") == wanted["hard_expired"]
        assert done.count("stale") == wanted["queued"]
        assert len(before) - len(done) == wanted["superseded_old"]
        assert set(store.admin(actor="root").gc().counts) <= {"in_review"}


def test_of_two_at_once_one_collects(tmp_path, monkeypatch):
    monkeypatch.setattr(collecting, "TURN_ROWS", TURN)
    target = str(tmp_path / "m.db")
    fill(target)
    reports, begun = [], threading.Barrier(2)

    def work():
        with opened(target, 350) as store:
            begun.wait()
            reports.append(store.memory(user="ana").maintenance.gc())

    threads = [threading.Thread(target=work) for _ in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert sum(report["hard_expired"] for report in reports) == COUNT
    assert sum(report["superseded_old"] for report in reports) == COUNT
    with opened(target, 350) as store:
        assert list(standing(store).values()).count("evicted") == COUNT
        assert store.admin(actor="root").check_audit().ok
