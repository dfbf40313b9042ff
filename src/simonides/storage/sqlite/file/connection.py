"""A SQLite database in a file: many readers, one writer at a time, several processes.

Reads run on the caller's own thread over a few idle connections. Writes take the file's turn
(:mod:`simonides.storage.sqlite.file.write_queue`) and one transaction. Beside the file lie SQLite's
``-wal`` and ``-shm`` while it is open, and ``-turn``; nothing is written anywhere else.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager, nullcontext
from pathlib import Path
from typing import TYPE_CHECKING

import apsw

from simonides.domain.errors import KeyUnavailable, StoreCorrupt, StoreUnavailable
from simonides.domain.governance.erasure import Purged
from simonides.ports.store_extras import Pages
from simonides.storage.schema.byte_search import Needles
from simonides.storage.schema.known_backups import known_backups, record_place
from simonides.storage.schema.owner_ids import Secrets
from simonides.storage.sqlite.file.erasure import (
    Files,
    fetch_told,
    has_residue,
    purged,
)
from simonides.storage.sqlite.file.errors import Translating
from simonides.storage.sqlite.file.head_cache import Heads, header_mark
from simonides.storage.sqlite.file.place import Place, WriteTurn
from simonides.storage.sqlite.file.schema import (
    SQL,
    Connect,
    Synchronous,
    open_reader,
    open_writer,
    prepare_file,
    read_secrets,
)
from simonides.storage.sqlite.file.wal import LogCopying, empty_log, is_written
from simonides.storage.sqlite.file.write_queue import WriteQueue, has_line, write_queue

if TYPE_CHECKING:
    # What does the encrypting is an extra.
    from simonides.storage.encryption.data_keys import DataKeys


IDLE_READERS = 8
"""Connections kept open for readers. Chosen: more threads than this rarely read at the very same
moment, and each costs a cache of 2 MB at most."""

STEP_PAGES = 1024
"""Pages copied between two looks at how far it is: 8 MiB, some 40 ms. Chosen."""

_KNOCK_MS = 100
"""How long another program's connection is waited for; it is open for good or just closing."""


