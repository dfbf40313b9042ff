"""A PostgreSQL database as either end of a move, and who is shut out meanwhile."""

# ruff: noqa: E402 - without the driver there is nothing to import

import asyncio
import re
import secrets

import pytest

from simonides.domain.codecs.parts import PARTS, OwnerFacts
from simonides.domain.errors import StoreUnavailable
from simonides.domain.writing.change import JournalEntry, TurnRequest
from simonides.engine.core.audit_chain import verify
from simonides.storage.sqlite.store import SqliteStore
from simonides.testing import ALICE, BOB
from simonides.testing.contracts.moving import (
    OWNERS,
    READER,
    MovableStoreContract,
    sample_row,
)
from simonides.testing.store_contract import drive

psycopg = pytest.importorskip("psycopg", reason="needs pip install 'psycopg[binary,pool]'")
pytest.importorskip("psycopg_pool", reason="needs pip install 'psycopg[binary,pool]'")

from simonides.storage.postgres.parts import TABLES, statements_of_parts
from simonides.storage.postgres.sessions import PostgresSessionStore
from simonides.storage.postgres.store import PostgresStore

APP, OPERATOR = "simonides_app", "simonides_app_operator"

contract = MovableStoreContract()


def new_keys(postgres, database):
    """Give a prepared database keys of its own; they are copies of one, keys and all."""
    with postgres.connect("postgres", database) as connection:
        for name, size in (("salt", 16), ("tag_key", 32)):
            connection.execute(
                "UPDATE simonides.meta SET value = %s WHERE name = %s",
                (secrets.token_bytes(size), name),
            )


@pytest.fixture
def opened(postgres):
    """Open a store over a database of its own; its URL is ``url``."""
    made = []

    def open_(**options):
        name = postgres.new_database()
        new_keys(postgres, name)
        store = PostgresStore.open(postgres.url(APP, name), **options)
        store.url, store.database = postgres.url(APP, name), name
        made.append(store)
        return store

    yield open_
    for store in made:
        drive(store, store.close())
        postgres.give_back(store.database)


class TestMovablePostgresStore(MovableStoreContract):
    @pytest.fixture
    def store(self, opened):
        return opened()

    @pytest.fixture
    def empty(self, opened):
        return opened(filling=True)

    def open_elsewhere(self, store):
        other = PostgresStore.open(store.url)
        drive(other, other.close())


@pytest.fixture
def administer(postgres):
    """Run a statement in a database as the superuser, and return its rows."""

    def run(store, statement):
        with postgres.connect("postgres", store.database) as connection:
            cursor = connection.execute(statement)
            return cursor.fetchall() if cursor.description else []

    return run


def test_a_journey_from_sqlite_and_back_loses_nothing(opened, tmp_path):
    start = SqliteStore.open(tmp_path / "a.db", synchronous="normal")
    there, back = opened(filling=True), SqliteStore.open(tmp_path / "b.db", filling=True)
    contract.fill(start)

    contract.move(start, there, page=7)
    contract.move(there, back, page=5)

    assert contract.everything(there) == contract.everything(start) == contract.everything(back)
    for owner in OWNERS:
        assert contract.shown(there, owner) == contract.shown(start, owner)
        assert contract.shown(back, owner) == contract.shown(start, owner)
    assert drive(there, verify(there)).ok
    assert drive(back, verify(back)).ok
    for store in (start, back):
        drive(store, store.close())


def test_the_tables_have_the_columns_of_the_parts(opened, administer):
    found = administer(
        opened(),
        "SELECT c.relname, array_agg(a.attname::text ORDER BY a.attnum) FROM pg_class AS c"
        " JOIN pg_attribute AS a ON a.attrelid = c.oid"
        " WHERE c.relnamespace = 'simonides'::regnamespace AND c.relkind = 'r'"
        " AND a.attnum > 0 AND NOT a.attisdropped GROUP BY c.relname",
    )
    owned = {name: columns for name, columns in found if columns[0] == "owner"}

    assert set(owned) == {*TABLES, "leases"}
    for part in PARTS:
        assert owned[part.name] == ["owner", *part.columns]
    fields = ["bytes" if field == "stored_bytes" else field for field in OwnerFacts._fields]
    assert owned["owners"] == ["owner", *fields]


def test_a_journal_goes_on_after_the_entries_that_arrived(opened, tmp_path):
    start, there = SqliteStore.open(tmp_path / "a.db"), opened(filling=True)
    drive(start, start.journal({READER: [JournalEntry(n, "access", b"{}") for n in range(9)]}))

    contract.move(start, there)
    later = JournalEntry(99, "access", b"{}")
    drive(there, there.journal({READER: [later]}))

    assert drive(there, there.journaled(READER))[-1] == later
    assert len(drive(there, there.journaled(READER))) == 10
    drive(start, start.close())


async def nobody():
    """See nobody."""


