"""Not one byte of what was erased or forgotten is left in any file of a SQLite store."""

import os
import subprocess
import sys

import apsw
import pytest
from erasing import Life, found_in, rows_of

from principals import erase, principal_of
from simonides.api.open.assemble import assemble
from simonides.api.sync import Store
from simonides.domain.canonical_json import canonical_json
from simonides.domain.conversation.session import Observation
from simonides.domain.governance.erasure import Look
from simonides.engine.recall.read_journal import ReadJournal
from simonides.settings import Settings
from simonides.storage.schema.byte_search import CHUNK_BYTES, Needles
from simonides.storage.sqlite.file import erasure as sqlite_erasure
from simonides.storage.sqlite.sessions import SqliteSessionStore
from simonides.testing import CountingIds, ManualClock
from simonides.testing.store_contract import drive
from simonides.types import ErasureState

CYCLES = int(os.environ.get("ERASURE_CYCLES", "20"))
"""docs/privacy.md says what 500 came to."""


@pytest.fixture
def clock():
    return ManualClock()


@pytest.fixture
def opened(tmp_path, clock):
    """A maker of handles on one store; all are closed at the end."""
    made = []

    def make():
        settings = Settings(reindex="manual", synchronous="normal")
        store = assemble(
            tmp_path / "m.db",
            inline=True,
            settings=settings,
            clock=clock,
            ids=CountingIds(),
            alarm=clock,
        )
        made.append(Store(store))
        return made[-1]

    yield make
    for store in made:
        store.close()


def test_cycles_of_lives_and_erasures_leave_no_canary_and_no_others_changed(
    opened, tmp_path, clock
):
    store = opened()
    for user in ("ana", "bob"):
        store.admin(actor="root").grant(user, "org_write")
    bob = store.memory(user="bob")
    Life("bob").lead(bob)
    store._driver.run(store.runtime.part(ReadJournal).flush())
    before = rows_of(store, principal_of(bob).home)
    org = {memory.id for memory in bob.list() if memory.scope.user is None}

    for cycle in range(CYCLES):
        ana, life = store.memory(user="ana"), Life(cycle)
        life.lead(ana)
        clock.advance(seconds=6)
        assert found_in(tmp_path, life.canaries)

        receipt = erase(ana)

        assert receipt.state is ErasureState.COMPLETE, receipt.waits
        assert found_in(tmp_path, life.canaries) == []
        assert {o.kind for o in life.replay(ana)} == {"blocked"}
        assert ana.list(scopes=["user"]) == ()
        assert found_in(tmp_path, life.canaries) == []
        clock.advance(seconds=6)

    assert rows_of(store, principal_of(bob).home) == before
    assert {memory.id for memory in bob.list() if memory.scope.user is None} == org
    assert store.admin(actor="root").check_audit().ok


