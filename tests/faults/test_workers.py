"""Workers that are killed, or compete for the same jobs, do each job once and whole."""

import json
import os
import signal
import subprocess
import sys
import time
from datetime import UTC, datetime, timedelta

import pytest
from harness import FAULTS, PATIENCE_S, SOURCES, check, child, converse, read_line
from test_ends import fit

import simonides
from simonides.testing import ManualClock

KILLS = 10 * FAULTS
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
