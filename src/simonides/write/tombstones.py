"""Tombstones: digests, without content, of what was forgotten.

It is not learned again, except by the user's own words.
"""

from __future__ import annotations

from collections.abc import Iterable

from simonides.core.outcome import EventType
from simonides.core.record import Trust
from simonides.storage import statements
from simonides.storage.database import Row
from simonides.storage.rows import MemoryRow
from simonides.storage.transaction import Transaction
from simonides.text.statement import content_hash, read
from simonides.write.candidate import Candidate
from simonides.write.versions import partition_cells


def bury(tx: Transaction, rows: Iterable[MemoryRow]) -> None:
    """Leave a tombstone for the texts and the key of forgotten versions: digests, no content."""
    for digest in dict.fromkeys(digest for row in rows for digest in _digests(tx, row)):
        if _tombstone(tx, digest) is None:
            row = {"owner": tx.owner, "id": tx.new_id(), "digest": digest, "at": tx.now}
            tx.add("tombstones", row, EventType.TOMBSTONED)


def unbury(tx: Transaction, rows: Iterable[MemoryRow]) -> None:
    """Take back the tombstones of versions that come back."""
    for digest in dict.fromkeys(digest for row in rows for digest in _digests(tx, row)):
        if (tombstone := _tombstone(tx, digest)) is not None:
            tx.remove("tombstones", tombstone[0], EventType.TOMBSTONE_LIFTED)


def lift_tombstone(tx: Transaction, candidate: Candidate, *, by_user: bool) -> bool:
    """Return whether a candidate may be stored; the user's own words lift what is in their way."""
    if not tx.has_tombstones:
        return True
    cells = partition_cells(candidate)
    for digest in _digests(tx, {**cells, "content": candidate.content, "key": candidate.key}):
        if (tombstone := _tombstone(tx, digest)) is not None:
            if not by_user or candidate.label.trust is not Trust.USER:
                return False
            tx.remove("tombstones", tombstone[0], EventType.TOMBSTONE_LIFTED)
    return True


def _tombstone(tx: Transaction, digest: bytes) -> Row | None:
    return tx.connection.one(statements.TOMBSTONES, {"owner": tx.owner, "digest": digest})


def _digests(tx: Transaction, row: MemoryRow) -> list[bytes]:
    """Return the digests of a text and a key: without the audit key there is nothing to guess.

    A text is known by its telling words, so that another punctuation or politeness is the same. A
    key is known within its place.
    """
    content, key = row["content"], row["key"]
    names = ["text " + (" ".join(read(content).telling) or content_hash(content))]
    if key is not None:
        partition = (row["task"], row["audience"], row["purpose"])
        names.append(f"key {partition} {key}")
    return [tx.tombstone(name) for name in names]
