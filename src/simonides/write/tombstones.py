"""Tombstones: digests, without content, of what was forgotten.

It is not learned again, except by the user's own words.

Under the audit key, which is outside the store, nobody can try what a digest is of. Without one it
begins with two bytes of the text's *form*, which are fast, and the rest is slow (scrypt), so that
10,000 codes take minutes. The form has no word that could be the secret: it is the function words
and the number of the others. A write pays for the slow part only if a tombstone has its form.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable

from simonides.core.outcome import EventType
from simonides.core.record import Trust
from simonides.storage import statements
from simonides.storage.rows import MemoryRow
from simonides.storage.transaction import Transaction
from simonides.text.analyse import STOP_WORDS
from simonides.text.statement import content_hash, read
from simonides.write.candidate import Candidate
from simonides.write.versions import partition_cells

FULL_COST, LEAST_COST = 15, 4
"""Powers of two that scrypt's N is of: the first takes 32 MiB and about 80 ms, as is advised for
passwords that are typed in."""

AT_FULL_COST = 10
"""So many digests of one change have the full cost, twice as many half of it, and so on: to forget
10,000 memories takes seconds more, not a quarter of an hour."""

_FORM_BYTES = 2


def bury(tx: Transaction, rows: Iterable[MemoryRow]) -> None:
    """Leave a tombstone for the texts and the key of forgotten versions: digests, no content."""
    for name in dict.fromkeys(name for row in rows for name in _names(row)):
        digest = _digest(tx, name)
        if tx.connection.one(statements.TOMBSTONES, {"owner": tx.owner, "digest": digest}) is None:
            row = {"owner": tx.owner, "id": (id := tx.new_id()), "digest": digest, "at": tx.now}
            tx.add("tombstones", row, EventType.TOMBSTONED)
            tx.buried.append(id)


def unbury(tx: Transaction, ids: Iterable[bytes]) -> None:
    """Take back tombstones, of what comes back; those that are no longer there are skipped."""
    for id in ids:
        if tx.connection.one(statements.TOMBSTONE, {"owner": tx.owner, "id": id}) is not None:
            tx.remove("tombstones", id, EventType.TOMBSTONE_LIFTED)


def lift_tombstone(tx: Transaction, candidate: Candidate, *, by_user: bool) -> bool:
    """Return whether a candidate may be stored; the user's own words lift what is in their way."""
    if not tx.has_tombstones:
        return True
    cells = partition_cells(candidate)
    for name in _names({**cells, "content": candidate.content, "key": candidate.key}):
        for id in _tombstones(tx, name):
            if not by_user or candidate.label.trust is not Trust.USER:
                return False
            tx.remove("tombstones", id, EventType.TOMBSTONE_LIFTED)
    return True


def _tombstones(tx: Transaction, name: str) -> list[bytes]:
    """Return the ids of the tombstones of a text or a key: one for each cost it was buried at."""
    quick = tx.tombstone(name)
    if tx.has_key:
        digests = [quick]
    else:
        form = _form(tx, name)
        of_form = {"owner": tx.owner, "first": form, "last": form + b"\xff" * 2}
        costs = tx.connection.rows(statements.TOMBSTONE_COSTS, of_form)
        digests = [form + _slow(quick, each[_FORM_BYTES]) for (each,) in costs]
    kept = (tx.connection.one(statements.TOMBSTONES, {"owner": tx.owner, "digest": each})
            for each in digests)  # fmt: skip
    return [bytes(row[0]) for row in kept if row is not None]


def _digest(tx: Transaction, name: str) -> bytes:
    """Return the digest of a text or a key, that costs less the more this change has made."""
    quick = tx.tombstone(name)
    if tx.has_key:
        return quick
    halved = (1 + len(tx.buried) // AT_FULL_COST).bit_length() - 1
    return _form(tx, name) + _slow(quick, max(FULL_COST - halved, LEAST_COST))


def _form(tx: Transaction, name: str) -> bytes:
    words = [word if word in STOP_WORDS else "" for word in name.split()]
    return tx.tombstone(f"form {' '.join(words)}")[:_FORM_BYTES]


def _slow(quick: bytes, cost: int) -> bytes:
    digest = hashlib.scrypt(quick, salt=b"tombstone", n=2**cost, r=8, p=1, maxmem=2**26, dklen=32)
    return bytes([cost]) + digest


def _names(row: MemoryRow) -> list[str]:
    """Return what a tombstone is for: a text and a key.

    A text is known by its telling words, so that another punctuation or politeness is the same. A
    key is known within its place.
    """
    content, key = row["content"], row["key"]
    names = ["text " + (" ".join(read(content).telling) or content_hash(content))]
    if key is not None:
        partition = (row["task"], row["audience"], row["purpose"])
        names.append(f"key {partition} {key}")
    return names
