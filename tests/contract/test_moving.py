"""A store can be moved, in a file or in memory, and the contract notices one that cannot."""

import inspect
import re

import apsw
import pytest
from broken_stores import InMemory

from simonides.domain.codecs.parts import PARTS, OwnerFacts
from simonides.storage.schema.owner_ids import Secrets
from simonides.storage.sqlite import transfer as sqlite_moving
from simonides.storage.sqlite.file.schema import SQL_DIRECTORY
from simonides.storage.sqlite.store import SqliteStore
from simonides.testing.contracts.moving import MovableStoreContract
from simonides.testing.store_contract import drive

STATEMENTS = ("FIRST_PAGE", "NEXT_PAGE", "LAST_KEY", "CLEAR")


class TestMovableStoreInMemory(MovableStoreContract):
    @pytest.fixture
    def store(self):
        return SqliteStore.in_memory()

    @pytest.fixture
    def empty(self):
        return SqliteStore.in_memory()


class TestMovableSqliteStore(MovableStoreContract):
    @pytest.fixture
    def store(self, tmp_path):
        yield from self.opened(tmp_path / "a.db")

    @pytest.fixture
    def empty(self, tmp_path):
        yield from self.opened(tmp_path / "b.db", filling=True)

    def opened(self, path, **options):
        store = SqliteStore.open(path, synchronous="normal", **options)
        yield store
        drive(store, store.close())

    def open_elsewhere(self, store):
        other = SqliteStore.open(store.location)
        drive(other, other.close())


VIEWS = "SELECT name FROM sqlite_schema WHERE type = 'view'"


def test_the_parts_are_the_tables_of_the_schema():
    connection = apsw.Connection(":memory:")
    for file in sorted(SQL_DIRECTORY.glob("[0-9]*.sql")):
        connection.execute(file.read_text("utf-8")).fetchall()
    tables = [name for (name,) in connection.execute("SELECT name FROM sqlite_schema").fetchall()]

    def described(table):
        return connection.execute(f"PRAGMA table_info({table})").fetchall()

    known = {part.name: part for part in PARTS}
    owned = {t for t in tables if any(column[1] == "owner" for column in described(t))}
    owned = {t for t in owned if described(t)[0][2]}  # an index has no types
    assert owned - set(known) == {"owners", "leases"}
    # A part that is a view lies in the rows of another, behind that one's own columns.
    views = {name for (name,) in connection.execute(VIEWS).fetchall()}
    inside = {"events": known["event_payloads"].columns[1:]}
    assert views == {"event_payloads"}
    for name, part in known.items():
        columns = [column[1] for column in described(name)]
        keys = sorted((column[5], column[1]) for column in described(name) if column[5])
        assert columns == ["owner", *part.columns, *inside.get(name, ())]
        if name not in views:
            assert [column for _, column in keys] == ["owner", *part.columns[: part.key]]
    columns = [column[1] for column in described("owners")]
    fields = ["bytes" if field == "stored_bytes" else field for field in OwnerFacts._fields]
    # What a store counts for itself does not move.
    assert columns == ["owner", *fields, "live"]
    connection.close()


class Tagless(InMemory):
    """Loses what it has only tags of."""

    async def arrive(self, owner, rows):
        await super().arrive(owner, [(p, r) for p, r in rows if p.name != "idempotency"])


class Hasty(InMemory):
    """Shows an owner before it is whole."""

    async def begin_arrival(self, owner, mark):
        await super().begin_arrival(owner, mark)
        self._early = owner

    async def facts(self, owner):
        found = await super().facts(owner)
        if found is None and owner == getattr(self, "_early", None):
            return OwnerFacts(b"", 0, 0, 0, 0, b"", None, None, None, None, None, None, None, "/")
        return found


class Overwriting(InMemory):
    """Lets an owner come over one that is there."""

    async def begin_arrival(self, owner, mark):
        with self._turn() as connection:
            self._clear(connection, owner)
            connection.execute("DELETE FROM owners WHERE owner = ?", (owner,))
        await super().begin_arrival(owner, mark)


class Rekeyed(InMemory):
    """Adopts keys though it has rows."""

    async def begin_arrivals(self, keys):
        self._follow_keys(Secrets(*keys))
        await super().begin_arrivals(keys)


class Unpaged(InMemory):
    """Pages from the key that was asked for, not from the next."""

    async def page(self, owner, part, *, after=None, limit=500):
        rows = await super().page(owner, part, limit=10**6)
        later = [row for row in rows if after is None or part.key_of(row) >= after]
        return tuple(later[:limit]) if len(later) > 1 or after is None else ()


class Hoarding(InMemory):
    """Keeps what arrived of an owner whose arrival starts over."""

    async def begin_arrival(self, owner, mark):
        there = {part.name: await self.page(owner, part) for part in PARTS}
        is_known = owner in await self.inhabitants()
        await super().begin_arrival(owner, mark)
        if is_known and owner not in await self.inhabitants():
            await self.arrive(owner, [(part, there[part.name]) for part in PARTS])


class HalfArriving(InMemory):
    """Adds rows up to the one that does not fit."""

    async def arrive(self, owner, rows):
        for part, of_part in rows:
            for row in of_part:
                await super().arrive(owner, [(part, [row])])


BROKEN = {
    Tagless: "test_every_part_takes_what_it_gives",
    Hasty: "test_until_it_is_whole_an_owner_is_not_there",
    Overwriting: "test_an_owner_that_is_there_is_not_touched",
    Rekeyed: "test_a_store_with_rows_keeps_its_keys",
    Unpaged: "test_a_part_is_read_page_by_page_by_key",
    Hoarding: "test_begun_again_an_arrival_goes_on_or_starts_over",
    HalfArriving: "test_rows_arrive_all_or_none",
}


def passes(make_store, name):
    test = getattr(MovableStoreContract, name)
    wanted = inspect.signature(test).parameters
    given = {"store": SqliteStore.in_memory(), "empty": make_store.in_memory()}
    given = {name: store for name, store in given.items() if name in wanted}
    if "empty" not in wanted:
        given = {"store": make_store.in_memory()}
    try:
        test(MovableStoreContract(), **given)
    except (Exception, pytest.fail.Exception):  # noqa: BLE001 - whatever the broken store provokes
        return False
    return True


@pytest.mark.parametrize("broken", BROKEN, ids=lambda broken: broken.__name__)
def test_the_contract_fails_a_store_that_loses_or_overwrites(broken):
    assert not passes(broken, BROKEN[broken])
    assert passes(SqliteStore, BROKEN[broken])


def test_no_statement_of_a_move_walks_through_a_table():
    connection = apsw.Connection(":memory:")
    for file in sorted(SQL_DIRECTORY.glob("[0-9]*.sql")):
        connection.execute(file.read_text("utf-8")).fetchall()
    paged = [s for name in STATEMENTS for s in getattr(sqlite_moving, f"_{name}").values()]
    tables = {part.name for part in PARTS} | {"owners"}

    for statement in (*paged, sqlite_moving._INHABITANTS, sqlite_moving._LIVES_HERE):
        names = set(re.findall(r":(\w+)", statement))
        plan = connection.execute(f"EXPLAIN QUERY PLAN {statement}", dict.fromkeys(names))
        steps = [row[3] for row in plan]
        scans = [s for s in steps if s.split()[0] == "SCAN" and s.split()[1] in tables]
        assert scans == []
        # Digests of owners may be sorted, rows come by their key.
        assert statement not in paged or not any("TEMP B-TREE" in step for step in steps)
    connection.close()
