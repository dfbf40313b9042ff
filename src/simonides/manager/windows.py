"""Counting over the last while: a ring of short spans, each forgotten when it is over."""

from __future__ import annotations


class Window:
    """Counts what happened in the last while, to a span's precision.

    It holds as many numbers as there are spans, however much happens. Not safe to share between
    threads by itself.
    """

    __slots__ = ("_at", "_counts", "_span_s")

    def __init__(self, *, span_s: float, spans: int) -> None:
        """Build it.

        Args:
            span_s: Length of a span, seconds.
            spans: How many of them are remembered.
        """
        self._span_s = span_s
        self._counts = [0] * spans
        self._at = 0

    def add(self, count: int, now_s: float) -> None:
        """Count so many more, now; the clock is one that never goes back."""
        self._move_to(int(now_s // self._span_s))
        self._counts[self._at % len(self._counts)] += count

    def total(self, now_s: float) -> int:
        """Return how many there were within the spans up to now."""
        self._move_to(int(now_s // self._span_s))
        return sum(self._counts)

    def _move_to(self, at: int) -> None:
        if at <= self._at:
            return
        spans = len(self._counts)
        for passed in range(max(self._at + 1, at - spans + 1), at + 1):
            self._counts[passed % spans] = 0
        self._at = at
