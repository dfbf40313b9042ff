"""Every store's owners can be carried, and the contract notices a store that loses them."""

import inspect
from contextlib import asynccontextmanager

import pytest
from broken_stores import InMemory

from simonides.domain.errors import CarryRefused
from simonides.domain.writing.change import TurnRequest
from simonides.storage.sqlite.store import SqliteStore
from simonides.testing import ALICE
from simonides.testing.contracts.backups import STANDING, PortableStoreContract
from simonides.testing.store_contract import drive


class TestPortableStoreInMemory(PortableStoreContract):
    @pytest.fixture
    def store(self):
        return SqliteStore.in_memory()

    @pytest.fixture
    def empty(self):
        return SqliteStore.in_memory()


class TestPortableSqliteStore(PortableStoreContract):
    inline = True

    @pytest.fixture
    def store(self, tmp_path):
        yield from self.opened(tmp_path / "a.db")

    @pytest.fixture
    def empty(self, tmp_path):
        yield from self.opened(tmp_path / "b.db")

    def opened(self, path):
        store = SqliteStore.open(path, synchronous="normal", inline=self.inline)
        yield store
        drive(store, store.close())


class TestPortableSqliteStoreOnItsOwnThread(TestPortableSqliteStore):
    inline = False


class TestPortablePostgresStore(PortableStoreContract):
    @pytest.fixture
    def store(self, opened):
        return opened()

    @pytest.fixture
    def empty(self, opened):
        return opened()

    @pytest.fixture
    def opened(self, postgres):
        pytest.importorskip("psycopg_pool", reason="needs pip install 'psycopg[binary,pool]'")
        from simonides.storage.postgres.store import PostgresStore

        made = []

        def open_():
            name = postgres.new_database()
            made.append((name, PostgresStore.open(postgres.url("simonides_app", name))))
            return made[-1][1]

        yield open_
        for name, store in made:
            drive(store, store.close())
            postgres.give_back(name)


class HalfTakenIn(InMemory):
    """Shows an owner though its items broke off."""

    async def adopt(self, owner, standing, items):
        taken = []
        try:
            for item in items:
                taken.append(item)
        except LookupError:
            events = sum(item.type == "event" for item in taken)
            await super().adopt(owner, standing._replace(seq=events), iter(taken))
            raise
        return await super().adopt(owner, standing, iter(taken))


class Overwriting(InMemory):
    """Takes an owner in over one that is there."""

    async def adopt(self, owner, standing, items):
        with self._turn() as connection:
            self._clear(connection, self.digest(owner))
            connection.execute("DELETE FROM owners WHERE owner = ?", (self.digest(owner),))
        return await super().adopt(owner, standing, items)


class Restless(InMemory):
    """Shows what is written while a portrait is looked at."""

    @asynccontextmanager
    async def portrait(self, owner):
        async with super().portrait(owner) as portrait:
            if portrait is not None:
                portrait._connection = self._place.writer
            yield portrait


class Bounded(InMemory):
    """Keeps the codes of a chain as if they were another owner's."""

    async def adopt(self, owner, standing, items):
        head = await super().adopt(owner, standing, items)
        self.edit(owner, "UPDATE events SET mac = zeroblob(32) WHERE owner = ?")
        return head


class Blind(InMemory):
    """Finds events about what is forgotten only if it wrote them itself."""

    async def adopt(self, owner, standing, items):
        head = await super().adopt(owner, standing, items)
        self.edit(owner, "DELETE FROM lookups WHERE owner = ? AND id = ''")
        return head


BROKEN = {
    HalfTakenIn: "test_what_ends_in_an_error_leaves_nothing",
    Overwriting: "test_who_is_there_is_not_touched",
    Restless: "test_a_portrait_is_of_one_moment",
    Bounded: "test_a_life_stands_elsewhere_as_it_stood",
    Blind: "test_who_was_taken_in_goes_on",
}


def passes(make_store, name):
    test = getattr(PortableStoreContract, name)
    wanted = inspect.signature(test).parameters
    given = {"store": make_store.in_memory(), "empty": make_store.in_memory()}
    try:
        test(PortableStoreContract(), **{n: store for n, store in given.items() if n in wanted})
    except Exception:  # noqa: BLE001 - whatever the broken store provokes
        return False
    return True


@pytest.mark.parametrize("broken", BROKEN, ids=lambda broken: broken.__name__)
def test_the_contract_fails_a_store_that_loses_or_overwrites(broken):
    assert not passes(broken, BROKEN[broken])
    assert passes(SqliteStore, BROKEN[broken])


def test_who_was_written_to_elsewhere_in_the_meantime_is_not_overwritten(tmp_path):
    # Two processes look, both find nobody; the turn decides.
    one, other = (SqliteStore.open(tmp_path / "m.db") for _ in range(2))
    contract = PortableStoreContract()
    items = contract.one_of_each()

    def late():
        yield from items

    contract.stored(other, "Mine")
    with pytest.raises(CarryRefused, match="written to here already"):
        drive(one, one.adopt(ALICE, STANDING, late()))
    assert len(drive(one, one.rows(ALICE))) == 1
    drive(one, one.commit(ALICE, TurnRequest(), lambda _: None))
    for store in (one, other):
        drive(store, store.close())
