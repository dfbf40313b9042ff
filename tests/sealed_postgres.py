"""Databases that are encrypted, for tests that use them one after the other."""

import secrets

from coding import RING
from simonides.storage.postgres.authenticated.store import CodedPostgresStore
from simonides.storage.postgres.parts import TABLES
from simonides.storage.postgres.sealed.pipeline import Sealing
from simonides.storage.sidecar.vault_sqlite import FileVault
from simonides.testing.store_contract import drive

APP = "simonides_app"


def database_sealing(vault, ring=RING, **options):
    """Return what opens a database that is encrypted."""
    return Sealing(ring, FileVault(vault), owns_vault=True, **options)


def sealed_database(url, vault, *, ring=RING, as_is=False, **options):
    """Open a store over PostgreSQL that is encrypted."""
    opening = database_sealing(vault, ring, as_is=as_is)
    return CodedPostgresStore.under(ring, url, opening=opening, **options)


class Database:
    """A database that tests use one after the other, each as it was at first: empty and sealed."""

    def __init__(self, postgres, vault):
        self.postgres, self.vault = postgres, vault
        self.name = postgres.new_database()
        self.url = postgres.url(APP, self.name)
        self.run(
            "UPDATE simonides.meta SET value = %s WHERE name = 'salt'", secrets.token_bytes(16)
        )
        first = sealed_database(self.url, vault)
        drive(first, first.close())
        self.meta = self.run("SELECT value, name FROM simonides.meta")
        self.stores = []

    def run(self, statement, *values):
        """Run a statement as the superuser; return its rows."""
        with self.postgres.connect("postgres", self.name) as connection:
            cursor = connection.execute(statement, values)
            return cursor.fetchall() if cursor.description else []

    def open(self, ring=RING, **options):
        self.stores.append(sealed_database(self.url, self.vault, ring=ring, **options))
        return self.stores[-1]

    def empty(self):
        for store in self.stores:
            drive(store, store.close())
        self.stores = []
        tables = ", ".join(f"simonides.{table}" for table in (*TABLES, "leases"))
        self.run(f"TRUNCATE {tables}")
        for row in self.meta:
            self.run("UPDATE simonides.meta SET value = %s WHERE name = %s", *row)
        self.run("UPDATE simonides.opening SET arriving = NULL")
