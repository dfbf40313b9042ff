"""SQLite: one file, one writer at a time, readers beside it; with a key the file is encrypted.

Writers of one process take turns in order of arrival, and those of different owners that wait share
a commit: each runs in a savepoint of one transaction, and the last in line commits for all. Writers
of several processes take turns on a lock beside the file, because SQLite's own wait starves some.
"""

from __future__ import annotations

import fcntl
import os
import re
import threading
import time
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import apsw

from simonides.core.errors import (
    ConfigurationError,
    KeyUnavailable,
    StoreCorrupt,
    StoreError,
    StoreFull,
    StoreReadOnly,
    StoreUnavailable,
)
from simonides.storage import statements
from simonides.storage.database import Params, Row
from simonides.storage.migrate import migrate

TYPES = {
    "int": "INTEGER", "real": "REAL", "text": "TEXT", "blob": "BLOB",
    "strict": "STRICT", "clustered": "STRICT, WITHOUT ROWID",
}  # fmt: skip

APPLICATION_ID = 0x53494D4F
"""Marks a file as ours ("SIMO")."""

GROUP = 32
"""Most writers that share a commit."""

POLL_S = 0.0005
"""Pause between attempts at the lock between processes; of .0005, .001 and .005 the fairest."""

CHECKPOINT_WAIT_MS = 500
"""How long a checkpoint waits for readers; the next one takes what is left."""

_PRAGMAS = (
    "journal_mode = WAL",
    "secure_delete = ON",
    "temp_store = MEMORY",
    "cache_size = -8000",
    "trusted_schema = OFF",
)


class _Connection:
    """One apsw connection as a `Connection`."""

    def __init__(self, raw: apsw.Connection, translate: Callable[[Exception], Exception]) -> None:
        self.raw, self._translate = raw, translate

    def rows(self, sql: str, params: Params) -> list[Row]:
        try:
            return self.raw.execute(sql, params).fetchall()
        except apsw.Error as error:
            raise self._translate(error) from error

    def one(self, sql: str, params: Params) -> Row | None:
        found = self.rows(sql, params)
        return found[0] if found else None

    def run(self, sql: str, params: Params) -> None:
        self.rows(sql, params)

    def run_many(self, sql: str, many: Sequence[Params]) -> None:
        try:
            self.raw.executemany(sql, many)
        except apsw.Error as error:
            raise self._translate(error) from error


class _Group:
    """Writers that share a commit."""

    def __init__(self) -> None:
        self.owners: set[str] = set()
        self.done = threading.Event()
        self.error: BaseException | None = None


