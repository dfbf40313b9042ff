"""An owner's turn to write: its transaction, and its index as the transaction sees it."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from simonides.core.engine import Engine
from simonides.recall.index import OwnerIndex
from simonides.storage.transaction import Transaction


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
            yield tx, index
            tx.flush()
    except BaseException:
        engine.indexes.drop(owner)  # it may hold what was never committed
        raise
    with index.lock:
        index.remove(tx.ended)
        index.seen = max(index.seen, tx.length)
        index.epoch = max(index.epoch, tx.epoch)
        index.compact_if_sparse()
