"""Metrics and their alert thresholds.

The name of a figure is the name of its exported series. No name holds a user, an org, a key or
content of memories.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from simonides.domain.errors import ConfigurationError
from simonides.domain.value import Value

LATENCY_BOUNDS_S = (
    *(0.00025, 0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05),
    *(0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0),
)
"""Upper bounds of the latency buckets, in seconds; one more bucket holds longer times. Chosen:
three a decade, from 0.25 ms (a small recall) to 30 s (a model's answer).
"""

TIMED = ("recall", "digest", "remember", "capture", "model")
"""Operations with latencies. ``digest`` includes push and pull. The time of a model counts under
``model`` and also under the operation that called it.
"""

PHASES = ("startup", "executing", "tool_call", "turn_end", "complete")
"""The phases of a task."""

LEAST_SAMPLE = 20
"""Least number of cases for a ratio; chosen: the first unsuccessful read must not alert."""


class Threshold(NamedTuple):
    """Alert threshold of a figure.

    Attributes:
        name: Name of the figure.
        alert: The threshold.
        is_floor: Whether values below the threshold alert; otherwise values above it do.
        usual: Normal range, from and to; None for an open end.
    """

    name: str
    alert: float
    is_floor: bool
    usual: tuple[float | None, float | None]

    def is_crossed(self, value: float | None) -> bool:
        """Whether a figure alerts; an unknown one does not."""
        if value is None:
            return False
        return value < self.alert if self.is_floor else value > self.alert


THRESHOLDS: tuple[Threshold, ...] = (
    Threshold("writes_per_minute", 50, is_floor=False, usual=(1, 20)),
    Threshold("read_hit_ratio", 0.1, is_floor=True, usual=(0.3, None)),
    Threshold("dedup_rate", 0.7, is_floor=False, usual=(0.1, 0.5)),
    Threshold("contradictions_per_day", 50, is_floor=False, usual=(None, 10)),
    Threshold("staleness_p50", 0.5, is_floor=False, usual=(None, 0.3)),
    Threshold("scopes_per_user", 50, is_floor=False, usual=(1, 10)),
    Threshold("pii_blocks_per_day", 20, is_floor=False, usual=(0, 5)),
)
"""The figures that alert. Staleness p95, usually below 0.7, is reported but does not alert."""


@dataclass(frozen=True, slots=True)
class Alert(Value):
    """One figure with its threshold.

    Attributes:
        name: Name of the figure.
        value: Current value; None if there are too few cases.
        threshold: The alert threshold.
        crossed: Whether it alerts.
        usual: Normal range, from and to; None for an open end.
    """

    name: str
    value: float | None
    threshold: float
    crossed: bool
    usual: tuple[float | None, float | None]


def thresholds_with(alerts: Mapping[str, float]) -> tuple[Threshold, ...]:
    """Return the thresholds with some overridden.

    Raises:
        ConfigurationError: If a name is unknown.
    """
    known = [each.name for each in THRESHOLDS]
    if strange := sorted(set(alerts) - set(known)):
        raise ConfigurationError(
            f"setting alerts: {strange[0]!r} is no figure that alerts; there are {', '.join(known)}"
        )
    return tuple(each._replace(alert=alerts.get(each.name, each.alert)) for each in THRESHOLDS)


def alerts_of(
    figures: Mapping[str, float | None], thresholds: Sequence[Threshold]
) -> tuple[Alert, ...]:
    """Return each figure that has a threshold, in the order of the thresholds."""
    return tuple(
        Alert(
            name=each.name,
            value=figures.get(each.name),
            threshold=each.alert,
            crossed=each.is_crossed(figures.get(each.name)),
            usual=each.usual,
        )
        for each in thresholds
    )


def ratio(part: int, whole: int) -> float | None:
    """Return a ratio to four digits; None below :data:`LEAST_SAMPLE` cases."""
    return None if whole < LEAST_SAMPLE else round(part / whole, 4)
