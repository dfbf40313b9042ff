"""The exchange form of an owner's rows between two stores: parts, rows of plain cells, digests.

A part is one table of the schema without its ``owner`` column. Its leading columns are its key, so
that every part can be read in pages and written in the order of reading.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from typing import NamedTuple, TypeAlias

Cell: TypeAlias = int | str | bytes | None
Row: TypeAlias = tuple[Cell, ...]


class Part(NamedTuple):
    """One table of an owner.

    Attributes:
        name: Name of the table.
        columns: All except ``owner``, in the order of a row's cells. A column that names an owner
            (``child_owner``) holds its 16-byte digest, even if the store keeps another form.
        key: Number of leading columns that form the key within the owner. Rows are sorted by it:
            numbers by size, texts by code point, bytes by value.
    """

    name: str
    columns: tuple[str, ...]
    key: int

    def key_of(self, row: Row) -> Row:
        """Return the key cells of a row."""
        return row[: self.key]


def _part(name: str, columns: str, key: int = 1) -> Part:
    return Part(name, tuple(columns.split()), key)


PARTS: tuple[Part, ...] = (
    _part(
        "memories",
        "id version revision status known_from due_at codec scope_tag chain_tag key_tag hash_tag "
        "slot_tag source_tag session_tag key_id mac state body",
    ),
    _part("states", "revision id previous status known_from known_to key_id mac state", key=2),
    _part("lookups", "tag place id", key=3),
    _part("index_rows", "id analyser embedder entry"),
    _part("events", "seq key_id commitment mac"),
    _part("event_payloads", "seq salt payload"),
    _part("derivations", "parent child_owner child", key=3),
    _part("outbox", "id target body"),
    _part("tombstones", "tag"),
    _part("idempotency", "tag revision request answer"),
    _part("held", "id session_tag reason held_at session body"),
    _part("grants", "tag body"),
    _part("read_journal", "n at kind body"),
    _part("session_ends", "session_tag step at body"),
    _part("sessions", "session_tag started_at due_at body"),
    _part("turns", "session_tag turn_no at body", key=2),
    _part("reviews", "id status at body"),
    _part("consents", "tag at body"),
    _part("scopes", "scope_tag at body"),
    _part("policies", "version hash at body"),
    _part("usage", "day body"),
    _part("owner_keys", "key_id wrapped destroyed_at"),
)
"""Every table that moves with an owner. The row of ``owners`` moves as :class:`OwnerFacts`.
``leases`` do not move, because they belong to processes on the source store."""


class StoreKeys(NamedTuple):
    """Secrets of a store's digests; a copy of its rows needs the same ones.

    Attributes:
        salt: 16 bytes, for the digests of owners.
        tag_key: 32 bytes, for the tags.
    """

    salt: bytes
    tag_key: bytes


class OwnerFacts(NamedTuple):
    """The row of ``owners``, without the digest; it marks the owner as present and complete.

    Attributes:
        incarnation: As in :class:`simonides.domain.writing.change.Head`.
        epoch: As in ``Head``.
        revision: As in ``Head``.
        last_known_at: ``Head.known_at``.
        head_seq: ``Head.seq``.
        head_mac: Code of the last link.
        set_sum: None until sync counts it.
        rows: None until quotas count them.
        stored_bytes: None until quotas count them; the column ``bytes``.
        key_id: Key that the owner is sealed with, or None.
        embedder: Model of its vectors, if recorded.
        analyser: Version that made its terms, if recorded.
        erased_at: µs; None for an owner that is not erased.
        name: Canonical path; empty for an owner that was erased and not written since.
    """

    incarnation: bytes
    epoch: int
    revision: int
    last_known_at: int
    head_seq: int
    head_mac: bytes
    set_sum: bytes | None
    rows: int | None
    stored_bytes: int | None
    key_id: str | None
    embedder: str | None
    analyser: str | None
    erased_at: int | None
    name: str

    @property
    def is_erased(self) -> bool:
        """Whether nothing was written since the owner was erased."""
        return self.erased_at is not None and self.erased_at >= self.last_known_at


class Tally:
    """Counts rows and digests them; equal for two stores that hold the same rows.

    Attributes:
        rows: Number of added rows.
    """

    def __init__(self) -> None:
        self.rows = 0
        self._hash = hashlib.blake2b(digest_size=32)

    def add(self, rows: Iterable[Row]) -> None:
        """Add the next rows."""
        for row in rows:
            self._hash.update(_encoded(row))
            self.rows += 1

    @property
    def digest(self) -> bytes:
        """32 bytes over every cell so far and its position."""
        return self._hash.digest()


def fingerprint(facts: OwnerFacts | None, *more: Cell) -> bytes:
    """Return a 32-byte digest of an owner's row and of further cells."""
    tally = Tally()
    tally.add([() if facts is None else tuple(facts), more])
    return tally.digest


def _encoded(row: Row) -> bytes:
    # The number of cells, then kind, length and bytes of each: an injective encoding.
    parts = [len(row).to_bytes(2, "big")]
    for cell in row:
        if cell is None:
            kind, raw = b"n", b""
        elif isinstance(cell, bytes):
            kind, raw = b"b", cell
        elif isinstance(cell, str):
            kind, raw = b"t", cell.encode("utf-8")
        else:
            kind, raw = b"i", b"%d" % cell
        parts += (kind, len(raw).to_bytes(8, "big"), raw)
    return b"".join(parts)
