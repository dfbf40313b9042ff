"""Turns: within a process a waiting line that no interrupt can wedge, between them a lock file.

An exception may arrive between any two instructions of a call: `KeyboardInterrupt` from a signal,
or one that another thread sets. So nothing here depends on an instruction that must still follow.
Who may go on follows from the line alone, and waking a waiter is only a hint. Each waiter names the
lock of its call. That lock is held in one plain ``with`` around the call, which CPython enters and
leaves without a gap. A waiter whose call has ended is dropped by the next one that waits.
"""

from __future__ import annotations

import fcntl
import os
import struct
import threading
import time
from collections import deque

from simonides.core.errors import SimonidesError, StoreUnavailable

LOOK_S = 0.2
"""How often a waiter looks at the line without having been woken. Set by judgement."""

POLL_S = 0.0005
"""Pause between attempts at the lock; of .0005, .001 and .005 the fairest."""

RESERVE_BYTES = 256 << 10
"""Space that is kept, so that a full disk does not keep anyone from forgetting. Chosen: it holds
the log of a forget of some memories of usual length."""

_NAME_BYTES, _HEAD_BYTES = 20, 28
"""Space for the number of the process that holds the lock, and for that and two marks."""


class Waiter:
    """A call that waits in a line.

    Attributes:
        owner: Owner of the change; empty for anything else.
        call: Lock that is held while the call runs.
        thread: Its thread.
        wake: Released when it may be worth a look.
    """

    def __init__(self, owner: str, call: threading.Lock) -> None:
        self.owner, self.call, self.thread = owner, call, threading.get_ident()
        self.wake = threading.Lock()
        self.wake.acquire()

    def rouse(self) -> None:
        """Let `Line.wait` look."""
        if self.wake.locked():
            self.wake.release()

    def doze(self, seconds: float) -> None:
        """Wait until roused, at most so long."""
        self.wake.acquire(timeout=seconds)


class WriterQueue:
    """First come, first served: the first ``width`` waiters may go on. Thread-safe."""

    def __init__(self, width: int = 1) -> None:
        self._waiters: deque[Waiter] = deque()
        # Re-entrant: the collector may end an abandoned call while this thread holds it.
        self._mutex, self._width = threading.RLock(), width

    def wait(self, waiter: Waiter, wait_s: float) -> bool:
        """Join the line and wait; return whether the waiter may go on.

        The caller must `leave` in every case.
        """
        with self._mutex:
            self._waiters.append(waiter)
        deadline = time.monotonic() + wait_s
        while not self.admits(waiter):
            left = deadline - time.monotonic()
            if left <= 0:
                return False
            waiter.doze(min(left, LOOK_S))
        return True

    def admits(self, waiter: Waiter) -> bool:
        """Whether a waiter is in the line and may go on."""
        with self._mutex:
            for each in [each for each in self._first() if not each.call.locked()]:
                self._waiters.remove(each)
            return any(each is waiter for each in self._first())

    def leave(self, waiter: Waiter) -> None:
        """Leave the line; a second time does nothing."""
        with self._mutex:
            if waiter in self._waiters:
                self._waiters.remove(waiter)
            for each in self._first():
                each.rouse()

    def leave_with(self, call: threading.Lock | None) -> None:
        """Take the waiters of a call out of the line."""
        with self._mutex:
            waiters = [each for each in self._waiters if each.call is call]
        for waiter in waiters:
            self.leave(waiter)

    def next(self) -> Waiter | None:
        """Return the waiter behind the first one, or None."""
        with self._mutex:
            waiting = [each for each in self._waiters if each.call.locked()]
            return waiting[1] if len(waiting) > 1 else None

    def holds(self, thread: int) -> bool:
        """Whether a running call of a thread is in the line."""
        with self._mutex:
            return any(each.thread == thread and each.call.locked() for each in self._waiters)

    def is_empty(self) -> bool:
        """Whether no running call is in the line."""
        with self._mutex:
            return not any(each.call.locked() for each in self._waiters)

    def _first(self) -> list[Waiter]:
        return [self._waiters[n] for n in range(min(self._width, len(self._waiters)))]


class Group:
    """Writers that share a commit.

    Attributes:
        owners: Their owners.
        members: Those that have done their part and wait for the commit.
        active: The one whose savepoint may be open.
        error: Why nothing of it is stored.
    """

    def __init__(self) -> None:
        self.owners: set[str] = set()
        self.members: list[Waiter] = []
        self.active: Waiter | None = None
        self.error: SimonidesError | None = None


class LockFile:
    """A lock that one process at a time holds.

    Attributes:
        is_held: Whether this process holds it, or tries to.
    """

    def __init__(self, database: str, wait_s: float) -> None:
        """Open the file, and make it if it is not there.

        Args:
            database: Path of the database.
            wait_s: How long to wait for other processes, in seconds.

        Raises:
            OSError: If it cannot be opened.
        """
        self._database, self._wait_s, self.is_held = database, wait_s, False
        self._file = os.open(f"{database}-lock", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)

    def acquire(self) -> None:
        """Wait for the lock.

        Raises:
            StoreUnavailable: If another process held it all the time; the message has its number.
        """
        self.is_held = True
        deadline = time.monotonic() + self._wait_s
        while True:
            try:
                fcntl.flock(self._file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                if time.monotonic() > deadline:
                    holder = os.pread(self._file, _NAME_BYTES, 0).decode(errors="replace").strip()
                    problem = f"process {holder or '?'} held it for {self._wait_s:g} s"
                    raise StoreUnavailable(self._database, problem) from None
                time.sleep(POLL_S)
            else:
                os.pwrite(self._file, f"{os.getpid():<{_NAME_BYTES}}".encode(), 0)
                return

    def release(self) -> None:
        """Let the next process go on."""
        fcntl.flock(self._file, fcntl.LOCK_UN)
        self.is_held = False

    @property
    def marks(self) -> tuple[int, int]:
        """The marks that the database may have; zeros where nobody has noted any."""
        noted = os.pread(self._file, _HEAD_BYTES - _NAME_BYTES, _NAME_BYTES)
        return struct.unpack(">II", noted.ljust(8, b"\0"))

    @marks.setter
    def marks(self, marks: tuple[int, int]) -> None:
        os.pwrite(self._file, struct.pack(">II", *marks), _NAME_BYTES)

    def reserve(self) -> None:
        """Keep space for forgetting, if there is any."""
        try:
            if os.fstat(self._file).st_size < RESERVE_BYTES:
                os.posix_fallocate(self._file, 0, RESERVE_BYTES)
        except (AttributeError, OSError):
            pass  # the disk is full, or the system cannot: then nothing is kept

    def spend(self) -> None:
        """Give the kept space back to the disk."""
        os.ftruncate(self._file, _HEAD_BYTES)

    def close(self) -> None:
        """Close the file; the lock goes with it."""
        os.close(self._file)
