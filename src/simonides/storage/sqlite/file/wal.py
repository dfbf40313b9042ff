"""The write-ahead log of a file: copied into it beside its writers, emptied of what was forgotten.

SQLite leaves copying to who happens to commit when the log has grown, and that commit takes ten
times as long as others do. Here a thread of the file's own does it, on a connection of its own.
SQLite empties a log by itself only when the last connection of all programs closes in good order.
"""

import os
import threading
import time
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import AbstractContextManager, suppress
from pathlib import Path

import apsw

from simonides.domain.errors import StoreError

# Milliseconds to wait for readers; what does not succeed is tried again later.
_WAIT_MS = 100

# Seconds between two looks whether another process still copies.
_LOOK_S = 1e-3

DUE_PAGES = 1000
"""Pages in the log, of 8 KiB, that are worth copying: those of some eighty commits. A page that
several of them wrote is copied once. Twice or half as many cost as much or more (measured)."""

LONGEST_PAGES = 4 * DUE_PAGES
"""Pages in the log at which who commits copies them after all: the thread does not keep up, or a
reader stays so long that the log cannot begin anew. Chosen: 32 MiB."""


class LogCopying:
    """Has the log of one open file copied whenever enough is in it; any thread may ask.

    What is written while the thread copies would keep the log growing, so it copies twice: most of
    it beside the writers, the little that has come since when it is its turn to write.

    What cannot be copied is as safe in the log as it would be in the file, and is tried again
    when as much more has come.

    Attributes:
        passing: Held while a connection copies; who has the turn, and this, keeps the thread away
            from the file.
    """

    def __init__(
        self,
        writer: apsw.Connection,
        database: int | None,
        *,
        reading: Callable[[], AbstractContextManager[apsw.Connection]],
        turn: Callable[[], AbstractContextManager[None]],
    ) -> None:
        """Watch what a connection commits.

        Args:
            writer: The one that writes in this process; SQLite stops to copy by itself.
            database: A descriptor of the file, to have it on the disk before it is the thread's
                turn; None if there is none to be had.
            reading: Lends a connection that is outside of a transaction.
            turn: The turn to write.
        """
        self._database = database
        self._reading = reading
        self._turn = turn
        self.passing = threading.Lock()
        self._lock = threading.Lock()
        self._threads: ThreadPoolExecutor | None = None
        self._is_under_way = False
        self._is_closed = False
        self._pages = self._copied = 0
        writer.set_wal_hook(self._committed)

    def go_on(self) -> None:
        """Begin to copy, if that is due; call it after a turn, never under one."""
        if self._pages - self._copied < DUE_PAGES:
            return
        with self._lock:
            if self._is_under_way or self._is_closed:
                return
            self._is_under_way = True
            if self._threads is None:
                self._threads = ThreadPoolExecutor(1, "simonides-log")
            threads = self._threads
        try:
            # Asked for its result, it has what nobody foresaw logged.
            threads.submit(self._copy).add_done_callback(Future.result)
        except RuntimeError:
            # No thread can be started: the interpreter ends, or the system has no more.
            self._copy()

    def close(self) -> None:
        """Let what is under way come to its end, and begin no more; never under the turn."""
        with self._lock:
            self._is_closed = True
            threads = self._threads
        if threads is not None:
            threads.shutdown()

    def _committed(self, writer: apsw.Connection, name: str, pages: int) -> int:
        if pages < self._pages:
            self._copied = 0
        self._pages = pages
        if pages >= LONGEST_PAGES:
            # The commit is done; no fault of a copy may be taken for its own.
            with suppress(apsw.Error):
                writer.wal_checkpoint(name)
        return apsw.SQLITE_OK

    def _copy(self) -> None:
        try:
            with self.passing, self._reading() as connection:
                _copy_more(connection)
                if self._database is not None:
                    os.fsync(self._database)
            with self._turn(), self.passing, self._reading() as connection:
                self._copied = _copy_more(connection)
        except StoreError:
            # Also of a file that was closed meanwhile, and of a turn that did not come.
            self._copied = self._pages
        finally:
            self._is_under_way = False


def _copy_more(connection: apsw.Connection) -> int:
    """Copy what no reader keeps from being copied; return how many pages of the log are."""
    # A connection that has read nothing does not know that there is a log.
    connection.pragma("schema_version")
    _, copied = connection.wal_checkpoint()
    return copied


def is_written(database: Path) -> bool:
    """Whether there is anything in the log of a database."""
    try:
        return database.with_name(database.name + "-wal").stat().st_size > 0
    except OSError:
        return False


def empty_log(writer: apsw.Connection, busy_timeout_s: float) -> bool:
    """Copy the log into the database and cut it to nothing; False if that has to wait.

    Call it under the turn. What was copied before is not copied again, so trying it often is
    cheap however long the log.

    Args:
        writer: Of the database, without a transaction.
        busy_timeout_s: The time-out that the connection has otherwise.
    """
    ends_at = time.monotonic() + _WAIT_MS / 1000
    writer.set_busy_timeout(_WAIT_MS)
    try:
        while not _cut(writer):
            if time.monotonic() >= ends_at:
                return False
            time.sleep(_LOOK_S)
    except apsw.Error:
        # There is no room.
        return False
    finally:
        writer.set_busy_timeout(int(busy_timeout_s * 1000))
    return True


def _cut(writer: apsw.Connection) -> bool:
    """Empty the log; False if a reader still needs it, whom SQLite has waited for, or if another
    process copies it, for which SQLite does not wait.
    """
    try:
        writer.wal_checkpoint(mode=apsw.SQLITE_CHECKPOINT_TRUNCATE)
    except apsw.BusyError:
        return False
    return True
