"""Other times: what was known at one moment, and true at another."""

from __future__ import annotations

from collections.abc import Sequence

from simonides.core.clock import FOREVER
from simonides.core.engine import Engine
from simonides.recall.index import OwnerIndex
from simonides.recall.view import View
from simonides.storage import statements
from simonides.storage.database import Connection
from simonides.storage.rows import MemoryRow, memory_row


def view_of_the_past(
    engine: Engine,
    connection: Connection,
    owners: Sequence[str],
    known_at: int | None,
    valid_at: int | None,
    now: int,
) -> View:
    """Return a view of what was known at one moment and true at another; built for this call."""
    parts: dict[str, OwnerIndex] = {}
    for owner in owners:
        index = OwnerIndex(engine.indexes.dimensions, engine.indexes.embedder)
        found = past_rows(connection, owner, known_at, valid_at)
        # What has expired by now is never returned, also not from the past.
        index.add(row for row in found if not _ended_by(row["hard_expires_at"], now))
        if len(index) or not parts:
            parts[owner] = index
    return View(tuple(parts), tuple(parts.values()))


def past_rows(
    connection: Connection, owner: str, known_at: int | None, valid_at: int | None
) -> list[MemoryRow]:
    """Return one version a memory: known at a moment, and true at another.

    Without ``valid_at`` it is the version in force at ``known_at``. With it, of the versions that
    were known by then, the last one that had begun to be true. The first version of a memory is
    true from ever on unless it says otherwise; a later one from when it was recorded.
    """
    moment = FOREVER if known_at is None else known_at
    rows = map(memory_row, connection.rows(statements.AS_OF, {"owner": owner, "known_at": moment}))
    chosen: dict[bytes, MemoryRow] = {}
    for row in rows:  # by memory, then by version
        in_force = row["known_to"] is None or row["known_to"] > moment
        if valid_at is None:
            ended = (_ended_by(row[end], moment) for end in ("hard_expires_at", "valid_to"))
            if in_force and not any(ended):
                chosen[row["root"]] = row
            continue
        begins = row["valid_from"]
        if begins is None:
            begins = -FOREVER if row["version"] == 1 else row["known_from"]
        if begins <= valid_at:
            chosen[row["root"]] = row
    if valid_at is None:
        return list(chosen.values())
    return [row for row in chosen.values() if not _ended_by(row["valid_to"], valid_at)]


def _ended_by(end: int | None, moment: int) -> bool:
    return end is not None and end <= moment
