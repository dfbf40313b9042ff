"""Changes of what is stored: correct, confirm, forget."""

from __future__ import annotations

from typing import Any

from simonides.core.clock import parse_moment
from simonides.core.engine import Engine
from simonides.core.errors import InvalidInput, NotFound
from simonides.core.outcome import Event, EventType, Outcome, OutcomeKind
from simonides.core.policy import Category
from simonides.core.record import Importance, Record
from simonides.core.scope import Principal
from simonides.core.validation import enum_member, text
from simonides.govern.rights import Reach
from simonides.recall.lookup import find, name_of
from simonides.storage import statements
from simonides.storage.rows import MemoryRow, id_bytes, memory_row, record_of
from simonides.storage.transaction import Transaction
from simonides.write.candidate import Candidate, candidate_of_record
from simonides.write.gates import Turn, store_correction
from simonides.write.judge import Drop, judge
from simonides.write.remember import refused, vectors_of
from simonides.write.turn import bury, owner_turn
from simonides.write.versions import changed_version, has_own_expiry, index_row, renewed


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
) -> Outcome:
    """Replace what is remembered, or change how it is kept; a correction always wins.

    Raises:
        NotFound: If there is no such memory of the principal's own.
        InvalidInput: If nothing is to be changed, or a value is not storable.
        QuotaExceeded: As for `remember`.
    """
    cells: dict[str, Any] = {}
    if pinned is not None:
        if not isinstance(pinned, bool):
            raise InvalidInput("pinned", "must be True or False")
        cells["pinned"] = int(pinned)
    if importance is not None:
        cells["importance"] = enum_member(Importance, "importance", importance).value
    if expires is not None:
        cells["hard_expires_at"] = None if expires == "never" else parse_moment("expires", expires)
    if content is None and not cells:
        raise InvalidInput(
            "content", "name what is to change: content, pinned, importance, expires"
        )
    if content is not None and not text("content", content).strip():
        raise InvalidInput("content", "must not be blank")
    standing = _own(engine, who, which)
    policy = engine.policies.for_org(who.home.org)
    if content is None:
        with owner_turn(engine, standing.owner, who.name) as (tx, index):
            row = _in_force(tx, standing, which)
            changed = changed_version(tx, row, **cells)
            made = [
                tx.end(row, "superseded", EventType.SUPERSEDED, by=changed["id"]),
                tx.insert(changed, EventType.ADJUSTED),
            ]
            index_row(index, changed, engine.indexes.embedder)
        return Outcome(kind=OutcomeKind.SUPERSEDED, record=record_of(changed), events=tuple(made))
    weight = enum_member(Importance, "importance", importance or standing.importance)
    judged = judge(candidate_of_record(standing, policy, content, quote, weight), policy)
    [vector] = vectors_of(engine, [judged.candidate])
    with owner_turn(engine, standing.owner, who.name) as (tx, index):
        turn = Turn(tx, index, policy, engine.indexes.embedder)
        if isinstance(judged, Drop):
            return refused(turn, judged)
        row = _in_force(tx, standing, which)
        kept = {"parents": row["parents"], **_own_expiry(row, judged.candidate)}
        return store_correction(turn, judged, vector, row, {**kept, **cells})


def _own_expiry(row: MemoryRow, candidate: Candidate) -> dict[str, int]:
    """Return the hard expiry that a caller gave to a memory, which a correction keeps."""
    own = has_own_expiry(row, candidate.rules)
    return {"hard_expires_at": row["hard_expires_at"]} if own else {}


def confirm(engine: Engine, who: Principal, which: object) -> Outcome:
    """Confirm a memory: it counts as verified now.

    Raises:
        NotFound: If there is no such memory of the principal's own.
    """
    standing, policy = _own(engine, who, which), engine.policies.for_org(who.home.org)
    with owner_turn(engine, standing.owner, who.name) as (tx, index):
        row = _in_force(tx, standing, which)
        rules = policy.categories.get(row["category"], Category())
        cells = {"verified_at": tx.now, **renewed(row, rules, tx.now)}
        event = tx.touch(row, EventType.CONFIRMED, **cells)
        confirmed = tx.known(row["id"])
        index_row(index, confirmed, engine.indexes.embedder)
    return Outcome(kind=OutcomeKind.BUMPED, record=record_of(confirmed), events=(event,))


def forget(engine: Engine, who: Principal, which: object) -> Outcome:
    """Delete a memory with all its versions and everything derived from it; leave a tombstone.

    Content, vectors and index terms are gone when this returns. What stays is a digest without
    content, which keeps agents and external text from teaching it again.

    Raises:
        NotFound: If there is no such memory of the principal's own.
    """
    standing = _own(engine, who, which)
    with owner_turn(engine, standing.owner, who.name) as (tx, _):
        _in_force(tx, standing, which, any_version=True)
        events = _forget_root(tx, id_bytes(standing.root), set())
    engine.db.checkpoint()
    return Outcome(kind=OutcomeKind.FORGOTTEN, events=tuple(events))


def _forget_root(tx: Transaction, root: bytes, done: set[bytes]) -> list[Event]:
    """Delete a memory and what was derived from it, in the same owner."""
    if root in done:
        return []
    done.add(root)
    params = {"owner": tx.owner, "root": root}
    rows = [memory_row(cells) for cells in tx.connection.rows(statements.HISTORY, params)]
    children = tx.connection.rows(statements.DERIVED, {"owner": tx.owner, "parent": root})
    tx.connection.run(statements.FORGET_DERIVED, {"owner": tx.owner, "id": root})
    bury(tx, rows)
    events = [tx.delete(record_of(row), "on_request") for row in rows]
    for (child,) in children:
        events += _forget_root(tx, child, done)
    return events


def _own(engine: Engine, who: Principal, which: object) -> Record:
    """Return the memory that a name means in the principal's own scope."""
    name_of(which)
    task = who.home.task
    reach = Reach(who.owner, None if task is None else frozenset({task}))
    return find(engine, who, which, [reach])


def _in_force(
    tx: Transaction, standing: Record, which: object, *, any_version: bool = False
) -> MemoryRow:
    """Return the row that is in force now of a memory that was found before the turn."""
    params = {"owner": tx.owner, "root": id_bytes(standing.root)}
    rows = [memory_row(cells) for cells in tx.connection.rows(statements.HISTORY, params)]
    current = [row for row in rows if row["known_to"] is None]
    if not rows or not (current or any_version):
        raise NotFound(name_of(which))
    return (current or rows)[-1]
