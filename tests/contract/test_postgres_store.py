"""The PostgreSQL store keeps the contract, under the role that an application has."""

import pytest

from simonides.testing.store_contract import MemoryStoreContract, drive

pytest.importorskip("psycopg_pool", reason="needs pip install 'psycopg[binary,pool]'")

from simonides.storage.postgres.store import PostgresStore


class TestPostgresStore(MemoryStoreContract):
    @pytest.fixture
    def store(self, postgres, database):
        self.url = postgres.url("simonides_app", database)
        store = PostgresStore.open(self.url)
        yield store
        drive(store, store.close())

    def reopened(self, store):
        drive(store, store.close())
        return PostgresStore.open(self.url)
