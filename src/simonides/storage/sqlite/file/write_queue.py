"""Whose turn it is to write: first come, first served, over all threads and processes of a file.

SQLite's own lock is taken by who happens to ask at the right moment; under load one process
writes thousands of times while another waits. So a writer first draws a numbered
ticket from a small file beside the database and is served when no smaller number is left.

* The file holds two counters: the next ticket, and the one that is being served (a hint for how
  long to sleep). They change under a lock on the file's first byte, held for microseconds.
* A ticket lives as long as an exclusive lock on the byte that it numbers. A writer is served when
  nobody else holds a byte below its own. The system drops the locks of a process that dies, so the
  dead leave the line by themselves, wherever they stood.
* POSIX record locks belong to the process, so all stores of a process on one file share one
  :class:`WriteQueue`, in which threads wait for each other without touching the file.

Should the file vanish, only fairness is lost: BEGIN IMMEDIATE follows and keeps writers apart. On
Windows there are no such locks; there processes exclude each other in no stated order, threads of
one process still in order.
"""

import os
import struct
import sys
import threading
import time
from collections import deque
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Protocol

from simonides.domain.errors import StoreUnavailable
from simonides.storage.sqlite.file.errors import Translating


class Waiter:
    """One thread in a line."""

    __slots__ = ("gate", "thread")

    def __init__(self) -> None:
        self.thread = threading.get_ident()
        self.gate = threading.Lock()
        self.gate.acquire()


class FifoLock:
    """First come, first served; held by the head of the line."""

    def __init__(self) -> None:
        self._mutex = threading.Lock()
        self._line: deque[Waiter] = deque()

    def stand(self) -> Waiter:
        """Join the end of the line.

        Raises:
            ValueError: If this thread holds the lock: it would wait for itself for ever.
        """
        waiter = Waiter()
        with self._mutex:
            if not self._line:
                waiter.gate.release()
            elif self._line[0].thread == waiter.thread:
                raise ValueError("a write turn is being decided: decide must not call the store")
            self._line.append(waiter)
        return waiter

    def wait(self, waiter: Waiter, timeout_s: float = -1) -> bool:
        """Wait until ``waiter`` is at the head; False if the time ran out, it then stays in line.

        Args:
            waiter: What :meth:`stand` returned.
            timeout_s: Seconds; -1 waits for ever.
        """
        return waiter.gate.acquire(timeout=timeout_s)

    def leave(self, waiter: Waiter) -> None:
        """Leave the line, from its head or from anywhere, and wake the new head."""
        with self._mutex:
            was_head = self._line[0] is waiter
            self._line.remove(waiter)
            if was_head and self._line:
                self._line[0].gate.release()

    @contextmanager
    def turn(self) -> Iterator[None]:
        """Hold the lock for the length of a block, waiting as long as it takes."""
        waiter = self.stand()
        try:
            self.wait(waiter)
            yield
        finally:
            self.leave(waiter)


# Seconds between two looks at the file. Chosen: the shortest is about what a sleep costs anyhow
# (timer slack 50 µs); the longest bounds how long a dead process ahead goes unnoticed.
SHORTEST_SLEEP_S = 50e-6
LONGEST_SLEEP_S = 5e-3

# Seconds that a turn takes at the least, for guessing when ours comes. Measured: 0.2 ms a commit
# at synchronous=FULL on the development machine.
TURN_S = 200e-6

_COUNTERS = struct.Struct("<QQ")  # next ticket, ticket being served
_FIRST_TICKET_BYTE = 1 << 20  # beyond anything that is read or written


class _Line(Protocol):
    """The line of processes: tickets on a file."""

    def draw(self) -> int | None:
        """Return a new ticket, larger than all before; None if the file is busy for a moment."""

    def is_served(self, ticket: int) -> bool:
        """Whether it is this ticket's turn; if so it stays so until :meth:`give_back`."""

    def sleep_s(self, ticket: int) -> float:
        """Return how long to wait before looking again."""

    def give_back(self, ticket: int) -> None:
        """End a turn, or leave the line before it came."""

    def close(self) -> None:
        """Let go of the file."""


