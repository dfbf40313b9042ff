"""Digests of rows and events, and sums of them.

Rows of the tables in the audit chain have an event each. Rows that come and go with every turn and
reading, such as those of sessions and receipts, are summed instead: a row's keyed digest is added
when it comes and subtracted when it goes, modulo 2^256 (AdHash: Bellare and Micciancio 1997). The
sum is in the owner's row, which has a code of its own, and the rows of all owners have a sum in
``roots``. So an edited, removed, added, re-scoped or rolled-back row is found, and an owner that is
missing or went back. Without the key nobody can make a sum or a code that fits.
"""

from __future__ import annotations

import hashlib
import re
import struct
import zlib
from collections.abc import Sequence
from functools import lru_cache
from typing import Any, NamedTuple

from simonides.storage import statements
from simonides.storage.database import Connection, Params, Row

EMPTY = bytes(32)
"""Code before the first event, and digest of a row that is gone."""


def blake(key: bytes, content: bytes) -> bytes:
    """Return a code of 32 bytes. Keyed BLAKE2b is a message code in itself, faster than HMAC."""
    return hashlib.blake2b(content, digest_size=32, key=key).digest()


def packed(values: Sequence[Any]) -> bytes:
    """Return values as their lengths (-1 for none), then their texts: no two rows are alike."""
    parts = [each if each is None or type(each) is bytes else str(each).encode() for each in values]
    lengths = [-1 if part is None else len(part) for part in parts]
    return struct.pack(f">{len(parts)}i", *lengths) + b"".join(part for part in parts if part)


@lru_cache
def _by_name(table: str) -> list[tuple[str, int]]:
    columns = statements.TABLES.get(table) or statements.SUMMED[table]
    return sorted((name, position) for position, name in enumerate(columns))


def row_digest(key: bytes, table: str, values: Sequence[Any]) -> bytes:
    """Return the digest of a row, whose values are in the order of the table's columns.

    Values enter with the names of their columns and NULLs do not, so a column that a migration adds
    changes no digest.
    """
    named = [
        (name, values[position])
        for name, position in _by_name(table)
        if values[position] is not None
    ]
    return blake(key, table.encode() + b"\0" + packed([each for pair in named for each in pair]))


def event_code(key: bytes, head: bytes, owner: str, event: Sequence[Any]) -> bytes:
    """Return the code of an event: of its columns from ``seq`` to ``digest``, and of ``head``."""
    return blake(key, head + packed((owner, *event)))


_MODULUS = 1 << 256

_CHANGE = re.compile(r"\s*(INSERT INTO|DELETE FROM|UPDATE) (\w+)\b")


class OwnerState(NamedTuple):
    """The row of an owner.

    Attributes:
        epoch: Raised when rows were deleted.
        clock: Time of its last event.
        events: Length of its chain.
        head: Code of the last event.
        salt: Enters the digests of what was forgotten.
        rows: Sum of the rows of its other tables.
        code: Code of the row; `EMPTY` if it did not fit once.
    """

    epoch: int
    clock: int
    events: int
    head: bytes
    salt: bytes
    rows: bytes
    code: bytes

    @property
    def is_new(self) -> bool:
        """Whether nothing of the owner was ever stored."""
        return self.events == 0 and self.rows == EMPTY

    def leaf(self, key: bytes, owner: str) -> bytes:
        """Return the digest of the row without its code."""
        return blake(key, b"owner" + packed((owner, *self[:-1])))

    def fits(self, key: bytes, owner: str) -> bool:
        """Whether nobody without the key has changed the row."""
        return self.code == self.leaf(key, owner) or (self.is_new and self.code == EMPTY)


def added(total: bytes, digest: bytes, sign: int = 1) -> bytes:
    """Return a sum with a digest added, or subtracted with the sign -1."""
    number = int.from_bytes(total, "big") + sign * int.from_bytes(digest, "big")
    return (number % _MODULUS).to_bytes(32, "big")


