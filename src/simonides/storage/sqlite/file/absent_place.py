"""A SQLite file that nobody has made yet: reads find an empty store, and nothing is on a disk."""

from __future__ import annotations

from pathlib import Path
from typing import NoReturn

from simonides.domain.errors import StoreUnavailable
from simonides.storage.schema.owner_ids import Secrets
from simonides.storage.sqlite.file.errors import Translating
from simonides.storage.sqlite.file.memory_place import MemoryPlace
from simonides.storage.sqlite.file.schema import check_possible


class AbsentPlace(MemoryPlace):
    """An empty store in memory in place of a file that is not there; it gives no turn to write."""

    lacks = frozenset()

    def __init__(self, path: Path, keys: Secrets, *, busy_timeout_s: float) -> None:
        """Check that a file can be at the path.

        Args:
            path: Of the file that is not there.
            keys: Of digests, until the file brings its own.
            busy_timeout_s: Seconds that a write would wait for its turn.

        Raises:
            StoreUnavailable: If something else is at the path or above it.
        """
        super().__init__(keys, busy_timeout_s=busy_timeout_s)
        self.location = str(path)
        self.translating = self.translating_writer = Translating(self.location)
        with self.translating:
            check_possible(path)

    def turn(self) -> NoReturn:
        """See :class:`Place`; what was written here would be lost.

        Raises:
            StoreUnavailable: Always.
        """
        raise StoreUnavailable(self.location, "the file is not there yet")

    def sole_turn(self) -> NoReturn:
        """See :meth:`turn`.

        Raises:
            StoreUnavailable: Always.
        """
        raise StoreUnavailable(self.location, "the file is not there yet")
