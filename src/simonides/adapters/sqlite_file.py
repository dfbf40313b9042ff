"""One SQLite file, many readers, one writer at a time: what every store in a file does with it.

Reads run on the caller's own thread over a few idle connections. Writes take the file's turn
(:mod:`simonides.adapters.sqlite_turn`) and one transaction. Beside the file lie SQLite's ``-wal``
and ``-shm`` while it is open, and ``-turn``; nothing is written anywhere else.
"""

import asyncio
import os
import sys
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any, ClassVar, Self, TypeVar

import apsw

from simonides.adapters.sqlite_errors import Translating
from simonides.adapters.sqlite_heads import Heads, watched
from simonides.adapters.sqlite_log import LogCopying, empty_log, is_written
from simonides.adapters.sqlite_opening import Opening
from simonides.adapters.sqlite_schema import (
    SQL,
    Synchronous,
    open_reader,
    open_writer,
    prepare_file,
)
from simonides.adapters.sqlite_turn import Turnstile, has_line, turnstile
from simonides.adapters.store_owners import Owners, Secrets
from simonides.domain.errors import KeyUnavailable, StoreCorrupt, StoreUnavailable
from simonides.ports import Capability

# Seconds that a writer waits for its turn. Chosen: 100 threads of 8 processes queue for well under
# a second, and a person waits no longer than this for an answer.
BUSY_TIMEOUT_S = 30.0

# Connections kept open for readers. Chosen: more threads than this rarely read at the very same
# moment, and each costs a cache of 2 MB at most.
IDLE_READERS = 8

ARRIVING = "arriving"
"""Name of the row of ``meta`` that closes the store to everybody but who fills it."""

CODED = "coded"
"""Name of the row of ``meta`` that says that the memories of a file are under a key ring."""

T = TypeVar("T")


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


def check_filling(connection: apsw.Connection, *, may_go_on: bool) -> None:
    """See to it that only who moves a store here uses it before it is whole.

    Raises:
        StoreUnavailable: If a move is under way, or was when its process ended, and this is not
            to go on with it.
    """
    if not may_go_on and arrival_in(connection) is not None:
        raise StoreUnavailable(
            connection.filename,
            "another store is being moved here and not all of it has arrived; run the same "
            "`simonides migrate` again, or start over with another target",
        )


def arrival_in(connection: apsw.Connection) -> bytes | None:
    """Return who is on the way, with the mark; empty for nobody, None if no move is under way."""
    found: bytes | None = connection.execute(SQL["meta"], {"name": ARRIVING}).get
    return found


def check_ring(connection: apsw.Connection) -> None:
    """See to it that a store under a key ring is not written to without one: what was written then
    would pass for somebody's edit.

    Raises:
        KeyUnavailable: If the store is under a ring.
    """
    if connection.execute(SQL["meta"], {"name": CODED}).get is not None:
        raise KeyUnavailable(
            f"{connection.filename}: is under a key ring; name it by the setting keys, keys_file or"
            " keys_command (docs/keys.md)"
        )


