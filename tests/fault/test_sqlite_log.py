"""What was forgotten leaves the write-ahead log, whoever was reading at the time."""

import subprocess
import sys
import time

import pytest

from memstrata.adapters.store_sqlite import SqliteStore
from memstrata.testing.store_contract import MemoryStoreContract, drive

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
