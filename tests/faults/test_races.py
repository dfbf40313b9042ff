"""Threads and processes that write and read at once."""

import json
import sqlite3
import subprocess
import sys
import threading

import pytest
from harness import FAULTS, acknowledged, check, child, crowd, read_line

import simonides

OVERWRITES = 30 * FAULTS
READS = 2_000 * FAULTS


shared = pytest.mark.parametrize("place", ["file", "postgres"], indirect=True)


def fit(place, ids):
    """Check a key that many wrote: one value, a chain of versions without a gap, nothing lost."""
    store = place(embedder="none")
    ana = store.memory(user="ana")
    [current] = [record for record in ana.list(limit=100) if record.key == "home"]
    history = ana.history("home")
    assert [record.version for record in history] == list(range(1, len(history) + 1))
    assert sum(record.is_current for record in history) == 1
    assert current.id in {record.id for record in history}
    assert set(ids) <= {record.id for record in history}
    assert store.admin(actor="test").verify_audit()


@shared
def test_100_threads_write_one_key(place):
    store, ids = place(embedder="none"), []

    def work(n):
        for m in range(FAULTS):
            outcome = store.memory(user="ana").remember(f"thread {n} says {m}", key="home")
            ids.append(outcome.record.id)

    crowd(100, work)
    assert len(ids) == 100 * FAULTS
    fit(place, ids)


@shared
def test_8_processes_write_one_key_and_none_starves(place):
    processes = [child("overwrite", place, n, OVERWRITES) for n in range(8)]
    for process in processes:
        assert read_line(process) == "ready\n"
    for process in processes:
        process.stdin.write("\n")
        process.stdin.flush()
    done = [process.communicate(timeout=120) for process in processes]
    assert [errors for _, errors in done] == [""] * 8
    written = [acknowledged(out) for out, _ in done]
    assert [len(each) for each in written] == [OVERWRITES] * 8
    fit(place, [id for each in written for _, id in each])
    if place.backend == "postgres":
        return  # the server's own queue decides
    # When the first is done, none has starved; with many writes, none has done less than half.
    times = [[float(line.split()[2]) for line in out.splitlines()] for out, _ in done]
    end = min(each[-1] for each in times)
    shares = [sum(time <= end for time in each) for each in times]
    assert min(shares) > 0
    assert FAULTS < 10 or max(shares) <= 2 * min(shares), shares


