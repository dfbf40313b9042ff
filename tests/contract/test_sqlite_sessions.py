"""Sessions in a SQLite file keep the contract, alone and beside memories."""

from pathlib import Path

import pytest

from memstrata.adapters.session_sqlite import SqliteSessionStore
from memstrata.adapters.store_sqlite import SqliteStore
from memstrata.testing.session_contract import SessionStoreContract, drive


class TestSqliteSessions(SessionStoreContract):
    inline = True

    @pytest.fixture
    def store(self, tmp_path):
        store = self.opened(tmp_path / "m.db")
        yield store
        drive(store, store.close())

    def opened(self, path):
        return SqliteSessionStore.open(path, synchronous="normal", inline=self.inline)

    def reopened(self, store):
        drive(store, store.close())
        return self.opened(Path(store.location))


class TestSqliteSessionsOnTheirOwnThread(TestSqliteSessions):
    inline = False


class TestSqliteSessionsBesideMemories(TestSqliteSessions):
    @pytest.fixture
    def store(self, tmp_path):
        memories = SqliteStore.open(tmp_path / "m.db", synchronous="normal")
        store = self.opened(tmp_path / "m.db")
        yield store
        drive(store, store.close())
        drive(memories, memories.close())
