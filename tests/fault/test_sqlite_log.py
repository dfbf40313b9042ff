"""The write-ahead log: what was forgotten leaves it, and a thread copies it beside the writers."""

import os
import subprocess
import sys
import threading
import time
from contextlib import contextmanager, nullcontext
from pathlib import Path

import apsw
import pytest

import simonides
from simonides.domain.errors import StoreCorrupt, StoreUnavailable
from simonides.storage.sqlite.file import wal as sqlite_log
from simonides.storage.sqlite.file.schema import PAGE_BYTES
from simonides.storage.sqlite.file.wal import LogCopying
from simonides.storage.sqlite.store import SqliteStore
from simonides.testing.contracts.base import ALICE
from simonides.testing.store_contract import MemoryStoreContract, drive

contract = MemoryStoreContract()

READER = """
import sys, apsw
connection = apsw.Connection(sys.argv[1])
connection.execute("BEGIN").fetchall()
connection.execute("SELECT count(*) FROM memories").fetchall()
print("reading", flush=True)
for line in sys.stdin:
    if line == "commit\\n":
        connection.execute("COMMIT").fetchall()
    else:
        connection.close()
    print("done", flush=True)
"""


class Reader:
    """Another process with a read transaction open."""

    def __init__(self, database):
        command = [sys.executable, "-c", READER, str(database)]
        pipe = subprocess.PIPE
        self.process = subprocess.Popen(command, stdin=pipe, stdout=pipe, text=True)
        self.process.stdout.readline()

    def end(self, how):
        """End the transaction, the connection or the process, if it is still there."""
        if self.process.poll() is None:
            if how == "death":
                self.process.kill()
            else:
                self.process.stdin.write(f"{how}\n")
                self.process.stdin.flush()
                self.process.stdout.readline()
            if how != "commit":
                self.process.communicate()


def files_in(directory):
    return {path.name: path.read_bytes() for path in directory.iterdir()}


@pytest.fixture
def database(tmp_path):
    return tmp_path / "m.db"


@pytest.fixture
def store(database):
    store = SqliteStore.open(database)
    yield store
    drive(store, store.close())


@pytest.mark.parametrize("reader_ends_by", ["commit", "close", "death"])
def test_what_was_forgotten_leaves_the_log_though_a_reader_kept_it(store, database, reader_ends_by):
    samples, secret = contract.make, "the word is xyzzy"
    memory = samples.memory(secret)
    contract.add(store, memory)
    # Of another process: SQLite shares locks within one.
    reader = Reader(database)
    contract.write(store, samples.change(forgotten=(memory.id,)))
    drive(store, store.close())
    in_log = secret.encode() in database.with_name("m.db-wal").read_bytes()

    reader.end(reader_ends_by)
    again = SqliteStore.open(database)
    contract.seen_under_turn(again)
    opened = files_in(database.parent)
    drive(again, again.close())
    closed = files_in(database.parent)
    reader.end("close")

    assert in_log
    for content in (*opened.values(), *closed.values()):
        assert secret.encode() not in content


def test_closing_empties_a_log_that_a_reader_is_done_with(store, database):
    samples, secret = contract.make, "the word is xyzzy"
    memory = samples.memory(secret)
    contract.add(store, memory)
    reader = Reader(database)
    contract.write(store, samples.change(forgotten=(memory.id,)))
    reader.end("commit")
    drive(store, store.close())
    contents = files_in(database.parent).values()
    reader.end("close")

    assert all(secret.encode() not in content for content in contents)


def test_a_reader_in_the_way_delays_a_close_but_does_not_stop_it(store, database):
    contract.add(store, contract.make.memory())
    reader = Reader(database)
    contract.add(store, contract.make.memory())
    began = time.monotonic()
    drive(store, store.close())
    drive(again := SqliteStore.open(database), again.close())
    took = time.monotonic() - began
    reader.end("close")

    assert took < 5  # far below the 30 s that writers wait for each other


class Lending:
    """Lends a connection, and notes to which threads."""

    def __init__(self, connection, error=None):
        self.connection, self.error, self.threads = connection, error, []

    @contextmanager
    def __call__(self):
        self.threads.append(threading.current_thread().name)
        if self.error is not None:
            raise self.error
        yield self.connection