def test_forgetting_leaves_no_canary_either(opened, tmp_path, clock):
    store = opened()
    ana = store.memory(user="ana")
    for cycle in range(CYCLES // 2):
        life = Life(cycle)
        stored = life.lead(ana, org=False)
        clock.advance(seconds=6)
        one = stored[0]
        ana.forget(one.id)
        assert found_in(tmp_path, [one.content.split()[1], one.quote.split()[0], *one.tags]) == []

        ana.forget_many(scope="user")

        assert found_in(tmp_path, life.canaries) == []
        life.replay(ana)
        assert found_in(tmp_path, life.canaries) == []


def test_while_a_reader_needs_the_log_the_receipt_is_pending(opened, tmp_path):
    ana = opened().memory(user="ana")
    life = Life("pending")
    life.lead(ana, org=False)
    reader = apsw.Connection(str(tmp_path / "m.db"))
    reader.execute("BEGIN")
    reader.execute("SELECT count(*) FROM memories").fetchall()

    pending = erase(ana)
    still = ana.data.erasure()

    assert (pending.state, pending.waits) == (ErasureState.PENDING, ("log_in_use",))
    assert still.waits == ("log_in_use",)
    assert ana.list() == ()
    reader.execute("COMMIT")
    reader.close()
    done = ana.data.erasure()
    assert (done.state, done.waits) == (ErasureState.COMPLETE, ())
    assert {file.result for file in done.files} == {Look.CLEAN}
    assert found_in(tmp_path, life.canaries) == []


def test_another_process_completes_what_it_cannot_look_for(opened, tmp_path):
    ana = opened().memory(user="ana")
    ana.remember("The door code is 4711")
    reader = apsw.Connection(str(tmp_path / "m.db"))
    reader.execute("BEGIN")
    reader.execute("SELECT count(*) FROM memories").fetchall()
    assert erase(ana).state is ErasureState.PENDING
    reader.close()

    done = opened().memory(user="ana").data.erasure()

    assert done.state is ErasureState.COMPLETE
    assert {file.result for file in done.files} == {Look.EMPTIED}


def test_what_was_said_in_sessions_goes_with_its_owner(opened, tmp_path):
    store = opened()
    ana, sessions = (
        principal_of(store.memory(user="ana")).home,
        SqliteSessionStore.open(tmp_path / "m.db"),
    )
    for owner in (ana, principal_of(store.memory(user="bob")).home):
        said = [Observation(1, canonical_json({"said": f"canary of {owner.user}"}))]
        drive(sessions, sessions.append(owner, "thread-7", said, now=1))

    receipt = erase(store.memory(user="ana"))

    assert (receipt.removed["sessions"], receipt.removed["turns"]) == (1, 1)
    assert drive(sessions, sessions.sessions(ana)) == ()
    assert found_in(tmp_path, ["canary of ana"]) == []
    assert len(found_in(tmp_path, ["canary of bob"])) >= 1
    drive(sessions, sessions.close())


def test_bytes_that_another_row_holds_rightly_are_no_residue(opened, tmp_path):
    store = opened()
    for user in ("ana", "bob"):
        memory = store.memory(user=user)
        memory.remember("The door code of the office is 4711", key="door_code", tags=["office-1"])

    receipt = erase(store.memory(user="ana"))

    assert receipt.state is ErasureState.COMPLETE
    assert {file.result for file in receipt.files} == {Look.CLEAN}
    assert len(store.memory(user="bob").list()) == 1


def test_what_lies_in_free_space_is_found_and_written_over(opened, tmp_path):
    store = opened()
    ana = store.memory(user="ana")
    ana.remember("The canary of the free space")
    # A page with the words, given back without being overwritten: as if SQLite had shifted rows.
    careless = apsw.Connection(str(tmp_path / "m.db"))
    careless.pragma("secure_delete", 0)
    careless.execute(
        "CREATE TABLE t (words); INSERT INTO t VALUES ('The canary of the free space')"
    )
    careless.execute("DROP TABLE t")
    careless.wal_checkpoint(mode=apsw.SQLITE_CHECKPOINT_TRUNCATE)
    careless.close()
    raw = (tmp_path / "m.db").read_bytes()
    assert raw.count(b"The canary of the free space") == 2

    receipt = erase(ana)

    assert receipt.state is ErasureState.COMPLETE
    assert found_in(tmp_path, ["canary of the free"]) == []


def test_reading_the_files_drops_no_lock_that_others_rely_on(opened, tmp_path):
    store = opened()
    ana = store.memory(user="ana")
    ana.remember("The door code is 4711")
    erase(ana)
    ana.remember("Hello again")
    # Whoever is not alone with the file may not take its log away.
    alone = f"import sqlite3; c = sqlite3.connect({str(tmp_path / 'm.db')!r}, timeout=0); "
    alone += "print(c.execute('pragma journal_mode=delete').fetchone()[0])"

    done = subprocess.run(
        [sys.executable, "-c", alone], check=False, capture_output=True, text=True
    )

    assert "locked" in done.stderr or done.stdout.strip() == "wal"
    assert store.memory(user="ana").list()[0].content == "Hello again"


def test_a_known_backup_that_holds_the_subject_keeps_the_receipt_pending(
    opened, tmp_path, monkeypatch
):
    store = opened()
    ana = store.memory(user="ana")
    ana.remember("The door code of the office is 4711")
    kept = tmp_path.parent / f"{tmp_path.name}-backup.db"
    source, target = apsw.Connection(str(tmp_path / "m.db")), apsw.Connection(str(kept))
    with target.backup("main", source, "main") as copying:
        copying.step()
    source.close()
    target.close()
    there = [kept]
    monkeypatch.setattr(sqlite_erasure, "known_backups", lambda _: [f for f in there if f.exists()])

    pending = erase(ana)
    elsewhere = opened().memory(user="ana").data.erasure()

    assert pending.waits == elsewhere.waits == (f"backup:{kept}",)
    assert pending.files[-1].result is Look.RESIDUE
    kept.unlink()
    assert ana.data.erasure().state is ErasureState.COMPLETE


def test_needles_are_found_wherever_they_stand():
    text = bytearray(os.urandom(CHUNK_BYTES * 2 + 1000))
    wanted = [b"needle-%d-" % n + b"x" * n for n in range(60)]
    places = [0, 15, CHUNK_BYTES - 3, CHUNK_BYTES + 21, CHUNK_BYTES * 2 - 5, len(text) - 14]
    for place, needle in zip(places, wanted, strict=False):
        text[place : place + len(needle)] = needle

    found = Needles([*wanted, b"short"]).found_by(
        lambda start, length: bytes(text[start : start + length]), len(text)
    )

    assert found == dict.fromkeys(wanted[: len(places)], 1)
    assert not Needles([b"short"])
