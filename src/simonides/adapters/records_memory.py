"""Records in this process's memory: for what is kept nowhere (MO-1)."""

from __future__ import annotations

import threading

from simonides.domain.erasure import Purged
from simonides.domain.records import KeptRecord, Shelf
from simonides.ports import After

LOCATION = ":memory:"


class DictRecords:
    """A :class:`~simonides.ports.RecordStore` in dictionaries, the reference for the others.

    Attributes:
        location: ``:memory:``.
    """

    def __init__(self) -> None:
        self.location = LOCATION
        self._lock = threading.Lock()
        self._shelves: dict[Shelf, dict[str, KeptRecord]] = {shelf: {} for shelf in Shelf}

    def add(self, shelf: Shelf, record: KeptRecord, *, before: int) -> None:
        """See the port."""
        with self._lock:
            self._drop_before(shelf, before)
            self._shelves[shelf].setdefault(record.id, record)

    def page(
        self,
        shelf: Shelf,
        *,
        since: int,
        subject: bytes | None = None,
        after: After | None = None,
        limit: int = 1000,
    ) -> tuple[KeptRecord, ...]:
        """See the port."""
        with self._lock:
            found = [
                record
                for record in self._shelves[shelf].values()
                if record.at >= since
                and subject in (None, record.subject)
                and (after is None or (record.at, record.id) < after)
            ]
        found.sort(key=lambda record: (record.at, record.id), reverse=True)
        return tuple(found[: max(limit, 0)])

    def purge(self, shelf: Shelf, *, before: int | None) -> int:
        """See the port."""
        with self._lock:
            if before is not None:
                return self._drop_before(shelf, before)
            count = len(self._shelves[shelf])
            self._shelves[shelf].clear()
            return count

    def forget(self, subject: bytes) -> Purged:
        """See the port; there are no files."""
        with self._lock:
            for shelf, kept in self._shelves.items():
                left = {id: each for id, each in kept.items() if each.subject != subject}
                self._shelves[shelf] = left
        return Purged()

    def rewrap(self) -> int:
        """See the port; nothing here is sealed."""
        return 0

    def close(self) -> None:
        """See the port; what was kept here is gone."""
        with self._lock:
            for kept in self._shelves.values():
                kept.clear()

    def _drop_before(self, shelf: Shelf, before: int) -> int:
        kept = self._shelves[shelf]
        old = [id for id, record in kept.items() if record.at < before]
        for id in old:
            del kept[id]
        return len(old)
