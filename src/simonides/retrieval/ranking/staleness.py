"""Vectorised staleness of memories, and its percentiles."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from simonides.domain.ageing import ACCESS_WEIGHT, AGE_WEIGHT, CONFLICT_WEIGHT, MONTH_US, YEAR_US
from simonides.domain.codecs.memory import MINUTE_US, NEVER, STATUS_CODES, code_of
from simonides.domain.memory import Status
from simonides.retrieval.index.segment import Frozen

_REVIEW = code_of(STATUS_CODES, Status.REVIEW)


class Spread(NamedTuple):
    """Percentiles of the staleness of some memories.

    Attributes:
        memories: Their number.
        p50: Median; None without memories.
        p95: 95th percentile; None without memories.
    """

    memories: int
    p50: float | None = None
    p95: float | None = None


def spread_of(indexes: Iterable[Frozen], now_us: int) -> Spread:
    """Return the staleness percentiles of some owners, without hard-expired memories.

    Only reads recorded in a memory's state count, as in ranking.

    Args:
        indexes: Columns of the owners.
        now_us: The clock.
    """
    parts = [
        staleness(state, now_us)[_is_live(state, alive, now_us)]
        for frozen in indexes
        for state, alive in zip(
            (segment.state for segment in frozen.segments), frozen.alive, strict=True
        )
    ]
    found = np.concatenate(parts) if parts else np.empty(0)
    if not len(found):
        return Spread(0)
    p50, p95 = np.percentile(found, (50, 95)).tolist()
    return Spread(len(found), round(p50, 4), round(p95, 4))


def staleness(state: NDArray[np.void], now_us: int) -> NDArray[np.float64]:
    """Return the staleness of each row, 0 to 1, like :func:`simonides.domain.ageing.staleness`."""
    spent = now_us - state["updated"]
    span = np.where(
        state["hard"] == NEVER, YEAR_US, np.maximum(state["hard"] - state["updated"], 0)
    )
    age = np.where(spent >= span, 1.0, spent / np.maximum(span, 1))
    age = np.where((state["timeless"] != 0) | (spent < 0), 0.0, age)
    is_read = (state["read"] != 0) & (state["read"] * np.int64(MINUTE_US) > now_us - MONTH_US)
    known = AGE_WEIGHT * age + ACCESS_WEIGHT * ~is_read
    alone = known / (AGE_WEIGHT + ACCESS_WEIGHT)
    found: NDArray[np.float64] = np.where(
        state["status"] == _REVIEW, known + CONFLICT_WEIGHT, alone
    )
    return found


def _is_live(
    state: NDArray[np.void], alive: NDArray[np.bool_] | None, now_us: int
) -> NDArray[np.bool_]:
    unended: NDArray[np.bool_] = (state["hard"] == NEVER) | (state["hard"] > now_us)
    return unended if alive is None else unended & alive
