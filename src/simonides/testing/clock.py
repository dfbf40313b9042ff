"""A clock that stands still until a test moves it."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

from simonides.core.clock import to_datetime, to_ms


class ManualClock:
    """Wall time under a test's control."""

    def __init__(self, start: datetime = datetime(2026, 1, 1, tzinfo=UTC)) -> None:
        """Set the time.

        Args:
            start: The time at first.
        """
        self._now = to_ms(start)

    def now_ms(self) -> int:
        """Return milliseconds since 1970, UTC."""
        return self._now

    def utc_offset(self, at_ms: int) -> int:
        """Return 0: its zone is UTC."""
        del at_ms
        return 0

    @property
    def now(self) -> datetime:
        """The time, in UTC."""
        return to_datetime(self._now)

    def advance(
        self, *, days: float = 0, hours: float = 0, minutes: float = 0, seconds: float = 0
    ) -> None:
        """Move the time, also backwards."""
        step = timedelta(days=days, hours=hours, minutes=minutes, seconds=seconds)
        self._now += round(step / timedelta(milliseconds=1))

    def set(self, moment: datetime) -> None:
        """Set the time."""
        self._now = to_ms(moment)
