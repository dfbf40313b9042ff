"""Where a SQLite database lies: what a store needs to know of the difference between places.

A place owns the connections of one open database. It keeps readers and writers apart, and it
removes from its medium what a store has forgotten. :mod:`simonides.storage.sqlite.file.connection`
keeps the
database in a file, :mod:`simonides.storage.sqlite.file.memory_place` in the memory of this process.
"""

from __future__ import annotations

import os
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from pathlib import Path
from typing import ClassVar, NamedTuple

import apsw

from simonides.domain.errors import StoreUnavailable
from simonides.domain.governance.erasure import Purged
from simonides.ports import Capability
from simonides.ports.store_extras import Pages
from simonides.storage.sqlite.file.errors import Translating
from simonides.storage.sqlite.file.head_cache import Heads

BUSY_TIMEOUT_S = 30.0
"""Seconds that a writer waits for its turn. Chosen: 100 threads of 8 processes queue for well under
a second, and a person waits no longer than this for an answer."""


class WriteTurn(NamedTuple):
    """The right to write, which one thread has at a time.

    Attributes:
        reading: Shows the database for a short time, as it stays until ``writing`` changes it.
        writing: Lends the connection to write in one transaction, which is rolled back unless the
            block ends well.
    """

    reading: Callable[[], AbstractContextManager[apsw.Connection]]
    writing: Callable[[], AbstractContextManager[apsw.Connection]]


class Place(ABC):
    """One open database; safe to share between threads.

    Attributes:
        location: The place in reports and errors.
        heads: Where owners stood when they were read last.
        translating: Raises our errors for those of readers.
        translating_writer: Raises our errors for those of the writer.
        lacks: Capabilities that no store has in such a place.
    """

    lacks: ClassVar[frozenset[Capability]]
    heads: Heads

    def __init__(self, location: str) -> None:
        """For the classes of places."""
        self.location = location
        self.translating = self.translating_writer = Translating(location)
        self.is_closed = False
        self._pid = os.getpid()

    @property
    @abstractmethod
    def writer(self) -> apsw.Connection:
        """The connection that writes; hold the turn."""

    @property
    def is_ours(self) -> bool:
        """Whether this is the process that opened the database, not a forked child of it."""
        return self._pid == os.getpid()

    def check_usable(self) -> None:
        """Check that the database can be used.

        Raises:
            StoreUnavailable: If it is closed, or was opened before a fork.
        """
        if self.is_closed:
            raise StoreUnavailable(self.location, "the store is closed")
        if not self.is_ours:
            raise StoreUnavailable(self.location, "opened before a fork; open it in this process")

    @abstractmethod
    def reading(self, *, is_transaction: bool = True) -> AbstractContextManager[apsw.Connection]:
        """Lend a connection for a short read; its errors are translated.

        Args:
            is_transaction: Whether several statements must see the same moment. A single statement
                always sees one moment.

        Raises:
            StoreUnavailable: If the database is closed, or was opened before a fork.
        """

    @abstractmethod
    def frozen(self) -> AbstractContextManager[apsw.Connection]:
        """Give a connection of its own that shows one moment for as long as it is needed.

        Writers go on meanwhile. The block translates its own errors.
        """

    @abstractmethod
    def turn(self) -> AbstractContextManager[WriteTurn]:
        """Wait for the turn to write: first come, first served.

        The block translates its own errors: what ``decide`` raises does not come from here.

        Raises:
            StoreUnavailable: If the turn did not come in time, or the database is closed.
            ValueError: If this thread has the turn already.
        """

    @abstractmethod
    def sole_turn(self) -> AbstractContextManager[None]:
        """Wait for the turn to write, for what cannot be done in a transaction.

        Raises:
            StoreUnavailable: As for :meth:`turn`.
        """

    @abstractmethod
    def alone(self) -> AbstractContextManager[apsw.Connection]:
        """Make sure, under :meth:`sole_turn`, that no other connection uses the database.

        Raises:
            StoreUnavailable: If another one does.
        """

    @abstractmethod
    def note_removal(self) -> None:
        """Note, under the turn, that rows were removed for good; traces go when the turn ends."""

    @abstractmethod
    def remove_traces(self) -> None:
        """Remove, under :meth:`sole_turn`, the traces that :meth:`note_removal` noted."""

    @abstractmethod
    def purge(self, owner: bytes, needles: Sequence[bytes]) -> Purged:
        """Look for what is left of an owner outside of rows, and remove it.

        Args:
            owner: Digest.
            needles: Bytes that must not be found.
        """

    @abstractmethod
    def note_backups(self, directory: Path, name: str) -> None:
        """Note that backups lie in a directory, as :func:`~.known_backups.record_place` does."""

    @abstractmethod
    def backups(self) -> Sequence[Path]:
        """Return the backups that are known and still there, sorted."""

    @abstractmethod
    def copy(self, source: apsw.Connection, path: Path, tell: Pages) -> None:
        """Copy the database into an empty file.

        Args:
            source: From :meth:`frozen`.
            path: The file.
            tell: Hears how many pages of how many are copied.
        """

    @abstractmethod
    def close(self) -> None:
        """Close all connections after the write that is under way; twice does no harm."""