class Sqlite:
    """A database in a file, or in memory without a path; a `Database`.

    The first write makes the file. Until then reads find nothing.
    """

    backend = "sqlite"

    def __init__(
        self,
        path: Path | None,
        *,
        key: str | None = None,
        create: bool = True,
        wait_s: float = 30.0,
        readers: int = 10,
        synchronous: str = "full",
    ) -> None:
        """Open the file if it is there.

        Args:
            path: The file; None keeps everything in memory.
            key: 64 hexadecimal digits, or a passphrase, that encrypts the file.
            create: Whether the first write may make the file.
            wait_s: How long to wait for other writers, in seconds.
            readers: Most connections for reading at once.
            synchronous: ``full`` or ``normal``.

        Raises:
            StoreError: If the file is no simonides store, damaged, or not accessible.
            KeyUnavailable: If the key is wrong or missing.
            ConfigurationError: If a key is given and the cipher is not installed.
        """
        self.location = ":memory:" if path is None else str(path)
        self._path, self._wait_s, self._synchronous = path, wait_s, synchronous
        self._pragma_key = None if key is None else self._key_pragma(key)
        self._mutex = threading.Lock()
        self._waiting: deque[tuple[str, threading.Lock]] = deque()
        self._busy = False
        self._group: _Group | None = None
        self._idle: list[_Connection] = []
        self._slots = threading.BoundedSemaphore(readers)
        self._writer: _Connection | None = None
        self._empty: Sqlite | None = None
        self._turn_file: int | None = None
        self._inode: tuple[int, int] | None = None
        self._pid = os.getpid()
        self._closed = False
        self._opening = threading.Lock()
        if path is None or path.exists():
            self._start()
        elif not create:
            raise StoreUnavailable(self.location, "there is no store here")

    @staticmethod
    def _key_pragma(key: str) -> str:
        if not key:
            raise KeyUnavailable("the encryption key is empty")
        if not hasattr(apsw, "mc_version"):
            raise ConfigurationError(
                "encryption needs the package apsw-sqlite3mc, but apsw without a cipher is "
                "installed over it; run: pip uninstall apsw && "
                "pip install --force-reinstall apsw-sqlite3mc"
            )
        raw = f"raw:{key}" if re.fullmatch(r"[0-9a-fA-F]{64}", key) else key
        return "key = '{}'".format(raw.replace("'", "''"))

    # -- opening -----------------------------------------------------------------------------------

    def _start(self) -> _Connection:
        """Open the writer and prepare the schema; once, by the first call that needs the file."""
        with self._opening:
            if self._writer is not None:
                return self._writer
            with self._translated():
                if self._path is None:
                    self._writer = self._prepared(self._connect())
                    return self._writer
                self._path.parent.mkdir(parents=True, exist_ok=True)
                turn_path = f"{self._path}-turn"
                self._turn_file = os.open(turn_path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
                self._lock_file()
                try:
                    self._writer = self._prepared(self._connect())
                finally:
                    self._unlock_file()
                stat = self._path.stat()
                self._inode = (stat.st_dev, stat.st_ino)
                return self._writer

    def _connect(self) -> _Connection:
        if self._path is not None and self._path.is_dir():
            raise StoreError(self.location, "is a folder; name a file in it")
        raw = apsw.Connection(self.location)
        if self._pragma_key is not None:
            raw.execute(f"PRAGMA {self._pragma_key}")
        raw.set_busy_timeout(int(self._wait_s * 1000))
        for pragma in (*_PRAGMAS, f"synchronous = {self._synchronous}"):
            raw.execute(f"PRAGMA {pragma}").fetchall()
        return _Connection(raw, self._error)

    def _prepared(self, connection: _Connection) -> _Connection:
        raw = connection.raw
        with raw:
            mark, tables = (
                raw.pragma("application_id"),
                raw.execute("SELECT COUNT(*) FROM sqlite_schema").fetchall(),
            )
            if mark != APPLICATION_ID and (mark or tables[0][0]):
                raise StoreCorrupt(self.location, "is the database of another program")
            applied = connection.rows(statements.MIGRATIONS, {}) if mark else []

            def note(name: str, checksum: str) -> None:
                connection.run(statements.SET_META, {"name": name, "value": checksum})

            migrate(self.location, applied, TYPES, raw.execute, note)
            secret = {"name": "secret", "value": os.urandom(32).hex()}
            connection.run(statements.SET_META, secret)
            if not mark:
                raw.pragma("application_id", APPLICATION_ID)
        return connection

    # -- reading -----------------------------------------------------------------------------------

    @contextmanager
    def read(self, *owners: str, snapshot: bool = False) -> Iterator[_Connection]:
        """Open a read; in memory there is one connection, and a read is a turn."""
        self._check_open()
        if self._path is None:
            self._take("")
            try:
                yield self._ready()
            finally:
                self._pass_on()
            return
        if self._writer is None:
            if not self._path.exists():
                with self._nothing().read(*owners) as connection:
                    yield connection
                return
            self._start()
        if not self._slots.acquire(timeout=self._wait_s):
            raise StoreUnavailable(self.location, f"no free connection within {self._wait_s:g} s")
        try:
            connection = self._reader()
            try:
                if snapshot:
                    connection.run("BEGIN", {})
                yield connection
            finally:
                if connection.raw.in_transaction:
                    connection.run("ROLLBACK", {})
                self._idle.append(connection)
        finally:
            self._slots.release()

    def _nothing(self) -> Sqlite:
        """Return an empty database, which stands for a file that is not there yet."""
        with self._opening:
            if self._empty is None:
                self._empty = Sqlite(None)
            return self._empty

    def _reader(self) -> _Connection:
        try:
            return self._idle.pop()
        except IndexError:
            with self._translated():
                return self._connect()

    def _ready(self) -> _Connection:
        return self._writer or self._start()

    # -- writing -----------------------------------------------------------------------------------

    @contextmanager
    def write(self, owner: str) -> Iterator[_Connection]:
        """Open a change, in order of arrival, and commit it together with others that wait."""
        self._check_open()
        writer = self._ready()
        self._take(owner)
        group = self._join(owner, writer)
        try:
            writer.run("SAVEPOINT one", {})
            yield writer
            writer.run("RELEASE one", {})
        except BaseException:
            if writer.raw.in_transaction:
                writer.raw.execute("ROLLBACK TO one; RELEASE one")
            else:  # a full disk rolls back by itself
                group.error = StoreFull(self.location, "the shared transaction was rolled back")
            self._leave(group, writer, waits=False)
            raise
        self._leave(group, writer, waits=True)

    def _take(self, owner: str) -> None:
        """Wait for the turn of this process."""
        with self._mutex:
            if not self._busy:
                self._busy = True
                return
            mine = threading.Lock()
            mine.acquire()
            self._waiting.append((owner, mine))
        try:
            # Critical section: an interrupt here must leave the line, or hand on a turn that this
            # thread has just got.
            acquired = mine.acquire(timeout=self._wait_s)
        except BaseException:
            self._give_up(owner, mine)
            raise
        if not acquired and self._give_up(owner, mine):
            raise StoreUnavailable(self.location, f"other writers held it for {self._wait_s:g} s")

    def _give_up(self, owner: str, mine: threading.Lock) -> bool:
        with self._mutex:
            if (owner, mine) in self._waiting:
                self._waiting.remove((owner, mine))
                return True
        self._pass_on()
        return True

    def _pass_on(self) -> None:
        with self._mutex:
            if self._waiting:
                self._waiting.popleft()[1].release()
            else:
                self._busy = False

    def _join(self, owner: str, writer: _Connection) -> _Group:
        """Return the group whose commit this change shares; begin its transaction if it is new."""
        group = self._group
        if group is None:
            try:
                with self._translated():
                    self._lock_file()
                    self._check_place()
                    if writer.raw.in_transaction:  # left over by an interrupted call
                        writer.raw.execute("ROLLBACK")
                    writer.raw.execute("BEGIN IMMEDIATE")
            except BaseException:
                self._unlock_file()
                self._pass_on()
                raise
            group = self._group = _Group()
        group.owners.add(owner)
        return group

    def _leave(self, group: _Group, writer: _Connection, *, waits: bool) -> None:
        with self._mutex:
            following = self._waiting[0][0] if self._waiting else None
        # The same owner again must see this change's commit and index first.
        shares = bool(following) and following not in group.owners
        if shares and len(group.owners) < GROUP and group.error is None:
            self._pass_on()
            if waits:
                group.done.wait()
        else:
            self._end(group, writer)
        if waits and group.error is not None:
            raise group.error

    def _end(self, group: _Group, writer: _Connection) -> None:
        try:
            if group.error is None:
                with self._translated():
                    writer.raw.execute("COMMIT")
        except BaseException as error:  # noqa: BLE001  each writer of the group raises it
            group.error = error
        finally:
            if writer.raw.in_transaction:
                writer.raw.execute("ROLLBACK")
            self._unlock_file()
            self._group = None
            group.done.set()
            self._pass_on()

    def _check_place(self) -> None:
        """Notice a file that was deleted, renamed or replaced while it was open."""
        if self._path is None:
            return
        try:
            stat = self._path.stat()
        except FileNotFoundError:
            stat = None
        if stat is None or (stat.st_dev, stat.st_ino) != self._inode:
            problem = "the file was deleted, renamed or replaced while it was open; open it again"
            raise StoreUnavailable(self.location, problem)

    def _lock_file(self) -> None:
        """Wait for the turn between processes."""
        if self._turn_file is None:
            return
        deadline = time.monotonic() + self._wait_s
        while True:
            try:
                fcntl.flock(self._turn_file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                if time.monotonic() > deadline:
                    holder = os.pread(self._turn_file, 100, 0).decode(errors="replace").strip()
                    problem = f"process {holder or '?'} held it for {self._wait_s:g} s"
                    raise StoreUnavailable(self.location, problem) from None
                time.sleep(POLL_S)
            else:
                os.pwrite(self._turn_file, f"{self._pid:<20}".encode(), 0)
                return

    def _unlock_file(self) -> None:
        if self._turn_file is not None:
            fcntl.flock(self._turn_file, fcntl.LOCK_UN)

    # -- chores ------------------------------------------------------------------------------------

    def owners(self) -> list[str]:
        """Return the names of all owners."""
        with self.read() as connection:
            return [row[0] for row in connection.rows(statements.OWNERS, {})]

    def backup(self, path: Path) -> None:
        """Copy everything to a new file under the same key, while others read and write."""
        if path.exists():
            raise StoreError(str(path), "exists already; name a new file")
        with self.read() as source, self._translated():
            target = apsw.Connection(str(path))
            try:
                if self._pragma_key is not None:
                    target.execute(f"PRAGMA {self._pragma_key}")
                with target.backup("main", source.raw, "main") as copy:
                    while not copy.done:
                        copy.step(256)
            finally:
                target.close()

    def checkpoint(self) -> None:
        """Move the write-ahead log into the file and truncate it: it holds deleted text."""
        if self._path is None or self._writer is None:
            return
        self._take("")
        raw = self._writer.raw
        try:
            with self._translated():
                self._lock_file()
                raw.set_busy_timeout(CHECKPOINT_WAIT_MS)
                raw.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchall()
        finally:
            raw.set_busy_timeout(int(self._wait_s * 1000))
            self._unlock_file()
            self._pass_on()

    def close(self) -> None:
        """Close all connections; a second call does nothing."""
        if self._closed:
            return
        self._closed = True
        writer = self._writer
        for connection in [*([writer] if writer else []), *self._idle]:
            connection.raw.close()
        if self._empty is not None:
            self._empty.close()
        if self._turn_file is not None:
            os.close(self._turn_file)

    def _check_open(self) -> None:
        if self._closed:
            raise StoreUnavailable(self.location, "the store is closed")
        if os.getpid() != self._pid:
            self._reopen_after_fork()

    def _reopen_after_fork(self) -> None:
        """Forget the parent's connections without closing them: their locks belong to it."""
        if self._path is None:
            raise StoreUnavailable(self.location, "a store in memory does not survive a fork")
        self._abandoned = (self._writer, self._idle, self._empty)
        self._mutex, self._opening = threading.Lock(), threading.Lock()
        self._waiting, self._busy, self._group = deque(), False, None
        self._idle, self._writer, self._empty = [], None, None
        self._turn_file, self._pid = None, os.getpid()

    @contextmanager
    def _translated(self) -> Iterator[None]:
        """Turn SQLite's and the system's errors into ours."""
        try:
            yield
        except (apsw.Error, OSError) as error:
            raise self._error(error) from error

    def _error(self, error: Exception) -> Exception:
        match error:
            case apsw.FullError():
                return StoreFull(self.location, "no space is left")
            case apsw.BusyError() | apsw.LockedError():
                problem = f"another process held it for {self._wait_s:g} s"
                return StoreUnavailable(self.location, problem)
            case apsw.ReadOnlyError() | PermissionError():
                return StoreReadOnly(self.location, "the location is not writable")
            case apsw.NotADBError() if self._pragma_key is not None:
                return KeyUnavailable(f"{self.location}: the encryption key is wrong")
            case apsw.NotADBError():
                problem = "is no SQLite database, or it is encrypted and needs a key"
                return StoreCorrupt(self.location, problem)
            case apsw.CorruptError():
                return StoreCorrupt(self.location, "is damaged; restore a backup")
            case _:
                return StoreError(self.location, f"cannot be read or written: {error}")
