"""What agent-memory-integrity, an outside judge of memory stores, says of simonides.

    python -m benchmarks.integrity

It needs `pip install agent-memory-integrity`. In T1 to T9 the attacker edits the SQLite file, and
holds neither the audit key nor the heads that the operator keeps elsewhere. The other attacks write
and read through the API; they are judged twice, for a plain recall, and for one that leaves out
memories of external trust.
"""

from __future__ import annotations

import itertools
import sqlite3
import tempfile
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

from agmi.adapters.base import MemoryAdapter, Record
from agmi.adapters.semantic_base import MemoryItem, Retrieved, SemanticMemoryAdapter
from agmi.attacks.at_rest import AT_REST_ATTACKS_WITH_SNAPSHOT
from agmi.attacks.memory_specific import ALL_MEMORY_ATTACKS
from agmi.signing import KEYRING

import simonides

AUDIT_KEY = "kept elsewhere"
CONTENT = "content hash terms marks embedder vector scale salt".split()
LABELS = "source trust confidence".split()
TRUSTED = {"trust": {"$ne": "external"}}


class Tampered(MemoryAdapter):
    """One user's memories in a file. `verify` is the call of the operator, `audit.verify`.

    Each call opens the store, so that it is closed when the file is edited.
    """

    name = "simonides"
    supports_replay = supports_metadata = supports_snapshot = True

    def setup(self) -> None:
        self._folder = tempfile.TemporaryDirectory()
        self._path = Path(self._folder.name) / "memory.db"
        self._head = (0, "")

    def teardown(self) -> None:
        self._folder.cleanup()

    def reload(self) -> None:
        """Do nothing: `verify` opens the store anew."""

    def seed(self, n: int) -> None:
        self._write("ana", "limit", n)

    def seed_other(self, n: int) -> None:
        self._write("ben", "budget", n)

    def append_genuine(self) -> None:
        self._write("ana", "deadline", 1)

    def verify(self) -> bool:
        with self._opened() as store:
            report = store.memory(user="ana").audit.verify()
        [now] = report.heads.values()
        problems = list(report.problems)
        if now[0] < self._head[0] or (now[0] == self._head[0] and now != self._head):
            problems.append("the chain ends before the head that was kept elsewhere")
        self.verify_detail = "; ".join(problems) or None
        return not problems

    def read_all_raw(self) -> list[Record]:
        return self._rows("ana")

    def read_other_raw(self) -> list[Record]:
        return self._rows("ben")

    def write_raw(self, record: Record) -> None:
        if record.seq < len(self._rows("ana")):
            self._update(record.seq, {name: record.fields[name] for name in CONTENT})
            return
        names = ", ".join(record.fields)
        values = ", ".join(f":{name}" for name in record.fields)
        with self._file() as raw:
            raw.execute(f"INSERT INTO memories ({names}) VALUES ({values})", record.fields)

    def delete_raw(self, seq: int) -> None:
        with self._file() as raw:
            raw.execute("DELETE FROM memories WHERE id = ?", [self._rows("ana")[seq].fields["id"]])

    def mutate_payload(self, record: Record) -> Record:
        record.fields["content"] += " [TAMPERED]"
        return record

    def forge_record(self, template: Record) -> Record:
        forged = self.mutate_payload(Record(template.seq + 1, dict(template.fields)))
        forged.fields["id"] = forged.fields["root"] = b"\xff" + template.fields["id"][1:]
        return forged

    def payload_of(self, record: Record) -> str:
        return repr([record.fields[name] for name in CONTENT])

    def owner_of(self, record: Record) -> str:
        return record.fields["owner"]

    def replay_onto(self, victim_seq: int, donor: Record) -> None:
        self._update(victim_seq, {name: donor.fields[name] for name in CONTENT})

    def read_meta(self, seq: int) -> dict[str, Any]:
        return {name: self._rows("ana")[seq].fields[name] for name in LABELS}

    def write_meta(self, seq: int, meta: dict[str, Any]) -> None:
        self._update(seq, {"source": "config_change", "trust": "system", "confidence": 0.5})

    def snapshot_store(self) -> str:
        return self._copy_store(self._path)

    def restore_store(self, token: object) -> None:
        self._restore_store(str(token), self._path)

    def _opened(self) -> simonides.Store:
        return simonides.open(self._path, audit_key=AUDIT_KEY, embedder="none")

    def _write(self, user: str, what: str, count: int) -> None:
        with self._opened() as store:
            memory = store.memory(user=user)
            for n in range(count):
                memory.remember(f"The {what} number {n} is {50 + n}")
            if user == "ana":
                [self._head] = memory.audit.verify().heads.values()

    def _rows(self, user: str) -> list[Record]:
        with self._file() as raw:
            raw.row_factory = sqlite3.Row
            found = raw.execute(
                "SELECT * FROM memories WHERE owner LIKE ? ORDER BY id", [f"%/user/{user}"]
            ).fetchall()
        return [Record(seq, dict(row)) for seq, row in enumerate(found)]

    def _update(self, seq: int, fields: dict[str, Any]) -> None:
        columns = ", ".join(f"{name} = ?" for name in fields)
        id = self._rows("ana")[seq].fields["id"]
        with self._file() as raw:
            raw.execute(f"UPDATE memories SET {columns} WHERE id = ?", [*fields.values(), id])

    @contextmanager
    def _file(self) -> Iterator[sqlite3.Connection]:
        with closing(sqlite3.connect(self._path)) as raw, raw:
            yield raw