class TestOthers:
    """Whoever had the store open when a move began."""

    def begin(self, store, keys=None):
        drive(store, store.begin_arrivals(keys or drive(store, store.keys())))

    def test_a_move_waits_for_nobody_who_stays(self, opened):
        target = opened(filling=True)
        other = PostgresStore.open(target.url)
        contract.stored(other)

        with pytest.raises(StoreUnavailable, match=r"open elsewhere.*simonides_app \(\d"):
            self.begin(target)

        contract.stored(other)
        drive(other, other.close())
        self.begin(target)

    def test_who_is_not_seen_is_refused_for_good(self, opened, administer):
        """Behind a pooler a program that rests has no connection; here it has lost it."""
        target, source = opened(filling=True), opened()
        other = PostgresStore.open(target.url)
        sessions = PostgresSessionStore.open(target.url)
        drive(other, other.heads((ALICE,)))
        contract.stored(source)

        # Without a word to its program, which finds a new one when it needs it.
        def rest():
            drive(other, other._pool._pool.resize(0, 10))
            administer(
                target,
                "SELECT pg_terminate_backend(pid, 10000) FROM pg_stat_activity"
                f" WHERE datname = '{target.database}' AND usename = '{APP}'",
            )

        rest()
        self.begin(target, drive(source, source.keys()))
        for _ in range(2):
            for call in (
                other.heads((ALICE,)),
                other.journal({ALICE: [JournalEntry(1, "access", b"{}")]}),
                other.commit(ALICE, TurnRequest(), lambda _: pytest.fail("it has a turn")),
                other.owners(),
                sessions.sessions(ALICE),
            ):
                with pytest.raises(StoreUnavailable, match="open it again"):
                    drive(other, call)
            drive(target, target.end_arrivals())

        drive(other, other.close())
        drive(sessions, sessions.close())
        again = PostgresStore.open(target.url)
        contract.stored(again, scope=BOB)
        assert drive(again, again.keys()) == drive(source, source.keys())
        drive(again, again.close())

    def test_of_two_moves_the_first_one_is_shut_out(self, opened, monkeypatch):
        first = opened(filling=True)
        self.begin(first)
        second = PostgresStore.open(first.url, filling=True)
        monkeypatch.setattr(second, "_wait_for_others", nobody)

        self.begin(second)

        with pytest.raises(StoreUnavailable, match="open it again"):
            drive(first, first.begin_arrival(b"o" * 16, b"m" * 32))
        drive(second, second.close())

    def test_a_move_begins_when_writes_under_way_are_over(self, opened, monkeypatch):
        target = opened(filling=True)
        other = PostgresStore.open(target.url)
        change = contract.make.change(contract.make.memory())

        async def story():
            deciding = asyncio.Event()
            loop = asyncio.get_running_loop()

            def decide(_):
                loop.call_soon_threadsafe(deciding.set)
                return asyncio.run_coroutine_threadsafe(slow(), loop).result()

            async def slow():
                await asyncio.sleep(0.2)
                order.append("written")
                return change

            writing = asyncio.create_task(other.commit(ALICE, TurnRequest(), decide))
            await deciding.wait()
            await target.begin_arrivals(await target.keys())
            order.append("begun")
            await writing

        order = []
        monkeypatch.setattr(target, "_wait_for_others", nobody)
        drive(target, story())

        assert order == ["written", "begun"]
        assert contract.live_ids(target) == [change.added[0].memory.id]
        drive(other, other.close())


class TestRights:
    """The application may give a store other keys as long as nothing is digested with them."""

    def adopt(self, connection, role):
        connection.execute(f"SET LOCAL ROLE {role}")
        connection.execute("UPDATE simonides.meta SET value = '\\x01' WHERE name = 'salt'")

    def test_only_the_operator_may_and_only_in_an_empty_store(self, opened, postgres):
        store = opened()
        with postgres.connect(APP, store.database) as connection:
            with pytest.raises(psycopg.errors.InsufficientPrivilege):
                self.adopt(connection, APP)
            connection.rollback()
            self.adopt(connection, OPERATOR)
            connection.rollback()
            drive(store, store.journal({READER: [JournalEntry(7, "access", b"{}")]}))
            with pytest.raises(psycopg.Error, match="stay as they are"):
                self.adopt(connection, OPERATOR)

    def test_no_statement_of_a_move_walks_through_a_table(self, opened, postgres):
        store = opened()
        contract.fill(store)
        digest = drive(store, store.inhabitants())[0].hex()
        walks = []
        with postgres.connect("postgres", store.database) as connection:
            connection.execute("SET enable_seqscan = off; SET enable_bitmapscan = off")
            for name, text in statements_of_parts().items():
                part = next((part for part in PARTS if name.endswith(f"_of_{part.name}")), None)
                bound = {"owner": digest, "limit": 5}
                if part is not None and not name.startswith("arrive"):
                    bound |= dict(zip(part.columns, sample_row(part, 1), strict=True))
                bound |= dict.fromkeys(set(re.findall(r"%\((\w+)\)s", text)) - set(bound))
                plan = connection.execute(f"EXPLAIN {text}", bound).fetchall()
                walks += [name for (line,) in plan if "Seq Scan" in line]
                # A page comes by its key.
                assert not name.startswith(("page", "next", "last")) or not any(
                    line.strip().startswith(("Sort", "->  Sort")) for (line,) in plan
                ), name
        assert walks == []
