"""What is kept can be read with the keys alone, and not even with them once its owner is erased."""

import base64
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import apsw
import pytest

import simonides
from principals import erase
from simonides import Draft
from simonides.domain.codecs.parts import PARTS
from simonides.settings import Settings
from simonides.storage.encryption.cells import SEALED
from simonides.storage.encryption.data_keys import FORMAT, OVERHEAD_BYTES
from simonides.storage.encryption.key_ring import HeldKeys, new_key
from simonides.storage.sidecar.vault_sqlite import FileVault

ONE, TWO = new_key("one"), new_key("two")
RING = HeldKeys.of_text(ONE)
CANARY = "Quokka"


def opened(path: Path, ring: HeldKeys = RING, **settings: Any) -> simonides.Store:
    return simonides.open(path, key_ring=ring, settings=Settings(encrypt=True, **settings))


def contents(memory: simonides.Memory) -> set[str]:
    return {one.content for one in memory.list(scopes=["user"])}


@pytest.fixture
def store(tmp_path: Path) -> Path:
    """A store of two users who say much, all of it with the canary in it."""
    path = tmp_path / "m.db"
    with opened(path, gc="manual") as opened_store:
        admin = opened_store.admin(actor=f"{CANARY}-root")
        admin.grant(f"{CANARY}-ana", "org_write")
        ana = opened_store.memory(user=f"{CANARY}-ana").session(f"{CANARY}-1")
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
        ana.remember(Draft(f"{CANARY} for all of us", scope="org"))
        ana.privacy.refuse(key=f"{CANARY}_salary")
        ana.remember(
            Draft("guess", key=f"{CANARY}_region", source="agent_inferred", confidence=0.99)
        )
        ana.digest(f"where is {CANARY}?")
        bob = opened_store.memory(user=f"{CANARY}-bob")
        bob.remember(f"Bob's {CANARY} too")
        learned = bob.remember(f"{CANARY} to forget")
        assert learned.record is not None
        bob.forget(learned.record.id)
    return path


def cells(path: Path) -> Iterator[tuple[str, Any]]:
    """Give what lies in every column that is to be encrypted."""
    with apsw.Connection(str(path), flags=apsw.SQLITE_OPEN_READONLY) as connection:
        for table, columns in SEALED.items():
            for column in columns:
                found = connection.execute(f"SELECT {column} FROM {table}")
                yield from ((f"{table}.{column}", cell) for (cell,) in found)


def test_no_file_says_anything(store: Path, tmp_path: Path) -> None:
    with opened(store) as opened_store:
        opened_store.memory(user=f"{CANARY}-ana").recall(f"where is {CANARY}?")
        opened_store.admin(actor="root").backup(tmp_path / "backup.db")
        while_open = [file.read_bytes() for file in tmp_path.iterdir() if file.is_file()]
    files = [file for file in tmp_path.rglob("*") if file.is_file()]

    assert {file.name for file in files} >= {"m.db", "m.db.vault", "backup.db"}
    for raw in [*while_open, *(file.read_bytes() for file in files)]:
        for said in (CANARY, CANARY.lower(), CANARY.upper(), "deploy", "/org/default"):
            assert said.encode() not in raw


def test_every_column_that_says_something_is_sealed(store: Path) -> None:
    filled = set()
    for place, cell in cells(store):
        if cell:
            raw = base64.b64decode(cell)[16:] if isinstance(cell, str) else cell
            assert raw.startswith(FORMAT), place
            assert len(raw) > OVERHEAD_BYTES, place
            filled.add(place.partition(".")[0])
    assert filled >= {"owners", "memories", "states", "index_rows", "idempotency", "grants"}
    assert filled >= {"consents", "read_journal", "event_payloads"}


def test_every_column_of_bytes_or_text_is_sealed_or_says_nothing() -> None:
    plain = set(
        "id tag scope_tag chain_tag key_tag hash_tag slot_tag source_tag session_tag key_id mac "
        "commitment salt parent child_owner child hash kind status step analyser embedder "
        # Numbers.
        "version revision known_from known_to due_at codec previous place seq at held_at n "
        "started_at turn_no day destroyed_at wrapped".split()
    )
    for part in PARTS:
        assert set(part.columns) - plain == set(SEALED.get(part.name, ())), part.name


