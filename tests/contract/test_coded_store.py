"""Under a key ring, and encrypted, the SQLite store keeps the contract of every store, and can be
moved.
"""

from functools import partial

import apsw
import pytest

import simonides
from coding import ONE, RING, TWO, coded_store, sealed_store
from principals import erase
from simonides.domain.writing.change import TurnRequest
from simonides.engine.core.audit_chain import verify
from simonides.storage.encryption.key_ring import HeldKeys
from simonides.storage.sqlite.authenticated_reads import CODED
from simonides.storage.sqlite.file.schema import SQL
from simonides.testing import ALICE
from simonides.testing.contracts.moving import MovableStoreContract
from simonides.testing.store_contract import MemoryStoreContract, drive


class TestCodedSqliteStore(MemoryStoreContract):
    opening = staticmethod(coded_store)

    @pytest.fixture
    def store(self, tmp_path):
        store = self.opening(tmp_path / "m.db")
        yield store
        drive(store, store.close())

    def reopened(self, store):
        drive(store, store.close())
        return self.opening(store.location)


class TestSealedSqliteStore(TestCodedSqliteStore):
    opening = staticmethod(sealed_store)


class TestSealedSqliteStoreWhoseFileIsMadeLate(TestCodedSqliteStore):
    opening = staticmethod(partial(sealed_store, late=True))


class TestMovableCodedSqliteStore(MovableStoreContract):
    opening = staticmethod(coded_store)

    @pytest.fixture
    def store(self, tmp_path):
        yield from self.opened(tmp_path / "a.db")

    @pytest.fixture
    def empty(self, tmp_path):
        yield from self.opened(tmp_path / "b.db", filling=True)

    @pytest.fixture(autouse=True)
    def _halfway(self, tmp_path):
        self.between = self.opening(tmp_path / "between.db", filling=True)
        yield
        drive(self.between, self.between.close())

    def halfway(self):
        return self.between

    def opened(self, path, **options):
        store = self.opening(path, **options)
        yield store
        drive(store, store.close())

    def open_elsewhere(self, store):
        other = self.opening(store.location)
        drive(other, other.close())


class TestMovableSealedSqliteStore(TestMovableCodedSqliteStore):
    opening = staticmethod(sealed_store)


def test_every_statement_that_gives_memories_gives_their_codes():
    given = {
        name for name, text in SQL.items() if "m.body, m.state" in text or "s.state, if" in text
    }

    assert given == set(CODED)
    for name in given:
        assert CODED[name].count("m.mac") == 1, name


@pytest.mark.parametrize("open_store", [coded_store, sealed_store])
def test_whose_codes_another_process_made_anew_is_not_taken_for_edited(tmp_path, open_store):
    rings = [HeldKeys({"one": ONE, "two": TWO}), HeldKeys({"two": TWO, "one": ONE})]
    stores = [open_store(tmp_path / "m.db", ring=ring) for ring in rings]
    here, there = stores
    contract, head = MemoryStoreContract(), None
    for _ in range(2):
        contract.stored(here)
        (head,) = drive(here, here.heads((ALICE,)))
    assert drive(there, there.recode(ALICE))

    request = TurnRequest(since=head)
    change = contract.make.change(contract.make.memory())
    drive(here, here.commit(ALICE, request, lambda _: change))

    assert len(drive(there, there.snapshot(ALICE)).rows) == 3
    assert drive(there, verify(there)).problems == ()
    for store in stores:
        drive(store, store.close())


def test_under_a_ring_nobody_counts_what_the_set_sum_tells(tmp_path):
    path = tmp_path / "m.db"
    with simonides.open(path, key_ring=RING) as store:
        memory = store.memory(user="ana")
        memory.remember("Ana likes tea.")
        erase(memory)
        memory.remember("Ana is back.")
        memory.remember("Ana likes cake.")
    with apsw.Connection(str(path)) as connection:
        assert connection.execute("SELECT live FROM owners").get is None
