"""How a memory lies in a row: columns of five plain types, JSON text for lists."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import datetime
from typing import Any

from simonides.core.clock import to_datetime
from simonides.core.record import Record
from simonides.storage import statements
from simonides.storage.database import Connection, Row
from simonides.storage.statements import MEMORY, SHOWN

MemoryRow = dict[str, Any]
"""The cells of a memory by column."""

_JSON = ("depends_on", "audience", "tags", "metadata", "parents")
# Not part of a record: what only the index and the audit chain read.
_INTERNAL = (*statements.UNSHOWN, "tokens", "subject", "predicate", "object", "ended", "ended_by",
    "utc_offset",
)  # fmt: skip


def memory_row(cells: Row) -> MemoryRow:
    """Return the cells of a row that was selected with all columns, by name."""
    return dict(zip(MEMORY, cells, strict=True))


def record_of(row: Mapping[str, Any]) -> Record:
    """Return the record of a row, validated: the file may have been edited by others."""
    values = {name: value for name, value in row.items() if value is not None}
    for name in _JSON:
        if name in values:
            values[name] = json.loads(values[name])
    if "subject" in values:
        values["triple"] = (values["subject"], values.get("predicate"), values.get("object"))
    if "ended" in values:
        values["status"] = values["ended"]
    if "ended_by" in values:
        values["superseded_by"] = values["ended_by"]
    values["said_at"] = said_at(row)
    for name in ("valid_from", "created_at"):
        if "utc_offset" in values and name in values:
            values[name] = to_datetime(row[name], row["utc_offset"])
    for name in _INTERNAL:
        values.pop(name, None)
    return Record.model_validate(values)


def said_at(row: Mapping[str, Any]) -> datetime:
    """Return when a memory was last said, in its own zone."""
    return to_datetime(row["said_at"], row["utc_offset"])


def as_then(record: Record) -> Record:
    """Return a record as it was known while its version was in force."""
    if record.known_to is None:
        return record
    back = {"known_to": None, "superseded_by": None, "status": "active"}
    return record.model_copy(update=back)


def latest_of(connection: Connection, owner: str, roots: Iterable[bytes]) -> Iterator[MemoryRow]:
    """Yield of some memories the row of the version in force, else of the last one."""
    for root in roots:
        cells = connection.one(statements.CURRENT_OF_ROOT, {"owner": owner, "root": root})
        if cells is not None:
            yield memory_row(cells)


def id_bytes(id: str) -> bytes:
    """Return the 16 bytes of an id."""
    return bytes.fromhex(id.replace("-", ""))


def fetched(connection: Connection, named: Iterable[tuple[str, bytes]]) -> dict[bytes, Record]:
    """Return the records that are there, by id, of some owners and ids; in the owners' order."""
    by_owner: dict[str, list[bytes]] = {}
    for owner, id in named:
        by_owner.setdefault(owner, []).append(id)
    found = {}
    for owner, ids in by_owner.items():
        for batch in batched(ids):
            cells = connection.rows(statements.by_ids(len(batch)), {"owner": owner, **batch})
            rows = [dict(zip(SHOWN, row, strict=True)) for row in cells]
            found.update({row["id"]: record_of(row) for row in rows})
    return found


def batched(ids: Sequence[bytes]) -> Iterator[dict[str, bytes]]:
    """Yield ids as parameters ``id0``, ``id1``, …, at most 1,024 at once.

    There are a power of two of them, so that databases keep few statements prepared.
    """
    for first in range(0, len(ids), 1_024):
        batch = ids[first : first + 1_024]
        size = 1 << (len(batch) - 1).bit_length()
        padded = [*batch, *[batch[-1]] * (size - len(batch))]
        yield {f"id{number}": id for number, id in enumerate(padded)}
