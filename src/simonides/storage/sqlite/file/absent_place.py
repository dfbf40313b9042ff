"""A SQLite file that nobody has made yet: reads find an empty store, and nothing is on a disk."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import NoReturn

from simonides.domain.errors import StoreUnavailable
from simonides.storage.schema.owner_ids import Secrets
from simonides.storage.sqlite.file.errors import Translating
from simonides.storage.sqlite.file.memory_place import MemoryPlace
from simonides.storage.sqlite.file.place import WriteTurn
from simonides.storage.sqlite.file.schema import check_possible


class AbsentPlace(MemoryPlace):
    """An empty store in memory in place of a file that is not there; it takes notes only."""

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
        self._takes_notes = False
        self.translating = self.translating_writer = Translating(self.location)
        with self.translating:
            check_possible(path)

    @contextmanager
    def taking_notes(self) -> Iterator[None]:
        """Let the block write here; one thread at a time."""
        self._takes_notes = True
        try:
            yield
        finally:
            self._takes_notes = False

    @contextmanager
    def turn(self) -> Iterator[WriteTurn]:
        """See :class:`Place`; what else is written here would be lost.

        Raises:
            StoreUnavailable: Outside of :meth:`taking_notes`.
        """
        if not self._takes_notes:
            raise StoreUnavailable(self.location, "the file is not there yet")
        with super().turn() as turn:
            yield turn

    def sole_turn(self) -> NoReturn:
        """See :class:`Place`.

        Raises:
            StoreUnavailable: Always.
        """
        raise StoreUnavailable(self.location, "the file is not there yet")