if sys.platform == "win32":
    import msvcrt

    class _FileLine:
        """One lock on one byte: exclusive, but in no stated order."""

        def __init__(self, descriptor: int) -> None:
            self._descriptor = descriptor
            self._served: int | None = None

        def draw(self) -> int | None:
            return 1

        def is_served(self, ticket: int) -> bool:
            os.lseek(self._descriptor, _FIRST_TICKET_BYTE, os.SEEK_SET)
            try:
                msvcrt.locking(self._descriptor, msvcrt.LK_NBLCK, 1)
            except OSError:
                return False
            self._served = ticket
            return True

        def sleep_s(self, ticket: int) -> float:
            return SHORTEST_SLEEP_S

        def give_back(self, ticket: int) -> None:
            if self._served == ticket:
                self._served = None
                os.lseek(self._descriptor, _FIRST_TICKET_BYTE, os.SEEK_SET)
                msvcrt.locking(self._descriptor, msvcrt.LK_UNLCK, 1)

        def close(self) -> None:
            os.close(self._descriptor)

else:
    import fcntl

    class _FileLine:
        """Tickets as record locks; see the module's docstring."""

        def __init__(self, descriptor: int) -> None:
            self._descriptor = descriptor
            self._served: int | None = None

        def draw(self) -> int | None:
            if not self._lock(fcntl.LOCK_EX, 1, 0):
                return None
            try:
                ticket, served = self._counters()
                # Smaller than a ticket that lives only if someone replaced the file's content.
                while not self._lock(fcntl.LOCK_EX, 1, _FIRST_TICKET_BYTE + ticket):
                    ticket += 1
                os.pwrite(self._descriptor, _COUNTERS.pack(ticket + 1, served), 0)
            finally:
                self._unlock(1, 0)
            return ticket

        def is_served(self, ticket: int) -> bool:
            # Shared, so that it conflicts with tickets and not with others who look.
            if not self._lock(fcntl.LOCK_SH, ticket, _FIRST_TICKET_BYTE):
                return False
            self._served = ticket
            os.pwrite(self._descriptor, ticket.to_bytes(8, "little"), 8)
            return True

        def sleep_s(self, ticket: int) -> float:
            _, served = self._counters()
            ahead = max(ticket - served - 1, 0)
            return min(max(ahead * TURN_S, SHORTEST_SLEEP_S), LONGEST_SLEEP_S)

        def give_back(self, ticket: int) -> None:
            if self._served == ticket:
                self._served = None
                self._unlock(ticket + 1, _FIRST_TICKET_BYTE)
            else:
                self._unlock(1, _FIRST_TICKET_BYTE + ticket)

        def close(self) -> None:
            os.close(self._descriptor)

        def _counters(self) -> tuple[int, int]:
            written = os.pread(self._descriptor, _COUNTERS.size, 0)
            if len(written) < _COUNTERS.size:
                # Tickets begin at 1: a lock of no length would reach to the end of the file.
                return 1, 0
            ticket, served = _COUNTERS.unpack(written)
            return max(ticket, 1), served

        def _lock(self, kind: int, length: int, start: int) -> bool:
            try:
                fcntl.lockf(self._descriptor, kind | fcntl.LOCK_NB, length, start)
            except (BlockingIOError, PermissionError):
                # POSIX allows EAGAIN and EACCES for a lock that another process holds.
                return False
            return True

        def _unlock(self, length: int, start: int) -> None:
            fcntl.lockf(self._descriptor, fcntl.LOCK_UN, length, start)


