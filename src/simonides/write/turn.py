"""An owner's turn to write: its transaction, its index, and what was forgotten there.

A tombstone is a digest without content. What was forgotten is not learned again, except by the
user's own words.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from contextlib import contextmanager

from simonides.core.engine import Engine
from simonides.core.outcome import EventType
from simonides.recall.index import OwnerIndex
from simonides.storage import statements
from simonides.storage.rows import MemoryRow
from simonides.storage.transaction import Transaction, blake
from simonides.text.statement import content_hash, read
from simonides.write.candidate import Candidate


@contextmanager
def owner_turn(engine: Engine, owner: str, actor: str) -> Iterator[tuple[Transaction, OwnerIndex]]:
    """Open a change of one owner; it is durable, and in the index, when the block has ended.

    New rows enter the index at once, since every read checks rows in the database. Rows that went
    out of force leave it after the commit.
    """
    try:
        with engine.db.write(owner) as connection:
            tx = Transaction(engine, connection, owner, actor)
            index = engine.indexes.fresh(connection, owner, tx.revision, tx.epoch)
            if index.is_changing:  # left so by an interrupted call: an owner has one turn at a time
                engine.indexes.drop(owner)
                index = engine.indexes.fresh(connection, owner, tx.revision, tx.epoch)
            index.is_changing = True
            yield tx, index
            tx.flush()
            index.is_changing = False
    except BaseException:
        engine.indexes.drop(owner)  # it may hold what was never committed
        raise
    with index.lock:
        index.remove(tx.ended)
        index.seen = max(index.seen, tx.length)
        index.epoch = max(index.epoch, tx.epoch)
        index.compact_if_sparse()


def bury(tx: Transaction, rows: Iterable[MemoryRow]) -> None:
    """Leave a tombstone for the texts and the key of forgotten versions: digests, no content."""
    digests = dict.fromkeys(
        digest
        for row in rows
        for digest in _digests(
            tx, row["content"], row["key"], (row["task"], row["audience"], row["purpose"])
        )
    )
    for digest in digests:
        found = tx.connection.one(statements.TOMBSTONES, {"owner": tx.owner, "digest": digest})
        if found is None:
            row = {"owner": tx.owner, "id": tx.new_id(), "digest": digest, "at": tx.now}
            tx.add("tombstones", row, EventType.TOMBSTONED)


def lift(tx: Transaction, candidate: Candidate, *, allowed: bool) -> bool:
    """Return whether a candidate may be stored; where ``allowed``, lift what is in its way."""
    if not tx.has_tombstones:
        return True
    audience = candidate.label.audience
    place = (
        candidate.place.task,
        None if audience is None else json.dumps(audience),
        candidate.place.purpose,
    )
    for digest in _digests(tx, candidate.content, candidate.key, place):
        params = {"owner": tx.owner, "digest": digest}
        found = tx.connection.one(statements.TOMBSTONES, params)
        if found is not None:
            if not allowed:
                return False
            tx.remove("tombstones", found[0], EventType.TOMBSTONE_LIFTED)
    return True


def _digests(
    tx: Transaction, content: str, key: str | None, place: tuple[str | None, ...]
) -> list[bytes]:
    """Return the digests of a text and a key, keyed by the store's secret: nothing to guess.

    A text is known by its telling words, so that another punctuation or politeness is the same. A
    key is known within its place.
    """
    words = " ".join(read(content).telling) or content_hash(content)
    names = [f"text {words}", *([f"key {place} {key}"] if key is not None else [])]
    return [blake(tx.secret(), f"{tx.owner} {name}".encode()) for name in names]
