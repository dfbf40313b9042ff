"""The SQLite store keeps the contract, on the caller's thread and on one of its own."""

from pathlib import Path

import pytest

from simonides.adapters.store_sqlite import SqliteStore
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