def test_recall_is_what_it_is_in_plain(tmp_path: Path) -> None:
    said = ["We deploy to us-east-1", "Ana likes green tea", "The tests need PostgreSQL 16"]
    told = []
    for settings in (Settings(), Settings(encrypt=True)):
        path = tmp_path / f"{settings.encrypt}.db"
        ring = RING if settings.encrypt else None
        with simonides.open(path, key_ring=ring, settings=settings) as store:
            for text in said:
                store.memory(user="ana").remember(text)
        with simonides.open(path, key_ring=ring, settings=settings) as store:
            memory = store.memory(user="ana")
            assert memory.status()["encrypted"] is settings.encrypt
            found = [memory.recall(q) for q in ("where do we deploy?", "what does Ana drink?")]
            told.append([[(hit.record.content, hit.score) for hit in hits] for hits in found])
    assert told[0] == told[1]
    assert told[0][0][0][0] == said[0]


@pytest.mark.parametrize(
    "edit",
    [
        "UPDATE memories SET body = (SELECT body FROM memories ORDER BY id DESC LIMIT 1)",
        "UPDATE memories SET state = (SELECT state FROM memories ORDER BY id DESC LIMIT 1)",
        "UPDATE index_rows SET entry = (SELECT entry FROM index_rows ORDER BY id DESC LIMIT 1)",
        "UPDATE memories SET body = CAST(substr(body, 1, length(body) - 1) || x'00' AS BLOB)",
        "UPDATE memories SET body = x'00'",
        "UPDATE memories SET due_at = 1",
        "UPDATE memories SET key_tag = hash_tag",
        "UPDATE consents SET body = (SELECT body FROM read_journal LIMIT 1)",
        "UPDATE consents SET body = x'7b7d'",
        "UPDATE consents SET at = at + 1",
    ],
)
def test_what_was_moved_or_changed_does_not_open(store: Path, edit: str) -> None:
    with apsw.Connection(str(store)) as connection:
        connection.execute(edit)
        assert connection.total_changes()

    with opened(store) as opened_store, pytest.raises(simonides.Tampered):
        opened_store.memory(user=f"{CANARY}-ana").recall(CANARY)


def test_it_opens_with_all_of_its_keys_alone(store: Path, tmp_path: Path) -> None:
    with pytest.raises(simonides.KeyUnavailable, match="encrypted"):
        simonides.open(store)
    with pytest.raises(simonides.KeyUnavailable, match="or SIMONIDES_ENCRYPT=true"):
        simonides.open(store, key_ring=RING)
    with pytest.raises(simonides.ConfigurationError, match="without a key ring"):
        simonides.open(store, settings=Settings(encrypt=True))
    with pytest.raises(simonides.KeyUnavailable, match="wrapped"):
        opened(store, HeldKeys.of_text(new_key("one")))
    with pytest.raises(simonides.KeyUnavailable, match="'one'"):
        opened(store, HeldKeys.of_text(TWO))
    with pytest.raises(simonides.KeyUnavailable, match="not the key vault of this store"):
        opened(store, key_vault=tmp_path / "another.vault")
    assert not (tmp_path / "another.vault").exists()
    with (
        opened(tmp_path / "other.db"),
        pytest.raises(simonides.KeyUnavailable, match="not the key"),
    ):
        opened(store, key_vault=tmp_path / "other.db.vault")
    with pytest.raises(simonides.ConfigurationError, match="another program"):
        opened(store, key_vault=store)
    with opened(store) as opened_store:
        assert contents(opened_store.memory(user=f"{CANARY}-ana"))


def test_a_store_that_nobody_used_yet_knows_its_vault(tmp_path: Path) -> None:
    with opened(tmp_path / "m.db") as store:
        # A backup takes a file, and no owner has been here.
        assert store.admin(actor="root").backup(tmp_path / "copy.db").owners == 0
    (tmp_path / "m.db.vault").rename(tmp_path / "aside")

    with pytest.raises(simonides.KeyUnavailable, match="not the key vault of this store"):
        opened(tmp_path / "m.db")

    assert not (tmp_path / "m.db.vault").exists()
    with opened(tmp_path / "m.db", key_vault=tmp_path / "aside") as store:
        assert store.memory(user="ana").remember("Ana likes tea.").kind == "created"


def test_a_store_in_plain_is_not_taken_for_an_encrypted_one(tmp_path: Path) -> None:
    with simonides.open(tmp_path / "m.db") as store:
        store.memory(user="ana").remember("Ana likes tea.")
    before = (tmp_path / "m.db").read_bytes()

    with pytest.raises(simonides.ConfigurationError, match="simonides db migrate"):
        opened(tmp_path / "m.db")

    assert (tmp_path / "m.db").read_bytes() == before


