"""Taking a change back; what a user asked to be forgotten in words comes back for ten minutes.

What is forgotten leaves every list, index and prompt at once. A copy of the rows waits in the queue
until it may no longer be taken back; then it is deleted, too.
"""

from __future__ import annotations

import base64
import json
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from simonides.change.correct import promote
from simonides.change.revert import NUMBERED, events_of, revert
from simonides.core.clock import DAY_MS, MINUTE_MS
from simonides.core.engine import Engine
from simonides.core.errors import NotFound, ScopeDenied
from simonides.core.outcome import Event, EventType, Outcome, OutcomeKind
from simonides.core.record import id_text
from simonides.core.results import AddReport, Asked
from simonides.core.scope import Principal
from simonides.govern.rights import is_reader, named_scope
from simonides.storage import statements
from simonides.storage.rows import MemoryRow, id_bytes, partition_of
from simonides.storage.transaction import Transaction
from simonides.write import pending
from simonides.write.endings import note_endings
from simonides.write.owner_write import OwnerWrite, owner_write
from simonides.write.tombstones import unbury
from simonides.write.versions import enter, link, under_key

UNDO_MS = 10 * MINUTE_MS
"""How long what was forgotten in words can be taken back. Set by judgement."""

_KEPT = (EventType.ASKED, pending.UNDO)


def keep_for_undo(
    engine: Engine,
    tx: Transaction,
    rows: Sequence[MemoryRow],
    buried: Iterable[bytes],
    copies: Mapping[bytes, Sequence[str]],
) -> Event:
    """Keep a copy of rows that are deleted in this turn; the event names it.

    Args:
        engine: The store.
        tx: The owner's transaction.
        rows: What is deleted.
        buried: Ids of their tombstones.
        copies: For each root the scopes above that had a copy, which is deleted, too.
    """
    data = {
        "rows": [json.dumps(row, default=_as_text, ensure_ascii=False) for row in rows],
        "tombstones": [id_text(id) for id in buried],
        "copies": [[id_text(root), path] for root, paths in copies.items() for path in paths],
    }
    event = pending.put(tx, pending.UNDO, data, days=UNDO_MS / DAY_MS)
    owner, id = tx.owner, id_bytes(event.subject)
    engine.worker.at_close[event.subject] = lambda: finish(engine, owner, id)
    return event


def copies_in(events: Iterable[Event]) -> list[str]:
    """Return the ids under which copies of what some events deleted wait."""
    return [
        each.subject
        for each in events
        if each.subject_table == "pending" and (each.type, each.reason) == _KEPT
    ]


def undo(engine: Engine, who: Principal, outcome: object) -> Outcome:
    """Take a change back, or bring back what was forgotten in words, or by a guess.

    Args:
        engine: The store.
        who: The user.
        outcome: What a write returned, an event of the audit trail; or the answer to a request to
            forget, the report that holds it, or its ``undo`` id. What was forgotten comes back for
            ten minutes.

    Returns:
        An outcome ``undone``; a reason ``no_copy`` names a scope above that keeps no copy any more.

    Raises:
        InvalidInput: If it is nothing of these, or something came after it.
        NotFound: If it can no longer be taken back.
    """
    ids, copies, reasons = _ids(outcome), [], ["undone"]
    if not ids:
        done = events_of(engine, who, outcome)
        ids = copies_in(done)
        if not ids:
            return revert(engine, who, done)
    with owner_write(engine, who.owner, who.name) as write:
        tx = write.tx
        waiting = {id_text(each.id): each for each in pending.entries(tx.connection, tx.owner)}
        events = []
        for id in ids:
            entry = waiting.get(id)
            if entry is None or entry.kind != pending.UNDO or entry.is_over(tx.now):
                raise NotFound(id)
            rows = [json.loads(row, object_hook=_as_bytes) for row in entry.data["rows"]]
            if who.agent is not None and not all(_is_reader(who, row) for row in rows):
                raise NotFound(id)
            unbury(tx, map(id_bytes, entry.data["tombstones"]))
            _restore(write, rows)
            copies += entry.data["copies"]
            events.append(tx.remove("pending", entry.id, EventType.REVIEWED, "undone"))
            engine.worker.at_close.pop(id, None)
    for root, path in copies:
        try:
            events += promote(engine, who, root, path).events
        except ScopeDenied:  # the right to write there was taken back since
            reasons.append(f"no_copy:{named_scope(who, path).level}")
    return Outcome(kind=OutcomeKind.UNDONE, reasons=tuple(reasons), events=tuple(events))


def finish(engine: Engine, owner: str, id: bytes) -> None:
    """Delete the copy of what was forgotten; it cannot be taken back any more."""
    with owner_write(engine, owner, "undo") as (tx, _):
        tx.connection.run(statements.NOT_DUE, {"owner": owner, "job": pending.expire_job(id)})
        if any(each.id == id for each in pending.entries(tx.connection, owner)):
            tx.remove("pending", id, EventType.FORGOTTEN, "on_request")
    engine.worker.at_close.pop(id_text(id), None)
    engine.db.checkpoint()


def _ids(outcome: object) -> list[str]:
    """Return under what copies of forgotten rows wait; a number is one of an event."""
    if isinstance(outcome, str):
        return [] if NUMBERED.fullmatch(outcome) else [outcome]
    if isinstance(outcome, list) and all(isinstance(each, str) for each in outcome):
        return [id for each in outcome for id in _ids(each)]
    asked = [outcome] if isinstance(outcome, Asked) else []
    if isinstance(outcome, AddReport):
        asked = [each for line in outcome.lines for each in line.asked]
    return [each.undo for each in asked if each.undo is not None]


def _is_reader(who: Principal, row: MemoryRow) -> bool:
    _, audience, purpose = partition_of(row["task"], row["audience"], row["purpose"])
    return is_reader(who, audience, purpose)


def _restore(write: OwnerWrite, rows: list[MemoryRow]) -> None:
    """Put rows back as they were; a version that took the place of one of them goes."""
    tx = write.tx
    for root in {row["root"] for row in rows}:
        if (now := tx.latest(root)) is not None:
            tx.delete(now["id"], "undone")
    for row in sorted(rows, key=lambda row: (row["said_at"], row["id"])):
        others = [each for each in under_key(write, row) if each["root"] != row["root"]]
        if row["known_to"] is None and others:
            row = {**row, "known_to": tx.now, "ended": "superseded"}  # another value was told since
        if row["known_to"] is None:
            enter(write, row, EventType.CREATED, "undone")
        else:
            tx.insert(row, EventType.CREATED, "undone")
        for parent in json.loads(row["parents"] or "[]"):
            if (known := tx.memory(id_bytes(parent))) is not None:
                link(tx, row, known["root"])
    for row in rows:
        if row["known_to"] is None and tx.known(row["id"])["known_to"] is None:
            note_endings(write, row)


def _as_text(value: Any) -> dict[str, str]:
    return {"bytes": base64.b64encode(value).decode()}


def _as_bytes(value: dict[str, Any]) -> Any:
    return base64.b64decode(value["bytes"]) if value.keys() == {"bytes"} else value
