"""What a database keeps can be read with the keys alone, and not even with them once its owner is
erased.
"""

import base64
import itertools
import shutil
from contextlib import contextmanager

import pytest

import simonides
from coding import RING, TWO, coded_store, sealed_store
from principals import erase
from simonides import Draft
from simonides.domain.codecs.parts import PARTS
from simonides.domain.conversation.session import Observation
from simonides.domain.writing.change import HeldCandidate, JournalEntry, PolicyRecord
from simonides.settings import Settings
from simonides.storage.encryption.cells import SEALED
from simonides.storage.encryption.data_keys import FORMAT
from simonides.storage.encryption.key_ring import HeldKeys
from simonides.storage.sidecar.vault_sqlite import FileVault
from simonides.testing import ALICE
from simonides.testing.contracts.moving import OWNERS, MovableStoreContract, sample_row
from simonides.testing.store_contract import drive

pytest.importorskip("psycopg", reason="needs pip install 'psycopg[binary,pool]'")
pytest.importorskip("psycopg_pool", reason="needs pip install 'psycopg[binary,pool]'")

from sealed_postgres import APP, Database, database_sealing, sealed_database
from simonides.storage.postgres.parts import TABLES
from simonides.storage.postgres.sessions import PostgresSessionStore

CANARY = "Quokka"
ANA, BOB = f"{CANARY}-ana", f"{CANARY}-bob"
contract = MovableStoreContract()
numbers = itertools.count()


@pytest.fixture(scope="module")
def of_all(postgres, tmp_path_factory):
    made = Database(postgres, tmp_path_factory.mktemp("vault") / "keys")
    yield made
    postgres.drop_database(made.name)


@pytest.fixture
def database(of_all):
    """A database that is encrypted, with nobody in it."""
    yield of_all
    of_all.empty()


@pytest.fixture
def copied(postgres, database):
    """Makes a copy of a database that nobody has open, and returns its URL."""
    made = []

    def copy():
        made.append(f"copy{next(numbers)}")
        with postgres.connect("postgres") as connection:
            connection.autocommit = True
            connection.execute(f"CREATE DATABASE {made[-1]} TEMPLATE {database.name}")
        return postgres.url(APP, made[-1])

    yield copy
    for name in made:
        postgres.drop_database(name)


def opened(database, ring=RING, url=None, **keys):
    settings = Settings(
        gc="manual", reindex="manual", **({} if keys else {"key_vault": str(database.vault)})
    )
    return simonides.open(url or database.url, key_ring=ring, settings=settings, **keys)


def contents(memory):
    return {one.content for one in memory.list(scopes=["user"])}


def live(database):
    """Let two users say much, all of it with the canary in it."""
    with opened(database) as store:
        admin = store.admin(actor=f"{CANARY}-root")
        admin.grant(ANA, "org_write")
        ana = store.memory(user=ANA).session(f"{CANARY}-1")
        told = {
            "key": f"{CANARY}_region",
            "tags": (CANARY,),
            "metadata": {CANARY: CANARY},
            "quote": f"to {CANARY}",
            "idempotency_key": CANARY,
        }
        ana.remember(Draft(f"Deploy to {CANARY} one", **told))
        ana.correct(f"{CANARY}_region", f"Deploy to {CANARY} two")
        ana.add(f"Call me {CANARY}. Never suggest {CANARY} shoes.")
        ana.add(f"I might move to {CANARY} some day, perhaps.")
        shared = ana.remember(f"{CANARY} for all of us").record
        ana.promote(shared.id, "org")
        ana.privacy.refuse(key=f"{CANARY}_salary")
        ana.remember(
            Draft("guess", key=f"{CANARY}_region", source="agent_inferred", confidence=0.99)
        )
        ana.digest(f"where is {CANARY}?")
        bob = store.memory(user=BOB)
        bob.remember(f"Bob's {CANARY} too")
        bob.forget(bob.remember(f"{CANARY} to forget").record.id)


def dump(database):
    """Every row of every table as text, bytes as hexadecimal."""
    tables = (*TABLES, "leases", "meta", "opening")
    rows = [database.run(f"SELECT t::text FROM simonides.{table} AS t") for table in tables]
    return "\n".join(text for (text,) in itertools.chain(*rows))


