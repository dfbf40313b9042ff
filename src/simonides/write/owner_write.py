"""The one place that takes an owner's write lock: its transaction and its index."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import NamedTuple, TypeVar

from simonides.core.clock import in_steps
from simonides.core.engine import Engine
from simonides.recall.index import OwnerIndex
from simonides.storage.transaction import Transaction, changing

TURN_S = 0.008
"""Seconds after which a transaction of many changes ends and the next one begins: others wait for
it. Chosen, so that another user's write waits at most 50 ms."""

T = TypeVar("T")


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


def in_turns(
    engine: Engine,
    owner: str,
    actor: str,
    items: Sequence[T],
    does: Callable[[OwnerWrite, T], object],
) -> int:
    """Change something for each of many items, in transactions of about `TURN_S`.

    An index that is not in memory is loaded before others have to wait: that of 10,000 memories
    takes a second.

    Args:
        engine: The store.
        owner: The owner.
        actor: For the audit trail.
        items: What there is to do.
        does: Does it for one item; what it returns says whether there was anything to do.

    Returns:
        For how many items there was.
    """
    if items and owner not in engine.indexes:
        with engine.db.read(owner) as connection:
            engine.indexes.view(connection, [owner])
    begun_with = count = 0
    while begun_with < len(items):
        with owner_write(engine, owner, actor) as write:
            begun = time.perf_counter()
            for item in in_steps(items[begun_with:]):
                count += bool(does(write, item))
                begun_with += 1
                if time.perf_counter() - begun > TURN_S:
                    break
    return count
