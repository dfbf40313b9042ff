"""Where owners stand is remembered as long as nobody, in any process, has committed."""

import fcntl
import os
import subprocess
import sys

import apsw
import pytest

import simonides
from simonides.domain.scope import Scope
from simonides.domain.writing.change import Change, TurnRequest
from simonides.storage.sqlite.file.head_cache import (
    HEADER_BYTES,
    MAX_OWNERS,
    Heads,
    read_header,
)
from simonides.storage.sqlite.store import SqliteStore
from simonides.testing.store_contract import drive

ANA, BOB = Scope.of_user("acme", "ana"), Scope.of_user("acme", "bob")

WRITER = """
import sys, simonides
with simonides.open(sys.argv[1]) as opened_store:
    opened_store.memory(user="ana", org="acme").remember("Tea, please.")
"""

# A shared lock on this byte of the index says that somebody has the database open; who comes
# first and finds none begins the index anew (https://sqlite.org/walformat.html#wal_locks).
OPEN_BYTE = 128

ASKER = """
import fcntl, struct, sys
with open(sys.argv[1], "r+b") as index:
    asked = struct.pack("hhqqi4x", fcntl.F_WRLCK, 0, int(sys.argv[2]), 1, 0)
    print(struct.unpack("hhqqi4x", fcntl.fcntl(index, fcntl.F_GETLK, asked))[0])
"""


def is_held(database):
    """Whether any process holds the lock of who has a database open."""
    command = [sys.executable, "-c", ASKER, f"{database}-shm", str(OPEN_BYTE)]
    told = subprocess.run(command, capture_output=True, text=True, check=True)
    return int(told.stdout) != fcntl.F_UNLCK


def heads(store, *owners):
    return drive(store, store.heads(owners))


def written(store, owner, known_at=1):
    drive(store, store.commit(owner, TurnRequest(), lambda snapshot: Change(known_at=known_at)))


@pytest.fixture
def database(tmp_path):
    return tmp_path / "m.db"


@pytest.fixture
def store(database):
    store = SqliteStore.open(database)
    yield store
    drive(store, store.close())


@pytest.fixture
def statements(store):
    """What the store's readers are asked while the test runs."""
    heads(store, ANA)
    (reader,) = store._place._idle_readers
    asked = []
    reader.trace_v2(apsw.SQLITE_TRACE_STMT, lambda event: asked.append(event["sql"]))
    return asked


def test_an_owner_is_looked_up_once_while_nobody_writes(store, statements):
    assert heads(store, ANA) == heads(store, ANA) == (None,)
    assert not statements

    assert heads(store, ANA, BOB) == (None, None)
    assert len(statements) == 1


def test_what_this_process_wrote_is_seen(store, statements):
    written(store, ANA)

    (head,) = heads(store, ANA)

    assert head.revision == 1
    assert len(statements) == 1
    assert heads(store, ANA) == (head,)
    assert len(statements) == 1


def test_what_another_process_wrote_is_seen(database, store):
    assert heads(store, ANA) == (None,)

    subprocess.run([sys.executable, "-c", WRITER, str(database)], check=True)

    (head,) = heads(store, ANA)
    assert head.revision == 1


def test_what_is_being_written_is_not_yet_seen(store):
    def decide(snapshot):
        assert heads(store, ANA) == (None,)
        return Change(known_at=1)

    drive(store, store.commit(ANA, TurnRequest(), decide))

    assert heads(store, ANA) != (None,)


def test_a_log_that_begins_anew_hides_nothing(database, store):
    for revision in range(1, 4):
        written(store, ANA, known_at=revision)
        store._place.writer.wal_checkpoint(mode=apsw.SQLITE_CHECKPOINT_TRUNCATE)

        assert heads(store, ANA)[0].revision == revision


def test_more_owners_than_are_remembered_are_all_found(store, statements):
    written(store, ANA)
    many = [Scope.of_user("acme", f"u{number}") for number in range(MAX_OWNERS + 1)]

    assert heads(store, *many, ANA)[-1].revision == 1
    assert heads(store, ANA)[0].revision == 1


@pytest.mark.parametrize("header", [b"", bytes(HEADER_BYTES), b"\1" * HEADER_BYTES])
def test_a_header_of_another_format_is_nothing_to_go_by(tmp_path, header):
    index = tmp_path / "m.db-shm"
    index.write_bytes(header)
    descriptor = os.open(index, os.O_RDONLY)
    calls = []

    for _ in range(2):
        Heads(lambda: read_header(descriptor)).of([b"ana"], lambda: (calls.append(1),))
    os.close(descriptor)

    assert len(calls) == 2


def test_an_index_that_was_closed_is_nothing_to_go_by(tmp_path):
    index = tmp_path / "m.db-shm"
    index.write_bytes(b"")
    descriptor = os.open(index, os.O_RDONLY)
    os.close(descriptor)

    assert Heads(lambda: read_header(descriptor)).of([b"ana"], lambda: (None,)) == (None,)


def test_a_store_that_closes_leaves_the_locks_of_another_in_its_process(database, store):
    other = SqliteStore.open(database)
    assert heads(other, ANA) == heads(store, ANA) == (None,)

    drive(other, other.close())

    assert is_held(database)
    written(store, ANA)
    assert heads(store, ANA)[0].revision == 1


def test_a_recall_asks_the_file_nothing_while_nobody_writes(database):
    with simonides.open(database) as store:
        memory = store.memory(user="ana")
        memory.remember("Ana drinks green tea.")
        for _ in range(2):  # the first loads the owner
            memory.recall("tea")
        (reader,) = store.runtime.store._place._idle_readers
        asked = []
        reader.trace_v2(apsw.SQLITE_TRACE_STMT, lambda event: asked.append(event["sql"]))

        assert [hit.record.content for hit in memory.recall("tea")] == ["Ana drinks green tea."]
        assert not asked
