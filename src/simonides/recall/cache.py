"""The owners' indexes in memory: refreshed by what was committed since, dropped when rows went.

Each owner's chain length says whether its index is current, and its events since say what to read.
Physical deletion raises the owner's epoch; an index of another epoch is built anew.
"""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Sequence

from simonides.recall.index import OwnerIndex, entries_of
from simonides.recall.view import View
from simonides.storage import statements
from simonides.storage.database import Connection
from simonides.storage.statements import INDEXED

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
        self._indexes: OrderedDict[str, OwnerIndex] = OrderedDict()
        self._views: OrderedDict[tuple[str, ...], View] = OrderedDict()
        self._lock = threading.Lock()

    def fresh(self, connection: Connection, owner: str, events: int, epoch: int) -> OwnerIndex:
        """Return an owner's index, complete up to a length of the chain that the caller read."""
        with self._lock:
            index = self._indexes.get(owner)
            if index is None or index.epoch != epoch:
                index = self._indexes[owner] = OwnerIndex(self.dimensions, epoch)
            self._indexes.move_to_end(owner)
        # Critical section: held over the read, so that a late reader never adds a row again that
        # another call has just removed.
        with index.lock:
            if events > index.seen:
                self._refresh(connection, owner, index)
                index.seen = events
                self._evict(owner)
        return index

    def _refresh(self, connection: Connection, owner: str, index: OwnerIndex) -> None:
        sql = statements.LOAD_SINCE if index.seen else statements.LOAD
        rows = connection.rows(sql, {"owner": owner, "seen": index.seen})
        index.remove([row[_ID] for row in rows])
        index.add(entries_of((r for r in rows if r[_KNOWN_TO] is None), self.embedder))
        index.compact_if_sparse()

    def view(self, connection: Connection, owners: Sequence[str]) -> View:
        """Return the current indexes of some owners as one; an owner without rows is left out."""
        names = {f"owner{number}": owner for number, owner in enumerate(owners)}
        states = {
            owner: (epoch, events)
            for owner, epoch, events in connection.rows(statements.heads(len(owners)), names)
        }
        found = [owner for owner in owners if owner in states]
        parts = [self.fresh(connection, each, states[each][1], states[each][0]) for each in found]
        kept = [(owner, part) for owner, part in zip(found, parts, strict=True) if len(part)]
        if not kept:
            return View(owners[:1], [OwnerIndex(self.dimensions)])
        chosen = tuple(owner for owner, _ in kept)
        with self._lock:
            view = self._views.get(chosen)
        same = view is not None and all(
            mine is theirs for mine, (_, theirs) in zip(view.parts, kept, strict=True)
        )
        if view is None or not same or not view.is_current:
            view = View(chosen, [part for _, part in kept])
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

    def _evict(self, in_use: str) -> None:
        with self._lock:
            total = sum(index.nbytes for index in self._indexes.values())
            for owner in list(self._indexes):
                if total <= self._budget:
                    break
                if owner != in_use:
                    total -= self._indexes.pop(owner).nbytes
                    for chosen in [each for each in self._views if owner in each]:
                        del self._views[chosen]
