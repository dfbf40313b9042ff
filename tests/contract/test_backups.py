"""An embedded store can be backed up, in a file or in memory, and the
contract notices a copy that is not the store.
"""

import inspect
from pathlib import Path

import apsw
import pytest

from simonides.storage.sqlite.store import SqliteStore
from simonides.testing.contracts.backups import BackupStoreContract, RevertibleStoreContract
from simonides.testing.store_contract import drive


class TestBackupsOfAStoreInMemory(BackupStoreContract):
    @pytest.fixture
    def store(self):
        store = SqliteStore.in_memory()
        yield store
        drive(store, store.close())

    def test_what_was_removed_is_in_no_page_of_a_copy(self, store, tmp_path):
        kept = [self.stored(store, f"kept {n}") for n in range(40)]
        gone = [self.stored(store, f"the word is xyzzy {n}") for n in range(40)]
        # Removed without being overwritten, as bytes may be left where SQLite moved rows.
        with store._reading() as connection:
            connection.pragma("secure_delete", 0)
        self.write(store, self.make.change(forgotten=tuple(memory.id for memory in gone)))

        drive(store, store.copy_to(str(tmp_path / "copy.db"), lambda *_: None))

        copied = (tmp_path / "copy.db").read_bytes()
        assert b"kept 39" in copied
        assert b"xyzzy" not in copied
        assert len(kept) == 40


class TestBackupsOfTheSqliteStore(RevertibleStoreContract):
    inline = True

    @pytest.fixture
    def store(self, tmp_path):
        store = SqliteStore.open(tmp_path / "m.db", synchronous="normal", inline=self.inline)
        yield store
        drive(store, store.close())

    def open_again(self, store):
        return SqliteStore.open(store.location, inline=self.inline)

    def new_store(self, tmp_path):
        return SqliteStore.open(tmp_path / "new.db", inline=self.inline)


class TestBackupsOfTheSqliteStoreOnItsOwnThread(TestBackupsOfTheSqliteStore):
    inline = False


class TestBackupsOfThePostgresStore(BackupStoreContract):
    @pytest.fixture
    def store(self, postgres, database):
        pytest.importorskip("psycopg_pool", reason="needs pip install 'psycopg[binary,pool]'")
        from simonides.storage.postgres.store import PostgresStore

        store = PostgresStore.open(postgres.url("simonides_app", database))
        yield store
        drive(store, store.close())


class Lossy(SqliteStore):
    """Leaves something out of a copy."""

    async def copy_to(self, path, tell):
        stood = await super().copy_to(path, tell)
        with apsw.Connection(str(path)) as copy:
            copy.execute("DELETE FROM tombstones")
        return stood


class Rekeying(SqliteStore):
    """Gives a copy keys of its own, under which nothing is found."""

    async def copy_to(self, path, tell):
        stood = await super().copy_to(path, tell)
        with apsw.Connection(str(path)) as copy:
            copy.execute("UPDATE meta SET value = randomblob(32) WHERE name = 'tag_key'")
        return stood


class Overwriting(SqliteStore):
    """Copies over what is there."""

    async def copy_to(self, path, tell):
        Path(path).unlink(missing_ok=True)
        return await super().copy_to(path, tell)


BROKEN = {
    Lossy: "test_a_copy_has_all_that_the_store_has",
    Rekeying: "test_a_copy_has_all_that_the_store_has",
    Overwriting: "test_a_copy_comes_over_nothing",
}


def passes(make_store, name, tmp_path):
    test, contract = getattr(BackupStoreContract, name), BackupStoreContract()
    given = {"store": make_store.in_memory(), "tmp_path": tmp_path}
    wanted = inspect.signature(test).parameters
    try:
        test(contract, **{name: value for name, value in given.items() if name in wanted})
    except Exception:  # noqa: BLE001 - whatever the broken store provokes
        return False
    return True


@pytest.mark.parametrize("broken", BROKEN, ids=lambda broken: broken.__name__)
def test_the_contract_fails_a_store_whose_copies_are_not_it(broken, tmp_path):
    (tmp_path / "a").mkdir()
    (tmp_path / "b").mkdir()
    assert not passes(broken, BROKEN[broken], tmp_path / "a")
    assert passes(SqliteStore, BROKEN[broken], tmp_path / "b")
