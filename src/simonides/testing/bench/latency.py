"""Timing calls one after the other."""

from __future__ import annotations

import statistics
from collections.abc import Callable, Iterable
from dataclasses import dataclass

from simonides.domain.value import Value


@dataclass(frozen=True, slots=True)
class Latency(Value):
    """Latency of calls, in ms.

    Attributes:
        name: What was called.
        calls: Number of calls.
        p50: Median.
        p95: 95th percentile.
        worst: The longest.
    """

    name: str
    calls: int
    p50: float
    p95: float
    worst: float


def spent_ms(call: Callable[[], object], timer: Callable[[], float]) -> float:
    """Make a call and return its duration in ms; ``timer`` gives monotonic seconds."""
    begin = timer()
    call()
    return 1000 * (timer() - begin)


def timed(name: str, calls: Iterable[Callable[[], object]], timer: Callable[[], float]) -> Latency:
    """Make calls, at least one, one after the other, and return their latency."""
    return summary(name, [spent_ms(call, timer) for call in calls])


def summary(name: str, spent: Iterable[float]) -> Latency:
    """Return the latency of some durations in ms, at least one."""
    rising = sorted(spent)
    late = rising[min(int(0.95 * len(rising)), len(rising) - 1)]
    return Latency(name, len(rising), statistics.median(rising), late, rising[-1])