class FilePlace(Place):
    """An open database file."""

    lacks = frozenset()

    def __init__(
        self,
        path: Path,
        writer: apsw.Connection,
        turns: WriteQueue,
        connect: Connect,
        *,
        busy_timeout_s: float,
    ) -> None:
        """For :meth:`open`; hold the turn."""
        super().__init__(str(path))
        self.translating_writer = Translating(self.location, writer)
        self._writer = writer
        self.path = path
        self._turns = turns
        self._connect = connect
        self._busy_timeout_s = busy_timeout_s
        # A turn is one transaction from begin to end: other processes write as well.
        lent = nullcontext(writer)
        self._transaction = WriteTurn(lambda: lent, lambda: lent)
        self._idle_readers: list[apsw.Connection] = []
        self._log_holds_removed = False
        self.heads = Heads(header_mark(path, turns))
        self._copying = LogCopying(
            writer,
            # On Windows only who writes a file can have it brought to the disk.
            None if sys.platform == "win32" else turns.descriptor(path),
            reading=lambda: self.reading(is_transaction=False),
            turn=lambda: turns.turn(busy_timeout_s),
        )

    @classmethod
    def open(
        cls,
        path: Path,
        connect: Connect,
        begin: Callable[[apsw.Connection], None],
        *,
        busy_timeout_s: float,
        synchronous: Synchronous,
        keys: Secrets | None = None,
    ) -> FilePlace:
        """Open the database at a path, or make one, with the directories above it.

        Args:
            path: Absolute, and free of links: SQLite lays its own files beside what they lead to.
            connect: Makes its connections.
            begin: Called with the writer, under the turn, once the schema is there.
            busy_timeout_s: Seconds that a write waits for its turn.
            synchronous: SQLite's.
            keys: Of the digests of a new store; None draws them.

        Raises:
            StoreError: As for :meth:`~simonides.storage.sqlite.file.database.SqliteDatabase.open`.
        """
        with Translating(str(path)):
            is_sound = _is_sound(path)
            turns = write_queue(path)
            is_first = turns.users == 1
            with ExitStack() as undo:
                undo.callback(turns.release)
                with turns.turn(busy_timeout_s):
                    if not is_sound:
                        prepare_file(path)
                    # Another process may have forgotten something and ended before it could
                    # empty the log; of those in this process the first looks for all.
                    has_log = is_first and is_written(path)
                    writer = open_writer(
                        path,
                        connect,
                        synchronous=synchronous,
                        busy_timeout_s=busy_timeout_s,
                        keys=keys,
                    )
                    undo.callback(writer.close)
                    begin(writer)
                    if has_log:
                        empty_log(writer, busy_timeout_s)
                    place = cls(path, writer, turns, connect, busy_timeout_s=busy_timeout_s)
                undo.pop_all()
        return place

    @property
    def writer(self) -> apsw.Connection:
        """See :class:`Place`."""
        return self._writer

    @contextmanager
    def reading(self, *, is_transaction: bool = True) -> Iterator[apsw.Connection]:
        """See :class:`Place`; the connection is one of a few that are kept open."""
        self.check_usable()
        with self.translating:
            try:
                connection = self._idle_readers.pop()
            except IndexError:
                connection = self._new_reader()
            is_sound = False
            try:
                if is_transaction:
                    connection.execute("BEGIN")
                yield connection
                if is_transaction:
                    connection.execute("COMMIT")
                is_sound = True
            finally:
                if is_sound and not self.is_closed and len(self._idle_readers) < IDLE_READERS:
                    self._idle_readers.append(connection)
                else:
                    connection.close()

    @contextmanager
    def frozen(self) -> Iterator[apsw.Connection]:
        """See :class:`Place`; the connection holds a read transaction."""
        self.check_usable()
        with self.translating:
            connection = self._new_reader()
        try:
            with self.translating:
                connection.execute("BEGIN")
            yield connection
        finally:
            connection.close()

    @contextmanager
    def turn(self) -> Iterator[WriteTurn]:
        """See :class:`Place`."""
        with self.sole_turn():
            with self.translating_writer:
                self._writer.execute("BEGIN IMMEDIATE")
            try:
                yield self._transaction
                with self.translating_writer:
                    self._writer.execute("COMMIT")
            finally:
                # After some errors SQLite has rolled back by itself.
                if self._writer.in_transaction:
                    with self.translating_writer:
                        self._writer.execute("ROLLBACK")
            self.remove_traces()
        self._copying.go_on()

    @contextmanager
    def sole_turn(self) -> Iterator[None]:
        """See :class:`Place`."""
        with self._turns.turn(self._busy_timeout_s):
            self.check_usable()
            yield

    @contextmanager
    def alone(self) -> Iterator[apsw.Connection]:
        """See :class:`Place`; other processes count as well.

        Each connection holds a lock on a file with a write-ahead log for as long as it lives, and
        that log can be given up only by the one connection that is left.
        """
        with self._copying.passing:
            while self._idle_readers:
                self._idle_readers.pop().close()
            self._writer.set_busy_timeout(_KNOCK_MS)
            try:
                self._writer.pragma("journal_mode", "delete")
            except apsw.BusyError as error:
                raise StoreUnavailable(
                    self.location, "is open elsewhere; close whatever uses it, then move again"
                ) from error
            finally:
                self._writer.pragma("journal_mode", "wal")
                self._writer.set_busy_timeout(int(self._busy_timeout_s * 1000))
            # The log and its index begin anew with whatever is read next.
            self._writer.pragma("schema_version")
            self.heads = Heads(header_mark(self.path, self._turns))
            yield self._writer

    def note_removal(self) -> None:
        """See :class:`Place`; the log still holds what was removed."""
        self._log_holds_removed = True

    def remove_traces(self) -> None:
        """See :class:`Place`; the log is emptied.

        The write itself is done and stays acknowledged. If a reader is in the way, the next turn
        tries again, or :meth:`close`, or the next process that opens the file.
        """
        if self._log_holds_removed:
            self._log_holds_removed = not self._emptied_log()

    def purge(self, owner: bytes, needles: Sequence[bytes]) -> Purged:
        """See :class:`Place`; the files are read byte by byte."""
        sought = Needles(needles)
        files, is_empty = self._emptied(rewriting=False)
        with self.reading() as rows:
            looked = files.look(sought, rows)
        if is_empty and has_residue(looked):
            files, is_empty = self._emptied(rewriting=True)
            with self.reading() as rows:
                looked = files.look(sought, rows)
        with self.reading() as rows:
            told = fetch_told(rows, owner)
        return purged(self.path, owner, sought, looked, told=told, is_empty=is_empty)

    def note_backups(self, directory: Path, name: str) -> None:
        """See :class:`Place`; it is noted beside the file."""
        record_place(self.path, directory, name)

    def backups(self) -> Sequence[Path]:
        """See :class:`Place`."""
        return known_backups(self.path)

    def copy(self, source: apsw.Connection, path: Path, tell: Pages) -> None:
        """See :class:`Place`; the pages go through SQLite's backup API."""
        copied = apsw.Connection(str(path), flags=apsw.SQLITE_OPEN_READWRITE)
        try:
            copy_pages(copied, source, tell)
        finally:
            copied.close()

    def close(self) -> None:
        """See :class:`Place`."""
        self._copying.close()
        with self._turns.turn(self._busy_timeout_s), self.translating_writer:
            if self.is_closed:
                return
            self.is_closed = True
            while self._idle_readers:
                self._idle_readers.pop().close()
            # The last connection to a file empties and removes its log; ours may not be.
            if is_written(self.path):
                empty_log(self._writer, self._busy_timeout_s)
            self._writer.close()
        self._turns.release()

    def _new_reader(self) -> apsw.Connection:
        return open_reader(self.path, self._connect, busy_timeout_s=self._busy_timeout_s)

    def _emptied(self, *, rewriting: bool) -> tuple[Files, bool]:
        """Empty the log, after writing the database anew if need be; return the files, and whether
        the log is empty. Only this takes the turn: reading the files may take long.
        """
        with self.sole_turn(), self.translating_writer:
            if rewriting:
                self._writer.execute("VACUUM")
            is_empty = self._emptied_log()
            self._log_holds_removed = not is_empty
            return Files(self.path, self._turns), is_empty

    def _emptied_log(self) -> bool:
        """Empty the log, under the turn, while its thread does not copy; False if a reader or
        another process is in the way.
        """
        with self._copying.passing:
            return empty_log(self._writer, self._busy_timeout_s)


