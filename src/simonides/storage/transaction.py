"""A change of one owner: its clock, its audit chain, and what is staged until the end.

Every change goes through here, and each writes its audit event in the same transaction. An event
holds a digest of the row that it left and the code of the event before it, so that an edited,
removed, re-ordered or re-scoped row or event is found. With a key, nobody without it can make a
code that fits (keyed BLAKE2b).
"""

from __future__ import annotations

import hashlib
import json
import struct
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import lru_cache
from typing import TYPE_CHECKING, Any

from simonides.core.clock import DAY_MS, to_datetime
from simonides.core.engine import Engine
from simonides.core.outcome import Event, EventType
from simonides.core.record import id_text
from simonides.core.scope import scope_of
from simonides.storage import statements
from simonides.storage.database import Connection
from simonides.storage.rows import MemoryRow, by_id, latest_of

if TYPE_CHECKING:
    from simonides.core.policy import Policy

GC = "gc"
"""The job that collects an owner's memories, a day after the first change and then daily."""

TIMES = tuple(
    "status updated_at said_at utc_offset verified_at soft_expires_at hard_expires_at".split()
)
"""What may change of a version, beside its vectors and its end."""

EMPTY = bytes(32)
"""Code before the first event, and digest of a row that is gone."""


def blake(key: bytes, content: bytes) -> bytes:
    """Return a code of 32 bytes. Keyed BLAKE2b is a message code in itself, faster than HMAC."""
    return hashlib.blake2b(content, digest_size=32, key=key).digest()


def secret_of(connection: Connection) -> bytes:
    """Return the store's secret, which keys digests of what was forgotten, and of questions."""
    [row] = connection.rows(statements.META, {"name": "secret"})
    return bytes.fromhex(row[1])


def packed(values: Sequence[Any]) -> bytes:
    """Return values as their lengths (-1 for none), then their texts: no two rows are alike."""
    parts = [each if each is None or type(each) is bytes else str(each).encode() for each in values]
    lengths = [-1 if part is None else len(part) for part in parts]
    return struct.pack(f">{len(parts)}i", *lengths) + b"".join(part for part in parts if part)


@lru_cache
def _by_name(table: str) -> list[tuple[str, int]]:
    return sorted((name, position) for position, name in enumerate(statements.TABLES[table]))


def row_digest(key: bytes, table: str, values: Sequence[Any]) -> bytes:
    """Return the digest of a row, whose values are in the order of the table's columns.

    Values enter with the names of their columns and NULLs do not, so a column that a migration adds
    changes no digest.
    """
    named = [
        (name, values[position])
        for name, position in _by_name(table)
        if values[position] is not None
    ]
    return blake(key, table.encode() + b"\0" + packed([each for pair in named for each in pair]))


def event_code(key: bytes, head: bytes, owner: str, event: Sequence[Any]) -> bytes:
    """Return the code of an event: of its columns from ``seq`` to ``digest``, and of ``head``."""
    return blake(key, head + packed((owner, *event)))


@contextmanager
def changing(engine: Engine, owner: str, actor: str) -> Iterator[Transaction]:
    """Open a change of one owner; it is durable when the block has ended, and counted then.

    The block calls `Transaction.flush` itself.
    """
    with engine.db.write(owner) as connection:
        tx = Transaction(engine, connection, owner, actor)
        yield tx
    engine.figures.committed((each["type"], each["reason"]) for each in tx.events)


