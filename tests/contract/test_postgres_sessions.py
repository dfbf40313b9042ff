"""Sessions in PostgreSQL keep the contract, under the role that an application has."""

import pytest

from simonides.testing.contracts.session_store import SessionStoreContract, drive

pytest.importorskip("psycopg_pool", reason="needs pip install 'psycopg[binary,pool]'")

from simonides.storage.postgres.sessions import PostgresSessionStore
from simonides.storage.postgres.store import PostgresStore


class TestPostgresSessions(SessionStoreContract):
    @pytest.fixture
    def store(self, postgres, database):
        self.url = postgres.url("simonides_app", database)
        store = PostgresSessionStore.open(self.url)
        yield store
        drive(store, store.close())

    def reopened(self, store):
        drive(store, store.close())
        return PostgresSessionStore.open(self.url)


class TestPostgresSessionsOfAnOpenStore(SessionStoreContract):
    """Over the pool of the store that has the database open, as a simonides opens them."""

    @pytest.fixture
    def store(self, postgres, database):
        self.url = postgres.url("simonides_app", database)
        self.memories = PostgresStore.open(self.url)
        yield PostgresSessionStore(self.memories)
        drive(self.memories, self.memories.close())

    def reopened(self, store):
        drive(self.memories, self.memories.close())
        self.memories = PostgresStore.open(self.url)
        return PostgresSessionStore(self.memories)