class Summed(Connection):
    """A connection that keeps the sum of an owner's rows while it changes them.

    Attributes:
        total: The sum.
    """

    def __init__(self, inner: Connection, key: bytes, total: bytes) -> None:
        self._inner, self._key, self.total = inner, key, total

    def rows(self, sql: str, params: Params) -> list[Row]:
        """Return all rows; of a change of a summed table, the rows that it left or took."""
        change = _change(sql)
        if change is None:
            return self._inner.rows(sql, params)
        table, before, sql = change
        if before:
            self._add(table, self._inner.rows(before, params), -1)
        changed = self._inner.rows(sql, params)
        self._add(table, changed, -1 if sql.startswith("DELETE") else 1)
        return changed

    def run(self, sql: str, params: Params) -> None:
        """Execute one change."""
        if _change(sql) is None:
            self._inner.run(sql, params)
        else:
            self.rows(sql, params)

    def run_many(self, sql: str, many: Sequence[Params]) -> None:
        """Execute the same change with each of several parameters."""
        if _change(sql) is None:
            self._inner.run_many(sql, many)
            return
        for params in many:
            self.rows(sql, params)

    def _add(self, table: str, rows: Sequence[Row], sign: int) -> None:
        for row in rows:
            self.total = added(self.total, row_digest(self._key, table, row), sign)


@lru_cache(maxsize=256)
def _change(sql: str) -> tuple[str, str, str] | None:
    """Return the table that a statement changes, what selects the rows before, and the statement.

    None if it changes no summed table. The statement returns the rows as it leaves or takes them.
    """
    match = _CHANGE.match(sql)
    if match is None or match[2] not in statements.SUMMED:
        return None
    table, columns = match[2], ", ".join(statements.SUMMED[match[2]])
    plain = re.sub(r"\sRETURNING .*", "", sql.strip(), flags=re.DOTALL)
    is_update = match[1] == "UPDATE"
    where = re.split(r"\sWHERE\s", plain)[-1]
    before = f"SELECT {columns} FROM {table} WHERE {where}" if is_update else ""  # noqa: S608 - ours
    return table, before, f"{plain} RETURNING {columns}"


# -- all owners ------------------------------------------------------------------------------------


class Root(NamedTuple):
    """The row of a part of all owners.

    Attributes:
        leaves: Sum of the leaves of its owners.
        owners: Their number.
        changes: How often it was changed.
        code: Code of the row; `EMPTY` if it did not fit once.
    """

    leaves: bytes
    owners: int
    changes: int
    code: bytes

    def coded(self, key: bytes, part: int, secret: bytes) -> bytes:
        """Return the code that the row should have; the store's secret enters it."""
        return blake(key, b"root" + packed((part, *self[:-1], secret)))

    def fits(self, key: bytes, part: int, secret: bytes) -> bool:
        """Whether nobody without the key has changed the row."""
        return self.code == self.coded(key, part, secret)


def part_of(owner: str, parts: int) -> int:
    """Return the number of the part of all owners that an owner is in."""
    return zlib.crc32(owner.encode()) % parts


def replace_leaf(
    connection: Connection, key: bytes, part: int, secret: bytes, old: bytes, new: bytes
) -> None:
    """Put an owner's new leaf in the place of the old one; `EMPTY` stands for none."""
    params: dict[str, Any] = {"part": part, "empty": EMPTY}
    [row] = connection.rows(statements.LOCK_ROOT, params)
    root = Root._make(row)
    is_first = root.changes == 0
    leaves = added(added(root.leaves, old, -1), new)
    owners = root.owners + (old == EMPTY) - (new == EMPTY)
    then = Root(leaves, owners, root.changes + 1, EMPTY)
    if is_first or root.fits(key, part, secret):
        then = then._replace(code=then.coded(key, part, secret))
    connection.run(statements.SET_ROOT, {"part": part, **then._asdict()})