class WriteQueue:
    """The one way to the write turn of a database file in this process; see :func:`write_queue`."""

    def __init__(self, location: str, line: _Line) -> None:
        self._location = location
        self._translating = Translating(location)
        self._line = line
        # Standing in line in this process and drawing a ticket are one step, so that both
        # lines have the same order.
        self._arrival = threading.Lock()
        self._threads = FifoLock()
        self._kept: dict[Path, tuple[tuple[int, int], int]] = {}
        self.users = 0

    @contextmanager
    def turn(self, timeout_s: float) -> Iterator[None]:
        """Hold the turn for the length of a block.

        Args:
            timeout_s: Seconds to wait for it.

        Raises:
            StoreUnavailable: If the turn did not come in time, or the last user has gone.
            StoreError: If the lock file cannot be used.
            ValueError: If this thread holds the turn already.
        """
        deadline = time.monotonic() + timeout_s
        self.join()
        try:
            waiter, ticket = self._arrive(deadline)
            try:
                if not self._threads.wait(waiter, max(deadline - time.monotonic(), 0)):
                    raise self._too_late()
                with self._translating:
                    while not self._line.is_served(ticket):
                        self._sleep(self._line.sleep_s(ticket), deadline)
                yield
            finally:
                self._line.give_back(ticket)
                self._threads.leave(waiter)
        finally:
            self.release()

    def join(self) -> None:
        """Count one more user, whom :meth:`release` counts down.

        Raises:
            StoreUnavailable: If all users have gone.
        """
        with _registry_lock:
            if self.users == 0:
                raise StoreUnavailable(self._location, "the store is closed")
            self.users += 1

    def release(self) -> None:
        """Count one user less; the last lets go of the file."""
        with _registry_lock:
            self.users -= 1
            if self.users == 0:
                for name in [name for name, held in _registry.items() if held is self]:
                    del _registry[name]
                self._line.close()
                while self._kept:
                    os.close(self._kept.popitem()[1][1])

    def descriptor(self, path: Path) -> int:
        """Return a descriptor to read the database, or a file beside it, byte by byte; hold the
        turn.

        It stays open until the last user has gone: closing any descriptor of a file drops all
        record locks of the process on it, those of SQLite too.

        Raises:
            OSError: If the file is not there or may not be read.
        """
        now = _identity(path)
        then, descriptor = self._kept.get(path, (None, -1))
        if then != now:
            if then is not None:
                os.close(descriptor)  # of a file that is no longer there
            descriptor = os.open(path, os.O_RDONLY | getattr(os, "O_BINARY", 0))
            self._kept[path] = now, descriptor
        return descriptor

    def _arrive(self, deadline: float) -> tuple[Waiter, int]:
        with self._arrival, ExitStack() as given_up:
            waiter = self._threads.stand()
            # Even if interrupted: threads behind a waiter that never leaves would wait for ever.
            given_up.callback(self._threads.leave, waiter)
            with self._translating:
                while (ticket := self._line.draw()) is None:
                    self._sleep(SHORTEST_SLEEP_S, deadline)
            given_up.pop_all()
            return waiter, ticket

    def _sleep(self, wanted_s: float, deadline: float) -> None:
        left_s = deadline - time.monotonic()
        if left_s <= 0:
            raise self._too_late()
        time.sleep(min(wanted_s, left_s))

    def _too_late(self) -> StoreUnavailable:
        return StoreUnavailable(self._location, "the write turn did not come within the time-out")


_registry: dict[tuple[int, int], WriteQueue] = {}
_registry_lock = threading.Lock()


def has_line(database: Path) -> bool:
    """Whether writers have ever stood in line for a database."""
    return _line_file(database).exists()


def _line_file(database: Path) -> Path:
    return database.with_name(database.name + "-turn")


def write_queue(database: Path) -> WriteQueue:
    """Return this process's write queue of a database, made on first use; pair with ``release``.

    Raises:
        OSError: If the lock file beside the database cannot be opened or created.
    """
    path = _line_file(database)
    with _registry_lock:
        # Closing any descriptor of a file drops all record locks of the process on it, so
        # the file must not be opened to find out that it is open already.
        known = _registry.get(_identity(path)) if path.exists() else None
        if known is None:
            mode = database.stat().st_mode & 0o666
            descriptor = os.open(path, os.O_RDWR | os.O_CREAT, mode)
            known = WriteQueue(str(database), _FileLine(descriptor))
            _registry[_identity(path)] = known
        known.users += 1
        return known


def _identity(path: Path) -> tuple[int, int]:
    status = path.stat()
    return status.st_dev, status.st_ino


def _forget_all() -> None:
    """In a forked child: locks were not inherited, and threads that stood in line are not here."""
    global _registry, _registry_lock
    _registry = {}
    _registry_lock = threading.Lock()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_forget_all)