class Plain(SemanticMemoryAdapter):
    """A recall without a filter.

    The judge's signature stands for what an application knows: whether the user said a text. What
    lacks it is stored as external.
    """

    name = "plain recall"
    wanted: tuple[dict[str, Any], ...] = ()

    def __init__(self) -> None:
        self._store, self._orgs = simonides.open(":memory:"), itertools.count()

    def reset(self) -> None:
        self._org = f"org{next(self._orgs)}"

    def add_memory(self, item: MemoryItem) -> None:
        signed = KEYRING.verify(item.user_id, item.source, item.text, item.signature)
        source = "user_stated" if item.source == "user" and signed else "external"
        draft = simonides.Draft(item.text, source=source, metadata=item.metadata)
        self._memory(item.user_id).remember(draft)

    def retrieve(self, query: str, user_id: str, k: int = 5) -> list[Retrieved]:
        return self.retrieve_where(query, user_id, {}, k)

    def retrieve_where(
        self, query: str, user_id: str, where: dict[str, Any], k: int = 5
    ) -> list[Retrieved]:
        conditions = [*({f"metadata.{name}": each} for name, each in where.items()), *self.wanted]
        chosen = {"$and": conditions} if conditions else None
        hits = self._memory(user_id).recall(query, limit=k, filter=chosen)
        return [Retrieved(hit.content, hit.record.scope.user or "", hit.score) for hit in hits]

    def close(self) -> None:
        self._store.close()

    def _memory(self, user: str) -> simonides.Memory:
        return self._store.memory(user=user, org=self._org)


class Trusted(Plain):
    """A recall of memories that did not come from outside."""

    name = "recall without external"
    wanted = (TRUSTED,)


def main() -> None:
    for number, attack in enumerate(AT_REST_ATTACKS_WITH_SNAPSHOT, 1):
        result = attack().run(Tampered())
        print(f"T{number} {result.attack}: {result.status}; {_shown(result)}")
    for adapter in (Plain(), Trusted()):
        print(f"\n{adapter.name}")
        for attack in ALL_MEMORY_ATTACKS:
            result = attack().run(adapter)
            print(f"{result.attack}: {result.status}; {_shown(result)}")
        adapter.close()


def _shown(result: Any) -> str:
    return getattr(result, "guard", None) or result.error or result.detail


if __name__ == "__main__":
    main()
