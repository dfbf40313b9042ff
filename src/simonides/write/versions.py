"""The rows of new versions, and what is in force of those that are there."""

from __future__ import annotations

import json
from enum import StrEnum
from typing import Any, cast

from simonides.core.clock import DAY_MS, to_ms
from simonides.core.errors import ChangedMeanwhile, NotFound
from simonides.core.outcome import Event, EventType
from simonides.core.policy import Category
from simonides.core.record import DRAFT_FIELDS, FIELDS, Source, Status, id_text
from simonides.models.embedder import Encoded
from simonides.recall.index import OwnerIndex, quantise
from simonides.recall.lookup import name_of
from simonides.storage import statements
from simonides.storage.rows import MemoryRow, id_bytes, memories
from simonides.storage.transaction import Transaction
from simonides.write import pending
from simonides.write.candidate import Candidate
from simonides.write.owner_write import OwnerWrite

Vector = Encoded | None
"""The vectors of a text; None without an embedder, or where it failed."""

GIVEN = tuple(name for name in FIELDS if name in DRAFT_FIELDS)
"""Columns of a memory whose values a draft gives."""


def new_version(
    write: OwnerWrite, candidate: Candidate, vector: Vector, before: MemoryRow | None
) -> MemoryRow:
    """Return the row of a new memory, or of the next version of one.

    Args:
        write: It gives id, salt and time.
        candidate: What is stored.
        vector: Of its indexed text, or None.
        before: The version that it follows, or None.
    """
    tx = write.tx
    id = tx.new_id()
    soft, hard = expiry(candidate, tx.now)
    subject, predicate, object = candidate.triple or (None, None, None)
    row = {
        **{name: _cell(candidate.value(name)) for name in GIVEN},
        **partition_cells(candidate), **vector_cells(vector),
        "owner": tx.owner, "id": id, "root": id if before is None else before["root"],
        "version": 1 if before is None else tx.last_version(before["root"]) + 1,
        "hash": candidate.hash, "trust": candidate.label.trust.value,
        "subject": subject, "predicate": predicate, "object": object,
        "status": Status.ACTIVE.value, "created_at": tx.now, "updated_at": tx.now,
        "verified_at": tx.now if candidate.source is Source.USER_CORRECTION else None,
        "known_from": tx.now, "known_to": None, "ended": None, "ended_by": None,
        "said_at": said_at(tx, candidate), "utc_offset": candidate.utc_offset,
        "soft_expires_at": soft, "hard_expires_at": hard, "ttl": candidate.ttl_ms,
        "terms": " ".join(candidate.analysed.terms), "marks": candidate.analysed.marks,
        "fingerprint": candidate.analysed.fingerprint,
        "embedder": None if vector is None else write.index.embedder, "salt": tx.salt(),
    }  # fmt: skip
    if vector is None and before is not None and row["terms"] == before["terms"]:
        row |= _kept_vector(tx, before)
    return row


def _cell(value: Any) -> Any:
    """Return a value of a field as it lies in a row."""
    match value:
        case StrEnum():
            return value.value
        case tuple():
            return json.dumps(value, ensure_ascii=False) if value else None
        case bool():
            return int(value)
        case _:
            return value


def said_at(tx: Transaction, candidate: Candidate) -> int:
    """Return when a candidate was said in the world; it orders the values of one fact."""
    at = candidate.draft.at
    return tx.now if at is None else to_ms(at)


def changed_version(tx: Transaction, before: MemoryRow, **cells: Any) -> MemoryRow:
    """Return the row of the next version of a memory, with some columns changed."""
    version = tx.last_version(before["root"]) + 1
    fresh = {
        "id": tx.new_id(), "version": version, "salt": tx.salt(), "known_from": tx.now,
        "known_to": None, "ended": None, "ended_by": None,
    }  # fmt: skip
    return {**before, **fresh, "tokens": _tokens(tx, before), **cells}


def in_force(tx: Transaction, id: bytes) -> MemoryRow | None:
    """Return a memory's row if it is in force as this turn has left it, or None."""
    row = tx.memory(id)
    return None if row is None or row["known_to"] is not None else row


def has_expired(row: MemoryRow, now: int) -> bool:
    """Whether a memory is not shown any more at a moment, though it may not be collected yet."""
    return row["hard_expires_at"] is not None and row["hard_expires_at"] <= now


def standing(tx: Transaction, root: bytes) -> MemoryRow | None:
    """Return the version of a memory in force as this turn has left it, or None."""
    row = tx.latest(root)
    return None if row is None or row["known_to"] is not None else row


def check_version(id: bytes, seen: object) -> None:
    """Check that a version is the one that the caller has seen, if it says which.

    Raises:
        ChangedMeanwhile: If it is another.
    """
    if seen is not None and name_of(seen) not in (id_text(id), id_text(id)[-8:]):
        raise ChangedMeanwhile(id_text(id))


def is_beside(row: MemoryRow, other: MemoryRow) -> bool:
    """Whether two rows are of one place; another purpose or task has its own memories."""
    return all(row[name] == other[name] for name in ("task", "audience", "purpose"))


