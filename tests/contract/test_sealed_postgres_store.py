"""Encrypted, the store over PostgreSQL keeps every contract, and its tables tell nothing."""

import pytest

from simonides.testing.contracts.backups import PortableStoreContract
from simonides.testing.contracts.moving import MovableStoreContract
from simonides.testing.contracts.session_store import SessionStoreContract
from simonides.testing.store_contract import MemoryStoreContract, drive

pytest.importorskip("psycopg", reason="needs pip install 'psycopg[binary,pool]'")
pytest.importorskip("psycopg_pool", reason="needs pip install 'psycopg[binary,pool]'")

from sealed_postgres import Database, database_sealing, sealed_database
from simonides.storage.postgres.sessions import PostgresSessionStore


@pytest.fixture(scope="module")
def vault(tmp_path_factory):
    return tmp_path_factory.mktemp("vault") / "keys"


@pytest.fixture(scope="module")
def of_all(postgres, vault):
    databases = [Database(postgres, vault) for _ in range(3)]
    yield databases
    for database in databases:
        postgres.drop_database(database.name)


@pytest.fixture
def databases(of_all):
    """Three databases, each with keys of its own and nobody in it."""
    yield of_all
    for database in of_all:
        if database.stores:
            database.empty()


class TestSealedPostgresStore(MemoryStoreContract):
    @pytest.fixture
    def store(self, databases):
        self.database = databases[0]
        return self.database.open()

    def reopened(self, store):
        drive(store, store.close())
        return self.database.open()


class TestSealedPostgresSessions(SessionStoreContract):
    @pytest.fixture
    def store(self, databases, vault):
        self.database = databases[0]
        return self.opened()

    def opened(self):
        opening = database_sealing(self.database.vault)
        store = PostgresSessionStore.open(self.database.url, opening=opening)
        self.database.stores.append(store)
        return store

    def reopened(self, store):
        drive(store, store.close())
        return self.opened()


class TestMovableSealedPostgresStore(MovableStoreContract):
    @pytest.fixture
    def store(self, databases):
        self.databases = databases
        return databases[0].open()

    @pytest.fixture
    def empty(self, databases):
        return databases[1].open(filling=True)

    def halfway(self):
        return self.databases[2].open(filling=True)

    # By other pages a store in plain is moved likewise.
    @pytest.mark.parametrize("page", [7])
    def test_a_journey_there_and_back_loses_nothing(self, store, empty, page):
        super().test_a_journey_there_and_back_loses_nothing(store, empty, page)

    def open_elsewhere(self, store):
        (database,) = (each for each in self.databases if store in each.stores)
        other = sealed_database(database.url, database.vault)
        drive(other, other.close())


class TestCarryingASealedPostgresStore(PortableStoreContract):
    @pytest.fixture
    def store(self, databases):
        return databases[0].open()

    @pytest.fixture
    def empty(self, databases):
        return databases[1].open()
