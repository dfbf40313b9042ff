"""SQLite: one file, one writer at a time, readers beside it; with a key the file is encrypted.

Writers of one process take turns. Those of different owners share a commit: each but the first has
a savepoint, the last one commits. Processes wait for a lock file, as SQLite's wait starves some.
"""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from functools import partial
from pathlib import Path

import apsw

from simonides.core import errors
from simonides.storage import statements
from simonides.storage.database import Connection, Params, Row
from simonides.storage.files import (
    belongs,
    copy,
    count_in,
    error_of,
    has_log,
    key_pragma,
    mark_of,
    note,
    raw_connection,
    renew,
)
from simonides.storage.line import LOOK_S, POLL_S, Group, LockFile, Waiter, WriterQueue
from simonides.storage.migrate import migrate

TYPES = {
    "int": "INTEGER", "real": "REAL", "text": "TEXT", "blob": "BLOB",
    "strict": "STRICT", "clustered": "STRICT, WITHOUT ROWID",
}  # fmt: skip

APPLICATION_ID = 0x53494D4F
"""Marks a file as ours ("SIMO")."""

GROUP = 32
"""Maximum number of writers that share a commit."""

CLOSE_WAIT_S = 10.0
"""How long closing waits for running calls, in seconds. Set by judgement."""

CHECKPOINT_WAIT_MS = 500
"""How long a checkpoint waits for readers; the next one takes what is left."""

_PRAGMAS = (
    "journal_mode = WAL", "secure_delete = ON", "temp_store = MEMORY", "cache_size = -8000",
    "trusted_schema = OFF",
)  # fmt: skip


class _Connection(Connection):
    """One apsw connection as a `Connection`."""

    def __init__(self, raw: apsw.Connection, translate: Callable[[Exception], Exception]) -> None:
        self.raw, self._translate = raw, translate

    def rows(self, sql: str, params: Params) -> list[Row]:
        try:
            return self.raw.execute(sql, params).fetchall()
        except (apsw.Error, UnicodeDecodeError) as error:
            raise self._translate(error) from error

    def run(self, sql: str, params: Params) -> None:
        self.rows(sql, params)

    def run_many(self, sql: str, many: Sequence[Params]) -> None:
        try:
            self.raw.executemany(sql, many)
        except apsw.Error as error:
            raise self._translate(error) from error


