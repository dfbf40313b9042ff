"""How a memory lies in a row: columns of five plain types, JSON text for lists."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from datetime import datetime
from functools import lru_cache
from typing import Any

from simonides.core.clock import to_datetime
from simonides.core.record import FIELDS, Partition, Record, Status, value_type
from simonides.storage import statements
from simonides.storage.database import Connection, Row
from simonides.storage.statements import MEMORY, SHOWN

MemoryRow = dict[str, Any]
"""The cells of a memory by column."""

PAGE = 500
"""Rows that are read at once."""

_FIELDS = {name: column.name or name for name, column in FIELDS.items()}
_JSON = tuple(name for name in FIELDS if value_type(name) in (tuple, Mapping))


def memory_row(cells: Row) -> MemoryRow:
    """Return the cells of a row that was selected with all columns, by name."""
    return dict(zip(MEMORY, cells, strict=True))


@lru_cache
def partition_of(task: str | None, audience: str | None, purpose: str | None) -> Partition:
    """Return the place of its cells in a row."""
    agents = None if audience is None else tuple(json.loads(audience))
    return Partition(task, agents, purpose)


def memories(connection: Connection, sql: str, **params: Any) -> list[MemoryRow]:
    """Return the memories that a statement selects with all columns."""
    return [memory_row(cells) for cells in connection.rows(sql, params)]


def by_id(connection: Connection, owner: str, ids: Iterable[bytes]) -> list[MemoryRow]:
    """Return those of some memories that are there."""
    params = [{"owner": owner, "id": id} for id in ids]
    return [row for each in params for row in memories(connection, statements.BY_ID, **each)]


def record_of(row: Mapping[str, Any]) -> Record:
    """Return the record of a row, validated: the file may have been edited by others."""
    values = {name: row[cell] for name, cell in _FIELDS.items() if row[cell] is not None}
    values |= {name: json.loads(values[name]) for name in _JSON if name in values}
    if row["subject"] is not None:
        values["triple"] = (row["subject"], row["predicate"], row["object"])
    values["status"] = row["ended"] or row["status"]
    values["said_at"] = time_said(row)
    for name in ("valid_from", "created_at"):
        if row["utc_offset"] is not None and name in values:
            values[name] = to_datetime(row[name], row["utc_offset"])
    return Record.model_validate(values)


def time_said(row: Mapping[str, Any]) -> datetime:
    """Return when a memory was last said, in its own zone."""
    return to_datetime(row["said_at"], row["utc_offset"])


def as_then(record: Record) -> Record:
    """Return a record as it was known while its version was in force."""
    if record.known_to is None:
        return record
    back = {"known_to": None, "superseded_by": None, "status": Status.ACTIVE}
    return record.model_copy(update=back)


def latest_of(connection: Connection, owner: str, roots: Iterable[bytes]) -> Iterator[MemoryRow]:
    """Yield of some memories the row of the version in force, else of the last one."""
    for root in roots:
        yield from memories(connection, statements.CURRENT_OF_ROOT, owner=owner, root=root)


def id_bytes(id: str) -> bytes:
    """Return the 16 bytes of an id."""
    return bytes.fromhex(id.replace("-", ""))


def fetched(connection: Connection, named: Iterable[tuple[str, bytes]]) -> dict[bytes, Record]:
    """Return the records that are there, by id, of some owners and ids; in the owners' order."""
    by_owner: dict[str, list[bytes]] = {}
    for owner, id in named:
        by_owner.setdefault(owner, []).append(id)
    records = {}
    for owner, ids in by_owner.items():
        for cells in rows_of_ids(connection, statements.by_ids, ids, owner=owner):
            row = dict(zip(SHOWN, cells, strict=True))
            records[row["id"]] = record_of(row)
    return records


def rows_of_ids(
    connection: Connection, statement: Callable[[int], str], ids: Sequence[bytes], **params: Any
) -> Iterator[Row]:
    """Yield the rows that a statement for some number of ids selects."""
    for batch in batched(ids):
        yield from connection.rows(statement(len(batch)), {**params, **batch})


def rows_of(connection: Connection, table: str, owner: str) -> Iterator[Row]:
    """Yield all rows of an owner in a table, in their `ORDER`; `PAGE` of them are in memory."""
    columns, sql = statements.COLUMNS[table], statements.page(table)
    after = dict(statements.ORDER[table])
    while True:
        named = {f"after_{name}": value for name, value in after.items()}
        rows = connection.rows(sql, {"owner": owner, "limit": PAGE, **named})
        yield from rows
        if len(rows) < PAGE:
            return
        after = {name: rows[-1][columns.index(name)] for name in after}
        del rows  # else two pages are in memory


def paged(
    connection: Connection,
    sql: str,
    owner: str,
    after: int | bytes,
    size: int,
    position: int = 0,
    **params: Any,
) -> Iterator[Row]:
    """Yield the rows of an owner that a statement selects page by page.

    Args:
        connection: A read of the owner.
        sql: Selects ``limit`` rows that come after ``after`` in its order.
        owner: The owner.
        after: Where the first page begins.
        size: Rows of a page.
        position: Of the column that orders the rows.
        params: Further parameters of the statement.
    """
    while True:
        rows = connection.rows(sql, {"owner": owner, "after": after, "limit": size, **params})
        yield from rows
        if len(rows) < size:
            return
        after = rows[-1][position]


def batched(ids: Sequence[bytes]) -> Iterator[dict[str, bytes]]:
    """Yield ids as parameters ``id0``, ``id1``, …, at most 1,024 at once.

    There are a power of two of them, so that databases keep few statements prepared.
    """
    for first in range(0, len(ids), 1_024):
        batch = ids[first : first + 1_024]
        size = 1 << (len(batch) - 1).bit_length()
        padded = [*batch, *[batch[-1]] * (size - len(batch))]
        yield {f"id{number}": id for number, id in enumerate(padded)}
