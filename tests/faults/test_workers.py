"""Workers that are killed, or compete for the same jobs, do each job once and whole."""

import json
import os
import signal
import subprocess
import sys
import time
from datetime import UTC, datetime, timedelta

import pytest
from harness import FAULTS, FEW, MANY, PATIENCE_S, SOURCES, check, child, converse, read_line
from test_ends import fit

import simonides
from simonides.testing import ManualClock, SmallEmbedder

KILLS, CARED = 10 * FAULTS, 4 * FAULTS
DUE = 20 * FAULTS

shared = pytest.mark.parametrize("place", ["file", "postgres"], indirect=True)


def killed(work, place, hours, kills=KILLS, begun=None, embedder="none"):
    """Yield the number of each process that was killed in its work, with the store afterwards.

    The store is opened some hours after the process has begun, by default now.
    """
    process = child(work, place, count=kills)
    try:
        for seed in range(kills):
            assert read_line(process) == f"{seed} {signal.SIGKILL:d}\n"
            clock = ManualClock((begun or datetime.now(UTC)) + timedelta(hours=hours))
            with place(embedder=embedder, clock=clock) as store:
                yield seed, store
            process.stdin.write("\n")
            process.stdin.flush()
        assert process.communicate(timeout=PATIENCE_S) == ("", "")
    finally:
        process.kill()
    check(place, [])


@shared
def test_a_worker_that_is_killed_anywhere_loses_nothing_and_repeats_nothing(place):
    for seed, store in killed("work_until_killed", place, hours=2):  # after the lease
        assert store._engine.worker.flush()["failed"] == 0
        fit(store, f"user{seed}")


@shared
def test_a_collection_that_is_killed_anywhere_takes_what_has_ended_and_nothing_else(place):
    for seed, store in killed("collect_until_killed", place, hours=72):
        memory = store.memory(user=f"user{seed}")
        memory.maintenance.gc()
        assert [each.content for each in memory.list()] == ["Coffee"]
        assert [each.content for each in memory.history("drink")] == ["Tea", "Coffee"]
        assert len(memory.audit.list(type="collected", limit=1000)) == 70


def cared_for(work, place):
    """Yield the memories of each user whose care was killed, an hour later."""
    hours, begun = 24 * 125 + 1, ManualClock().now
    for seed, store in killed(work, place, hours, CARED, begun, SmallEmbedder()):
        memory = store.memory(user=f"user{seed}")
        yield memory
        shown = memory.list(limit=1000)
        assert len({each.root for each in shown}) == len(shown)
        assert all(
            len(memory.history(each)) == each.version for each in shown if each.key != "drink"
        )
        texts = {each.content for each in shown}
        assert {f"I prefer seat {n}" for n in range(MANY)} | {"Coffee", "The lamp is brass"} < texts
        assert memory.audit.verify()


def counted(memory, type):
    return len(memory.audit.list(type=type, limit=1000))


@shared
def test_a_collection_that_is_killed_anywhere_takes_everything_once(place):
    for memory in cared_for("tend_until_killed", place):
        memory.maintenance.gc()
        again = memory.maintenance.gc().to_dict()
        assert not any(n for name, n in again.items() if type(n) is int)
        kinds = ("collected", "evicted", "stale_marked")
        # Each ticket and the older drink; each host; each guess.
        assert [counted(memory, kind) for kind in kinds] == [MANY + 1, FEW, FEW]
        assert [each.content for each in memory.history("drink")] == ["Coffee"]
        guesses = [each for each in memory.list(limit=1000) if each.content.startswith("She")]
        assert [each.status for each in guesses] == ["stale"] * FEW


@shared
def test_a_look_that_is_killed_anywhere_asks_and_merges_everything_once(place):
    for memory in cared_for("look_until_killed", place):
        memory.maintenance.hygiene()
        again = memory.maintenance.hygiene().to_dict()
        assert not any(n for name, n in again.items() if type(n) is int)
        asked = [side.content for each in memory.pending.list() for side in each.sides]
        assert sorted(asked) == sorted(f"I prefer seat {n}" for n in range(MANY))
        assert (counted(memory, "asked"), counted(memory, "merged")) == (MANY, 1)


@shared
def test_a_consolidation_that_is_killed_anywhere_is_done_once_and_whole(place):
    for memory in cared_for("draw_until_killed", place):
        memory.maintenance.consolidate()
        assert memory.maintenance.consolidate().id is None
        [done] = memory.maintenance.consolidations()
        assert (len(done.insights), len(done.merged), counted(memory, "merged")) == (1, 1, 1)
        insights = [each for each in memory.list(limit=1000) if each.category == "insight"]
        assert ["mill" in each.content for each in insights] == [True]


@shared
def test_of_two_processes_one_does_each_job(place):
    with place(embedder="none", settings=simonides.Settings(end_on_close=False)) as store:
        for n in range(DUE):
            converse(store, f"user{n}")
        processes = [child("work_when_told", place) for _ in range(2)]
        for process in processes:
            assert read_line(process) == "ready\n"
        for process in processes:
            process.stdin.write("\n")
            process.stdin.flush()
        told = [process.communicate(timeout=PATIENCE_S) for process in processes]
        assert [errors for _, errors in told] == ["", ""]
        counts = [tuple(map(int, out.split())) for out, _ in told]
        assert (sum(done for done, _ in counts), sum(failed for _, failed in counts)) == (DUE, 0)
        for n in range(DUE):
            fit(store, f"user{n}")
    check(place, [])


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_worker_on_the_command_line_runs_until_a_signal(file_place, number):
    hour_ago = ManualClock(datetime.now(UTC) - timedelta(hours=1))
    settings = simonides.Settings(end_on_close=False)
    with file_place(embedder="none", clock=hour_ago, settings=settings, audit_key=None) as store:
        converse(store, "user0")
        process = subprocess.Popen(
            [sys.executable, "-m", "simonides", "--store", file_place.target, "--json", "worker"],
            stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
            env={**os.environ, "PYTHONPATH": str(SOURCES)},
        )  # fmt: skip
        try:
            deadline = time.monotonic() + PATIENCE_S
            while store.memory(user="user0").sessions()[0].is_open:
                assert time.monotonic() < deadline
                assert process.poll() is None, process.communicate()
                time.sleep(0.05)
            process.send_signal(number)
            out, errors = process.communicate(timeout=PATIENCE_S)
        finally:
            process.kill()
    assert (process.returncode, errors) == (0, "")
    assert json.loads(out) == {"done": 1, "put_off": 0, "failed": 0}
