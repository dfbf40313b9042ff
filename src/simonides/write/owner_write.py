"""The one place that takes an owner's write lock: its transaction and its index."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import NamedTuple

from simonides.core.engine import Engine
from simonides.recall.index import OwnerIndex
from simonides.storage.transaction import Transaction, changing


class OwnerWrite(NamedTuple):
    """A change of an owner.

    Attributes:
        tx: The owner's transaction.
        index: The owner's index.
    """

    tx: Transaction
    index: OwnerIndex  # type: ignore[assignment]  # nobody needs the method of tuples


@contextmanager
def owner_write(engine: Engine, owner: str, actor: str) -> Iterator[OwnerWrite]:
    """Open a change of one owner; it is durable, and in the index, when the block has ended.

    New rows enter the index at once, since every read checks rows in the database. Rows that went
    out of force leave it after the commit.
    """
    try:
        with changing(engine, owner, actor) as tx:
            index = engine.indexes.fresh(tx.connection, owner, tx.revision, tx.epoch)
            if index.is_changing:  # left so by an interrupted call: an owner has one turn at a time
                engine.indexes.drop(owner)
                index = engine.indexes.fresh(tx.connection, owner, tx.revision, tx.epoch)
            index.is_changing = True
            yield OwnerWrite(tx, index)
            tx.flush()
            index.add(index.lacking(tx.inserted.values()))
            index.is_changing = False
    except BaseException:  # also after an interrupt it may hold what was never committed
        engine.indexes.drop(owner)
        raise
    with index.lock:
        index.remove(tx.ended)
        index.seen = max(index.seen, tx.length)
        index.epoch = max(index.epoch, tx.epoch)
        index.compact_if_sparse()
