"""The real clock and the real ids."""

from __future__ import annotations

import os
import secrets
import threading
import time

# RFC 9562 §5.7 and §6.2, method 3: 48 bits of milliseconds, then 12 bits of the fraction of one.
_STEPS_PER_MS = 4096


class SystemClock:
    """The machine's clock, as :class:`~memstrata.ports.Clock`."""

    def now_us(self) -> int:
        """Return the wall time in µs since 1970 UTC."""
        return time.time_ns() // 1000

    def monotonic(self) -> float:
        """Return seconds that never go back."""
        return time.monotonic()


class SystemIds:
    """UUIDv7 for any given moment, as :class:`~memstrata.ports.Ids`.

    Ids rise within the process even where the moment does not: the libraries that make UUIDv7
    read the machine's clock, and time is an input here.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._last = 0

    def new(self, at_us: int) -> str:
        """Return a new id for a moment, rising; 62 of its bits are random."""
        milliseconds, rest = divmod(at_us, 1000)
        with self._lock:
            step = milliseconds * _STEPS_PER_MS + rest * _STEPS_PER_MS // 1000
            # A clock that stands still or goes back borrows from the future, at most by the
            # number of ids made: 4,096 a millisecond.
            self._last = step = max(step, self._last + 1) if self._near(step) else step
        text = f"{step // _STEPS_PER_MS:012x}7{step % _STEPS_PER_MS:03x}"
        low = f"{0b10 << 62 | int.from_bytes(os.urandom(8)) >> 2:016x}"
        return f"{text[:8]}-{text[8:12]}-{text[12:]}-{low[:4]}-{low[4:]}"

    def _near(self, step: int) -> bool:
        # Ids for a moment far in the past (an import, a test) keep their own time.
        return abs(step - self._last) < _STEPS_PER_MS * 60_000

    def salt(self) -> bytes:
        """Return 16 random bytes."""
        return secrets.token_bytes(16)
