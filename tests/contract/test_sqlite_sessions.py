"""Sessions in a SQLite database keep the contract: in a file and in memory, alone and beside
memories.
"""

from pathlib import Path

import pytest

from simonides.domain.errors import StoreUnavailable
from simonides.storage.sqlite.sessions import SqliteSessionStore
from simonides.storage.sqlite.store import SqliteStore
from simonides.testing.contracts.session_store import SessionStoreContract, drive
from simonides.testing.samples import ALICE


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


class TestSqliteSessionsOfAnOpenStore(TestSqliteSessions):
    """Over the connections of the store that has the file open, as a simonides opens them."""

    @pytest.fixture
    def store(self, tmp_path):
        self.memories = SqliteStore.open(tmp_path / "m.db", synchronous="normal")
        yield SqliteSessionStore(self.memories)
        drive(self.memories, self.memories.close())

    def reopened(self, store):
        drive(self.memories, self.memories.close())
        self.memories = SqliteStore.open(store.location, synchronous="normal")
        return SqliteSessionStore(self.memories)

    def test_closing_the_sessions_leaves_the_memories_open(self, store):
        drive(store, store.close())

        assert drive(self.memories, self.memories.owners()) == ()

    def test_a_closed_file_has_no_sessions_either(self, store):
        drive(self.memories, self.memories.close())

        with pytest.raises(StoreUnavailable):
            drive(store, store.sessions(ALICE))


class TestSqliteSessionsInMemory(SessionStoreContract):
    @pytest.fixture
    def store(self):
        store = SqliteSessionStore.in_memory()
        yield store
        drive(store, store.close())


class TestSqliteSessionsOfAStoreInMemory(SessionStoreContract):
    @pytest.fixture
    def store(self):
        self.memories = SqliteStore.in_memory()
        yield SqliteSessionStore(self.memories)
        drive(self.memories, self.memories.close())

    def test_closing_the_sessions_leaves_the_memories_open(self, store):
        drive(store, store.close())

        assert drive(self.memories, self.memories.owners()) == ()