class SqliteFile:
    """An open file; safe to share between threads.

    Opened with ``inline=False`` it is for event loops: writes then run on a thread of its own, and
    reads of an owner's every row on others; both are awaited under asyncio. Reads of a few rows
    stay on the caller's thread. A write whose waiting is cancelled may still take place.

    Attributes:
        abilities: Capabilities of every store of a class, inline or not.
        is_coded: Whether a class reads and writes codes; None if it touches no memories.
    """

    abilities = frozenset({Capability.DURABLE})
    is_coded: ClassVar[bool | None] = None

    def __init__(
        self,
        path: Path,
        writer: apsw.Connection,
        turns: Turnstile,
        secrets: Secrets,
        *,
        busy_timeout_s: float,
        inline: bool,
        opening: Opening,
        heads: Heads,
        descriptor: int | None,
    ) -> None:
        """For :meth:`open`."""
        inline_too = {Capability.INLINE} if inline else set()
        sealed_too = {Capability.SEALED} if opening.is_sealed else set()
        self.capabilities = self.abilities | inline_too | sealed_too
        self._opening = opening
        self.location = str(path)
        self._path = path
        self._writer = writer
        self._turns = turns
        self._heads = heads
        self._busy_timeout_s = busy_timeout_s
        self._thread = None if inline else ThreadPoolExecutor(1, "simonides-writer")
        self._readers = None if inline else ThreadPoolExecutor(IDLE_READERS, "simonides-reader")
        self._translating = Translating(self.location)
        self._translating_writer = Translating(self.location, writer)
        self._idle_readers: list[apsw.Connection] = []
        self._secrets = secrets
        self._owners = Owners(secrets)
        self._pid = os.getpid()
        self._closed = False
        self._log_holds_forgotten = False
        self._copying = LogCopying(
            writer,
            descriptor,
            reading=lambda: self._reading(is_transaction=False),
            turn=lambda: turns.turn(busy_timeout_s),
        )

    @classmethod
    def open(
        cls,
        path: str | os.PathLike[str],
        *,
        busy_timeout_s: float = BUSY_TIMEOUT_S,
        synchronous: Synchronous = "full",
        inline: bool = True,
        filling: bool = False,
        opening: Opening | None = None,
    ) -> Self:
        """Open the store at a path, or make one, with the directories above it.

        Args:
            path: The database file.
            busy_timeout_s: Seconds that a write waits for its turn.
            synchronous: ``full`` survives a power cut with every acknowledged write; ``normal``
                may lose the last ones then, though never when only the process dies, and is
                several times faster.
            inline: False runs writes on a thread of the store's own, for event loops.
            filling: Whether to open it to move owners here, or to go on doing so.
            opening: How its connections are made and its keys read; None for a store in plain. It
                is the store's from now on.

        Raises:
            StoreCorrupt: If the file is something else or of a newer format; it is not touched.
            StoreReadOnly: If the place cannot be written.
            StoreUnavailable: If locked past the time-out, half-filled, or no file can be there.
            StoreFull: If there is no room for an empty store.
            KeyUnavailable: If its memories are under a key ring, or encrypted, and this is not.
        """
        opening = opening or Opening()
        # Absolute, for the host may change its working directory; and where links lead to, for
        # SQLite lays its own files there.
        file = Path(path).resolve()
        with Translating(str(file)):
            is_sound = _is_sound(file)
            turns = turnstile(file)
            is_first = turns.users == 1
            with ExitStack() as undo:
                undo.callback(turns.release)
                with turns.turn(busy_timeout_s):
                    if not is_sound:
                        prepare_file(file)
                    # Another process may have forgotten something and ended before it could
                    # empty the log; of those in this process the first looks for all.
                    has_log = is_first and is_written(file)
                    writer = open_writer(
                        file,
                        opening.connect,
                        synchronous=synchronous,
                        busy_timeout_s=busy_timeout_s,
                    )
                    undo.callback(writer.close)
                    secrets = opening.begin(writer)
                    check_filling(writer, may_go_on=filling)
                    if cls.is_coded:
                        writer.execute(SQL["put_meta"], {"name": CODED, "value": b""})
                    elif cls.is_coded is not None:
                        check_ring(writer)
                    if has_log:
                        empty_log(writer, busy_timeout_s)
                    heads = Heads(watched(file, turns))
                    # On Windows only who writes a file can have it brought to the disk.
                    descriptor = None if sys.platform == "win32" else turns.descriptor(file)
                undo.pop_all()
        how: dict[str, Any] = {"busy_timeout_s": busy_timeout_s, "inline": inline, "heads": heads}
        how |= {"opening": opening, "descriptor": descriptor}
        return cls(file, writer, turns, secrets, **how)

    async def close(self) -> None:
        """Wait for the write that is under way, then close; in a forked child it does nothing."""
        if self._closed or self._pid != os.getpid():
            return
        await self._writing(self._close)
        for threads in (self._thread, self._readers):
            if threads is not None:
                threads.shutdown()

    def _check_usable(self) -> None:
        if self._closed:
            raise StoreUnavailable(self.location, "the store is closed")
        if self._pid != os.getpid():
            raise StoreUnavailable(self.location, "opened before a fork; open it in this process")

    @contextmanager
    def _reading(self, *, is_transaction: bool = True) -> Iterator[apsw.Connection]:
        """One connection in one short read transaction; a single statement is one by itself."""
        self._check_usable()
        with self._translating:
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
                if is_sound and not self._closed and len(self._idle_readers) < IDLE_READERS:
                    self._idle_readers.append(connection)
                else:
                    connection.close()

    def _new_reader(self) -> apsw.Connection:
        return open_reader(self._path, self._opening.connect, busy_timeout_s=self._busy_timeout_s)

    async def _writing(self, write: Callable[[], T]) -> T:
        """Run ``write`` here or, for event loops, on the writer thread."""
        return await self._on(self._thread, write)

    async def _reading_much(self, read: Callable[[apsw.Connection], T]) -> T:
        """Run ``read`` in a transaction, here or, for event loops, on a thread: it takes longer
        than they may wait. A handful of rows is read sooner than a thread is woken.
        """

        def reading() -> T:
            with self._reading() as connection:
                return read(connection)

        return await self._on(self._readers, reading)

    async def _on(self, threads: ThreadPoolExecutor | None, work: Callable[[], T]) -> T:
        self._check_usable()
        if threads is None:
            return work()
        try:
            waiting = threads.submit(work)
        except RuntimeError as error:
            raise StoreUnavailable(self.location, "the store is closed") from error
        return await asyncio.wrap_future(waiting)

    @contextmanager
    def _turn(self) -> Iterator[apsw.Connection]:
        """The file's write turn with a transaction, rolled back unless the block ends well.

        The block translates its own errors: what ``decide`` raises is not ours to touch.
        """
        with self._turns.turn(self._busy_timeout_s):
            self._check_usable()
            with self._translating_writer:
                self._writer.execute("BEGIN IMMEDIATE")
            try:
                yield self._writer
                with self._translating_writer:
                    self._writer.execute("COMMIT")
            finally:
                # After some errors SQLite has rolled back by itself.
                if self._writer.in_transaction:
                    with self._translating_writer:
                        self._writer.execute("ROLLBACK")
            self._empty_log()
        self._copying.go_on()

    def _empty_log(self) -> None:
        """Empty the log if it holds what was forgotten; call it under the turn.

        The write itself is done and stays acknowledged; if a reader is in the way, the next one
        tries again, or who closes, or who opens the file the next time.
        """
        if self._log_holds_forgotten:
            self._log_holds_forgotten = not self._emptied_log()

    def _emptied_log(self) -> bool:
        """Empty the log, under the turn, when who copies it is done; False if that has to wait."""
        with self._copying.passing:
            return empty_log(self._writer, self._busy_timeout_s)

    def _close(self) -> None:
        self._copying.close()
        with self._turns.turn(self._busy_timeout_s), self._translating_writer:
            if self._closed:
                return
            self._closed = True
            while self._idle_readers:
                self._idle_readers.pop().close()
            # The last connection to a file empties and removes its log; ours may not be.
            if is_written(self._path):
                empty_log(self._writer, self._busy_timeout_s)
            self._writer.close()
            self._opening.close()
        self._turns.release()