class Transaction:
    """A change of one owner. Stage with its methods, then `flush`.

    Attributes:
        now: Time of the change in milliseconds; never before the owner's last change.
        inserted: Rows that this change inserts, by id.
        ended: Ids of memories that went out of force or were deleted, for the index.
        revision: Length of the chain when the change began.
        epoch: The owner's epoch; raised by deletion.
        has_tombstones: Whether anything of the owner was forgotten before.
        gone: Rows that this change deletes, if a list is given to take them.
        is_bulk: Whether one call stores several statements, as an import does.
        compares_later: Whether a job compares what it inserts with what is known.
        events: What is appended to the chain, as rows.
    """

    def __init__(self, engine: Engine, connection: Connection, owner: str, actor: str) -> None:
        """Take the owner's write lock; in PostgreSQL this waits for other writers of the owner."""
        self.connection, self.owner, self.actor = connection, owner, actor
        [state] = connection.rows(statements.BEGIN_WRITE, {"owner": owner, "empty": EMPTY})
        self.epoch, then, self.revision, self._head, has_tombstones = state
        self.has_tombstones = bool(has_tombstones)
        self._epoch_before = self.epoch
        self.now = max(engine.clock.now_ms(), then)
        self._ids, self._key, self._policies = engine.ids, engine.audit_key, engine.policies
        self.length: int = self.revision
        self.inserted: dict[bytes, MemoryRow] = {}
        self._changed: dict[bytes, MemoryRow] = {}
        self._turns: dict[tuple[Any, ...], bytes] = {}
        self.events: list[dict[str, Any]] = []
        self.ended: list[bytes] = []
        self.gone: list[MemoryRow] | None = None
        self.is_bulk = self.compares_later = False

    @property
    def policy(self) -> Policy:
        """The rules in force for the owner."""
        return self._policies.for_org(scope_of(self.owner, None).org)

    # -- reading -----------------------------------------------------------------------------------

    def memory(self, id: bytes) -> MemoryRow | None:
        """Return a memory's row as this change has left it, or None."""
        if (row := self.inserted.get(id) or self._changed.get(id)) is not None:
            return row
        return next(iter(by_id(self.connection, self.owner, [id])), None)

    def inserted_in_slot(self, subject: str, predicate: str) -> list[MemoryRow]:
        """Return the rows of a slot that this change inserts."""
        rows = self.inserted.values()
        return [row for row in rows if (row["subject"], row["predicate"]) == (subject, predicate)]

    def latest(self, root: bytes) -> MemoryRow | None:
        """Return the version in force of a memory as this change has left it, else its last one."""
        stored = latest_of(self.connection, self.owner, [root])
        rows = [row for row in self.inserted.values() if row["root"] == root]
        rows += [self.known(row["id"]) for row in stored]
        return max(rows, key=lambda row: (row["known_to"] is None, row["version"]), default=None)

    def inserted_turn(self, **at: str | int | None) -> MemoryRow | None:
        """Return the turn that this change inserts at a session, position and place."""
        id = self._turns.get(tuple(at.values()))
        return None if id is None else self.inserted.get(id)

    def last_version(self, root: bytes) -> int:
        """Return the number of the last version of a memory."""
        staged = [int(row["version"]) for row in self.inserted.values() if row["root"] == root]
        params = {"owner": self.owner, "root": root}
        [(stored,)] = self.connection.rows(statements.LAST_VERSION, params)
        return max(stored or 0, *staged, 0)

    def known(self, id: bytes) -> MemoryRow:
        """Return the row of a memory whose id was read in this change.

        Raises:
            KeyError: If it is not there, which is a fault of the engine.
        """
        row = self.memory(id)
        if row is None:
            raise KeyError(id.hex())
        return row

    def secret(self) -> bytes:
        """Return the store's secret."""
        return secret_of(self.connection)

    def new_id(self) -> bytes:
        """Return a new id."""
        return self._ids.new(self.now)

    def salt(self) -> bytes:
        """Return a new salt."""
        return self._ids.salt()

    # -- memories ----------------------------------------------------------------------------------

    def insert(self, row: MemoryRow, type: EventType, reason: str = "") -> Event:
        """Stage a new version."""
        self.inserted[row["id"]] = row
        if row["position"] is not None:
            partition = (row[name] or "" for name in ("task", "audience", "purpose"))
            self._turns[row["session"], row["position"], *partition] = row["id"]
        return self.note_memory(row, type, reason)

    def touch(self, row: MemoryRow, type: EventType, reason: str = "", **cells: Any) -> Event:
        """Stage that a version was said again or confirmed.

        Args:
            row: The version as it is.
            type: What was done.
            reason: Why.
            cells: Changed columns, of those in `statements.CHANGE`.
        """
        was = {name: row[name] for name in TIMES if name in {"updated_at", *cells}}
        row = {**row, "updated_at": self.now, **cells}
        self._keep(row)
        return self.note_memory(row, type, reason, was)

    def end(
        self, row: MemoryRow, ended: str, type: EventType, reason: str = "", by: bytes | None = None
    ) -> Event:
        """Stage that a version goes out of force.

        Args:
            row: The version as it is.
            ended: The status that it gets, for example ``superseded``.
            type: What was done.
            reason: Why.
            by: Id of the version that replaces it.
        """
        row = {**row, "known_to": self.now, "ended": ended, "ended_by": by}
        self._keep(row)
        self.ended.append(row["id"])
        return self.note_memory(row, type, reason)

    def delete(self, id: bytes, reason: str = "", type: EventType = EventType.FORGOTTEN) -> Event:
        """Delete one version with its vectors; its events stay, with digests nobody can read."""
        if self.gone is not None and (row := self.memory(id)) is not None:
            tokens = self.connection.one(statements.TOKENS_OF, {"owner": self.owner, "id": id})
            self.gone.append({"tokens": None if tokens is None else tokens[0], **row})
        for gone in (statements.FORGET_TOKENS, statements.FORGET_ENDED):
            self.connection.run(gone, {"owner": self.owner, "id": id})
        self.inserted.pop(id, None)
        self._changed.pop(id, None)
        self.ended.append(id)
        return self.remove("memories", id, type, reason)

    def _keep(self, row: MemoryRow) -> None:
        staged = self.inserted if row["id"] in self.inserted else self._changed
        staged[row["id"]] = row

    def note_memory(
        self,
        row: MemoryRow,
        type: EventType,
        reason: str = "",
        was: Mapping[str, Any] | None = None,
    ) -> Event:
        """Append an event of a version to the chain, with the digest of the version.

        Args:
            row: The version.
            type: What was done.
            reason: Why.
            was: Columns that it changed, as they were before.
        """
        data: dict[str, Any] = {"root": row["root"].hex(), "version": row["version"]}
        if was is not None:
            data["was"] = was
        return self._note_row("memories", row, type, reason, data)

    # -- other rows --------------------------------------------------------------------------------

    def add(self, table: str, row: Mapping[str, Any], type: EventType, reason: str = "") -> Event:
        """Insert a row of another table in the chain, at once."""
        self.connection.run(statements.insert(table), row)
        return self._note_row(table, row, type, reason)

    def replace(self, table: str, row: Mapping[str, Any], type: EventType, reason: str) -> Event:
        """Change a row of another table in the chain, at once."""
        self.connection.run(statements.replace(table), row)
        return self._note_row(table, row, type, reason)

    def remove(self, table: str, id: bytes, type: EventType, reason: str = "") -> Event:
        """Delete a row of a table in the chain, at once, and raise the epoch."""
        self.connection.run(statements.delete(table), {"owner": self.owner, "id": id})
        self.epoch = self._epoch_before + 1
        return self.note(type, table, id, EMPTY, reason)

    def _note_row(
        self, table: str, row: Mapping[str, Any], type: EventType, reason: str, data: Any = None
    ) -> Event:
        values = [row[name] for name in statements.TABLES[table]]
        digest = row_digest(self._key, table, values)
        return self.note(type, table, row["id"], digest, reason, data)

    def note(
        self,
        type: EventType,
        table: str,
        subject: bytes,
        digest: bytes = EMPTY,
        reason: str = "",
        data: Mapping[str, Any] | None = None,
    ) -> Event:
        """Append an event to the chain.

        Args:
            type: What was done.
            table: Table of the changed row.
            subject: Its id; empty where nothing was stored.
            digest: Of the row as this event left it; `EMPTY` where there is none.
            reason: Machine-readable, without content.
            data: Further ids and numbers, without content.
        """
        self.length += 1
        text = json.dumps(data or {}, sort_keys=True)
        cells = (
            self.length,
            self.now,
            type.value,
            self.actor,
            table,
            subject,
            reason,
            text,
            digest,
        )
        self._head = event_code(self._key, self._head, self.owner, cells)
        names = zip(statements.EVENT, (*cells, self._head), strict=True)
        self.events.append({"owner": self.owner, **dict(names)})
        return event_of(self.owner, cells, data or {})

    def flush(self) -> None:
        """Write what is staged. Ends come first: the database keeps one version of a key."""
        if not self.events:
            return
        if self._changed:
            self.connection.run_many(statements.CHANGE, list(self._changed.values()))
        if self.inserted:
            self.connection.run_many(statements.insert("memories"), list(self.inserted.values()))
        rows = (*self._changed.values(), *self.inserted.values())
        if tokens := [row for row in rows if row.get("tokens")]:
            self.connection.run_many(statements.KEEP_TOKENS, tokens)
        self.connection.run_many(statements.APPEND, self.events)
        state = {"epoch": self.epoch, "clock": self.now, "events": self.length, "head": self._head}
        self.connection.run(statements.END_WRITE, {"owner": self.owner, **state})
        # The first change of an owner, whatever it is; documents neither age nor are compared.
        if self.revision == 0 and scope_of(self.owner, None).layer is None:
            due = {"owner": self.owner, "at": self.now + DAY_MS, "job": GC}
            self.connection.run(statements.SET_DUE, due)


def event_of(owner: str, cells: Sequence[Any], data: Mapping[str, Any]) -> Event:
    """Return the event of its cells, from ``seq`` on."""
    seq, at, type, actor, table, subject, reason, *_ = cells
    # Every write makes some; the cells are ours, so they are not validated again.
    return Event.model_construct(
        owner=owner,
        seq=seq,
        at=to_datetime(at),
        type=EventType(type),
        actor=actor,
        subject_table=table,
        subject=id_text(subject),
        reason=reason,
        data=data,
    )