@pytest.fixture
def often(monkeypatch):
    """Few pages are worth copying."""
    monkeypatch.setattr(sqlite_log, "DUE_PAGES", 20)
    monkeypatch.setattr(sqlite_log, "LONGEST_PAGES", 80)


@pytest.fixture
def plain(tmp_path):
    """Two connections to a database with a log, one to write and one to copy."""
    connections = [apsw.Connection(str(tmp_path / "plain.db")) for _ in range(2)]
    for connection in connections:
        connection.pragma("journal_mode", "wal")
    connections[0].execute("CREATE TABLE t (x)")
    yield connections
    for connection in connections:
        connection.close()


def pages_in_log(database):
    """Return how many pages are in the log."""
    connection = apsw.Connection(str(database))
    connection.execute("SELECT count(*) FROM memories").fetchall()
    pages, _ = connection.wal_checkpoint(mode=apsw.SQLITE_CHECKPOINT_NOOP)
    connection.close()
    return pages


def grow(writer, copying, times):
    for _ in range(times):
        writer.execute("INSERT INTO t VALUES (zeroblob(4000))")
        copying.go_on()


class HeldFile(apsw.VFSFile):
    """A file that whoever writes to it tells of, and then waits until he may."""

    def __init__(self, name, flags, disk):
        super().__init__("", name, flags)
        self.disk = disk

    def xWrite(self, data, offset):  # noqa: N802 - SQLite's name
        self.disk.writing.set()
        assert self.disk.may_write.wait(20)
        return super().xWrite(data, offset)


class HeldDisk(apsw.VFS):
    def __init__(self):
        super().__init__("simonides-held", "")
        self.writing, self.may_write = threading.Event(), threading.Event()

    def xOpen(self, name, flags):  # noqa: N802 - likewise
        return HeldFile(name, flags, self)


@pytest.fixture
def held(store, database):
    """A connection that copies as far as it is let, and its disk."""
    disk = HeldDisk()
    connection = apsw.Connection(str(database), vfs="simonides-held")
    connection.execute("SELECT count(*) FROM memories").fetchall()
    yield connection, disk
    connection.close()
    disk.unregister()


@pytest.mark.parametrize("by_thread", [True, False], ids=["the thread", "another process"])
def test_what_is_forgotten_while_the_log_is_copied_leaves_it_all_the_same(
    store, database, held, by_thread, monkeypatch
):
    connection, disk = held
    # Another process is not waited for as long as a busy machine may take to let it go on.
    monkeypatch.setattr(sqlite_log, "_WAIT_MS", 10 if by_thread else 20_000)
    samples, secret = contract.make, "the word is xyzzy"
    memory = samples.memory(secret)
    contract.add(store, memory)
    copying = threading.Thread(target=connection.wal_checkpoint)
    if by_thread:
        monkeypatch.setattr(store._place._copying, "_reading", Lending(connection))
        monkeypatch.setattr(sqlite_log, "DUE_PAGES", 1)
        contract.add(store, samples.memory())
    else:
        copying.start()
    assert disk.writing.wait(20)

    change = samples.change(forgotten=(memory.id,))
    forgetting = threading.Thread(target=contract.write, args=(store, change))
    forgetting.start()
    forgetting.join(0.2)  # It has tried by then.
    disk.may_write.set()
    forgetting.join()
    in_log = secret.encode() in database.with_name("m.db-wal").read_bytes()
    store._place._copying.close()
    if not by_thread:
        copying.join()

    assert not in_log


def test_a_thread_copies_the_log_and_the_next_write_begins_it_anew(store, database, often):
    before = 0
    while before < 20:
        contract.add(store, contract.make.memory())
        before = pages_in_log(database)
    store._place._copying.close()
    contract.add(store, contract.make.memory())

    assert pages_in_log(database) < 20


def test_who_commits_does_not_copy(plain, often):
    writer, other = plain
    lending = Lending(other)
    copying = LogCopying(writer, None, reading=lending, turn=nullcontext)
    grow(writer, copying, 30)
    copying.close()

    assert len(lending.threads) >= 2
    assert all(name.startswith("simonides-log") for name in lending.threads)


