"""A SQLite database in the memory of one process, gone when it is closed.

Nothing of it is ever on a disk: it has no journal file, no log and no temporary files. One
connection serves all threads, one thread at a time, for as long as its statements run. A write
turn is longer than that: what a writer decides between reading and writing keeps no reader waiting.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import cached_property
from pathlib import Path

import apsw

from simonides.domain.errors import StoreUnavailable
from simonides.domain.governance.erasure import Purged
from simonides.ports import Capability
from simonides.ports.store_extras import Pages
from simonides.storage.schema.known_backups import backups_at
from simonides.storage.schema.owner_ids import Secrets
from simonides.storage.sqlite.file.connection import copy_pages
from simonides.storage.sqlite.file.head_cache import Heads
from simonides.storage.sqlite.file.place import Place, WriteTurn
from simonides.storage.sqlite.file.schema import IN_MEMORY, open_in_memory
from simonides.storage.sqlite.file.write_queue import FifoLock


class MemoryPlace(Place):
    """An open database in memory."""

    lacks = frozenset({Capability.DURABLE, Capability.REVERTIBLE})

    def __init__(self, keys: Secrets, *, busy_timeout_s: float) -> None:
        """Make an empty store.

        Args:
            keys: Of its digests.
            busy_timeout_s: Seconds that a write waits for its turn.
        """
        super().__init__(IN_MEMORY)
        self._keys = keys
        self._busy_timeout_s = busy_timeout_s
        self._turns = FifoLock()
        # Held while statements run; a turn is held for as long as its decision takes.
        self._connection = FifoLock()
        self._revision = 0
        self.heads = Heads(lambda: self._revision)
        self._turn = WriteTurn(self.reading, self._transaction)
        self._backups: dict[Path, str] = {}

    @cached_property
    def writer(self) -> apsw.Connection:
        """The only connection, made when it is first used: reading the schema takes longer than
        all else that opens a store. Hold its lock.
        """
        return open_in_memory(self._keys)

    @contextmanager
    def reading(self, *, is_transaction: bool = True) -> Iterator[apsw.Connection]:
        """See :class:`Place`; no transaction is needed, for nobody else has the connection."""
        del is_transaction
        self.check_usable()
        with self._connection.turn(), self.translating:
            self.check_usable()
            yield self.writer

    @contextmanager
    def frozen(self) -> Iterator[apsw.Connection]:
        """See :class:`Place`; the connection is to a copy in memory."""
        copied = apsw.Connection(IN_MEMORY)
        try:
            with self.reading() as connection:
                copied.pragma("temp_store", "memory")
                copy_pages(copied, connection, lambda *_: None)
            yield copied
        finally:
            copied.close()

    @contextmanager
    def turn(self) -> Iterator[WriteTurn]:
        """See :class:`Place`."""
        self.check_usable()
        with self._next():
            self.check_usable()
            yield self._turn

    @contextmanager
    def sole_turn(self) -> Iterator[None]:
        """See :class:`Place`; readers wait as well."""
        self.check_usable()
        with self._next(), self._connection.turn():
            self.check_usable()
            try:
                yield
            finally:
                self._revision += 1

    @contextmanager
    def alone(self) -> Iterator[apsw.Connection]:
        """See :class:`Place`; :meth:`sole_turn` keeps all others away."""
        yield self.writer

    def note_removal(self) -> None:
        """See :class:`Place`; SQLite overwrites what it removes, and there is no log."""

    def remove_traces(self) -> None:
        """See :class:`Place`; there are none."""

    def purge(self, owner: bytes, needles: Sequence[bytes]) -> Purged:
        """See :class:`Place`; there are no files."""
        del owner, needles
        self.check_usable()
        return Purged()

    def note_backups(self, directory: Path, name: str) -> None:
        """See :class:`Place`; it is noted in memory."""
        self._backups[directory] = name

    def backups(self) -> Sequence[Path]:
        """See :class:`Place`."""
        noted = [*self._backups.items()]
        return sorted({path for place, name in noted for path in backups_at(place, name)})

    def copy(self, source: apsw.Connection, path: Path, tell: Pages) -> None:
        """See :class:`Place`.

        The database is written anew: a page may hold bytes of removed rows in its free space, and
        they must not get into a file.
        """
        pages = source.pragma("page_count")
        source.execute("VACUUM INTO ?", (str(path),))
        tell(pages, pages)

    def close(self) -> None:
        """See :class:`Place`; all that was stored is gone."""
        with self._next(), self._connection.turn():
            self.is_closed = True
            if "writer" in self.__dict__:
                self.writer.close()

    @contextmanager
    def _transaction(self) -> Iterator[apsw.Connection]:
        with self._connection.turn():
            with self.translating_writer:
                self.writer.execute("BEGIN IMMEDIATE")
            try:
                yield self.writer
                with self.translating_writer:
                    self.writer.execute("COMMIT")
                self._revision += 1
            finally:
                if self.writer.in_transaction:
                    with self.translating_writer:
                        self.writer.execute("ROLLBACK")

    @contextmanager
    def _next(self) -> Iterator[None]:
        """Wait for the turn."""
        waiter = self._turns.stand()
        try:
            if not self._turns.wait(waiter, self._busy_timeout_s):
                raise StoreUnavailable(
                    self.location, "the write turn did not come within the time-out"
                )
            yield
        finally:
            self._turns.leave(waiter)
