"""Sessions in PostgreSQL keep the contract, under the role that an application has."""

import pytest

from memstrata.testing.session_contract import SessionStoreContract, drive

pytest.importorskip("psycopg_pool", reason="needs pip install 'psycopg[binary,pool]'")

from memstrata.adapters.session_postgres import PostgresSessionStore


class TestPostgresSessions(SessionStoreContract):
    @pytest.fixture
    def store(self, postgres, database):
        self.url = postgres.url("memstrata_app", database)
        store = PostgresSessionStore.open(self.url)
        yield store
        drive(store, store.close())

    def reopened(self, store):
        drive(store, store.close())
        return PostgresSessionStore.open(self.url)
