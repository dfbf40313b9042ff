"""Under a key ring stores are backed up, and owners carried away, as without one."""

from pathlib import Path
from typing import Any

import apsw
import pytest

import simonides
from principals import erase, history_of
from simonides.storage.encryption.key_ring import HeldKeys, new_key

RING = HeldKeys.of_text(new_key("k1"))


@pytest.fixture
def written(tmp_path: Path) -> Path:
    """A store under a ring with two users, one of them erased."""
    path = tmp_path / "m.db"
    with simonides.open(path, key_ring=RING) as store:
        ana, eve = (store.memory(user=name) for name in ("ana", "eve"))
        ana.remember("Ana likes tea.")
        ana.remember("We deploy to us-east-1", key="region")
        ana.correct("region", "We deploy to eu-west-1")
        eve.remember("Eve likes cake.")
        erase(eve)
    return path


def contents(memory: simonides.Memory) -> set[str]:
    return {one.content for one in memory.list()}


def test_a_store_goes_back_to_its_backup_and_stays_under_its_ring(
    written: Path, tmp_path: Path
) -> None:
    with simonides.open(written, key_ring=RING) as store:
        memory = store.memory(user="ana")
        stood = contents(memory)
        store.admin(actor="root").backup(tmp_path / "backup.db")
        memory.remember("Said after the backup.")

        store.admin(actor="root").restore_backup(tmp_path / "backup.db")

        assert contents(memory) == stood
        memory.remember("It goes on.")
    with simonides.open(written, key_ring=RING) as store:
        assert contents(store.memory(user="ana")) == {*stood, "It goes on."}
        assert store.admin(actor="root").check_audit().ok
    with pytest.raises(simonides.KeyUnavailable):
        simonides.open(tmp_path / "backup.db")


def test_who_was_erased_comes_back_after_a_restore_and_a_new_key(
    written: Path, tmp_path: Path
) -> None:
    two = new_key("k2")
    with simonides.open(written, key_ring=RING) as store:
        store.admin(actor="root").backup(tmp_path / "backup.db")
        store.admin(actor="root").restore_backup(tmp_path / "backup.db")
        assert not store.memory(user="eve").list()
    both = HeldKeys({"k2": HeldKeys.of_text(two).key("k2"), "k1": RING.key("k1")})
    with simonides.open(written, key_ring=both) as store:
        store.admin(actor="root").rekey()
    with simonides.open(written, key_ring=HeldKeys.of_text(two)) as store:
        assert store.memory(user="eve").remember("Eve is back.").kind == "created"
        assert store.admin(actor="root").check_audit().ok


def test_what_was_edited_in_a_backup_is_not_restored(written: Path, tmp_path: Path) -> None:
    backup = tmp_path / "backup.db"
    with simonides.open(written, key_ring=RING) as store:
        store.admin(actor="root").backup(backup)
    backup.with_name("backup.db.sha256").unlink()
    raw = backup.read_bytes()
    assert b"Ana likes tea." in raw
    backup.write_bytes(raw.replace(b"Ana likes tea.", b"Ana hates tea."))

    with simonides.open(written, key_ring=RING) as store:
        with pytest.raises(simonides.CarryRefused) as refused:
            store.admin(actor="root").restore_backup(backup)

        assert refused.value.reason == "damaged"
        assert "Ana likes tea." in contents(store.memory(user="ana"))


def test_an_owner_that_is_brought_back_has_codes(written: Path, tmp_path: Path) -> None:
    with simonides.open(written, key_ring=RING) as store:
        stood = contents(store.memory(user="ana"))
        store.memory(user="ana").data.export(tmp_path / "ana.jsonl")
    elsewhere = tmp_path / "n.db"
    with simonides.open(elsewhere, key_ring=RING) as store:
        store.memory(user="ana").data.restore(tmp_path / "ana.jsonl")
        assert contents(store.memory(user="ana")) == stood
        assert store.admin(actor="root").check_audit().ok
    _edit(elsewhere)

    with simonides.open(elsewhere, key_ring=RING) as store, pytest.raises(simonides.Tampered):
        store.memory(user="ana").list()


def test_a_name_that_leads_nowhere_is_noticed(written: Path) -> None:
    _run(written, "DELETE FROM lookups WHERE place = 1")

    refused = pytest.raises(simonides.Tampered, match="under its own name")
    with simonides.open(written, key_ring=RING) as store, refused:
        history_of(store.memory(user="ana"), "region")


def test_an_owner_travels_by_way_of_postgres_under_a_ring(
    tmp_path: Path, postgres: Any, database: str
) -> None:
    elsewhere = postgres.new_database()
    here, there = (postgres.url("simonides_app", name) for name in (database, elsewhere))
    try:
        with simonides.open(here, key_ring=RING) as store:
            memory = store.memory(user="ana")
            memory.remember("We deploy to us-east-1", key="region")
            memory.correct("region", "We deploy to eu-west-1")
            memory.privacy.refuse(key="salary")
            memory.data.export(tmp_path / "ana.jsonl")
            store.admin(actor="root").backup(tmp_path / "backup.db")
        with simonides.open(there, key_ring=RING) as store:
            memory = store.memory(user="ana")
            memory.data.restore(tmp_path / "ana.jsonl")

            assert [version.version for version in history_of(memory, "region")] == [1, 2]
            assert store.admin(actor="root").check_audit().ok
            assert memory.remember("5000", key="salary").reasons == ("consent_refused:key",)
    finally:
        postgres.give_back(elsewhere)
    with simonides.open(tmp_path / "backup.db", key_ring=RING) as store:
        assert contents(store.memory(user="ana")) == {"We deploy to eu-west-1"}


def _edit(path: Path) -> None:
    _run(path, "UPDATE memories SET body = CAST(replace(body, 'tea', 'gin') AS BLOB)")


def _run(path: Path, statement: str) -> None:
    connection = apsw.Connection(str(path))
    connection.execute(statement).fetchall()
    connection.close()
