"""Under a key ring the SQLite store keeps the contract of every store, and can be moved."""

import pytest

from coding import RING, coded_store
from memstrata.adapters.sqlite_coded import CodedSqliteStore
from memstrata.adapters.sqlite_coded_reads import CODED
from memstrata.adapters.sqlite_schema import SQL
from memstrata.testing.contract_moving import MovableStoreContract
from memstrata.testing.store_contract import MemoryStoreContract, drive


class TestCodedSqliteStore(MemoryStoreContract):
    @pytest.fixture
    def store(self, tmp_path):
        store = coded_store(tmp_path / "m.db")
        yield store
        drive(store, store.close())

    def reopened(self, store):
        drive(store, store.close())
        return coded_store(store.location)


class TestMovableCodedSqliteStore(MovableStoreContract):
    @pytest.fixture
    def store(self, tmp_path):
        yield from self.opened(tmp_path / "a.db")

    @pytest.fixture
    def empty(self, tmp_path):
        yield from self.opened(tmp_path / "b.db", filling=True)

    @pytest.fixture(autouse=True)
    def _halfway(self, tmp_path):
        self.between = coded_store(tmp_path / "between.db", filling=True)
        yield
        drive(self.between, self.between.close())

    def halfway(self):
        return self.between

    def opened(self, path, **options):
        store = coded_store(path, **options)
        yield store
        drive(store, store.close())

    def open_elsewhere(self, store):
        other = CodedSqliteStore.under(RING, store.location)
        drive(other, other.close())


def test_every_statement_that_gives_memories_gives_their_codes():
    given = {
        name for name, text in SQL.items() if "m.body, m.state" in text or "s.state, if" in text
    }

    assert given == set(CODED)
    for name in given:
        assert CODED[name].count("m.mac") == 1, name