def test_a_vault_without_a_name_is_none_and_one_that_can_be_no_file_is_refused() -> None:
    assert Settings(key_vault="").key_vault is None
    with pytest.raises(simonides.ConfigurationError, match="NUL"):
        Settings(key_vault="a\0b")


def test_without_the_extra_it_says_which(tmp_path: Path, monkeypatch: Any) -> None:
    monkeypatch.setitem(sys.modules, "cryptography", None)

    with pytest.raises(simonides.MissingExtra, match="pip install 'cryptography>="):
        opened(tmp_path / "m.db")


def test_a_handed_in_vault_is_its_bringers_to_close(tmp_path: Path) -> None:
    vault = FileVault(tmp_path / "v")
    for _ in range(2):
        with simonides.open(tmp_path / "m.db", key_ring=RING, key_vault=vault) as store:
            store.memory(user="ana").remember("Ana likes tea.")
    assert not (tmp_path / "m.db.vault").exists()
    vault.close()


def test_a_new_master_key_and_the_old_one_can_go(store: Path) -> None:
    with opened(store) as opened_store:
        erase(opened_store.memory(user=f"{CANARY}-bob"))
        before = contents(opened_store.memory(user=f"{CANARY}-ana"))
    with opened(store, HeldKeys.of_text(f"{TWO}\n{ONE}")) as opened_store:
        assert opened_store.admin(actor="root").rekey().coded >= 1

    with opened(store, HeldKeys.of_text(TWO)) as opened_store:
        assert contents(opened_store.memory(user=f"{CANARY}-ana")) == before
        assert opened_store.memory(user=f"{CANARY}-bob").remember("Bob is back.").kind == "created"
        assert opened_store.admin(actor="root").check_audit().ok


def test_an_old_copy_of_the_erased_is_unreadable_and_of_others_intact(
    store: Path, tmp_path: Path
) -> None:
    with opened(store) as opened_store:
        stood = contents(opened_store.memory(user=f"{CANARY}-ana"))
    copy = tmp_path / "copy.db"
    shutil.copyfile(store, copy)
    with opened(store) as opened_store:
        receipt = erase(opened_store.memory(user=f"{CANARY}-bob"))
        assert receipt.state == "complete"
    shutil.copyfile(copy, store)

    with opened(store) as opened_store:
        bob = opened_store.memory(user=f"{CANARY}-bob")
        for ask in (bob.list, lambda: bob.recall(CANARY), lambda: bob.remember("Bob is back.")):
            with pytest.raises(simonides.KeyDestroyed, match="admin sweep"):
                ask()
        assert contents(opened_store.memory(user=f"{CANARY}-ana")) == stood

        assert opened_store.admin(actor="root").sweep() == 1
        assert opened_store.admin(actor="root").sweep() == 0
        assert bob.remember("Bob is back.").kind == "created"
        assert contents(bob) == {"Bob is back."}
        assert contents(opened_store.memory(user=f"{CANARY}-ana")) == stood
        assert opened_store.admin(actor="root").check_audit().ok


def test_a_backup_known_to_the_store_need_not_be_deleted(store: Path, tmp_path: Path) -> None:
    with opened(store) as opened_store:
        backup = tmp_path / "backup.db"
        opened_store.admin(actor="root").backup(backup)
        bob = opened_store.memory(user=f"{CANARY}-bob")
        receipt = erase(bob)

        assert (receipt.state, receipt.waits) == ("complete", ())
        assert {file.result.value for file in receipt.files if file.path == str(backup)} == {
            "shredded"
        }

        opened_store.admin(actor="root").restore_backup(backup)
        assert contents(bob) == set()
        again = bob.remember(Draft(f"Bob's {CANARY} too", source="agent_inferred"))
        assert again.kind == "created"
        assert contents(opened_store.memory(user=f"{CANARY}-ana"))
        assert opened_store.admin(actor="root").check_audit().ok


def test_what_was_forgotten_of_the_erased_stays_so_after_going_back(
    store: Path, tmp_path: Path
) -> None:
    with opened(store) as opened_store:
        opened_store.admin(actor="root").backup(tmp_path / "backup.db")
        bob = opened_store.memory(user=f"{CANARY}-bob")
        erase(bob)
        opened_store.admin(actor="root").restore_backup(tmp_path / "backup.db")

        report = bob.add(f"Remember that Bob's {CANARY} too")

        assert not report.outcomes.done


def test_who_is_erased_elsewhere_goes_on_with_a_new_key(store: Path, tmp_path: Path) -> None:
    with opened(store) as here, opened(store) as there:
        bob = here.memory(user=f"{CANARY}-bob")
        bob.remember("Bob says something.")
        erase(there.memory(user=f"{CANARY}-bob"))

        bob.remember("Bob is back.")

        assert contents(bob) == {"Bob is back."}
    with opened(store) as opened_store:
        assert contents(opened_store.memory(user=f"{CANARY}-bob")) == {"Bob is back."}


