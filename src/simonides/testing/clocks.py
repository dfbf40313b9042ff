"""Time and identity under a test's control; they implement ``Clock``, ``Alarm`` and ``Ids``."""

import threading
import uuid
from collections.abc import Callable
from datetime import UTC, datetime

from simonides.domain.value import to_us

START = datetime(2026, 1, 1, tzinfo=UTC)
"""First time of a :class:`ManualClock`."""


class ManualClock:
    """A clock that moves only by calls, with an alarm that follows it.

    Args:
        start: Its first wall time.
    """

    def __init__(self, start: datetime = START) -> None:
        self._now_us = to_us(start)
        self._elapsed_us = 0
        self._alarms: list[tuple[int, Callable[[], None]]] = []

    def now_us(self) -> int:
        """Return the wall time in µs since 1970 UTC."""
        return self._now_us

    def monotonic(self) -> float:
        """Return the seconds advanced so far."""
        return self._elapsed_us / 1e6

    def advance(self, *, days: float = 0, seconds: float = 0, us: int = 0) -> int:
        """Advance both clocks, run the alarms that are due, and return the wall time.

        Raises:
            ValueError: If the sum is negative; :meth:`set` turns the wall clock back.
        """
        step_us = round((days * 86_400 + seconds) * 1e6) + us
        if step_us < 0:
            raise ValueError(f"time passes forward, not by {step_us} µs")
        self._now_us += step_us
        self._elapsed_us += step_us
        due = [call for at, call in self._alarms if at <= self._elapsed_us]
        self._alarms = [(at, call) for at, call in self._alarms if at > self._elapsed_us]
        for call in due:
            call()
        return self._now_us

    def after(self, seconds: float, call: Callable[[], None]) -> None:
        """Call once the clock has advanced by so many seconds, from within :meth:`advance`."""
        self._alarms.append((self._elapsed_us + round(seconds * 1e6), call))

    def set(self, now: datetime) -> None:
        """Move the wall clock anywhere, as an administrator might; no time passes."""
        self._now_us = to_us(now)


class CountingIds:
    """UUIDv7 texts and salts that are the same in every run; safe to share between threads."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._last_ms = 0
        self._count = 0

    def new(self, at_us: int) -> str:
        """Return a new id for a time; ids rise even if times do not."""
        with self._lock:
            self._last_ms = max(self._last_ms, at_us // 1000)
            self._count += 1
            value = self._last_ms << 80 | 0x7 << 76 | 0b10 << 62 | self._count
        return str(uuid.UUID(int=value))

    def salt(self) -> bytes:
        """Return 16 bytes, different each time."""
        with self._lock:
            self._count += 1
            return self._count.to_bytes(16, "big")