def copy_pages(target: apsw.Connection, source: apsw.Connection, tell: Pages) -> None:
    """Copy a whole database over another, in one transaction of the target."""
    with target.backup("main", source, "main") as copying:
        while not copying.done:
            copying.step(STEP_PAGES)
            tell(copying.page_count - copying.remaining, copying.page_count)


def _is_sound(file: Path) -> bool:
    """Look at the file without a lock; False if it must be looked at again under the turn.

    A store that another process is just making or closing may be read half-written. It has a line
    of writers beside it, which a stranger's file has not.
    """
    try:
        prepare_file(file)
    except (StoreCorrupt, apsw.CorruptError, apsw.NotADBError):
        if not has_line(file):
            raise
        return False
    return True


class Opening:
    """Opens a store that is not encrypted, and refuses one that is.

    Attributes:
        seals_new: Whether a store that it makes is encrypted.
    """

    seals_new = False

    @property
    def seals(self) -> DataKeys | None:
        """The owners' keys, where the store is encrypted."""
        return None

    @property
    def is_sealed(self) -> bool:
        """Whether the store is encrypted."""
        return self.seals is not None

    def connect(self, name: str, flags: int) -> apsw.Connection:
        """Return a new connection."""
        return apsw.Connection(name, flags=flags)

    def begin(self, writer: apsw.Connection) -> Secrets:
        """Return the keys of the store's digests, once the file is whole; call it under the turn.

        Raises:
            KeyUnavailable: If it is encrypted.
            StoreCorrupt: If one is missing.
        """
        return self.secrets(writer)

    def secrets(self, connection: apsw.Connection) -> Secrets:
        """Return the keys of the digests of any copy of the store."""
        secrets = read_secrets(connection)
        if secrets.is_wrapped:
            raise KeyUnavailable(
                f"{connection.filename}: is encrypted; name its key ring, and its key vault or "
                "SIMONIDES_ENCRYPT=true (docs/privacy.md)"
            )
        return secrets

    def keep(self, connection: apsw.Connection, keys: Secrets) -> None:
        """Write the keys of the digests into the file."""
        for name, value in keys._asdict().items():
            connection.execute(SQL["put_meta"], {"name": name, "value": value})

    def follow(self, keys: Secrets) -> None:
        """Go on with the keys of another store, that was moved or put back here."""
        del keys

    def close(self) -> None:
        """Let go of what was opened for it."""
