"""Timing calls one after the other."""

from __future__ import annotations

import statistics
from collections.abc import Callable, Iterable
from dataclasses import dataclass

from simonides.domain.value import Value


@dataclass(frozen=True, slots=True)
class Latency(Value):
    """How long calls took, ms.

    Attributes:
        name: What was called.
        calls: How often.
        p50: Half of them took no longer.
        p95: 95 of 100 took no longer.
        worst: The longest.
    """

    name: str
    calls: int
    p50: float
    p95: float
    worst: float


def spent_ms(call: Callable[[], object], timer: Callable[[], float]) -> float:
    """Make a call and return how long it took, ms; ``timer`` gives seconds that never go back."""
    begin = timer()
    call()
    return 1000 * (timer() - begin)


def timed(name: str, calls: Iterable[Callable[[], object]], timer: Callable[[], float]) -> Latency:
    """Make calls, at least one, one after the other, and return how long they took."""
    return summary(name, [spent_ms(call, timer) for call in calls])


def summary(name: str, spent: Iterable[float]) -> Latency:
    """Return what there is to say of some times, at least one, ms."""
    rising = sorted(spent)
    late = rising[min(int(0.95 * len(rising)), len(rising) - 1)]
    return Latency(name, len(rising), statistics.median(rising), late, rising[-1])
