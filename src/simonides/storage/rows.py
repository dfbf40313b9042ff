"""How a memory lies in a row: columns of five plain types, JSON text for lists."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

from simonides.core.record import Record
from simonides.storage import statements
from simonides.storage.database import Connection, Row
from simonides.storage.statements import MEMORY, SHOWN

MemoryRow = dict[str, Any]
"""The cells of a memory by column."""

_JSON = ("depends_on", "audience", "tags", "metadata", "parents")
# Not part of a record: what only the index and the audit chain read.
_INTERNAL = (*statements.UNSHOWN, "subject", "predicate", "object", "ended", "ended_by")


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
    for name in _INTERNAL:
        values.pop(name, None)
    return Record.model_validate(values)


def as_then(record: Record) -> Record:
    """Return a record as it was known while its version was in force."""
    if record.known_to is None:
        return record
    back = {"known_to": None, "superseded_by": None, "status": "active"}
    return record.model_copy(update=back)


def id_bytes(id: str) -> bytes:
    """Return the 16 bytes of an id."""
    return bytes.fromhex(id.replace("-", ""))


def fetched(connection: Connection, owner: str, ids: Sequence[bytes]) -> dict[bytes, Record]:
    """Return the records of ids that are there."""
    # One statement for each power of two, so that databases keep few of them prepared.
    size = 1 << (len(ids) - 1).bit_length()
    padded = [*ids, *[ids[-1]] * (size - len(ids))]
    params = {f"id{number}": id for number, id in enumerate(padded)}
    cells = connection.rows(statements.by_ids(size), {"owner": owner, **params})
    rows = [dict(zip(SHOWN, row, strict=True)) for row in cells]
    return {row["id"]: record_of(row) for row in rows}
