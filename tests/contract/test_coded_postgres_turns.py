"""Turns that are foreseen under a key ring: waited for once, if the seal is the writer's own."""

import itertools

import pytest

from coding import ONE, RING, TWO
from simonides.domain.codecs.memory import decode
from simonides.domain.errors import Tampered
from simonides.domain.writing.change import TurnRequest
from simonides.engine.core.audit_chain import verify
from simonides.storage.encryption.key_ring import HeldKeys
from simonides.testing import ALICE
from simonides.testing.contracts.base import verify_chain
from simonides.testing.store_contract import MemoryStoreContract, drive

pytest.importorskip("psycopg", reason="needs pip install 'psycopg[binary,pool]'")
pytest.importorskip("psycopg_pool", reason="needs pip install 'psycopg[binary,pool]'")

from sealed_postgres import Database
from simonides.storage.postgres.authenticated.store import CodedPostgresStore
from simonides.storage.postgres.wire.pool import Line
from simonides.storage.sidecar.vault_sqlite import FileVault

APP = "simonides_app"
contract = MemoryStoreContract()

FIRST, SECOND = HeldKeys({"one": ONE, "two": TWO}), HeldKeys({"two": TWO, "one": ONE})
FORESEEN = ["begin", "take_turn_as_foreseen", "require_seal"]
WRITTEN = ["add_and_move", "code_states", "code_owner"]


@pytest.fixture
def opened(postgres, database):
    """Opens the store under a ring, as often as a test asks."""
    stores = []

    def open_it(ring=RING):
        stores.append(CodedPostgresStore.under(ring, postgres.url(APP, database)))
        return stores[-1]

    yield open_it
    for store in stores:
        drive(store, store.close())


@pytest.fixture
def edit(postgres, database):
    """Runs a statement on the database as the superuser."""

    def run(statement):
        with postgres.connect("postgres", database) as connection:
            assert connection.execute(statement).rowcount > 0

    return run


@pytest.fixture
def waits(monkeypatch):
    """The names of the statements that each wait for an answer was for."""
    waited, ahead = [], []
    run, send = Line.run, Line.send

    def sending(line, *statements):
        ahead.extend(name for name, _ in statements)
        send(line, *statements)

    async def running(line, *statements, timeout_s, **how):
        sent = list(statements)
        waited.append([*ahead, *(name for name, _ in sent)])
        ahead.clear()
        return await run(line, *sent, timeout_s=timeout_s, **how)

    monkeypatch.setattr(Line, "send", sending)
    monkeypatch.setattr(Line, "run", running)
    return waited


class Writer:
    """Writes for one owner over one store, from the head that it left it at."""

    def __init__(self, store, owner=ALICE):
        self.store, self.owner, self.head = store, owner, None

    def write(self, *new, **change):
        """Commit a change, by default one more memory."""
        made = new or (() if change else (contract.make.memory(scope=self.owner),))
        asked = TurnRequest(since=self.head, is_brief=True)
        decide = lambda _: contract.make.change(*made, **change)  # noqa: E731
        committed = drive(self.store, self.store.commit(self.owner, asked, decide))
        self.head = committed.head
        return committed


def left_alone(store):
    """Return a writer whose next turn can be foreseen."""
    writer = Writer(store)
    writer.write()
    return writer


def is_sound(store):
    shown = contract.shown(store)
    verify_chain(shown.links, shown.chain_head)
    return drive(store, verify(store)).problems == ()


def test_who_finds_an_owner_as_it_was_left_waits_once(opened, waits):
    writer = left_alone(opened())
    waits.clear()

    writer.write()

    assert waits == [[*FORESEEN, *WRITTEN, "commit"]]
    assert is_sound(opened())


def test_what_is_restated_is_looked_at_before_the_turn_ends(opened, waits):
    writer = left_alone(opened())
    old = decode(writer.write().rows[0])
    new = contract.make.successor(old)
    waits.clear()

    committed = writer.write(new, restated=(contract.make.superseded(old, new),))

    assert waits[0][:3] == FORESEEN
    assert [names[-1] for names in waits] == ["coded_rows_of_ids", "commit"]
    assert committed.rows == drive(opened(), opened().get(ALICE, sorted([old.id, new.id])))
    assert is_sound(opened())


def test_what_is_restated_and_was_edited_is_refused_and_nothing_is_written(opened, edit):
    writer = left_alone(opened())
    old = decode(writer.write().rows[0])
    edit("UPDATE simonides.memories SET body = body || '\\x20'")

    with pytest.raises(Tampered):
        writer.write(restated=(old,))

    assert drive(writer.store, writer.store.heads((ALICE,))) == (writer.head,)


@pytest.mark.parametrize(
    "edited",
    [
        "set_sum = set_sum || '\\x20'",
        "set_sum = NULL, key_id = NULL",
        "key_id = 'two'",
        "head_mac = sha256(head_mac)",
        "head_seq = head_seq + 1",
        "last_known_at = last_known_at + 1",
        "revision = revision - 1",
    ],
)
def test_an_edit_of_where_the_owner_stands_is_refused_and_not_written_over(opened, edit, edited):
    writer = left_alone(opened(FIRST))
    edit(f"UPDATE simonides.owners SET {edited}")

    with pytest.raises(Tampered):
        writer.write()

    with pytest.raises(Tampered):
        drive(opened(FIRST), opened(FIRST).snapshot(ALICE))


def test_whose_codes_another_process_made_anew_is_written_under_the_new_key(opened):
    writer = left_alone(opened(FIRST))
    other = opened(SECOND)
    assert drive(other, other.recode(ALICE))

    writer.write()

    late = opened(HeldKeys({"two": TWO}))
    assert len(drive(late, late.snapshot(ALICE)).rows) == 2
    assert is_sound(late)


def test_no_update_is_lost_whoever_writes_when(opened):
    writers = [Writer(opened()) for _ in range(2)]
    ids = itertools.count()

    for who in (0, 0, 1, 0, 0, 0, 1, 1, 1, 0, 1, 0, 0):
        writers[who].write(contract.make.memory(id=f"m-{next(ids):02}"))

    assert contract.live_ids(opened()) == [f"m-{n:02}" for n in range(13)]
    assert is_sound(opened())


@pytest.fixture
def sealed(postgres, tmp_path):
    """A database that is encrypted."""
    database = Database(postgres, tmp_path / "keys")
    yield database
    database.empty()
    postgres.drop_database(database.name)


def test_an_encrypted_write_waits_once_and_asks_the_vault_nothing(sealed, waits, monkeypatch):
    writer = left_alone(sealed.open())
    writer.write()
    asked = []
    monkeypatch.setattr(FileVault, "version", lambda vault: asked.append(vault) or 0)
    waits.clear()

    writer.write()

    assert waits == [[*FORESEEN, *WRITTEN, "commit"]]
    assert asked == []


def test_who_was_erased_elsewhere_is_written_under_the_key_of_the_new_life(sealed):
    writer = left_alone(sealed.open())
    other = sealed.open()
    drive(
        other,
        other.commit(ALICE, TurnRequest(), lambda _: contract.make.change(erased=True)),
    )
    drive(other, other.purge(ALICE))

    (row,) = writer.write().rows

    late = sealed.open()
    assert drive(late, late.snapshot(ALICE)).rows == (row,)
    assert is_sound(late)
