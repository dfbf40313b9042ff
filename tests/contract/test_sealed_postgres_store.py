"""Encrypted, the store over PostgreSQL keeps every contract, and its tables tell nothing."""

import secrets

import pytest

from coding import RING
from memstrata.adapters.vault_file import FileVault
from memstrata.testing.contract_carrying import PortableStoreContract
from memstrata.testing.contract_moving import MovableStoreContract
from memstrata.testing.session_contract import SessionStoreContract
from memstrata.testing.store_contract import MemoryStoreContract, drive

pytest.importorskip("psycopg", reason="needs pip install 'psycopg[binary,pool]'")
pytest.importorskip("psycopg_pool", reason="needs pip install 'psycopg[binary,pool]'")

from memstrata.adapters.postgres_coded import CodedPostgresStore
from memstrata.adapters.postgres_parts import TABLES
from memstrata.adapters.postgres_sealing import Sealing
from memstrata.adapters.session_postgres import PostgresSessionStore

APP = "memstrata_app"


def sealing(vault, ring=RING, **options):
    return Sealing(ring, FileVault(vault), owns_vault=True, **options)


def sealed_store(url, vault, *, ring=RING, as_is=False, **options):
    """Open a store over PostgreSQL that is encrypted."""
    opening = sealing(vault, ring, as_is=as_is)
    return CodedPostgresStore.under(ring, url, opening=opening, **options)


@pytest.fixture(scope="module")
def vault(tmp_path_factory):
    return tmp_path_factory.mktemp("vault") / "keys"


class Database:
    """A database that tests use one after the other, each as it was at first: empty and sealed."""

    def __init__(self, postgres, vault):
        self.postgres, self.vault = postgres, vault
        self.name = postgres.new_database()
        self.url = postgres.url(APP, self.name)
        self.run(
            "UPDATE memstrata.meta SET value = %s WHERE name = 'salt'", secrets.token_bytes(16)
        )
        first = sealed_store(self.url, vault)
        drive(first, first.close())
        self.meta = self.run("SELECT value, name FROM memstrata.meta")
        self.stores = []

    def run(self, statement, *values):
        """Run a statement as the superuser; return its rows."""
        with self.postgres.connect("postgres", self.name) as connection:
            cursor = connection.execute(statement, values)
            return cursor.fetchall() if cursor.description else []

    def open(self, ring=RING, **options):
        self.stores.append(sealed_store(self.url, self.vault, ring=ring, **options))
        return self.stores[-1]

    def empty(self):
        for store in self.stores:
            drive(store, store.close())
        self.stores = []
        tables = ", ".join(f"memstrata.{table}" for table in (*TABLES, "leases"))
        self.run(f"TRUNCATE {tables}")
        for row in self.meta:
            self.run("UPDATE memstrata.meta SET value = %s WHERE name = %s", *row)
        self.run("UPDATE memstrata.opening SET arriving = NULL")


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
        opening = sealing(self.database.vault)
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

    def open_elsewhere(self, store):
        (database,) = (each for each in self.databases if store in each.stores)
        other = sealed_store(database.url, database.vault)
        drive(other, other.close())


class TestCarryingASealedPostgresStore(PortableStoreContract):
    @pytest.fixture
    def store(self, databases):
        return databases[0].open()

    @pytest.fixture
    def empty(self, databases):
        return databases[1].open()