def test_what_could_not_be_copied_beside_the_writers_is_copied_under_the_turn(plain, often):
    writer, other = plain
    lending = Lending(other)
    reader = apsw.Connection(writer.filename)
    reader.execute("BEGIN; SELECT * FROM t").fetchall()

    @contextmanager
    def turn():
        reader.close()
        yield

    copying = LogCopying(writer, None, reading=lending, turn=turn)
    while not lending.threads:
        grow(writer, copying, 1)
    copying.close()
    grow(writer, copying, 1)

    assert len(lending.threads) == 2
    assert writer.wal_checkpoint(mode=apsw.SQLITE_CHECKPOINT_NOOP)[0] < 20


def test_a_reader_who_stays_keeps_the_log_growing_and_nothing_else(store, database, often):
    contract.add(store, contract.make.memory())
    reader = Reader(database)
    kept = [contract.make.memory() for _ in range(40)]
    for memory in kept:
        contract.add(store, memory)
    held = pages_in_log(database)
    reader.end("close")
    shrunk = False
    for _ in range(200):
        contract.add(store, contract.make.memory())
        shrunk = shrunk or pages_in_log(database) < 20

    assert held >= 80
    assert shrunk
    assert len(drive(store, store.get(ALICE, [memory.id for memory in kept]))) == len(kept)


def test_what_cannot_be_copied_is_tried_again_when_as_much_more_has_come(plain, often):
    writer, other = plain
    lending = Lending(other, error=StoreUnavailable("plain.db", "the disk is away"))
    copying = LogCopying(writer, None, reading=lending, turn=nullcontext)
    while not lending.threads:
        grow(writer, copying, 1)
    copying._threads.submit(int).result()
    first = len(lending.threads)
    grow(writer, copying, 3)
    copying._threads.submit(int).result()
    soon = len(lending.threads)
    lending.error = None
    grow(writer, copying, 12)
    copying.close()

    assert (first, soon) == (1, 1)
    assert len(lending.threads) > 1
    assert writer.execute("SELECT count(*) FROM t").get > 15


def test_where_no_thread_can_be_started_who_committed_copies_after_his_turn(
    plain, often, monkeypatch
):
    writer, other = plain
    lending = Lending(other)
    copying = LogCopying(writer, None, reading=lending, turn=nullcontext)

    def none_left(*_):
        raise RuntimeError("can't start new thread")

    monkeypatch.setattr("concurrent.futures.ThreadPoolExecutor.submit", none_left)
    grow(writer, copying, 30)
    copying.close()

    assert lending.threads
    assert set(lending.threads) == {threading.current_thread().name}


def test_a_log_that_nobody_copies_does_not_grow_for_ever(plain, often):
    writer, other = plain
    copying = LogCopying(writer, None, reading=Lending(other), turn=nullcontext)
    copying.close()
    grow(writer, copying, 300)

    size, _ = writer.wal_checkpoint(mode=apsw.SQLITE_CHECKPOINT_NOOP)
    assert size <= 80


def test_who_wants_the_file_for_himself_waits_for_the_thread(store, often):
    keys = drive(store, store.keys())
    for _ in range(20):
        contract.add(store, contract.make.memory())
        drive(store, store.begin_arrivals(keys))
        drive(store, store.end_arrivals())


def test_a_file_that_was_cut_while_its_log_was_copied_is_whole_with_its_log(tmp_path):
    whole, cut = tmp_path / "whole.db", tmp_path / "cut.db"
    with simonides.open(whole) as store:
        store.memory(user="ana").remember("Ana likes tea")
    connection = apsw.Connection(str(whole))
    connection.pragma("wal_autocheckpoint", 0)
    connection.execute("VACUUM")  # every page is in the log now
    log = Path(f"{whole}-wal").read_bytes()
    connection.wal_checkpoint(mode=apsw.SQLITE_CHECKPOINT_PASSIVE)
    cut.write_bytes(whole.read_bytes()[: 3 * PAGE_BYTES])
    Path(f"{cut}-wal").write_bytes(log)
    connection.close()

    with simonides.open(cut) as store:
        assert [each.content for each in store.memory(user="ana").list()] == ["Ana likes tea"]
        assert store.admin(actor="root").check_audit().ok


def test_a_file_that_is_cut_and_has_no_log_is_damaged(tmp_path):
    path = tmp_path / "m.db"
    with simonides.open(path) as store:
        store.memory(user="ana").remember("Ana likes tea")
    os.truncate(path, 3 * PAGE_BYTES)

    with pytest.raises(StoreCorrupt):
        simonides.open(path)