def test_no_table_says_anything(database, tmp_path):
    live(database)
    talk = PostgresSessionStore.open(database.url, opening=database_sealing(database.vault))
    said = [Observation(1, f"{CANARY} {n}".encode()) for n in range(2)]
    drive(talk, talk.append(ALICE, f"{CANARY}-1", said, now=1))
    assert len(drive(talk, talk.entries(ALICE, f"{CANARY}-1"))) == 2
    drive(talk, talk.close())
    store, make = database.open(), contract.make
    word = CANARY.encode()
    more = {
        "held": (HeldCandidate("held", CANARY, CANARY, word, 1),),
        "outbox": (make.outbox_item()._replace(target=CANARY, body=word),),
        "reviews": (make.review()._replace(body=word),),
        "policy": PolicyRecord(b"hash", 1, word),
    }
    contract.write(store, make.change(**more))
    with opened(database) as opened_store:
        opened_store.memory(user=ANA).recall(f"where is {CANARY}?")
        opened_store.admin(actor="root").backup(tmp_path / "backup.db")

    text = dump(database)
    raw = (tmp_path / "backup.db").read_bytes()
    for word in (CANARY, CANARY.lower(), CANARY.upper(), "deploy", "/org/default"):
        assert word not in text
        assert word.encode().hex() not in text
        assert word.encode() not in raw
    filled = {table for table in SEALED if database.run(f"SELECT 1 FROM simonides.{table}")}
    assert filled >= {"owners", "memories", "states", "index_rows", "idempotency", "grants"}
    assert filled >= {"consents", "read_journal", "event_payloads", "sessions", "turns", "held"}
    assert filled >= {"outbox", "reviews", "policies"}


def test_whatever_arrives_is_sealed(database):
    store, owner = database.open(filling=True), ALICE.path.encode()[:16]
    drive(store, store.begin_arrivals(drive(store, store.keys())))
    drive(store, store.begin_arrival(owner, b"mark"))
    drive(store, store.arrive(owner, [(part, [sample_row(part, 7)]) for part in PARTS]))

    for part in PARTS:
        assert drive(store, store.page(owner, part)) == (sample_row(part, 7),), part.name
        for column in SEALED.get(part.name, ()):
            ((cell,),) = database.run(f"SELECT {column} FROM simonides.{part.name}")
            kept = base64.b64decode(cell)[16:] if isinstance(cell, str) else cell
            assert kept.startswith(FORMAT), (part.name, column)


def test_what_was_put_in_anothers_place_does_not_open(database):
    live(database)
    for edit in (
        "UPDATE simonides.memories SET body = (SELECT body FROM simonides.memories LIMIT 1)",
        "UPDATE simonides.consents SET at = at + 1",
        "UPDATE simonides.consents SET body = '{}'",
    ):
        database.run(edit)
        with opened(database) as store, pytest.raises(simonides.Tampered):
            store.memory(user=ANA).recall(CANARY)


def test_a_database_opens_with_all_of_its_keys_alone(database, postgres, copied):
    live(database)
    refused = simonides.KeyUnavailable
    with pytest.raises(refused, match="encrypted"):
        simonides.open(database.url, settings=Settings())
    with pytest.raises(refused, match="encrypted"):
        simonides.open(database.url, key_ring=RING, settings=Settings())
    with pytest.raises(refused, match="wrapped"):
        opened(database, HeldKeys({"one": TWO}))
    with pytest.raises(simonides.ConfigurationError, match="key_vault"):
        simonides.open(database.url, key_ring=RING, settings=Settings(encrypt=True))
    vault = FileVault(database.vault.with_name("another"))
    with pytest.raises(refused, match="not the key vault of this store"):
        opened(database, key_vault=vault)
    vault.close()
    assert not database.vault.with_name("another").exists()


def test_a_database_in_plain_is_not_taken_for_an_encrypted_one(postgres, database):
    plain = postgres.new_database()
    url = postgres.url(APP, plain)
    with simonides.open(url, key_ring=RING, settings=Settings()) as store:
        store.memory(user="ana").remember("Ana likes tea.")

        with pytest.raises(simonides.ConfigurationError, match="simonides db migrate"):
            opened(database, url=url)

        assert contents(store.memory(user="ana")) == {"Ana likes tea."}
    moving = sealed_database(url, database.vault, as_is=True)
    assert len(drive(moving, moving.owners())) == 1
    assert not moving.is_sealed
    drive(moving, moving.close())
    postgres.drop_database(plain)


