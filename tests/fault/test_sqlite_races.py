"""Many threads and many processes on one key of one file: no error, nothing lost, equal shares."""

import subprocess
import sys
import threading
from itertools import chain
from pathlib import Path

import pytest
from racing import Writer, check_store

from memstrata.adapters.store_sqlite import SqliteStore
from memstrata.testing.store_contract import drive

THREADS = 100
PROCESSES = 8
MOST_WRITES = 20_000

# Seconds in which shares are counted. Chosen: some dozen turns for each of 108 writers.
WINDOW_S = 4.0

# SPEC'd in the issue: shares within 2 × of each other.
FAIR = 2.0


@pytest.fixture
def database(tmp_path):
    return tmp_path / "m.db"


def in_processes(database, count, synchronous="full"):
    command = [sys.executable, str(Path(__file__).with_name("racing.py")), str(database)]
    rest = [str(WINDOW_S), str(MOST_WRITES), synchronous]
    children = [
        subprocess.Popen(
            [*command, f"process {n}", *rest],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        for n in range(count)
    ]
    for child in children:
        assert child.stdout.readline() == "ready\n", child.stderr.read()
    return children


def finish(children):
    """Return what each process acknowledged, once all have ended well."""
    answers = [child.communicate(timeout=60) for child in children]
    assert [errors for _, errors in answers] == [""] * len(children)
    assert [child.returncode for child in children] == [0] * len(children)
    return [written.split() for written, _ in answers]


def start_together(children):
    for child in children:
        child.stdin.write("go\n")
        child.stdin.flush()


def check_shares(acknowledged):
    shares = sorted(len(ids) for ids in acknowledged)
    # Fewer turns than this say nothing about shares.
    assert shares[0] >= 3, shares
    assert shares[-1] <= FAIR * shares[0], shares


def in_threads(store, count):
    writers = [Writer(store, f"thread {n}") for n in range(count)]
    errors = []

    def run(writer):
        try:
            everyone.wait()
            writer.write_for(WINDOW_S, MOST_WRITES)
        except BaseException as error:
            errors.append(error)
            raise

    everyone = threading.Barrier(count + 1)
    threads = [threading.Thread(target=run, args=(writer,)) for writer in writers]
    for thread in threads:
        thread.start()
    return writers, threads, errors, everyone


def test_a_hundred_threads_share_one_store(database):
    store = SqliteStore.open(database, synchronous="normal")
    writers, threads, errors, everyone = in_threads(store, THREADS)
    everyone.wait()
    for thread in threads:
        thread.join()
    drive(store, store.close())

    acknowledged = [writer.acknowledged for writer in writers]
    assert errors == []
    check_store(database, list(chain(*acknowledged)))
    check_shares(acknowledged)


def test_eight_processes_share_one_file(database):
    children = in_processes(database, PROCESSES)
    start_together(children)
    acknowledged = finish(children)

    check_store(database, list(chain(*acknowledged)))
    check_shares(acknowledged)


def test_threads_and_processes_stand_in_one_line(database):
    store = SqliteStore.open(database, synchronous="normal")
    writers, threads, errors, everyone = in_threads(store, THREADS)
    children = in_processes(database, PROCESSES, "normal")
    start_together(children)
    everyone.wait()
    for thread in threads:
        thread.join()
    of_processes = finish(children)
    drive(store, store.close())

    acknowledged = [*(writer.acknowledged for writer in writers), *of_processes]
    assert errors == []
    check_store(database, list(chain(*acknowledged)))
    check_shares(acknowledged)


def test_two_stores_of_one_process_share_one_line(database):
    stores = [SqliteStore.open(database, synchronous="normal") for _ in range(2)]
    raced = [in_threads(store, 10) for store in stores]
    for _, _, _, everyone in raced:
        everyone.wait()
    for thread in [thread for _, threads, _, _ in raced for thread in threads]:
        thread.join()
    for store in stores:
        drive(store, store.close())

    acknowledged = [writer.acknowledged for writers, _, _, _ in raced for writer in writers]
    assert [errors for _, _, errors, _ in raced] == [[], []]
    check_store(database, list(chain(*acknowledged)))
    check_shares(acknowledged)


def test_eight_processes_may_open_a_fresh_path_at_once(database):
    racer = str(Path(__file__).with_name("racing.py"))
    command = [sys.executable, racer, str(database), "opener", "60", "5", "normal"]
    children = [
        subprocess.Popen(
            command,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        for _ in range(PROCESSES)
    ]

    answers = [child.communicate("go\n", timeout=60) for child in children]

    assert [errors for _, errors in answers] == [""] * PROCESSES
    check_store(database, [id for written, _ in answers for id in written.split()[1:]])
