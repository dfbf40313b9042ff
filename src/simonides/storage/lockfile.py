"""The lock between processes: a file beside the database. It also keeps space for forgetting."""

from __future__ import annotations

import fcntl
import os
import time

from simonides.core.errors import StoreUnavailable

POLL_S = 0.0005
"""Pause between attempts at the lock; of .0005, .001 and .005 the fairest."""

RESERVE_BYTES = 256 << 10
"""Space that is kept, so that a full disk does not keep anyone from forgetting. Chosen: it holds
the log of a forget of some memories of usual length."""

_NAME_BYTES = 20


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

    def reserve(self) -> None:
        """Keep space for forgetting, if there is any."""
        try:
            if os.fstat(self._file).st_size < RESERVE_BYTES:
                os.posix_fallocate(self._file, 0, RESERVE_BYTES)
        except (AttributeError, OSError):
            pass  # the disk is full, or the system cannot: then nothing is kept

    def spend(self) -> None:
        """Give the kept space back to the disk."""
        os.ftruncate(self._file, _NAME_BYTES)

    def close(self) -> None:
        """Close the file; the lock goes with it."""
        os.close(self._file)
