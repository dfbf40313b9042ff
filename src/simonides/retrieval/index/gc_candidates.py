"""Selects garbage collection candidates by columns, so that only few rows are decoded."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from datetime import datetime, timedelta
from types import MappingProxyType
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from simonides.domain.ageing import (
    ACCESS_WEIGHT,
    AGE_WEIGHT,
    CONFLICT_WEIGHT,
    DAY_US,
    MONTH_US,
    SUMMARY_CATEGORY,
    YEAR_US,
)
from simonides.domain.codecs.memory import (
    IMPORTANCE_CODES,
    KIND_CODES,
    MINUTE_US,
    NEVER,
    STATE,
    STATUS_CODES,
    code_of,
    decode,
    status_of,
)
from simonides.domain.memory import Kind, Status
from simonides.domain.operations.gc import GcRules, Rule
from simonides.domain.policy.quotas import Numbers, Uses
from simonides.domain.value import to_us
from simonides.domain.writing.change import StoredRow
from simonides.retrieval.index import ageing
from simonides.retrieval.index.ageing import confidence
from simonides.retrieval.index.entry import ENTRY, ENTRY_COLUMNS, STATE_COLUMNS, place_tag, tag
from simonides.retrieval.index.segment import RECALLED

_STALE = code_of(STATUS_CODES, Status.STALE)
_OLD = {
    code_of(STATUS_CODES, Status.SUPERSEDED): Rule.SUPERSEDED_OLD,
    code_of(STATUS_CODES, Status.EVICTED): Rule.EVICTED_OLD,
}
_IS_OLD = np.array([code in _OLD for code in range(len(STATUS_CODES))])


class Summary(NamedTuple):
    """A session summary without a hard expiry.

    Attributes:
        reader: Tag of its readers.
        created: Time of recording, µs.
        id: Of the memory.
    """

    reader: int
    created: int
    id: str


class GcCandidates(NamedTuple):
    """The candidates among some rows.

    Attributes:
        due: Places of the rows that must be decoded to decide.
        summaries: The live session summaries.
        certain: By place, the rule of each row that columns alone decide. Rows to be purged among
            these are first versions of their chains.
    """

    due: list[int]
    summaries: list[Summary]
    certain: Mapping[int, Rule] = MappingProxyType({})


def gc_candidates(
    rows: Sequence[StoredRow], recipe: int, now: datetime, rules: GcRules, foreseen: timedelta
) -> GcCandidates:
    """Return the rows to which a collection rule applies or may apply, and a few others.

    Args:
        rows: In any order.
        recipe: Tag of the entries that columns can be read from; rows with other entries are
            decoded.
        now: The clock.
        rules: The limits.
        foreseen: How far ahead staleness matters.
    """
    prefix = recipe.to_bytes(8, "little")
    known = [place for place, row in enumerate(rows) if row.entry.startswith(prefix)]
    others = sorted(set(range(len(rows))) - set(known))
    found = _by_columns(rows, known, now, rules, foreseen) if known else GcCandidates([], [])
    summaries = [s for place in others if (s := _summary(rows[place])) is not None]
    return GcCandidates(
        sorted([*found.due, *others]), [*found.summaries, *summaries], found.certain
    )


def _by_columns(
    rows: Sequence[StoredRow],
    known: list[int],
    now: datetime,
    rules: GcRules,
    foreseen: timedelta,
) -> GcCandidates:
    state = np.frombuffer(b"".join([rows[n].state[: STATE.size] for n in known]), STATE_COLUMNS)
    entry = np.frombuffer(b"".join([rows[n].entry[: ENTRY.size] for n in known]), ENTRY_COLUMNS)
    live = RECALLED[state["status"]]
    expired = live & (state["hard"] != NEVER) & (state["hard"] <= to_us(now))
    mask = live & ~expired & _ageing(entry, state, now, rules, foreseen)
    due = [known[place] for place in np.flatnonzero(mask).tolist()]
    certain = dict.fromkeys([known[n] for n in np.flatnonzero(expired)], Rule.HARD_EXPIRED)
    horizon = to_us(now - timedelta(days=rules.history_days))
    for n in np.flatnonzero(_IS_OLD[state["status"]]).tolist():
        if rows[known[n]].known_from > horizon:
            continue
        if entry["root"][n]:
            due.append(known[n])
        else:
            certain[known[n]] = _OLD[rows[known[n]].state[0]]
    places = ageing.summaries(entry, state)
    live_summaries = [
        Summary(int(entry["place"][n]), int(entry["created"][n]), rows[known[n]].id)
        for n in places[live[places]].tolist()
    ]
    return GcCandidates(due, live_summaries, certain)


def _ageing(
    entry: NDArray[np.void],
    state: NDArray[np.void],
    now: datetime,
    rules: GcRules,
    foreseen: timedelta,
) -> NDArray[np.bool_]:
    """Whether a live row is soft-expired, of low confidence, stale, or soon stale if unread."""
    clock = to_us(now)
    found = (state["soft"] != NEVER) & (state["soft"] <= clock)
    found |= state["status"] == _STALE
    doubtful = ageing.confidence(entry, state, clock) < rules.doubtful_below
    found |= doubtful & (state["verified"] == NEVER)
    # Reads in the state are ignored: the journal may know fewer.
    unread = state.copy()
    unread["read"] = 0
    return np.asarray(found | (ageing.stale_from(unread) <= to_us(now + foreseen)))


def _summary(row: StoredRow) -> Summary | None:
    if not status_of(row.state).is_live:
        return None
    memory = decode(row)
    if memory.category != SUMMARY_CATEGORY or memory.hard_expires_at is not None:
        return None
    return Summary(place_tag(memory.place), to_us(memory.created_at), memory.id)


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
