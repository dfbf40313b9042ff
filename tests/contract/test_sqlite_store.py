"""The SQLite store keeps the contract: in a file, on the caller's thread and on one of its own, and
in memory.
"""

import time
from pathlib import Path

import pytest

from simonides.domain.writing.change import IdempotencyRecord
from simonides.storage.sqlite.store import SqliteStore
from simonides.testing.samples import ALICE
from simonides.testing.store_contract import MemoryStoreContract, drive


class TestSqliteStore(MemoryStoreContract):
    inline = True

    @pytest.fixture
    def store(self, tmp_path):
        store = SqliteStore.open(tmp_path / "m.db", synchronous="normal", inline=self.inline)
        yield store
        drive(store, store.close())

    def reopened(self, store):
        drive(store, store.close())
        return SqliteStore.open(Path(store.location), inline=self.inline)


class TestSqliteStoreOnItsOwnThread(TestSqliteStore):
    inline = False


class TestSqliteStoreWhoseFileIsMadeLate(MemoryStoreContract):
    inline = True

    @pytest.fixture
    def store(self, tmp_path):
        store = self.opened(tmp_path / "m.db")
        yield store
        drive(store, store.close())

    def opened(self, path):
        return SqliteStore.open(path, synchronous="normal", inline=self.inline, late=True)

    def reopened(self, store):
        drive(store, store.close())
        return self.opened(Path(store.location))


class TestSqliteStoreWhoseFileItsOwnThreadMakesLate(TestSqliteStoreWhoseFileIsMadeLate):
    inline = False


class TestSqliteStoreInMemory(MemoryStoreContract):
    @pytest.fixture
    def store(self):
        store = SqliteStore.in_memory()
        yield store
        drive(store, store.close())

    def seconds(self, store, change):
        """Processor time of a commit on this thread; what else runs does not count."""
        began = time.thread_time()
        self.write(store, change)
        return time.thread_time() - began

    def seconds_of_keys(self, number):
        records = tuple(IdempotencyRecord(f"{n}", b"r", b"{}") for n in range(number))
        return self.seconds(SqliteStore.in_memory(), self.make.change(idempotency=records))

    def seconds_of_forgetting(self, number):
        store, many = SqliteStore.in_memory(), [self.make.memory() for _ in range(number)]
        self.add(store, *many)
        ids = tuple(memory.id for memory in many)
        return self.seconds(store, self.make.change(forgotten=ids))

    @pytest.mark.parametrize("seconds_of", [seconds_of_keys, seconds_of_forgetting])
    def test_a_large_change_costs_no_more_for_each(self, seconds_of):
        few = min(seconds_of(self, 500) for _ in range(3))
        many = min(seconds_of(self, 8000) for _ in range(2))

        # 16 times as much work; what grows with the square takes 256 times as long.
        assert many < 90 * few

    @pytest.mark.parametrize(
        "damage",
        ["body = x'7b7d'", "version = 2", "mac = zeroblob(32)"],
    )
    def test_a_damaged_memory_is_found(self, store, damage):
        memory, _ = self.stored(store), self.stored(store)
        with store._turn() as connection:
            connection.execute(f"UPDATE memories SET {damage} WHERE id = ?", (memory.id,))

        assert drive(store, store.damaged(ALICE)) == (memory.id,)
