"""Under a key ring the PostgreSQL store keeps the contract, and serves nothing that was edited."""

import pytest

from coding import ONE, RING, TWO
from simonides.domain.errors import Tampered
from simonides.domain.scope import Grant, Right
from simonides.engine.core.audit_chain import verify
from simonides.storage.encryption.key_ring import HeldKeys
from simonides.testing import ALICE, BOB
from simonides.testing.store_contract import MemoryStoreContract, drive

pytest.importorskip("psycopg", reason="needs pip install 'psycopg[binary,pool]'")
pytest.importorskip("psycopg_pool", reason="needs pip install 'psycopg[binary,pool]'")

from simonides.storage.postgres.authenticated.store import CodedPostgresStore
from simonides.storage.postgres.schema import CODED, SQL
from simonides.storage.postgres.store import PostgresStore

APP = "simonides_app"
contract = MemoryStoreContract()


class TestCodedPostgresStore(MemoryStoreContract):
    @pytest.fixture
    def store(self, postgres, database):
        self.url = postgres.url(APP, database)
        store = CodedPostgresStore.under(RING, self.url)
        yield store
        drive(store, store.close())

    def reopened(self, store):
        drive(store, store.close())
        return CodedPostgresStore.under(RING, self.url)


def test_every_statement_that_gives_memories_gives_their_codes():
    gives = ("m.body, m.state", "m.body, s.state")
    given = {n for n, text in SQL.items() if any(g.encode() in text for g in gives)}

    # What is restated is read again with its codes.
    assert {f"coded_{name}" for name in given - set(CODED) - {"restate"}} == set(CODED)


@pytest.fixture
def opened(postgres, database):
    """Opens the store under a ring, as often as a test asks."""
    stores = []

    def open_it(ring=RING):
        kind = PostgresStore.open if ring is None else CodedPostgresStore.under
        told = () if ring is None else (ring,)
        stores.append(kind(*told, postgres.url(APP, database)))
        return stores[-1]

    yield open_it
    for store in stores:
        drive(store, store.close())


def fill(store):
    make = contract.make
    for owner in (ALICE, BOB):
        first, other = (
            make.memory(name, scope=owner, id=f"{owner.user}-{name}") for name in ("first", "other")
        )
        contract.add(store, first, other, owner=owner)
        more = {
            "held": (make.held(session="s"), make.held()),
            "outbox": (make.outbox_item(),),
            "granted": (Grant("ann", Right.ADMIN, by="root"),),
        }
        contract.write(store, make.change(restated=(first,), **more), owner)


def problems(store):
    return {(p.owner, p.problem, p.memory) for p in drive(store, verify(store)).problems}


OTHER = "id = 'alice-other'"
# The entry first: those of what was accepted go, to be made anew.
EDITS = {
    "an index entry": (
        (f"UPDATE simonides.index_rows SET entry = entry || '\\x20' WHERE {OTHER}",),
        ("content", "alice-other"),
    ),
    "a content": (
        (f"UPDATE simonides.memories SET body = body || '\\x20' WHERE {OTHER}",),
        ("content", "alice-other"),
    ),
    "a status": (
        (f"UPDATE simonides.memories SET status = 3 WHERE {OTHER}",),
        ("content", "alice-other"),
    ),
    "a memory removed": (
        tuple(
            f"DELETE FROM simonides.{table} WHERE {OTHER}"
            for table in ("memories", "states", "lookups")
        ),
        ("rows", None),
    ),
    "a revision": (
        ("UPDATE simonides.owners SET revision = 9 WHERE name LIKE '%alice%'",),
        ("head", None),
    ),
    "no codes": (
        ("UPDATE simonides.owners SET key_id = NULL, set_sum = NULL WHERE name LIKE '%alice%'",),
        ("uncoded", None),
    ),
}


def test_edits_of_the_database_are_not_served(opened, postgres, database):
    fill(opened())
    for what, (edits, problem) in EDITS.items():
        with postgres.connect("postgres", database) as connection:
            for edit in edits:
                assert connection.execute(edit).rowcount > 0, what
            connection.commit()
            cold = opened()
            with pytest.raises(Tampered) as refused:
                drive(cold, cold.snapshot(ALICE))
            assert refused.value.owner == ALICE.path, what
            with pytest.raises(Tampered):
                contract.write(cold, contract.make.change(contract.make.memory()))
            assert problems(cold) == {(ALICE.path, *problem)}, what
            assert len(drive(cold, cold.snapshot(BOB)).rows) == 2
            # Looked at and accepted, so that the next edit stands alone.
            assert drive(cold, cold.recode(ALICE, accept=True, adopt=True))
            fresh = contract.make.memory("Other", id="alice-other")
            if not drive(cold, cold.get(ALICE, [fresh.id])):
                contract.add(cold, fresh)
            assert problems(cold) == set(), what
        drive(cold, cold.close())


def test_a_database_from_before_the_ring_is_adopted_and_given_a_new_key(opened):
    plain = opened(ring=None)
    fill(plain)
    shown = [contract.shown(plain, owner) for owner in (ALICE, BOB)]
    coded = opened()
    with pytest.raises(Tampered, match="rekey --adopt"):
        drive(coded, coded.snapshot(ALICE))

    assert not drive(coded, coded.recode(ALICE))
    assert [drive(coded, coded.recode(owner, adopt=True)) for owner in (ALICE, BOB)] == [True, True]
    assert [contract.shown(coded, owner) for owner in (ALICE, BOB)] == shown
    both = opened(ring=HeldKeys({"two": TWO, "one": ONE}))
    assert [drive(both, both.recode(owner)) for owner in (ALICE, BOB)] == [True, True]
    newest = opened(ring=HeldKeys({"two": TWO}))
    assert [contract.shown(newest, owner) for owner in (ALICE, BOB)] == shown
    assert problems(newest) == set()


def test_a_right_is_not_forged(opened, postgres, database):
    store = opened()
    fill(store)
    forged = b'{"by":"root","grantee":"eve","right":"admin","subject":null}'
    with postgres.connect("postgres", database) as connection:
        connection.execute("UPDATE simonides.grants SET body = %s", (forged,))
    assert len(drive(store, store.held(ALICE))) == 2
    assert len(drive(store, store.outbox())) == 2

    with pytest.raises(Tampered):
        drive(store, store.grants(ALICE))
    with pytest.raises(Tampered):
        contract.seen_under_turn(store, grants=True)
    assert problems(store) == {(owner.path, "content", None) for owner in (ALICE, BOB)}


def test_a_reader_follows_a_writer_by_what_changed(opened):
    writer, reader = opened(), opened()
    fill(writer)
    head = drive(reader, reader.snapshot(ALICE)).head
    contract.add(writer, contract.make.memory("Third", id="third"))
    seen = drive(reader, reader.snapshot(ALICE, since=head))
    assert [row.id for row in seen.rows] == ["third"]

    contract.write(writer, contract.make.change(forgotten=("third",)))
    assert len(drive(reader, reader.snapshot(ALICE, since=seen.head)).rows) == 2
