"""Time and ids as inputs: the engine reads no wall clock and draws no random number itself.

Inside the core a time is an integer, milliseconds since 1970 in UTC. Beside the time of a memory
stands how many minutes the caller's zone is ahead of UTC: its day is the caller's.
"""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Iterable, Iterator
from datetime import UTC, datetime, timedelta, timezone
from typing import Protocol, TypeVar

from simonides.core.errors import InvalidInput, shown

DAY_MS, MINUTE_MS = 86_400_000, 60_000
FOREVER = 2**62
"""A time after every other: the end of what has no end."""

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_MILLISECOND = timedelta(milliseconds=1)
_MINUTE = timedelta(minutes=1)


class Clock(Protocol):
    """Wall time."""

    def now_ms(self) -> int:
        """Return milliseconds since 1970, UTC."""

    def utc_offset(self, at_ms: int) -> int:
        """Return how many minutes the local zone is ahead of UTC at a moment."""


class SystemClock:
    """The machine's clock."""

    def now_ms(self) -> int:
        """Return milliseconds since 1970, UTC."""
        return time.time_ns() // 1_000_000

    def utc_offset(self, at_ms: int) -> int:
        """Return how many minutes the machine's zone is ahead of UTC at a moment."""
        return offset_of(to_datetime(at_ms).astimezone())


class Ids:
    """Source of ids: UUIDs of version 7 whose order follows time and, within one millisecond, the
    order of creation in this process (RFC 9562, method 1: a counter in `rand_a`).
    """

    def __init__(self) -> None:
        self._last = (0, 0)
        self.after_fork()

    def after_fork(self) -> None:
        """Make the lock anew; the old one may be held for ever."""
        self._lock = threading.Lock()

    def new(self, at_ms: int) -> bytes:
        """Return 16 bytes."""
        with self._lock:
            last_ms, count = self._last
            self._last = (at_ms, 0) if at_ms > last_ms else (last_ms, count + 1)
            ms, count = self._last
        ms, count = ms + count // 4096, count % 4096
        chance = int.from_bytes(os.urandom(8), "big") >> 2
        return (ms << 80 | 7 << 76 | count << 64 | 2 << 62 | chance).to_bytes(16, "big")

    def salt(self) -> bytes:
        """Return 16 random bytes."""
        return os.urandom(16)


STEP_S, PAUSE_S = 0.002, 0.00005
"""Long work pauses so often and so long. Set by judgement: it costs a twentieth."""

T = TypeVar("T")


def in_steps(items: Iterable[T]) -> Iterator[T]:
    """Yield items, with pauses in which other threads run.

    A thread that computes keeps Python's lock for 5 ms whenever another one wants it, and a write
    wants it some ten times, after each statement.
    """
    begun = time.perf_counter()
    for item in items:
        yield item
        if time.perf_counter() - begun > STEP_S:
            time.sleep(PAUSE_S)
            begun = time.perf_counter()


def staleness(
    now: int,
    made: int,
    said: int | None,
    ends: int | None,
    read: int | None,
    *,
    is_contradicted: bool,
) -> float:
    """Return how stale a memory is, 0 to 1: .4 age + .3 lack of reads + .3 contradiction.

    Its age counts from when it was last said or confirmed, against its lifetime, or else a year.
    One read in 30 days is expected.

    Args:
        now: The moment; all times are in milliseconds.
        made: When it was recorded.
        said: When it was last said or confirmed; None for a timeless one, that has no age.
        ends: When it expires, or None.
        read: When it was last read, or None.
        is_contradicted: Whether a contradiction of it waits.
    """
    span = 365 * DAY_MS if ends is None else ends - made
    age = 0.0 if said is None else min(max((now - said) / span, 0.0), 1.0)
    is_unread = read is None or now - read > 30 * DAY_MS
    return round(0.4 * age + 0.3 * is_unread + 0.3 * is_contradicted, 2)


def to_ms(moment: datetime) -> int:
    """Return milliseconds since 1970; a time without a zone counts as UTC."""
    return ((moment if moment.tzinfo else moment.replace(tzinfo=UTC)) - _EPOCH) // _MILLISECOND


def to_datetime(ms: int, offset: int | None = None) -> datetime:
    """Return the moment, in UTC or in a zone so many minutes ahead of it."""
    moment = _EPOCH + timedelta(milliseconds=ms)
    return moment.astimezone(timezone(offset * _MINUTE)) if offset else moment


def local_time(clock: Clock, at_ms: int) -> datetime:
    """Return the moment in the zone of a clock."""
    return to_datetime(at_ms, clock.utc_offset(at_ms))


def offset_of(moment: datetime) -> int:
    """Return how many minutes the zone of a moment is ahead of UTC."""
    return (moment.utcoffset() or timedelta()) // _MINUTE


def parse_moment(field: str, raw: object) -> int | None:
    """Return a caller's time as milliseconds; see `zoned_moment`."""
    moment = zoned_moment(field, raw)
    return None if moment is None else to_ms(moment)


def zoned_moment(field: str, raw: object) -> datetime | None:
    """Return a caller's time with its offset from UTC, in minutes; None stays None.

    Args:
        field: Name of the argument, for the error.
        raw: A datetime, or an ISO 8601 text. Without a zone it is in the machine's.

    Raises:
        InvalidInput: If it is anything else, or outside the years 1 to 9999.
    """
    if raw is None:
        return None
    if isinstance(raw, str):
        try:
            raw = datetime.fromisoformat(raw)
        except ValueError as error:
            problem = f"{shown(raw)} is not an ISO 8601 time, for example 2026-11-24T18:00:00+00:00"
            raise InvalidInput(field, problem) from error
    if not isinstance(raw, datetime):
        raise InvalidInput(field, f"must be a datetime or ISO text, not {type(raw).__name__}")
    try:
        zoned = raw.astimezone() if raw.utcoffset() is None else raw
        return to_datetime(to_ms(zoned), offset_of(zoned))  # a zone may move it out of the years
    except (OverflowError, ValueError) as error:
        raise InvalidInput(field, "is outside the years 1 to 9999") from error
