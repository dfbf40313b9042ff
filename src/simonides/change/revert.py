"""Takes any change back: what it stored ends, and what it ended or changed is as it was before.

Nothing is rewritten: what comes back is a next version. A change that something came after is taken
back after that.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Sequence
from itertools import groupby

from simonides.change.correct import ended_by
from simonides.core.clock import to_ms
from simonides.core.engine import Engine
from simonides.core.errors import InvalidInput, NotFound
from simonides.core.outcome import Event, EventType, Outcome, OutcomeKind
from simonides.core.record import Status
from simonides.core.results import AddReport
from simonides.core.scope import GLOBAL, Principal, parse_scope, scope_of
from simonides.govern.rights import Reach, check_writable, may_see
from simonides.storage import statements
from simonides.storage.rows import MemoryRow, id_bytes, record_of
from simonides.storage.transaction import event_of
from simonides.write import pending
from simonides.write.endings import note_endings
from simonides.write.owner_write import OwnerWrite, owner_write
from simonides.write.versions import changed_version, enter, index_row, standing, under_key

UNDONE = "undone"

NUMBERED = re.compile(r"(?:/\S* )?[0-9]{1,18}")
"""How an event is named: by its number, after its owner if that is not the caller."""


def events_of(engine: Engine, who: Principal, change: object) -> list[Event]:
    """Return the events of a change, in their order; none if it is no change."""
    match change:
        case str() if NUMBERED.fullmatch(change):
            owner, _, number = change.rpartition(" ")
            return [_event(engine, _owner_named(engine, who, owner), int(number))]
        case Event():
            return [change]
        case Outcome():
            return list(change.events)
        case AddReport():
            made = [each for line in change.lines for each in (*line.kept, *line.learned)]
            return events_of(engine, who, [*made, *change.extracted])
        case list() | tuple():
            return [event for each in change for event in events_of(engine, who, each)]
        case _:
            return []


def _owner_named(engine: Engine, who: Principal, owner: str) -> str:
    """Return whose event is named; whether another's exists is not said to who may not write there.

    Raises:
        InvalidScope: If it is no owner.
        ScopeDenied: If it is another one's, which is not the principal's to write.
    """
    if owner in ("", who.owner):
        return who.owner
    scope = GLOBAL if owner == GLOBAL.owner else parse_scope(owner)
    check_writable(engine, who, scope)
    return scope.owner


def _event(engine: Engine, owner: str, number: int) -> Event:
    params = {"owner": owner, "after": number - 1, "limit": 1}
    with engine.db.read(owner) as connection:
        rows = connection.rows(statements.EVENTS, params)
    if not rows or rows[0][0] != number:
        raise NotFound(str(number))
    return event_of(owner, rows[0][:8], json.loads(rows[0][7]))


def revert(engine: Engine, who: Principal, events: Sequence[Event]) -> Outcome:
    """Take changes back, all or none of those of an owner.

    Args:
        engine: The store.
        who: The principal.
        events: What was done, oldest first.

    Raises:
        InvalidInput: If there is nothing to take back, or something came after it.
        ScopeDenied: If another owner's memory was changed, which is not the principal's to write.
    """
    made: list[Event] = []
    rows: list[MemoryRow] = []
    for owner, group in groupby(reversed(events), key=lambda event: event.owner):
        if owner != who.owner:
            check_writable(engine, who, scope_of(owner, None))
        with owner_write(engine, owner, who.name) as write:
            for event in group:
                done, row = _reverted(write, who, event)
                made += done
                rows += [] if row is None else [row]
    if not made:
        problem = "has nothing that can be taken back; what was deleted is gone"
        raise InvalidInput("outcome", problem)
    record = record_of(rows[-1]) if rows else None
    return Outcome(kind=OutcomeKind.UNDONE, record=record, reasons=(UNDONE,), events=tuple(made))


def _reverted(
    write: OwnerWrite, who: Principal, event: Event
) -> tuple[list[Event], MemoryRow | None]:
    """Take one event back; return what that did, and what is in force again.

    What the principal may not see, as it is private to another agent, stays as it is.
    """
    tx, id = write.tx, id_bytes(event.subject)
    if event.subject_table == "pending" and event.type is EventType.ASKED:
        waits = any(each.id == id for each in _entries(write, who))
        done = [tx.remove("pending", id, EventType.REVIEWED, UNDONE)] if waits else []
        return done, None
    row = tx.memory(id) if event.subject_table == "memories" and id else None
    if row is None or not may_see(who, Reach(tx.owner, None), record_of(row).partition):
        return [], None
    if "was" in event.data:
        return _restored(write, event, row)
    if row["known_to"] is None and event.type in _STORED:
        return _ended(write, row)
    if event.type in _ENDED and row["ended"] is not None:
        return _back(write, row)
    if event.type in _STORED:
        raise InvalidInput("outcome", f"{event.subject} was changed since; undo that first")
    return [], None


def _entries(write: OwnerWrite, who: Principal) -> Iterator[pending.Entry]:
    """Yield what waits, but what is of another purpose or private to another agent."""
    tx = write.tx
    for entry in pending.entries(tx.connection, tx.owner):
        if pending.may_see(who, entry, pending.records(tx.connection, tx.owner, entry, tx.now)):
            yield entry


def _ended(write: OwnerWrite, row: MemoryRow) -> tuple[list[Event], MemoryRow | None]:
    """End what was stored; what it had ended is in force again."""
    if row["status"] == Status.REVIEW:
        pending.settle(write.tx, row["root"])
    made, last = [write.tx.end(row, "superseded", EventType.SUPERSEDED, UNDONE)], None
    root = {"owner": write.tx.owner, "root": row["root"]}
    write.tx.connection.run(statements.FORGET_ENDINGS, root)
    for last in ended_by(write, row["id"]):
        made.append(enter(write, last, EventType.CREATED, UNDONE))
        note_endings(write, last)
    return made, last


_STORED = (EventType.CREATED, EventType.CORRECTED, EventType.ADJUSTED, EventType.BUMPED)
_ENDED = (EventType.SUPERSEDED, EventType.BUMPED, EventType.EVICTED, EventType.MERGED)


def _back(write: OwnerWrite, row: MemoryRow) -> tuple[list[Event], MemoryRow | None]:
    """Let a version that was ended be in force again, as a next version."""
    tx, now = write.tx, standing(write.tx, row["root"])
    if now is not None and now["id"] in tx.inserted:
        return [], now  # it came back with what had ended it
    if now is not None or under_key(write, row):
        raise InvalidInput("outcome", "another value was told since; undo that first")
    back = changed_version(tx, row)
    event = enter(write, back, EventType.CREATED, UNDONE)
    note_endings(write, back)
    return [event], back


def _restored(
    write: OwnerWrite, event: Event, row: MemoryRow
) -> tuple[list[Event], MemoryRow | None]:
    """Give a version the times and the status that it had before."""
    was = event.data["was"]
    if row["known_to"] is not None or row["updated_at"] > to_ms(event.at):
        raise InvalidInput("outcome", f"{event.subject} was changed since; undo that first")
    if was.items() <= row.items():
        return [], None
    done = write.tx.touch(row, EventType.REVIEWED, UNDONE, **was)
    index_row(write.index, write.tx.known(row["id"]))
    return [done], write.tx.known(row["id"])