def under_key(write: OwnerWrite, row: MemoryRow) -> list[MemoryRow]:
    """Return what is in force under the key of a row, in its place."""
    ids = write.index.by_key.get(row["key"] or "", ())
    rows = [each for id in ids if (each := in_force(write.tx, id)) is not None]
    return [each for each in rows if is_beside(each, row)]


def in_slot(tx: Transaction, subject: str, predicate: str) -> list[MemoryRow]:
    """Return what is in force with a subject and predicate as this turn has left it."""
    named = {"owner": tx.owner, "subject": subject, "predicate": predicate}
    stored = [tx.known(row["id"]) for row in memories(tx.connection, statements.SLOT, **named)]
    rows = stored + tx.inserted_in_slot(subject, predicate)
    return [row for row in rows if row["known_to"] is None]


def expiry(candidate: Candidate, now: int) -> tuple[int | None, int | None]:
    """Return soft and hard expiry in milliseconds, counted from the time of record."""
    rules = candidate.rules
    soft = _later(now, rules.soft_ttl_days)
    hard = _later(now, rules.hard_ttl_days)
    stated = candidate.source in (Source.USER_STATED, Source.USER_CORRECTION)
    if candidate.ttl_ms is not None:
        hard = now + candidate.ttl_ms
    elif stated and not rules.user_stated_expires:
        hard = None
    if soft is not None and hard is not None and soft >= hard:
        soft = None
    return soft, hard


def renew(
    write: OwnerWrite,
    row: MemoryRow,
    type: EventType,
    rules: Category,
    reason: str = "",
    **cells: Any,
) -> tuple[MemoryRow, Event]:
    """Stage that a version is said again or confirmed now; its expiries count from now.

    Args:
        write: The owner's turn.
        row: The version.
        type: What was done.
        rules: The policy's rules for its category.
        reason: Why, for the audit trail.
        cells: Further columns to change.

    Returns:
        The version as it is now, and the audit event.
    """
    tx, soft, hard, ttl = write.tx, row["soft_expires_at"], row["hard_expires_at"], row["ttl"]
    if soft is not None:
        soft = _later(tx.now, rules.soft_ttl_days)
    if hard is not None:
        hard = tx.now + ttl if ttl is not None else _later(tx.now, rules.hard_ttl_days)
    cells |= {"soft_expires_at": soft, "hard_expires_at": hard}
    event = tx.touch(row, type, reason, status=pending.standing_again(tx, row).value, **cells)
    index_row(write.index, tx.known(row["id"]))
    return tx.known(row["id"]), event


def index_row(index: OwnerIndex, row: MemoryRow) -> None:
    """Add a new version to the owner's index."""
    with index.lock:
        index.add([row])


def enter(write: OwnerWrite, row: MemoryRow, type: EventType, reason: str = "") -> Event:
    """Stage a new version and add it to the owner's index."""
    index_row(write.index, row)
    return write.tx.insert(row, type, reason)


def partition_cells(candidate: Candidate) -> dict[str, str | None]:
    """Return the columns of the place of a candidate."""
    task, audience, purpose = candidate.partition
    agents = None if audience is None else json.dumps(audience)
    return {"task": task, "audience": agents, "purpose": purpose}


def vector_cells(vector: Vector) -> dict[str, bytes | float | None]:
    """Return the columns of a text's vectors, and ``tokens``, which lie in a table of their own."""
    if vector is None:
        return {"vector": None, "scale": None, "token_ids": None, "tokens": None}
    [cells], [scale] = quantise(vector.whole[None])
    ids, tokens = vector.ids.astype("<u2").tobytes(), vector.tokens.tobytes()
    return {"vector": cells.tobytes(), "scale": float(scale), "token_ids": ids, "tokens": tokens}


def _kept_vector(tx: Transaction, row: MemoryRow) -> dict[str, Any]:
    """Return the columns of the vectors of a row, for a version with the same indexed text."""
    names = ("embedder", "vector", "scale", "token_ids")
    return {name: row[name] for name in names} | {"tokens": _tokens(tx, row)}


def _tokens(tx: Transaction, row: MemoryRow) -> bytes | None:
    if "tokens" in row:
        return cast("bytes | None", row["tokens"])
    stored = tx.connection.one(statements.TOKENS_OF, {"owner": tx.owner, "id": row["id"]})
    return None if stored is None else bytes(stored[0])


def link_parents(tx: Transaction, row: MemoryRow, candidate: Candidate) -> None:
    """Note what a version was derived from, so that it goes when a parent goes.

    Raises:
        NotFound: If a parent was forgotten meanwhile.
    """
    for parent in candidate.parents:
        if parent.owner == tx.owner and tx.memory(id_bytes(parent.id)) is None:
            raise NotFound(parent.id)  # forgotten while the candidate was judged
        link(tx, row, id_bytes(parent.root), parent.owner)


def link(tx: Transaction, row: MemoryRow, parent: bytes, owner: str | None = None) -> None:
    """Note the root of a memory, of the same owner or of another, from which a row was derived."""
    params = {"owner": tx.owner, "parent_owner": owner or tx.owner, "parent": parent}
    tx.connection.run(statements.DERIVE, {**params, "child": row["root"]})


def _later(now: int, days: float | None) -> int | None:
    return None if days is None else now + round(days * DAY_MS)
