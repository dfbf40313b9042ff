"""Encrypted, sessions in a file, backups and what is carried keep their contracts."""

import pytest

from coding import sealed_store, sealing
from simonides.storage.sqlite.sessions import SqliteSessionStore
from simonides.testing.contracts.backups import PortableStoreContract, RevertibleStoreContract
from simonides.testing.contracts.session_store import SessionStoreContract
from simonides.testing.store_contract import drive


class TestSealedSessionStore(SessionStoreContract):
    @pytest.fixture
    def store(self, tmp_path):
        store = self.opened(tmp_path / "s.db")
        yield store
        drive(store, store.close())

    def opened(self, path):
        return SqliteSessionStore.open(path, opening=sealing(path), synchronous="normal")

    def reopened(self, store):
        drive(store, store.close())
        return self.opened(store.location)


class TestSessionsOfAnOpenSealedStore(SessionStoreContract):
    @pytest.fixture
    def store(self, tmp_path):
        self.memories = sealed_store(tmp_path / "m.db")
        yield SqliteSessionStore(self.memories)
        drive(self.memories, self.memories.close())

    def reopened(self, store):
        drive(self.memories, self.memories.close())
        self.memories = sealed_store(store.location)
        return SqliteSessionStore(self.memories)


class TestBackupsOfASealedStore(RevertibleStoreContract):
    vault = None

    @pytest.fixture
    def store(self, tmp_path):
        self.vault = tmp_path / "m.db.vault"
        store = sealed_store(tmp_path / "m.db")
        yield store
        drive(store, store.close())

    def open_again(self, store):
        return sealed_store(store.location)

    def open_copy(self, path):
        return sealed_store(path, vault=self.vault)

    def new_store(self, tmp_path):
        # A copy is read by the keys of what it was copied from.
        return sealed_store(tmp_path / "new.db", vault=self.vault)


class TestCarryingASealedStore(PortableStoreContract):
    @pytest.fixture
    def store(self, tmp_path):
        yield from self.opened(tmp_path / "a.db")

    @pytest.fixture
    def empty(self, tmp_path):
        yield from self.opened(tmp_path / "b.db")

    def opened(self, path):
        store = sealed_store(path)
        yield store
        drive(store, store.close())
