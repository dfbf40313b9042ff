"""The owners' indexes in memory.

An index is refreshed by what was committed since, and dropped when rows were deleted. The length of
an owner's chain says whether its index is current, and the events since say what to read. Deletion
raises the owner's epoch; an index of another epoch is built anew.
"""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, TypeVar

from simonides.storage import statements
from simonides.storage.database import Connection
from simonides.storage.statements import INDEXED

if TYPE_CHECKING:
    from simonides.recall.index import OwnerIndex
    from simonides.recall.view import View

T = TypeVar("T")

_KNOWN_TO, _ID = INDEXED.index("known_to"), INDEXED.index("id")


class IndexCache:
    """Indexes by owner, the least recently used dropped beyond a budget. Thread-safe."""

    def __init__(self, dimensions: int, embedder: str | None, budget_bytes: int) -> None:
        """Begin empty.

        Args:
            dimensions: Of the embedder's vectors.
            embedder: Id of the embedder in use, or None.
            budget_bytes: Memory for all indexes; the one in use may exceed it.
        """
        self.dimensions, self.embedder = dimensions, embedder
        self._budget = budget_bytes
        self.clear()

    def clear(self) -> None:
        """Begin empty, with a lock of its own; after a fork the old one may be held for ever."""
        self._indexes: OrderedDict[str, OwnerIndex] = OrderedDict()
        self._views: OrderedDict[tuple[str, ...], View] = OrderedDict()
        self._lock = threading.Lock()

    def __len__(self) -> int:
        """Return how many owners have their index in memory."""
        return len(self._indexes)

    def __contains__(self, owner: str) -> bool:
        """Return whether an owner's index is in memory."""
        return owner in self._indexes

    def fresh(self, connection: Connection, owner: str, events: int, epoch: int) -> OwnerIndex:
        """Return an owner's index, complete up to a length of the chain that the caller read."""
        from simonides.recall.index import OwnerIndex

        while True:
            with self._lock:
                index = self._indexes.get(owner)
                if index is None or index.epoch != epoch:
                    index = self._indexes[owner] = OwnerIndex(self.dimensions, self.embedder, epoch)
                self._indexes.move_to_end(owner)
            # Critical section: held over the read, so that a late reader never adds a row again
            # that another call has just removed.
            with index.lock:
                if index.is_whole:
                    if events > index.seen:
                        self._refresh(connection, owner, index)
                        index.seen = events
                        self._evict(owner)
                    return index
            self.drop(owner)  # an interrupt left it in the middle of a change

    def _refresh(self, connection: Connection, owner: str, index: OwnerIndex) -> None:
        from simonides.recall.view import opt_outs_of

        sql = statements.LOAD_SINCE if index.seen else statements.LOAD
        rows = connection.rows(sql, {"owner": owner, "seen": index.seen})
        index.remove([row[_ID] for row in rows])
        index.add(dict(zip(INDEXED, r, strict=True)) for r in rows if r[_KNOWN_TO] is None)
        index.compact_if_sparse()
        index.refusals = opt_outs_of(connection, owner)

    def reading(
        self, connection: Connection, owners: Sequence[str], work: Callable[[View], T]
    ) -> T:
        """Return ``work`` of the current indexes of some owners, which are locked meanwhile."""
        while True:
            view = self.view(connection, owners)

            def done(view: View = view) -> list[T]:
                return [work(view)] if view.is_current else []  # else a writer came between

            for result in view.locked(done):
                return result

    def view(self, connection: Connection, owners: Sequence[str]) -> View:
        """Return the current indexes of some owners as one; an owner without rows is left out."""
        from simonides.recall.index import OwnerIndex
        from simonides.recall.view import View

        names = {f"owner{number}": owner for number, owner in enumerate(owners)}
        rows = connection.rows(statements.heads(len(owners)), names)
        states = {owner: (events, epoch) for owner, epoch, events in rows}
        indexes = {
            each: self.fresh(connection, each, *states[each]) for each in owners if each in states
        }
        kept = {owner: part for owner, part in indexes.items() if len(part)}
        if not kept:
            return View(owners[:1], [OwnerIndex(self.dimensions)])
        chosen, parts = tuple(kept), tuple(kept.values())
        with self._lock:
            view = self._views.get(chosen)
        if view is None or view.parts != parts or not view.is_current:
            view = View(chosen, parts)
            with self._lock:
                self._views[chosen] = view
                self._views.move_to_end(chosen)
                while len(self._views) > len(self._indexes):
                    self._views.popitem(last=False)
        return view

    def drop(self, owner: str) -> None:
        """Forget an owner's index; it may hold what was never committed."""
        with self._lock:
            self._indexes.pop(owner, None)
            self._forget_views(owner)

    def _forget_views(self, owner: str) -> None:
        for chosen in [each for each in self._views if owner in each]:
            del self._views[chosen]

    def _evict(self, in_use: str) -> None:
        with self._lock:
            total = sum(index.nbytes for index in self._indexes.values())
            for owner in list(self._indexes):
                if total <= self._budget:
                    break
                if owner != in_use:
                    total -= self._indexes.pop(owner).nbytes
                    self._forget_views(owner)