def test_who_has_an_empty_database_open_in_plain_is_shut_out_when_it_is_sealed(postgres, database):
    name = postgres.new_database()
    url = postgres.url(APP, name)
    with simonides.open(url, key_ring=RING, settings=Settings()) as plain:
        with opened(database, url=url) as store:
            store.memory(user="ana").remember("Ana likes tea.")
        with pytest.raises(simonides.StoreUnavailable):
            plain.memory(user="ana").remember("Ana likes coffee.")
    postgres.drop_database(name)


def test_a_new_master_key_and_the_old_one_can_go(database, copied, tmp_path):
    live(database)
    keys = tmp_path / "keys"
    shutil.copyfile(database.vault, keys)
    where = {"url": copied(), "key_vault": FileVault(keys)}
    with opened(database, **where) as store:
        erase(store.memory(user=BOB))
        before = contents(store.memory(user=ANA))
    with opened(database, HeldKeys({"two": TWO, "one": RING.key("one")}), **where) as store:
        assert store.admin(actor="root").rekey().coded >= 1

    with opened(database, HeldKeys({"two": TWO}), **where) as store:
        assert contents(store.memory(user=ANA)) == before
        assert store.memory(user=BOB).remember("Bob is back.").kind == "created"
        assert store.admin(actor="root").check_audit().ok
    where["key_vault"].close()


def test_an_old_copy_of_the_erased_is_unreadable_and_of_others_intact(database, copied):
    live(database)
    old = copied()
    with opened(database) as store:
        stood = contents(store.memory(user=ANA))
        receipt = erase(store.memory(user=BOB))
    assert (receipt.state, receipt.waits) == ("complete", ())
    remains = {each.code: each.where for each in receipt.remains}
    assert "destroyed" in remains["write_ahead_log"]
    assert "key_vault_copies" in remains

    with opened(database, url=old) as store:
        bob = store.memory(user=BOB)
        for ask in (bob.list, lambda: bob.recall(CANARY), lambda: bob.remember("Bob is back.")):
            with pytest.raises(simonides.KeyDestroyed, match="admin sweep"):
                ask()
        assert contents(store.memory(user=ANA)) == stood

        assert store.admin(actor="root").sweep() == 1
        assert store.admin(actor="root").sweep() == 0
        assert bob.remember("Bob is back.").kind == "created"
        assert contents(bob) == {"Bob is back."}
        assert contents(store.memory(user=ANA)) == stood
        assert store.admin(actor="root").check_audit().ok


def test_who_is_erased_elsewhere_goes_on_with_a_new_key(database):
    with opened(database) as here, opened(database) as there:
        bob = here.memory(user=BOB)
        bob.remember("Bob says something.")
        erase(there.memory(user=BOB))

        bob.remember("Bob is back.")

        assert contents(bob) == {"Bob is back."}
    with opened(database) as store:
        assert contents(store.memory(user=BOB)) == {"Bob is back."}


def test_what_was_written_while_its_owner_was_erased_is_left_out_and_swept(database):
    store = database.open()
    contract.stored(store)
    drive(store, store.journal({ALICE: [JournalEntry(9**18, "access", b"{}")]}))
    rows = database.run("SELECT owner, at, kind, body FROM simonides.read_journal")
    event = contract.make.event()
    contract.write(store, contract.make.change(events=(event,), erased=True))
    drive(store, store.purge(ALICE))
    drive(store, store.journal({ALICE: [JournalEntry(9**18 + 1, "access", b"[]")]}))

    database.run(
        "INSERT INTO simonides.read_journal (owner, at, kind, body) VALUES (%s, %s, %s, %s)",
        *rows[0],
    )

    assert [entry.body for entry in drive(store, store.journaled(ALICE))] == [b"[]"]
    assert drive(store, store.sweep()) == ()
    assert database.run("SELECT count(*) FROM simonides.read_journal") == [(1,)]
    assert len(drive(store, store.journaled(ALICE))) == 1


def test_a_vault_that_cannot_be_written_leaves_the_erasure_pending(database):
    live(database)
    vault = Refusing(FileVault(database.vault))
    with opened(database, key_vault=vault) as store:
        bob = store.memory(user=BOB)
        receipt = erase(bob)
        assert (receipt.state, receipt.waits) == ("pending", ("key_vault",))
        assert "key_vault_copies" not in {each.code for each in receipt.remains}

        vault.is_refusing = False
        done = bob.data.erasure()
        assert (done.state, done.waits) == ("complete", ())
    vault.close()