class Sqlite:
    """A database in a file, or in memory without a path; a `Database`.

    The first write makes the file. Until then reads find nothing.
    """

    backend, parts = "sqlite", 1

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
            readers: Maximum number of connections for reading at once.
            synchronous: ``full`` or ``normal``.

        Raises:
            StoreError: If the file is no simonides store, damaged, or not accessible.
            KeyUnavailable: If the key is wrong or missing.
            ConfigurationError: If a key is given and the cipher is not installed.
        """
        self.location = self.address = ":memory:" if path is None else str(path)
        self.name = "memory" if path is None else path.stem
        self._path, self._wait_s, self._synchronous = path, wait_s, synchronous
        self._pragma_key = key_pragma(key)
        self._error = partial(
            error_of, location=self.location, wait_s=wait_s, has_key=key is not None
        )
        self._line, self._readers = WriterQueue(), WriterQueue(readers)
        self._local = threading.local()
        self._group: Group | None = None
        self._idle: list[_Connection] = []
        self._width = readers
        self._writer: _Connection | None = None
        self._lock: LockFile | None = None
        self._inode: tuple[int, int] | None = None
        self._pid = os.getpid()
        self._closed = self._is_shut = self._is_marked = self._is_replaced = False
        self._opening = threading.Lock()
        if path is None or path.exists():
            self._start()
        elif not create:
            raise errors.StoreUnavailable(self.location, "there is no store here")

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
                if self._path.is_dir():
                    raise errors.StoreError(self.location, "is a folder; name a file in it")
                self._path.parent.mkdir(parents=True, exist_ok=True)
                lock = self._lock = LockFile(self.location, self._wait_s)
                try:
                    lock.acquire()
                    lock.reserve()
                    logged = has_log(self.location)
                    if logged:
                        self._check_log(lock)
                    writer = self._prepared(self._connect(is_new=not self._path.exists()))
                    if not logged:
                        note(writer.raw, lock)
                    stat = self._path.stat()
                    self._inode = (stat.st_dev, stat.st_ino)
                    self._writer = writer
                finally:
                    lock.release()
                    if self._writer is None:
                        self._lock = None
                        lock.close()
                return writer

    def _check_log(self, lock: LockFile) -> None:
        """Refuse the log of another file, before SQLite applies it."""
        with closing(raw_connection(self.location, self._pragma_key)) as raw:
            mark_of(raw)  # an error if the key is wrong
            if not belongs(raw, lock):
                problem = (
                    "has the log of another file beside it: the file was put here by hand; "
                    "run: simonides restore BACKUP"
                )
                raise errors.StoreCorrupt(self.location, problem)

    def _connect(self, *, is_new: bool = False) -> _Connection:
        raw = raw_connection(self.location, self._pragma_key)
        raw.set_busy_timeout(int(self._wait_s * 1000))
        # Nothing may be changed in the file of another program, its journal mode included.
        [[tables]] = raw.execute("SELECT COUNT(*) FROM sqlite_schema").fetchall()
        mark = raw.pragma("application_id")
        if mark != APPLICATION_ID and (mark or tables):
            raise errors.StoreCorrupt(self.location, "is the database of another program")
        if is_new and self._path is not None:
            self._path.chmod(0o600)  # the files beside it get the same
        for pragma in (*_PRAGMAS, f"synchronous = {self._synchronous}"):
            raw.execute(f"PRAGMA {pragma}").fetchall()
        return _Connection(raw, self._error)

    def _prepared(self, connection: _Connection) -> _Connection:
        raw = connection.raw
        with raw:
            mark = raw.pragma("application_id")
            applied = connection.rows(statements.MIGRATIONS, {}) if mark else []

            def note(name: str, checksum: str) -> None:
                connection.run(statements.SET_META, {"name": name, "value": checksum})

            migrate(self.location, applied, TYPES, raw.execute, note)
            secret = {"name": "secret", "value": os.urandom(32).hex()}
            connection.run(statements.SET_META, secret)
            if not mark:
                raw.pragma("application_id", APPLICATION_ID)
        return connection

    # -- calls -------------------------------------------------------------------------------------

    def running(self) -> threading.Lock:
        """Return a lock to hold while a call of this thread runs."""
        lock, outer = threading.Lock(), getattr(self._local, "call", None)
        if outer is None or not outer.locked():  # else a signal handler calls within a call
            self._local.call = lock
        return lock

    def settle(self) -> None:
        """Undo what an interrupted call of this thread left behind, unless another call will."""
        call = getattr(self._local, "call", None)
        for line in (self._line, self._readers):
            line.leave_with(call)
        self._tidy()

    def _waiter(self, owner: str = "") -> Waiter:
        call = getattr(self._local, "call", None)
        if call is None or not call.locked():  # no verb: only the `finally` of the block ends it
            call = threading.Lock()
            call.acquire()
        return Waiter(owner, call)

    def _wait(self, line: WriterQueue, waiter: Waiter) -> None:
        """Wait in a line; the caller must leave it in every case."""
        if line is self._line and line.holds(waiter.thread):
            raise errors.StoreUnavailable(self.location, "this thread is within another call")
        if not line.wait(waiter, self._wait_s):
            what = "other calls" if line is self._readers else "other writers"
            raise errors.StoreUnavailable(self.location, f"{what} held it for {self._wait_s:g} s")
        if self._is_shut:
            raise errors.StoreUnavailable(self.location, "the store is closed")

    # -- reading -----------------------------------------------------------------------------------

    @contextmanager
    def read(self, *owners: str, snapshot: bool = False) -> Iterator[_Connection]:
        """Open a read; in memory there is one connection, and a read takes the write lock."""
        self._check_open()
        if self._path is None:
            with self._turn() as connection:
                yield connection
            return
        if self._writer is None:
            if not self._path.exists():
                with Sqlite(None).read(*owners) as connection:  # stands for what is not there yet
                    yield connection
                return
            self._start()
        waiter = self._waiter()
        try:
            self._wait(self._readers, waiter)
            self._check_file()
            connection = self._reader()
            try:
                self._check_mark(connection.raw)
                if snapshot:
                    connection.run("BEGIN", {})
                yield connection
            except errors.SimonidesError:
                self._give_back(connection)
                raise
            except BaseException:  # a statement in the middle would keep its snapshot; raised again
                connection.raw.close(force=True)
                raise
            self._give_back(connection)
        finally:
            self._readers.leave(waiter)

    def _give_back(self, connection: _Connection) -> None:
        if connection.raw.in_transaction:
            connection.run("ROLLBACK", {})
        if self._is_shut:
            connection.raw.close()
        else:
            self._idle.append(connection)

    def _reader(self) -> _Connection:
        try:
            return self._idle.pop()
        except IndexError:
            with self._translated():
                return self._connect()

    # -- writing -----------------------------------------------------------------------------------

    @contextmanager
    def write(self, owner: str) -> Iterator[_Connection]:
        """Open a change, in order of arrival, and commit it together with others that wait."""
        self._check_open()
        writer = self._writer or self._start()
        waiter = self._waiter(owner)
        group = None
        try:
            self._wait(self._line, waiter)
            group = self._join(waiter, writer)
            if group.members:  # the first is undone as a whole; a savepoint keeps pages in memory
                writer.run("SAVEPOINT one", {})
            yield writer
            if group.members:
                writer.run("RELEASE one", {})
            group.members.append(waiter)
            group.active = None
        finally:
            self._finish(waiter)
        self._await(waiter, group)

    @contextmanager
    def _turn(self) -> Iterator[_Connection]:
        """Take the write lock without a change."""
        writer, waiter = self._writer or self._start(), self._waiter()
        try:
            self._wait(self._line, waiter)
            yield writer
        finally:
            self._finish(waiter)

    def _join(self, waiter: Waiter, writer: _Connection) -> Group:
        """Return the group whose commit this change shares; begin its transaction if it is new."""
        self._undo()
        if self._group is not None and self._group.error is not None:
            self._end()
        if self._group is None:
            with self._translated():
                if self._lock is not None:
                    self._lock.acquire()
                self._check_file()
                self._check_mark(writer.raw)
                if self._lock is not None and not self._is_marked:
                    if not has_log(self.location):
                        renew(writer.raw, self._lock)
                    self._is_marked = True
                writer.raw.execute("BEGIN IMMEDIATE")
            self._group = Group()
        self._group.owners.add(waiter.owner)
        self._group.active = waiter
        return self._group

    def _finish(self, waiter: Waiter) -> None:
        """Leave the queue. Whoever holds the write lock ends the group, or the next writer does.

        Critical section: the next in line may give up at any moment. Then it ends the group when it
        leaves, or this one does in `_tidy`, or a member in `_await`, or the next writer in `_join`.
        """
        try:
            if self._line.admits(waiter):
                self._undo()
                if not self._next_shares():
                    self._end()
        finally:
            self._line.leave(waiter)
        self._tidy()

    def _next_shares(self) -> bool:
        group, following = self._group, self._line.next()
        if group is None or group.error is not None or following is None or not following.owner:
            return False
        # The same owner again must see this change's commit and index first.
        return following.owner not in group.owners and len(group.owners) < GROUP

    def _await(self, waiter: Waiter, group: Group) -> None:
        """Wait until a group has ended, and end it if nobody else does."""
        while self._group is group:
            waiter.doze(LOOK_S)
            self._tidy()
        if group.error is not None:
            raise group.error

    def _tidy(self) -> None:
        """End what is left over, if no call is in line that does."""
        has_lock = self._lock is not None and self._lock.is_held
        if (self._group is None and not has_lock) or not self._line.is_empty():
            return
        waiter = self._waiter()
        try:
            if self._line.wait(waiter, self._wait_s):
                self._undo()
                self._end()
        finally:
            self._line.leave(waiter)

    def _undo(self) -> None:
        """Undo the change of the writer whose block did not end well."""
        group, writer = self._group, self._writer
        if group is None or group.active is None or writer is None:
            return
        try:
            if writer.raw.in_transaction:
                undo = (
                    "ROLLBACK TO one; RELEASE one" if group.members else "ROLLBACK; BEGIN IMMEDIATE"
                )
                writer.raw.execute(undo)
            else:  # a full disk rolls back by itself
                problem = "no space is left; the shared transaction was rolled back"
                group.error = errors.StoreFull(self.location, problem)
        except apsw.SQLError:
            pass  # the interrupt came before the savepoint, or after its release
        except apsw.Error as error:
            group.error = self._error(error)
        group.active = None

    def _end(self) -> None:
        """Commit for the group, or roll back; let go of the file; wake the members."""
        group, raw = self._group, None if self._writer is None else self._writer.raw
        try:
            self._commit()
        except BaseException:  # an interrupt of this thread is no error of the others; raised again
            self._commit()
            raise
        finally:
            if raw is not None and raw.in_transaction:
                if group is not None and group.error is None:
                    group.error = errors.StoreError(self.location, "the commit was interrupted")
                raw.execute("ROLLBACK")
            self._group = None
            if self._lock is not None:
                self._lock.release()
            for member in () if group is None else group.members:
                member.rouse()

    def _commit(self) -> None:
        group, raw = self._group, None if self._writer is None else self._writer.raw
        if group is None or raw is None or group.error is not None or not raw.in_transaction:
            return
        try:
            raw.execute("COMMIT")
        except apsw.Error as error:
            group.error = self._error(error)

    @property
    def is_in_place(self) -> bool:
        """Whether the file, if it is open, was not deleted, renamed or replaced since."""
        if self._path is None or self._inode is None:
            return True
        try:
            stat = self._path.stat()
        except OSError:
            return False
        return (stat.st_dev, stat.st_ino) == self._inode

    def _check_file(self) -> None:
        """Notice a file that was deleted, renamed or replaced while it was open."""
        if not self.is_in_place:
            problem = "the file was deleted, renamed or replaced while it was open; open it again"
            raise errors.StoreUnavailable(self.location, problem)

    def _check_mark(self, raw: apsw.Connection) -> None:
        """Notice a file that was overwritten while it was open, and leave its log alone then."""
        if self._lock is not None and not self._is_replaced:
            self._is_replaced = not belongs(raw, self._lock)
        if self._is_replaced:
            problem = (
                "the file was overwritten while it was open; close it everywhere, then run: "
                "simonides restore BACKUP"
            )
            raise errors.StoreUnavailable(self.location, problem)

    # -- chores ------------------------------------------------------------------------------------

    def owners(self) -> list[str]:
        """Return the names of all owners."""
        with self.read() as connection:
            return [row[0] for row in connection.rows(statements.OWNERS, {})]

    def backup(self, path: Path) -> None:
        """Copy everything to a new file under the same key, while others read and write."""
        if path.exists():
            raise errors.StoreError(str(path), "exists already; name a new file")
        with self.read() as source, self._translated():
            copy(source.raw, path, self._pragma_key)

    def checkpoint(self) -> None:
        """Move the write-ahead log into the file and truncate it: it holds deleted text."""
        if self._lock is None or self._writer is None:
            return
        with self._turn() as writer:
            try:
                with self._translated():
                    self._lock.acquire()
                    writer.raw.set_busy_timeout(CHECKPOINT_WAIT_MS)
                    writer.raw.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchall()
                    self._lock.reserve()
            except (errors.StoreUnavailable, errors.StoreFull):
                pass  # the change is durable; the log is joined by the next checkpoint or close
            finally:
                writer.raw.set_busy_timeout(int(self._wait_s * 1000))

    def damage(self) -> str:
        """Return what SQLite finds damaged in its tables and indexes."""
        with self.read() as connection:
            found = connection.rows("PRAGMA integrity_check(1)", {})
        return "".join(str(each) for (each,) in found if each != "ok")

    def residue(self, marks: Mapping[int, bytearray]) -> int | None:
        """Return how many of some deleted bytes are in the file; None beside a log."""
        if self._path is None or self._writer is None:
            return 0
        if has_log(self.location):
            return None
        with self._turn() as writer, self._translated():
            return count_in(writer.raw, marks)

    def is_clean_since(self, at: int) -> bool:
        """Whether no log lies beside the file."""
        del at
        return self._path is None or not has_log(self.location)

    def make_room(self) -> None:
        """Give up the space that is kept for forgetting on a full disk, until a checkpoint."""
        if self._lock is not None:
            self._lock.spend()

    def close(self) -> None:
        """Wait for running calls, at most `CLOSE_WAIT_S`, and close all connections.

        Calls that begin later raise. A second call does nothing. In a signal handler within a call
        of the same thread it does not wait, and that call keeps its connection.
        """
        if self._closed:
            return
        self._closed = True
        if os.getpid() != self._pid:
            return  # what is open belongs to the parent
        thread, waiter = threading.get_ident(), self._waiter()
        within = self._line.holds(thread) or self._readers.holds(thread)
        try:
            ended = not within and self._line.wait(waiter, CLOSE_WAIT_S)
            deadline = time.monotonic() + CLOSE_WAIT_S
            while ended and not self._readers.is_empty() and time.monotonic() < deadline:
                time.sleep(POLL_S)
            self._is_shut = True
            if ended and self._writer is not None:
                self._undo()
                self._end()
                self._let_go(self._writer.raw)
            while self._idle:
                self._let_go(self._idle.pop().raw)
            if ended and self._lock is not None:
                self._lock.close()
                self._lock = None
        finally:
            self._line.leave(waiter)

    def _let_go(self, raw: apsw.Connection) -> None:
        if self._is_replaced:  # the log is of the file that was there before
            raw.config(apsw.SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 1)
        raw.close()

    def before_fork(self) -> None:
        """Take the write lock and all connections: a child would wait for ever for those in use."""
        self._at_fork = [(self._line, self._waiter())]
        self._at_fork += [(self._readers, self._waiter()) for _ in range(self._width)]
        held = [line for line, each in self._at_fork if line.holds(each.thread)]
        for line, waiter in self._at_fork:
            if line not in held:
                line.wait(waiter, CLOSE_WAIT_S)

    def after_fork_in_parent(self) -> None:
        """Go on."""
        for line, waiter in self._at_fork:
            line.leave(waiter)

    def _check_open(self) -> None:
        if self._closed:
            raise errors.StoreUnavailable(self.location, "the store is closed")
        if os.getpid() != self._pid:
            self._reopen_after_fork()

    def _reopen_after_fork(self) -> None:
        """Forget the parent's connections without closing them: their locks belong to it."""
        if self._path is None:
            raise errors.StoreUnavailable(
                self.location, "a store in memory does not survive a fork"
            )
        self._abandoned = (self._writer, self._idle)
        self._line, self._opening = WriterQueue(), threading.Lock()
        self._readers = WriterQueue(self._width)
        self._local, self._idle = threading.local(), []
        self._group = self._writer = self._lock = None
        self._pid = os.getpid()

    @contextmanager
    def _translated(self) -> Iterator[None]:
        """Turn SQLite's and the system's errors into ours."""
        try:
            yield
        except (apsw.Error, OSError) as error:
            raise self._error(error) from error
