"""A change of one owner: its clock, its audit chain, and what is staged until the end.

Every change goes through here, and each writes its audit event in the same transaction. An event
holds a digest of the row that it left and the code of the event before it, so that an edited,
removed, re-ordered or re-scoped row or event is found. With a key, nobody without it can make a
code that fits (keyed BLAKE2b).
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import cached_property
from typing import TYPE_CHECKING, Any

from simonides.core.clock import DAY_MS, to_datetime
from simonides.core.engine import Engine
from simonides.core.outcome import Event, EventType
from simonides.core.record import id_text
from simonides.core.scope import scope_of
from simonides.storage import statements
from simonides.storage.database import Connection, Database
from simonides.storage.digests import (
    EMPTY,
    OwnerState,
    Summed,
    blake,
    event_code,
    packed,
    part_of,
    replace_leaf,
    row_digest,
)
from simonides.storage.rows import MemoryRow, by_id, latest_of

if TYPE_CHECKING:
    from simonides.core.policy import Policy

GC = "gc"
"""The job that collects an owner's memories, a day after the first change and then daily."""

TIMES = tuple(
    "status updated_at said_at utc_offset verified_at soft_expires_at hard_expires_at".split()
)
"""What may change of a version, beside its vectors and its end."""


def secret_of(connection: Connection) -> bytes:
    """Return the store's secret, which keys digests of what was forgotten, and of questions."""
    [row] = connection.rows(statements.META, {"name": "secret"})
    return bytes.fromhex(row[1])


def begin(connection: Connection, owner: str, now: int, salt: bytes) -> OwnerState:
    """Take an owner's write lock; return its row.

    Args:
        connection: In a change of the owner.
        owner: The owner; its first change makes the row.
        now: A time, in milliseconds: the first epoch, other than that of an owner that was erased.
        salt: Of a new row.
    """
    params = {"owner": owner, "epoch": now, "empty": EMPTY, "salt": salt}
    return OwnerState._make(connection.rows(statements.BEGIN_WRITE, params)[0])


def end(
    parts: int,
    connection: Summed,
    key: bytes,
    owner: str,
    before: OwnerState,
    then: OwnerState,
) -> None:
    """Write an owner's row at the end of a change, and the sum of all owners.

    Args:
        parts: In how many parts the owners are summed.
        connection: Has summed what the change did.
        key: Of the audit chain.
        owner: The owner.
        before: The row as `begin` returned it.
        then: The row as it is to be, but for its sum and code.
    """
    then = then._replace(rows=connection.total, code=EMPTY)
    if before.fits(key, owner):
        then = then._replace(code=then.leaf(key, owner))
    connection.run(statements.END_WRITE, {"owner": owner, **then._asdict()})
    old = EMPTY if before.is_new else before.leaf(key, owner)
    secret = secret_of(connection)
    replace_leaf(connection, key, part_of(owner, parts), secret, old, then.leaf(key, owner))


@contextmanager
def summing(db: Database, key: bytes, owner: str, now: int, salt: bytes) -> Iterator[Summed]:
    """Open a change of rows of one owner that have no events, in turn with other changes of it."""
    with db.write(owner) as connection:
        state = begin(connection, owner, now, salt)
        summed = Summed(connection, key, state.rows)
        yield summed
        if summed.total != state.rows:
            end(db.parts, summed, key, owner, state, state)


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
        now: Time of the change in milliseconds; never before the owner's last event.
        inserted: Rows that this change inserts, by id.
        ended: Ids of memories that went out of force or were deleted, for the index.
        revision: Length of the chain when the change began.
        epoch: The owner's epoch; raised by deletion.
        gone: Rows that this change deletes, if a list is given to take them.
        buried: Ids of tombstones that this change made.
        is_bulk: Whether one call stores several statements, as an import does.
        compares_later: Whether a job compares what it inserts with what is known.
        events: What is appended to the chain, as rows.
    """

    def __init__(self, engine: Engine, connection: Connection, owner: str, actor: str) -> None:
        """Take the owner's write lock; in PostgreSQL this waits for other writers of the owner."""
        self.owner, self.actor, now = owner, actor, engine.clock.now_ms()
        self._state = begin(connection, owner, now, engine.ids.salt())
        self.connection = Summed(connection, engine.audit_key, self._state.rows)
        self.epoch, self.revision = self._state.epoch, self._state.events
        self._head = self._state.head
        self.now = max(now, self._state.clock)
        self._ids, self._key, self._policies = engine.ids, engine.audit_key, engine.policies
        self._parts = engine.db.parts
        self.length: int = self.revision
        self.inserted: dict[bytes, MemoryRow] = {}
        self._changed: dict[bytes, MemoryRow] = {}
        self._turns: dict[tuple[Any, ...], bytes] = {}
        self.events: list[dict[str, Any]] = []
        self.ended: list[bytes] = []
        self.gone: list[MemoryRow] | None = None
        self.buried: list[bytes] = []
        self.is_bulk = self.compares_later = False

    @property
    def policy(self) -> Policy:
        """The rules in force for the owner."""
        return self._policies.for_org(scope_of(self.owner, None).org)

    @cached_property
    def has_tombstones(self) -> bool:
        """Whether anything of the owner was forgotten before this change."""
        return self.connection.one(statements.HAS_TOMBSTONES, {"owner": self.owner}) is not None

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

    @property
    def has_key(self) -> bool:
        """Whether codes are made with an audit key, which the store does not have."""
        return bool(self._key)

    def tombstone(self, name: str) -> bytes:
        """Return the digest of something that is forgotten, salted by the owner."""
        return blake(self._key, b"tombstone" + packed((self.owner, self._state.salt, name)))

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
        self.epoch = self._state.epoch + 1
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
        if not self.events and self.connection.total == self._state.rows:
            return
        if self._changed:
            self.connection.run_many(statements.CHANGE, list(self._changed.values()))
        if self.inserted:
            self.connection.run_many(statements.insert("memories"), list(self.inserted.values()))
        rows = (*self._changed.values(), *self.inserted.values())
        if tokens := [row for row in rows if row.get("tokens")]:
            self.connection.run_many(statements.KEEP_TOKENS, tokens)
        if self.events:
            self.connection.run_many(statements.APPEND, self.events)
        # Rows without an event, as of a conversation that ends late, are no sign of life.
        clock = self.now if self.events else self._state.clock
        then = self._state._replace(
            epoch=self.epoch, clock=clock, events=self.length, head=self._head
        )
        end(self._parts, self.connection, self._key, self.owner, self._state, then)
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