def test_an_erasure_destroys_the_old_keys_alone_whatever_a_move_has_noted(database):
    live(database)
    vault = Refusing(FileVault(database.vault))
    with opened(database, key_vault=vault) as store:
        bob = store.memory(user=BOB)
        erase(bob)
        bob.remember("Bob is back.")
        database.run(
            "INSERT INTO simonides.owner_keys (owner, key_id, destroyed_at)"
            " SELECT owner, 'ffffffffffffffff', destroyed_at + 1 FROM simonides.owner_keys"
        )
        vault.is_refusing = False
        assert bob.data.erasure().state == "complete"
    with opened(database, key_vault=vault) as store:
        assert contents(store.memory(user=BOB)) == {"Bob is back."}
    vault.close()


class Refusing:
    """A vault that destroys nothing while it refuses."""

    def __init__(self, vault):
        self._vault = vault
        self.is_refusing = True

    def __getattr__(self, name):
        return getattr(self._vault, name)

    def destroy(self, *of):
        if self.is_refusing:
            raise simonides.StoreReadOnly("vault", "cannot be written")
        self._vault.destroy(*of)


@contextmanager
def closing(store):
    yield store
    drive(store, store.close())


def test_a_journey_from_file_to_database_and_on_in_plain_loses_nothing(database, tmp_path):
    there = database.open(filling=True)
    with (
        closing(sealed_store(tmp_path / "a.db")) as start,
        closing(coded_store(tmp_path / "b.db", filling=True)) as end,
    ):
        contract.fill(start)

        contract.move(start, there, page=7)
        contract.move(there, end, page=5)

        assert contract.everything(there) == contract.everything(start) == contract.everything(end)
        for owner in OWNERS:
            assert contract.shown(there, owner) == contract.shown(start, owner)
            assert contract.shown(end, owner) == contract.shown(start, owner)


class Counting:
    """A vault that counts what it is asked."""

    def __init__(self, vault):
        self._vault = vault
        self.asked = 0

    def __getattr__(self, name):
        self.asked += 1
        return getattr(self._vault, name)


def test_the_vault_is_asked_for_whom_it_was_not_asked_before(database):
    vault = Counting(FileVault(database.vault))
    with opened(database, key_vault=vault) as store:
        ana = store.memory(user=ANA)
        ana.remember("Ana likes tea.")
        ana.remember("Ana likes tea from Assam.")
        before = vault.asked
        ana.remember("Ana takes her tea with milk.")
        assert contents(ana) >= {"Ana takes her tea with milk."}
        assert vault.asked == before
    vault.close()


def test_servers_share_a_vault_in_a_database(postgres):
    name, keys = postgres.new_database(), postgres.new_database(empty=True)
    url = postgres.url(APP, name)
    settings = Settings(key_vault=postgres.url("simonides_owner", keys), gc="manual")
    with (
        simonides.open(url, key_ring=RING, settings=settings) as here,
        simonides.open(url, key_ring=RING, settings=settings) as there,
    ):
        here.memory(user=BOB).remember("Bob says something.")
        receipt = erase(there.memory(user=BOB))
        assert (receipt.state, receipt.waits) == ("complete", ())
        here.memory(user=BOB).remember("Bob is back.")
        assert contents(there.memory(user=BOB)) == {"Bob is back."}

    settings = Settings(key_vault=postgres.url("simonides_owner", name))
    with pytest.raises(simonides.ConfigurationError, match="of its own"):
        simonides.open(url, key_ring=RING, settings=settings)
    for made in (name, keys):
        postgres.drop_database(made)


def test_a_store_that_has_rows_keeps_its_keys_but_for_how_they_are_wrapped(database):
    live(database)
    plain, wrapped = b"k" * 32, b"one\0" + b"w" * 60
    for name, value in (("tag_key", plain), ("salt", b"s" * 16)):
        with pytest.raises(Exception, match="stay as they are"):
            database.run("UPDATE simonides.meta SET value = %s WHERE name = %s", value, name)
    ((kept,),) = database.run("SELECT value FROM simonides.meta WHERE name = 'tag_key'")
    database.run("UPDATE simonides.meta SET value = %s WHERE name = 'tag_key'", wrapped)
    database.run("UPDATE simonides.meta SET value = %s WHERE name = 'tag_key'", kept)
