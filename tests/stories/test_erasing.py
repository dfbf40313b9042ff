"""A user is erased: no row, no byte, no right is left, and a backup brings nothing back."""

import json
from pathlib import Path

import pytest

import simonides
from simonides.storage import statements

MARKERS = ["Quxolby", "Vexirona", "Drumpelo"]


@pytest.fixture
def told(store):
    """Return a memory of ana in acme that has something in every table, and one of ben."""
    admin = store.admin(actor="root")
    ana, ben = store.memory(user="ana", org="acme"), store.memory(user="ben", org="acme")
    admin.grant("ana", "org_write", org="acme")
    ana.remember(f"The dog is called {MARKERS[0]}", idempotency_key=f"key {MARKERS[0]}")
    ana.remember(f"The cat is called {MARKERS[1]}", key="cat")
    ana.remember(f"The cat is called {MARKERS[2]}", key="cat")
    ana.promote(ana.recall("dog")[0].record, to="org")
    talk = ana.session(MARKERS[0])
    talk.add(f"My neighbour {MARKERS[1]} lives in Oslo. " + f"{MARKERS[2]} is a lake. " * 600)
    talk.digest("neighbour")
    ana.task(f"Paint the house of {MARKERS[0]}", name="paint").note(MARKERS[1])
    ana.privacy.refuse(about=f"my friend {MARKERS[2]}")
    ana.forget("cat")
    ana.audit.record_feedback("good", note="Well said")
    ben.remember("The train leaves at nine")
    store.flush()
    return ana, ben


def left_of(store, owner="/org/acme/user/ana"):
    """Return the tables that hold rows of an owner."""
    with store._engine.db.read(owner) as connection:
        counts = {
            table: connection.rows(statements.count(table), {"owner": owner})[0][0]
            for table in statements.OWNED
        }
    return {table for table, count in counts.items() if count}


def test_nothing_is_left_of_a_user(store, told):
    ana, ben = told
    receipt = ana.data.erase(confirm="ana")
    assert {"memories", "events", "sessions", "tasks", "receipts"} <= receipt.rows.keys()
    assert {"copies", "grants", "feedback", "idempotency", "tombstones"} <= receipt.rows.keys()
    assert (ana.list(), ana.sessions(), ana.privacy.list(), ana.audit.list()) == ([], [], [], [])
    assert ana.recall("dog cat neighbour") == []
    assert [each.content for each in ben.list()] == ["The train leaves at nine"]
    assert store.admin(actor="root").grants(org="acme") == []
    assert store.admin(actor="root").verify_audit()


@pytest.mark.every_store
def test_no_row_and_no_byte_is_left(store, told, open_store):
    ana, _ = told
    with store._engine.db.read("/org/acme/user/ana", "/org/acme") as connection:
        assert connection.rows(statements.count("memories"), {"owner": "/org/acme"})[0][0] == 1
    receipt = ana.data.erase(confirm="ana")
    assert left_of(store) == set()
    with store._engine.db.read("/org/acme") as connection:
        assert connection.rows(statements.count("memories"), {"owner": "/org/acme"})[0][0] == 0
    assert receipt.status == ("pending" if open_store.backend == "postgres" else "done")
    if open_store.backend == "file":
        path = Path(store._engine.db.location)
        content = b"".join(each.read_bytes() for each in path.parent.glob(f"{path.name}*"))
        assert [marker for marker in MARKERS if marker.encode() in content] == []


def test_another_name_erases_nothing(told):
    ana, _ = told
    with pytest.raises(simonides.InvalidInput, match="confirm"):
        ana.data.erase(confirm="Ana")
    assert ana.recall("dog")
    with pytest.raises(simonides.NotFound):
        ana.data.erasure()


def test_an_administrator_erases_another_and_the_trail_says_so(store, told):
    admin = store.admin(actor="root")
    admin.memory(user="ana", org="acme").data.erase(confirm="ana")
    events = admin.memory(org="acme").audit.list(type="erased")
    assert {event.actor.partition(" via ")[0] for event in events} == {"root"}
    assert "ana" not in json.dumps([event.model_dump(mode="json") for event in events])


def test_a_receipt_is_checked_without_a_store(open_store):
    with open_store(audit_key="kept elsewhere") as store:
        ana = store.memory(user="ana")
        ana.remember("The office is in Oslo")
        receipt = ana.data.erase(confirm="ana")
        assert ana.data.erasure() == receipt
    again = type(receipt).model_validate_json(receipt.model_dump_json())
    assert again.is_genuine("kept elsewhere")
    assert not again.is_genuine("another key")
    assert not again.is_genuine()
    assert not again.model_copy(update={"status": "done", "looked_for": 5}).is_genuine(
        "kept elsewhere"
    )


def test_a_user_who_comes_back_begins_anew(store, told):
    ana, _ = told
    ana.data.erase(confirm="ana")
    assert ana.remember("The office is in Bergen")
    assert [each.content for each in ana.list()] == ["The office is in Bergen"]
    assert len(ana.audit.list()) == 1
    assert store.admin(actor="root").verify_audit()
    assert ana.data.erase(confirm="ana").rows["memories"] == 1
    assert ana.list() == []


def test_another_process_sees_nothing_of_what_was_erased(open_store, store, told):
    if open_store.backend == "memory":
        return
    other = open_store()
    elsewhere = other.memory(user="ana", org="acme")
    assert elsewhere.recall("dog")
    told[0].data.erase(confirm="ana")
    assert elsewhere.recall("dog") == []
    told[0].remember("The office is in Bergen")
    assert [hit.content for hit in elsewhere.recall("office")] == ["The office is in Bergen"]
    other.close()


def test_a_backup_that_is_put_back_is_erased_again(tmp_path):
    path, backup = tmp_path / "memory.db", tmp_path / "backup.db"
    with simonides.open(path, embedder="none") as store:
        ana, admin = store.memory(user="ana"), store.admin(actor="root")
        ana.remember(f"The dog is called {MARKERS[0]}")
        store.memory(user="ben").remember("The train leaves at nine")
        admin.backup(backup)
        ana.data.erase(confirm="ana")
        assert admin.restore(backup).erased_again == 1
    assert MARKERS[0].encode() not in path.read_bytes()
    with simonides.open(path, embedder="none") as store:
        assert store.memory(user="ana").list() == []
        assert len(store.memory(user="ben").list()) == 1
        assert store.admin(actor="root").verify_audit()
        assert store.memory(user="ana").data.erasure().rows["memories"] == 1


def test_postgresql_is_clean_after_a_vacuum(postgres_place):
    from simonides.storage.postgres import vacuum

    ana, url = postgres_place().memory(user="ana"), postgres_place.target
    ana.remember(f"The dog is called {MARKERS[0]}")
    assert ana.data.erase(confirm="ana").status == "pending"
    postgres_place.clock.advance(minutes=1)
    later = postgres_place.clock.now_ms()
    assert "memories" in vacuum(url.replace("app_role", "postgres"), later)
    assert ana.data.erasure().status == "done"


def test_bytes_that_are_found_keep_an_erasure_pending(tmp_path, monkeypatch):
    with simonides.open(tmp_path / "memory.db", embedder="none") as store:
        ana = store.memory(user="ana")
        ana.remember("The office is in Oslo")
        monkeypatch.setattr(store._engine.db, "residue", lambda marks: 1)
        assert ana.data.erase(confirm="ana").status == "pending"
        assert ana.data.erasure().status == "pending"
