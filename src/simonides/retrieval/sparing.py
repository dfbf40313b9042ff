"""Orders the rows of a scope for eviction, by columns."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from simonides.domain.ageing import (
    ACCESS_WEIGHT,
    AGE_WEIGHT,
    CONFLICT_WEIGHT,
    DAY_US,
    MONTH_US,
    YEAR_US,
)
from simonides.domain.change import StoredRow
from simonides.domain.codec import (
    IMPORTANCE_CODES,
    KIND_CODES,
    MINUTE_US,
    NEVER,
    STATE,
    STATUS_CODES,
    code_of,
)
from simonides.domain.memory import Kind, Status
from simonides.domain.retaining import Numbers, Uses
from simonides.retrieval.ageing import confidence
from simonides.retrieval.entry import ENTRY, ENTRY_COLUMNS, STATE_COLUMNS, tag

KEPT_CATEGORY = "constraint"
"""Category that is evicted last even if it is not pinned."""

_WEIGHTS = np.array([importance.weight for importance in IMPORTANCE_CODES])
_REVIEW = code_of(STATUS_CODES, Status.REVIEW)

Floats = NDArray[np.float64]


class EvictionCandidate(NamedTuple):
    """A row that may be evicted.

    Attributes:
        id: Of the memory.
        revision: Of its row; another revision is another state.
        is_kept: Whether it is pinned or a constraint. It then gives way only to another such row.
    """

    id: str
    revision: int
    is_kept: bool


def eviction_candidates(
    rows: Sequence[StoredRow], now_us: int, worth: Callable[[Uses], Numbers], most: int
) -> list[EvictionCandidate]:
    """Return the first eviction candidates, in order of eviction.

    Expired rows come first, pinned rows and constraints last. Within each group the order is least
    worth, then oldest, then as given.

    Args:
        rows: All of one scope, by revision, then id.
        now_us: The clock.
        worth: Returns the worth of rows.
        most: How many to return.
    """
    if not rows:
        return []
    entry = np.frombuffer(b"".join([row.entry[: ENTRY.size] for row in rows]), ENTRY_COLUMNS)
    state = np.frombuffer(b"".join([row.state[: STATE.size] for row in rows]), STATE_COLUMNS)
    has_ended = (state["hard"] != NEVER) & (state["hard"] <= now_us)
    is_kept = (state["pinned"] != 0) | (entry["category"] == tag(KEPT_CATEGORY))
    order = np.lexsort((entry["created"], worth(_uses(entry, state, now_us)), is_kept, ~has_ended))
    kept = is_kept & ~has_ended
    first = order[:most].tolist()
    return [
        EvictionCandidate(rows[place].id, rows[place].revision, bool(kept[place]))
        for place in first
    ]


def of_kind(rows: Sequence[StoredRow], kind: Kind) -> list[StoredRow]:
    """Return the rows of one kind, in their order, without decoding any."""
    entry = np.frombuffer(b"".join([row.entry[: ENTRY.size] for row in rows]), ENTRY_COLUMNS)
    is_of_kind = entry["kind"] == code_of(KIND_CODES, kind)
    return [row for row, fits in zip(rows, is_of_kind.tolist(), strict=True) if fits]


def _uses(entry: NDArray[np.void], state: NDArray[np.void], now_us: int) -> Uses:
    endless = state["hard"] == NEVER
    left = np.where(endless, np.inf, (state["hard"] - np.where(endless, 0, now_us)) / DAY_US)
    used = np.maximum(state["updated"], state["read"].astype(np.int64) * MINUTE_US)
    return Uses(
        staleness=_staleness(state, now_us),
        confidence=confidence(entry, state, now_us),
        importance=_WEIGHTS[state["importance"]],
        idle_days=np.maximum(now_us - used, 0) / DAY_US,
        age_days=(now_us - entry["created"]) / DAY_US,
        left_days=left,
    )


def _staleness(state: NDArray[np.void], now_us: int) -> Floats:
    """Return the staleness of rows, counting the reads recorded in their states."""
    start, ends = state["updated"], state["hard"]
    span = np.where(ends == NEVER, YEAR_US, np.maximum(ends - start, 1))
    age = np.where(state["timeless"] != 0, 0.0, np.clip((now_us - start) / span, 0.0, 1.0))
    read = state["read"].astype(np.int64) * MINUTE_US
    known = AGE_WEIGHT * age + ACCESS_WEIGHT * ((read == 0) | (now_us - read > MONTH_US))
    contradicted = state["status"] == _REVIEW
    settled = known / (AGE_WEIGHT + ACCESS_WEIGHT)
    return np.asarray(np.where(contradicted, known + CONFLICT_WEIGHT, settled), np.float64)
