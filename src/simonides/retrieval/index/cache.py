"""LRU cache of owner indexes with a byte budget."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Sequence

from simonides.domain.scope import Scope
from simonides.domain.writing.change import StoredRow
from simonides.retrieval.index.indexer import Indexer
from simonides.retrieval.index.owner_index import OwnerIndex
from simonides.retrieval.index.segment import Frozen, Segment

DEFAULT_BUDGET_BYTES = 256 * 1024 * 1024
"""Memory for all cached indexes together; chosen, about 100,000 memories."""


CALLS_PER_SIZE = 8
"""Calls per cached index between two budget checks. Adding up hundreds of sizes more often would
cost each recall more than its ranking."""


class IndexCache:
    """Cached indexes by owner; thread-safe."""

    def __init__(self, indexer: Indexer, *, budget_bytes: int = DEFAULT_BUDGET_BYTES) -> None:
        self.indexer = indexer
        self._budget = budget_bytes
        self._lock = threading.Lock()
        self._calls = 0
        self._warm: OrderedDict[Scope, OwnerIndex] = OrderedDict()

    def __len__(self) -> int:
        return len(self._warm)

    def of(self, owner: Scope) -> OwnerIndex:
        """Return the index of an owner. A new index is empty and has no head."""
        (index,) = self.of_all((owner,))
        return index

    def of_all(self, owners: Sequence[Scope]) -> list[OwnerIndex]:
        """Return the indexes of some owners, in their order."""
        found, warm = [], self._warm
        with self._lock:
            for owner in owners:
                index = warm.get(owner)
                if index is None:
                    index = warm[owner] = self._new()
                else:
                    warm.move_to_end(owner)
                found.append(index)
            self._calls += 1
            if self._calls >= CALLS_PER_SIZE * len(warm):
                self._calls = 0
                self._shrink()
        return found

    def warm(self, owner: Scope) -> OwnerIndex | None:
        """Return the cached index of an owner, or None. This does not count as a use."""
        return self._warm.get(owner)

    def owners(self) -> tuple[Scope, ...]:
        """Return the owners of the cached indexes, least recently used first."""
        with self._lock:
            return tuple(self._warm)

    def clear(self) -> None:
        """Drop every index."""
        with self._lock:
            self._warm.clear()

    def renew(self, owner: Scope) -> OwnerIndex:
        """Replace the index of an erased owner by an empty one, and return it.

        A write in progress keeps the index that it holds.
        """
        with self._lock:
            index = self._warm[owner] = self._new()
            return index

    def uncached(self) -> OwnerIndex:
        """Return an empty index that is not cached, for rows outside the store. The budget ignores
        it.
        """
        return self._new()

    def snapshot_of(self, rows: Sequence[StoredRow]) -> Frozen:
        """Return columns of rows that belong to no current index, for reads as of another time."""
        past = self._new()
        current = past.current(sorted(rows))
        return Frozen((Segment(current, self.indexer.dimensions),), (None,), {})

    def _new(self) -> OwnerIndex:
        make = self.indexer
        return OwnerIndex(recipe=make.recipe, dimensions=make.dimensions, remake=make.readable)

    def _shrink(self) -> None:
        held = sum(index.nbytes for index in self._warm.values())
        while held > self._budget and len(self._warm) > 1:
            _, coldest = self._warm.popitem(last=False)
            held -= coldest.nbytes