@shared
def test_a_read_beside_a_writer_never_misses_a_key(place):
    store = place(embedder="none")
    writer, reader = store.memory(user="ana"), place(embedder="none").memory(user="ana")
    writer.remember("the deploy region is number 0", key="region")
    stop = threading.Event()

    def work(n):
        if n == 0:
            m = 0
            while not stop.is_set():
                m += 1
                writer.remember(f"the deploy region is number {m}", key="region")
            return
        try:
            memory = (writer, reader)[n - 1]
            for _ in range(READS // 4):
                assert [hit.record.key for hit in memory.recall("deploy region")] == ["region"]
                assert memory.get("region").is_current
        finally:
            if n == 1:
                stop.set()

    crowd(3, work)


@shared
def test_50_owners_write_at_once(place):
    store, written = place(embedder="none"), []

    def work(n):
        for m in range(4 * FAULTS):
            outcome = store.memory(user=f"user{n}").remember(f"fact {m}")
            written.append((f"user{n}", outcome.record.id))

    crowd(50, work)
    assert len(written) == 200 * FAULTS
    check(place, written)


def test_a_writer_waits_no_longer_than_it_may_and_says_for_whom(file_place):
    file_place(embedder="none").memory(user="ana").remember("first")
    program = (
        "import fcntl, os, sys; f = os.open(sys.argv[1], os.O_RDWR); fcntl.flock(f, fcntl.LOCK_EX);"
        "os.pwrite(f, b'%-20d' % os.getpid(), 0); print(os.getpid(), flush=True); sys.stdin.read()"
    )
    holder = subprocess.Popen(
        [sys.executable, "-c", program, f"{file_place.target}-lock"],
        stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
    )  # fmt: skip
    try:
        pid = holder.stdout.readline().strip()
        settings = simonides.Settings(busy_timeout_s=0.2)
        with pytest.raises(simonides.StoreUnavailable, match="process") as caught:
            file_place(embedder="none", settings=settings).memory(user="ben").remember("late")
        assert pid in str(caught.value)
        assert file_place.opened[0].memory(user="ana").list()
    finally:
        holder.communicate(timeout=10)
    assert file_place.opened[0].memory(user="ana").remember("second")


def test_who_fails_in_a_shared_commit_fails_alone(file_place):
    store = file_place(embedder="none")
    db, written, failed = store._engine.db, [], []

    def work(n):
        for m in range(10 * FAULTS):
            owner = f"user{n % 15}"
            if (n + m) % 3 == 0:
                with pytest.raises(ZeroDivisionError), db.write(f"/user/{owner}") as connection:  # noqa: PT012
                    connection.run(
                        "INSERT INTO meta (name, value) VALUES (:name, '')",
                        {"name": f"phantom {n} {m}"},
                    )
                    raise ZeroDivisionError
                failed.append(n)
            else:
                outcome = store.memory(user=owner).remember(f"thread {n} fact {m}")
                written.append((owner, outcome.record.id))

    crowd(30, work)
    assert failed
    assert len(failed) + len(written) == 300 * FAULTS
    check(file_place, written)
    with sqlite3.connect(file_place.target) as raw:
        names = [name for (name,) in raw.execute("SELECT name FROM meta")]
    raw.close()
    assert [name for name in names if name.startswith("phantom")] == []


def test_a_commit_that_fails_fails_for_all_that_share_it(file_place):
    store = file_place(embedder="none")
    store.memory(user="ana").remember("first")
    commits, written, failed = [0], [], []

    def refuse():
        commits[0] += 1
        return commits[0] % 4 == 0

    store._engine.db._writer.raw.set_commit_hook(refuse)

    def work(n):
        for m in range(10 * FAULTS):
            user, text = f"user{n}", f"thread {n} fact {m}"
            try:
                outcome = store.memory(user=user).remember(text)
            except simonides.StoreError:
                failed.append((user, text))
            else:
                written.append((user, outcome.record.id))

    crowd(20, work)
    store._engine.db._writer.raw.set_commit_hook(None)
    assert failed
    assert written
    assert len(failed) + len(written) == 200 * FAULTS
    check(file_place, written)
    for opened in (store, file_place(embedder="none")):
        for user in {user for user, _ in failed}:
            lost = {text for each, text in failed if each == user}
            memory = opened.memory(user=user)
            assert lost.isdisjoint(record.content for record in memory.list(limit=1000))
            assert lost.isdisjoint(hit.content for hit in memory.recall("thread", limit=1000))


@shared
def test_closing_waits_for_running_calls_and_refuses_later_ones(place):
    store, written, ended = place(embedder="none"), [], []
    running = threading.Barrier(9)

    def work(n):
        if n == 8:
            running.wait(10)
            store.close()
            return
        memory, m = store.memory(user=f"user{n}"), 0
        while True:
            try:
                outcome = memory.remember(f"fact {m}")
                written.append((f"user{n}", outcome.record.id))
                memory.recall("fact")
            except simonides.StoreUnavailable as error:
                ended.append(json.dumps(str(error)))
                return
            if m == 0:
                running.wait(10)
            m += 1

    crowd(9, work)
    assert len(ended) == 8
    with pytest.raises(simonides.StoreUnavailable):
        store.memory(user="ana").remember("late")
    with pytest.raises(simonides.StoreUnavailable):
        store.memory(user="ana").recall("late")
    check(place, written)
