"""What a first read of an owner asks of PostgreSQL, and what becomes of it while it arrives."""

from dataclasses import replace

import pytest

from simonides.domain.codecs.checksums import with_check
from simonides.domain.writing.change import NewVersion
from simonides.engine.core.prefetch import Prefetch
from simonides.testing import ALICE, BOB
from simonides.testing.store_contract import MemoryStoreContract, drive

pytest.importorskip("psycopg", reason="needs pip install 'psycopg[binary,pool]'")
pytest.importorskip("psycopg_pool", reason="needs pip install 'psycopg[binary,pool]'")

from simonides.storage.postgres.reads import RowsLook
from simonides.storage.postgres.store import PostgresStore
from simonides.storage.postgres.wire import protocol as postgres_answers
from simonides.storage.postgres.wire.pool import Line

APP = "simonides_app"

contract = MemoryStoreContract()


@pytest.fixture
def url(postgres, database):
    return postgres.url(APP, database)


@pytest.fixture
def store(url):
    store = PostgresStore.open(url, pool_size=2)
    yield store
    drive(store, store.close())


@pytest.fixture
def asked(monkeypatch):
    """The names of the statements that are sent."""
    asked = []
    run = Line.run

    async def running(line, *statements, **how):
        asked.extend(name for name, _ in statements)
        return await run(line, *statements, **how)

    monkeypatch.setattr(Line, "run", running)
    return asked


def indexed(memory, entry=b"terms"):
    return NewVersion(memory, with_check(entry, memory.id), "a1", "e1")


def written(store, count):
    """Write memories with entries as an index makes them; return them."""
    memories = [contract.make.memory() for _ in range(count)]
    change = contract.make.change(*memories)
    contract.write(store, replace(change, added=tuple(map(indexed, memories))))
    return memories


def edited(postgres, database, edit, *given):
    with postgres.connect("postgres", database) as connection:
        assert connection.execute(f"UPDATE simonides.{edit}", given).rowcount == 1


ANOTHER = "SELECT min(i.entry) FROM simonides.index_rows AS i WHERE i.id <> r.id"
EDITS = [
    "memories SET state = set_byte(state, 30, 255 - get_byte(state, 30)) WHERE id = %s",
    "index_rows SET entry = set_byte(entry, 2, 255 - get_byte(entry, 2)) WHERE id = %s",
    "index_rows SET entry = '' WHERE id = %s",
    f"index_rows AS r SET entry = ({ANOTHER}) WHERE id = %s",
]


@pytest.mark.parametrize("edit", EDITS, ids=["state", "entry", "none", "another's"])
@pytest.mark.parametrize("place", [0, postgres_answers.PIECE, -1])
def test_what_is_not_as_it_was_written_is_noticed_while_it_arrives(
    store, postgres, database, edit, place
):
    memories = written(store, 2 * postgres_answers.PIECE + 1)
    before = drive(store, store.snapshot(ALICE))

    edited(postgres, database, edit, memories[place].id)
    after = drive(store, store.snapshot(ALICE))

    assert (before.checked, after.checked) == (True, False)
    assert len(after.rows) == len(before.rows)


def test_an_owner_without_memories_that_stand_has_nothing_unchecked(store):
    old = contract.stored(store)
    new = contract.make.successor(old)
    retired = contract.make.superseded(old, new)
    contract.write(store, contract.make.change(restated=(retired,)))

    snapshot = drive(store, store.snapshot(ALICE))

    assert (snapshot.rows, snapshot.checked) == ((), True)


def test_entries_of_what_gave_way_stay_where_they_are(store, monkeypatch):
    first, *others = written(store, 5)
    retired = [contract.make.superseded(old, first) for old in others]
    contract.write(store, contract.make.change(restated=retired))
    came = []
    monkeypatch.setattr(RowsLook, "_take_entries", lambda look, rows: came.extend(rows) or [])

    (row,) = drive(store, store.snapshot(ALICE)).rows

    assert came == [(first.id, indexed(first).entry)]
    assert (row.id, row.entry) == (first.id, b"")


def test_of_who_was_never_written_only_that_is_asked_again(store, asked):
    contract.stored(store)
    seen = []

    for _ in range(2):
        asked.clear()
        alice, bob = drive(store, store.snapshots({ALICE: None, BOB: None}))
        seen.append([*asked])

    rows = ["live_entries", "live_rows", "consents"]
    assert seen[0] == ["begin_view", "bind", "heads", *rows, *rows, "commit"]
    assert seen[1] == ["begin_view", "bind", "heads", *rows, "commit"]
    assert (len(alice.rows), bob.head, bob.rows) == (1, None, ())


def test_who_is_written_meanwhile_is_read_whole(store, url):
    assert drive(store, store.snapshots({BOB: None}))[0].head is None
    elsewhere = PostgresStore.open(url, pool_size=1)
    memory = contract.make.memory(scope=BOB)
    contract.write(elsewhere, contract.make.change(memory), owner=BOB)
    drive(elsewhere, elsewhere.close())

    for _ in range(2):
        (bob,) = drive(store, store.snapshots({BOB: None}))
        assert [row.id for row in bob.rows] == [memory.id]
        assert bob == drive(store, store.snapshot(BOB))


def test_who_has_asked_goes_on_before_the_answer(store):
    written(store, 1)

    async def read():
        begun = Prefetch(store.snapshots({ALICE: None}))
        return begun.has_ended, begun._rest.waits_for, await begun

    has_ended, waits_for, (snapshot,) = drive(store, read())

    assert (has_ended, waits_for, len(snapshot.rows)) == (False, None, 1)
