"""What is measured, and from which figure on somebody should look.

Names of figures are names of series when they are exported. None of them carries a user, an org, a
key or a word of what is remembered.
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
"""Upper ends of the classes of latencies, seconds; what took longer is in one class more. Chosen:
three a decade from a quarter of a millisecond, a small recall, to half a minute, a model's answer.
"""

TIMED = ("recall", "digest", "remember", "capture", "model")
"""What latencies are kept of. A digest is also a push and a pull; a model is timed by itself, and
within what has asked it.
"""

PHASES = ("startup", "executing", "tool_call", "turn_end", "complete")
"""The phases of a task."""

LEAST_SAMPLE = 20
"""Of how many cases a ratio is told at the least; chosen: the first read in vain is no alert."""


class Threshold(NamedTuple):
    """From where on a figure calls for somebody.

    Attributes:
        name: Of the figure.
        alert: The threshold.
        is_floor: Whether less than it is what alerts; else more is.
        usual: What is normal, from and to; None where there is no end.
    """

    name: str
    alert: float
    is_floor: bool
    usual: tuple[float | None, float | None]

    def is_crossed(self, value: float | None) -> bool:
        """Whether a figure alerts; one that is not known does not."""
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
"""The figures that alert. (Staleness p95, below 0.7 as a rule, is told and does not.)"""


@dataclass(frozen=True, slots=True)
class Alert(Value):
    """One figure beside its threshold.

    Attributes:
        name: Of the figure.
        value: What it is; None where too little has happened to tell.
        threshold: From where on it alerts.
        crossed: Whether it does.
        usual: What is normal, from and to; None where there is no end.
    """

    name: str
    value: float | None
    threshold: float
    crossed: bool
    usual: tuple[float | None, float | None]


def thresholds_with(alerts: Mapping[str, float]) -> tuple[Threshold, ...]:
    """Return the thresholds with some set otherwise.

    Raises:
        ConfigurationError: If a name is none of theirs.
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
    """Return each figure that has a threshold beside it, in the order of the thresholds."""
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
    """Return a share to four digits, None of fewer than :data:`LEAST_SAMPLE`."""
    return None if whole < LEAST_SAMPLE else round(part / whole, 4)
