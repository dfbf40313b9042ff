"""Changes of what is stored: correct, confirm, forget."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from simonides.core.clock import DAY_MS, parse_moment, to_datetime, to_ms
from simonides.core.engine import Engine
from simonides.core.errors import InvalidInput, NotFound, ScopeDenied
from simonides.core.outcome import EventType, Outcome, OutcomeKind
from simonides.core.policy import Category
from simonides.core.record import Draft, Record, Source
from simonides.core.scope import Principal
from simonides.govern.rights import check_writable, named_scope
from simonides.recall.lookup import name_of, own
from simonides.storage import statements
from simonides.storage.rows import MemoryRow, id_bytes, memories, record_of
from simonides.storage.transaction import Transaction
from simonides.write.candidate import candidate_of_record, with_object
from simonides.write.endings import note_endings
from simonides.write.gates import insert_version, rejected
from simonides.write.judge import Drop, judge, judge_approved
from simonides.write.owner_write import OwnerWrite, owner_write
from simonides.write.remember import decided, embedded
from simonides.write.versions import (
    changed_version,
    check_version,
    enter,
    renew,
    standing,
    under_key,
)


def correct(
    engine: Engine,
    who: Principal,
    which: object,
    content: str | None = None,
    *,
    pinned: bool | None = None,
    importance: str | None = None,
    expires: Any = None,
    quote: str | None = None,
    if_version: object = None,
) -> Outcome:
    """Replace what is remembered, or change how it is kept; a correction always wins.

    Raises:
        NotFound: If there is no such memory of the principal's own.
        InvalidInput: If nothing is to be changed, or a value is not storable.
        ChangedMeanwhile: If it is another version than ``if_version``.
    """
    given: dict[str, Any] = {"pinned": pinned, "importance": importance, "quote": quote}
    fields = {name: value for name, value in given.items() if value is not None}
    cells: dict[str, Any] = _end_of(engine, expires)
    record = own(engine, who, which)
    if content is None:
        if quote is not None or not (fields or cells):
            problem = "name what is to change: content, pinned, importance or expires"
            raise InvalidInput("content", problem)
        draft = Draft("checked", **fields)
        if pinned is not None:
            cells["pinned"] = int(draft.pinned)
        if importance is not None:
            cells["importance"] = draft.importance
        return _adjust(engine, who, which, record, cells, if_version)
    fields |= {"content": content, "source": Source.USER_CORRECTION}
    fields["triple"] = with_object(record.triple, content)
    candidate = candidate_of_record(engine, who, record, record.scope, "correct", fields)
    judged = judge_approved(candidate)
    if isinstance(judged, Drop):
        with owner_write(engine, record.owner, who.name) as (tx, _):
            return rejected(tx, judged)
    [commit] = embedded(engine, [judged])
    with owner_write(engine, record.owner, who.name) as write:
        row = _in_force(write.tx, record, which, if_version)
        kept = ("parents",) if row["ttl"] is None else ("parents", "ttl", "hard_expires_at")
        cells = {name: row[name] for name in kept} | cells
        return insert_version(write, commit, row, OutcomeKind.SUPERSEDED, **cells)


def _end_of(engine: Engine, expires: Any) -> dict[str, int | None]:
    """Return the columns of a hard expiry that a caller gives: a time, or ``never``."""
    if expires is None:
        return {}
    if expires == "never":
        return {"hard_expires_at": None, "ttl": None}
    hard, now = parse_moment("expires", expires) or 0, engine.clock.now_ms()
    if hard <= now:
        raise InvalidInput("expires", "is in the past; forget() removes a memory")
    return {"hard_expires_at": hard, "ttl": hard - now}


def _adjust(
    engine: Engine,
    who: Principal,
    which: object,
    record: Record,
    cells: Mapping[str, Any],
    if_version: object,
) -> Outcome:
    """Store a version with the same text and other columns."""
    with owner_write(engine, record.owner, who.name) as write:
        row = _in_force(write.tx, record, which, if_version)
        changed = changed_version(write.tx, row, **cells)
        made = [
            write.tx.end(row, "superseded", EventType.SUPERSEDED, by=changed["id"]),
            enter(write, changed, EventType.ADJUSTED),
        ]
        note_endings(write, changed)
    return Outcome(kind=OutcomeKind.SUPERSEDED, record=record_of(changed), events=tuple(made))


def confirm(engine: Engine, who: Principal, which: object, *, if_version: object = None) -> Outcome:
    """Confirm a memory: it counts as verified now.

    Raises:
        NotFound: If there is no such memory of the principal's own.
    """
    record = own(engine, who, which)
    policy = engine.policies.for_org(record.scope.org, who.agent)
    with owner_write(engine, record.owner, who.name) as write:
        row = _in_force(write.tx, record, which, if_version)
        rules = policy.categories.get(row["category"], Category())
        confirmed, event = renew(write, row, EventType.CONFIRMED, rules, verified_at=write.tx.now)
    return Outcome(kind=OutcomeKind.BUMPED, record=record_of(confirmed), events=(event,))


def promote(engine: Engine, who: Principal, which: object, to: str = "org") -> Outcome:
    """Copy a memory upward: from a task to its user or org, from a user to its org.

    The copy has an id of its own, and its origin and parent are the original. It passes the
    target's policy, and goes when the original is forgotten.

    Raises:
        NotFound: If there is no such memory of the principal's own.
        ScopeDenied: If the target is not above, or not the principal's to write.
        QuotaExceeded: If the target is full and nothing may give way.
    """
    record, target = own(engine, who, which), named_scope(who, to)
    if target not in who.home.ancestors[1:] or target.org is None:
        raise ScopeDenied(target.path, "promote", "name the user or the org above this scope")
    if target.owner != who.owner:
        check_writable(engine, who, target)
    now = engine.clock.now_ms()
    fields: dict[str, Any] = {"triple": record.triple, "parents": (record.id,), "origin": record.id}
    fields["confidence"] = record.as_of(to_datetime(now)).confidence  # a copy is no surer
    if record.hard_expires_at is not None:  # the copy goes when the original goes
        left = to_ms(record.hard_expires_at) - now
        fields["ttl_days"] = left / DAY_MS
    judged = judge(candidate_of_record(engine, who, record, target, "promote", fields))
    [ready] = embedded(engine, [judged])
    with owner_write(engine, target.owner, who.name) as write:
        outcome = decided(write, ready)
    if not outcome:
        return outcome
    with owner_write(engine, record.owner, who.name) as (tx, _):
        tx.note(EventType.PROMOTED, "memories", b"", reason=f"{record.id} to {target.path}")
    return outcome


def withdraw(write: OwnerWrite, row: MemoryRow, reason: str) -> Outcome:
    """End a memory that was misunderstood; what it had replaced is in force again."""
    events = [write.tx.end(row, "superseded", EventType.SUPERSEDED, reason)]
    for back in ended_by(write, row["id"]):
        events.append(enter(write, back, EventType.CREATED, reason))
        note_endings(write, back)
    record, made = record_of(write.tx.known(row["id"])), tuple(events)
    return Outcome(kind=OutcomeKind.UNDONE, record=record, reasons=(reason,), events=made)


def ended_by(write: OwnerWrite, id: bytes) -> Iterator[MemoryRow]:
    """Yield what a version has ended as next versions, where nothing has taken its place."""
    tx = write.tx
    for row in memories(tx.connection, statements.ENDED_BY, owner=tx.owner, id=id):
        if standing(tx, row["root"]) is None and not under_key(write, row):
            yield changed_version(tx, row)


def _in_force(tx: Transaction, record: Record, which: object, if_version: object) -> MemoryRow:
    """Return the row that is in force now of a memory that was found before the turn."""
    row = standing(tx, id_bytes(record.root))
    if row is None:
        raise NotFound(name_of(which))
    check_version(row["id"], if_version)
    return row
