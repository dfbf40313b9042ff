"""Many threads and many processes on one key of one file: no error, nothing lost, equal shares."""

import subprocess
import sys
from itertools import chain
from pathlib import Path

import pytest
from crowds import SHORT_S, WINDOW_S, check_shares, finish, in_processes, in_threads, start_together
from racing import check_store

from simonides.storage.sqlite.store import SqliteStore
from simonides.testing.store_contract import drive

THREADS = 100
PROCESSES = 8


@pytest.fixture
def database(tmp_path):
    return tmp_path / "m.db"


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
    children = in_processes(database, PROCESSES, "normal", window=WINDOW_S)
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
    raced = [in_threads(store, 10, window=SHORT_S) for store in stores]
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
