"""The public judge of memory stores (agent-memory-integrity): nine edits of the file, all noticed.

``verify`` is what an agent does after a restart: it recalls, lists, and asks for a history. So what
is noticed is rejected on read, and not by an audit that somebody has to think of.
"""

import json
import tempfile
from contextlib import contextmanager
from pathlib import Path

import apsw
import pytest

from coding import RING
from principals import history_of

pytest.importorskip("agmi", reason="needs pip install agent-memory-integrity")

from agmi.adapters.base import MemoryAdapter, Record
from agmi.attacks.at_rest import (
    ALL_AT_REST_ATTACKS,
    SnapshotRollbackAttack,
)

import simonides
from simonides.storage.sidecar.anchor_file import FileAnchor

COLUMNS = (
    "id version revision status known_from due_at codec scope_tag chain_tag key_tag hash_tag "
    "slot_tag source_tag session_tag key_id mac state body"
).split()
READ = f"SELECT {', '.join(COLUMNS)} FROM memories WHERE owner = ? ORDER BY id"
PARTS = ("memories", "states", "index_rows", "lookups")
CONTENT = ("body", "state", "mac")


class SimonidesAdapter(MemoryAdapter):
    """One user's memories; the attacker holds the whole file, and neither ring nor anchor."""

    name = "simonides"
    supports_replay = True
    supports_metadata = True
    supports_snapshot = True
    has_ring = True

    def setup(self):
        self._directory = tempfile.TemporaryDirectory()
        root = Path(self._directory.name)
        (root / "store").mkdir()
        (root / "elsewhere").mkdir()
        self._path = root / "store" / "m.db"
        self._anchor = FileAnchor(root / "elsewhere" / "anchor.db") if self.has_ring else None
        self._store = None
        self.reload()

    def teardown(self):
        self._store.close()
        if self._anchor is not None:
            self._anchor.close()
        self._directory.cleanup()

    def reload(self):
        if self._store is not None:
            self._store.close()
        ring = RING if self.has_ring else None
        self._store = simonides.open(self._path, key_ring=ring, anchor=self._anchor)

    def seed(self, n):
        self._seed("ana", "limit", n)

    def seed_other(self, n):
        self._seed("bob", "other limit", n)

    def append_genuine(self):
        self.reload()
        self._store.memory(user="ana").remember("One more fact that is not there yet")
        self._store.close()

    def verify(self):
        try:
            own = self._store.memory(user="ana")
            own.recall("what is the limit?", limit=10)
            for memory in own.list():
                history_of(own, memory.id)
        except simonides.SimonidesError as error:
            self.verify_detail = f"{type(error).__name__}: {error}"
            return False
        return True

    def read_all_raw(self):
        return self._read("ana")

    def read_other_raw(self):
        return self._read("bob")

    def write_raw(self, record):
        rows, fields = self._read("ana"), record.fields
        if record.seq < len(rows):
            return self._write(rows[record.seq].fields["id"], fields, COLUMNS[1:])
        with self._file("ana") as (connection, owner):
            row = (owner, *map(fields.get, COLUMNS))
            marks = ", ".join("?" * len(row))
            connection.execute(f"INSERT INTO memories VALUES ({marks})", row)
            connection.execute(
                "INSERT INTO states SELECT owner, revision, id, NULL, status, known_from, NULL, "
                "key_id, mac, state FROM memories WHERE owner = ? AND id = ?",
                (owner, fields["id"]),
            )
        return None

    def delete_raw(self, seq):
        id = self._read("ana")[seq].fields["id"]
        with self._file("ana") as (connection, owner):
            for part in PARTS:
                connection.execute(f"DELETE FROM {part} WHERE owner = ? AND id = ?", (owner, id))

    def mutate_payload(self, record):
        body = json.loads(record.fields["body"])
        body["content"] += " [TAMPERED]"
        record.fields["body"] = json.dumps(body).encode()
        return record

    def forge_record(self, template):
        forged = self.mutate_payload(Record(template.seq + 1, dict(template.fields)))
        forged.fields["id"] = "ff" + template.fields["id"][2:]
        return forged

    def payload_of(self, record):
        return repr([record.fields[name] for name in CONTENT])

    def owner_of(self, record):
        return record.fields["owner"]

    def replay_onto(self, victim_seq, donor):
        victim = self._read("ana")[victim_seq].fields["id"]
        self._write(victim, donor.fields, CONTENT)

    def read_meta(self, seq):
        fields = self._read("ana")[seq].fields
        return {"scope_tag": fields["scope_tag"], "known_from": fields["known_from"]}

    def write_meta(self, seq, meta):
        fields = self._read("ana")[seq].fields
        self._write(fields["id"], {"known_from": meta["known_from"] - 1}, ["known_from"])

    def snapshot_store(self):
        self._store.close()
        return self._copy_store(self._path)

    def restore_store(self, token):
        self._restore_store(token, self._path)

    def _seed(self, user, what, n):
        memory = self._store.memory(user=user)
        for i in range(n):
            memory.remember(f"The {what} number {i} is {50 + i}")

    def _read(self, user):
        with self._file(user) as (connection, owner):
            rows = connection.execute(READ, (owner,)).fetchall()
        return [
            Record(seq, {"owner": user, **dict(zip(COLUMNS, row, strict=True))})
            for seq, row in enumerate(rows)
        ]

    def _write(self, id, fields, columns):
        names = ", ".join(f"{name} = ?" for name in columns)
        with self._file("ana") as (connection, owner):
            connection.execute(
                f"UPDATE memories SET {names} WHERE owner = ? AND id = ?",
                (*(fields[name] for name in columns), owner, id),
            )

    @contextmanager
    def _file(self, user):
        connection = apsw.Connection(str(self._path))
        path = f"%/user/{user}/"
        owner = connection.execute("SELECT owner FROM owners WHERE name LIKE ?", (path,)).get
        yield connection, owner
        connection.close()


class WithoutRing(SimonidesAdapter):
    """The same edits, and nobody has set a ring."""

    has_ring = False


@pytest.mark.parametrize(
    "attack", [*ALL_AT_REST_ATTACKS, SnapshotRollbackAttack], ids=lambda attack: attack.name
)
def test_every_edit_of_the_judge_is_rejected_on_read(attack):
    result = attack().run(SimonidesAdapter())

    assert (result.status, result.error, result.guard) == ("safe", None, None)
    assert "Tampered" in result.detail


UNNOTICED = {"metadata_tamper", "snapshot_rollback"}


@pytest.mark.parametrize(
    "attack", [*ALL_AT_REST_ATTACKS, SnapshotRollbackAttack], ids=lambda attack: attack.name
)
def test_without_a_ring_check_sums_notice_who_does_not_mend_them(attack):
    found = attack().run(WithoutRing()).status

    assert found == ("VULNERABLE" if attack.name in UNNOTICED else "safe")