def moved(source: Path, target: Path, encrypt: str) -> None:
    env = {"SIMONIDES_KEYS": ONE, "SIMONIDES_ENCRYPT": encrypt, "PATH": os.environ["PATH"]}
    words = ["db", "migrate", "--from", str(source), "--to", str(target)]
    done = subprocess.run(
        [sys.executable, "-m", "simonides", *words],
        check=False,
        capture_output=True,
        text=True,
        env=env | {"PYTHONPATH": os.pathsep.join(sys.path)},
    )
    assert done.returncode == 0, done.stderr


def test_it_is_moved_into_plain_and_back(store: Path, tmp_path: Path) -> None:
    with simonides.open(tmp_path / "plain.db", key_ring=RING) as opened_store:
        opened_store.memory(user="ana").remember(f"Ana likes {CANARY}.")
        opened_store.memory(user="ana").remember(f"{CANARY} juice", key="drink")
    moved(tmp_path / "plain.db", tmp_path / "sealed.db", "true")

    assert CANARY.encode() not in (tmp_path / "sealed.db").read_bytes()
    with (
        opened(tmp_path / "sealed.db") as opened_store,
        simonides.open(tmp_path / "plain.db", key_ring=RING) as plain,
    ):
        assert contents(opened_store.memory(user="ana")) == contents(plain.memory(user="ana"))
        assert opened_store.admin(actor="root").check_audit().ok


def test_a_vault_that_cannot_be_written_leaves_the_erasure_pending(store: Path) -> None:
    vault = Refusing(FileVault(f"{store}.vault"))
    with simonides.open(store, key_ring=RING, key_vault=vault) as opened:
        bob = opened.memory(user=f"{CANARY}-bob")
        vault.is_refusing = True
        receipt = erase(bob)
        assert (receipt.state, receipt.waits) == ("pending", ("key_vault",))

        vault.is_refusing = False
        done = bob.data.erasure()

        assert done is not None
        assert (done.state, done.waits) == ("complete", ())
    vault.close()


def test_who_was_erased_before_a_move_is_not_erased_again_behind_it(
    store: Path, tmp_path: Path
) -> None:
    with opened(store) as opened_store:
        bob = opened_store.memory(user=f"{CANARY}-bob")
        erase(bob)
        bob.remember("Bob is back.")
    moved(store, tmp_path / "moved.db", "true")

    for _ in range(2):
        with opened(tmp_path / "moved.db") as opened_store:
            bob = opened_store.memory(user=f"{CANARY}-bob")
            assert contents(bob) == {"Bob is back."}
            bob.data.erasure()


def test_an_erasure_destroys_the_old_keys_alone_whatever_a_move_has_noted(store: Path) -> None:
    vault = Refusing(FileVault(f"{store}.vault"))
    with simonides.open(store, key_ring=RING, key_vault=vault) as opened:
        bob = opened.memory(user=f"{CANARY}-bob")
        vault.is_refusing = True
        erase(bob)
        bob.remember("Bob is back.")
    with apsw.Connection(str(store)) as connection:
        connection.execute(
            "INSERT INTO owner_keys (owner, key_id, destroyed_at)"
            " SELECT owner, 'ffffffffffffffff', destroyed_at + 1 FROM owner_keys"
        )

    vault.is_refusing = False
    with simonides.open(store, key_ring=RING, key_vault=vault) as opened:
        done = opened.memory(user=f"{CANARY}-bob").data.erasure()
        assert done is not None
        assert done.state == "complete"
    with simonides.open(store, key_ring=RING, key_vault=vault) as opened:
        assert contents(opened.memory(user=f"{CANARY}-bob")) == {"Bob is back."}
    vault.close()
    with apsw.Connection(f"{store}.vault") as connection:
        gone = connection.execute("SELECT count(*) FROM data_keys WHERE wrapped IS NULL").get
    assert gone == 1


class Refusing:
    """A vault that destroys nothing while it refuses."""

    def __init__(self, vault: FileVault) -> None:
        self._vault = vault
        self.is_refusing = False

    def __getattr__(self, name: str) -> Any:
        return getattr(self._vault, name)

    def destroy(self, *of: bytes) -> None:
        if self.is_refusing:
            raise simonides.StoreReadOnly("vault", "cannot be written")
        self._vault.destroy(*of)
