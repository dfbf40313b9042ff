"""The rows that one principal may read for one cue, gathered over its visible owners.

All ranking statistics (N, document frequencies, average length, means) are computed over the pool.
So no tenant, sibling task or expired row influences another's ranking.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from itertools import accumulate
from typing import Any, Concatenate, NamedTuple, ParamSpec, TypeVar

import numpy as np
from numpy.typing import NDArray

from simonides.domain.ageing import seen_at
from simonides.domain.codecs.memory import KIND_CODES, NEVER, code_of, decode
from simonides.domain.memory import Record
from simonides.domain.reading.cue import Cue
from simonides.domain.scope import Scope
from simonides.domain.value import to_us
from simonides.domain.writing.change import StoredRow
from simonides.retrieval.index.ageing import LATEST
from simonides.retrieval.index.entry import scope_tag, tag
from simonides.retrieval.index.segment import EVER_TRUE, RECALLED, Counts, Frozen, Places, Segment
from simonides.retrieval.query.filtering import Columns, Enduring, any_equal, enduring, passing
from simonides.retrieval.query.scope_levels import NO_LEVELS, levels_of

Bools = NDArray[np.bool_]
Floats = NDArray[np.float64]
Ints = NDArray[np.int64]


MAX_SELECTIONS = 8
"""Cached selections per owner; chosen: a user with a few agents and purposes."""

EXACT_ROWS = 2**24 // 128
"""Number of int8 rows whose sums float32 represents exactly."""

P = ParamSpec("P")
T = TypeVar("T")


class Part(NamedTuple):
    """The pool's rows within one segment.

    Attributes:
        segment: The segment.
        places: Their places in it, rising.
        slots: For each row of the segment its place in the pool, or -1.
        is_whole: Whether every row of the segment is visible.
    """

    segment: Segment
    places: Ints
    slots: Ints
    is_whole: bool


class Postings(NamedTuple):
    """Occurrences of terms.

    Attributes:
        slots: Pool places, term by term.
        counts: Occurrences in the row, of the same length.
        df: For each term, the number of rows that hold it.
    """

    slots: Ints
    counts: Counts
    df: list[int]


class Pool:
    """Visible rows as columns, over all readable owners.

    Attributes:
        parts: One for each segment with visible rows.
        entry: Entry columns of the visible rows.
        state: State columns of the visible rows.
        has_turns: Whether verbatim turns may be among them.
        ages_at: Earliest time from which any of them may count less, µs.
        decays: Whether any of them may lose confidence with time.
        levels: Distances of scopes from the reader.
        nearest: Tag of a key to the level of the nearest scope that holds it; empty if one scope is
            read.

    Many queries share a pool, possibly concurrently: a query must not change it.
    """

    def __init__(self, parts: Sequence[Part], enduring: Enduring = ()) -> None:
        self.parts = tuple(parts)
        self._enduring = enduring
        whole = slice(None)
        taken = [(p.segment, whole if p.is_whole else p.places) for p in parts]
        self.entry = _gather([segment.entry[places] for segment, places in taken])
        self.state = _gather([segment.state[places] for segment, places in taken])
        self.levels = NO_LEVELS
        self.nearest: Mapping[int, int] = {}
        self.ages_at = min((part.segment.ages_at for part in parts), default=LATEST)
        self.decays = any(part.segment.decays for part in parts)
        self.has_turns = any(part.segment.has_turns for part in parts)
        self._starts = [0, *accumulate(len(part.places) for part in parts)]
        self._made: dict[Hashable, Any] = {}

    def __len__(self) -> int:
        return self._starts[-1]

    def cached(
        self, make: Callable[Concatenate[Pool, P], T], *args: P.args, **kwargs: P.kwargs
    ) -> T:
        """Return the cached result of ``make(self, …)``, computed once per arguments.

        Only for values that do not depend on the query. Arrays become read-only.
        """
        asked = (make, args, *kwargs.items()) if args or kwargs else make
        try:
            found: T = self._made[asked]
        except KeyError:
            found = make(self, *args, **kwargs)
            if isinstance(found, np.ndarray):
                found.setflags(write=False)
            self._made[asked] = found
        return found

    def row(self, slot: int) -> StoredRow:
        """Return the stored row at a place of the pool."""
        part, place = self._at(slot)
        return part.segment.rows[place]

    def memory(self, slot: int) -> Record:
        """Return the memory at a place of the pool, in its stored state."""
        part, place = self._at(slot)
        return part.segment.memory(place)

    def opener(self, now: datetime) -> Callable[[int], Record]:
        """Return a function from a place of the pool to the memory as readers see it at ``now``."""
        if not self._is_ageing(now):
            return self.memory
        return lambda slot: self._as_seen(slot, self.memory(slot), now)

    def keyed(self, now: datetime) -> list[Record]:
        """Return the memories with a key as readers see them, in the order of the pool."""
        if not len(self):
            return []
        return list(map(self.opener(now), np.flatnonzero(self.entry["key"]).tolist()))

    def everything(self, now: datetime) -> list[Record]:
        """Return all memories as readers see them, in the order of the pool; none is cached."""
        opened = [decode(self.row(slot)) for slot in range(len(self))]
        if not self._is_ageing(now):
            return opened
        return [self._as_seen(slot, memory, now) for slot, memory in enumerate(opened)]

    def _is_ageing(self, now: datetime) -> bool:
        return self.decays or to_us(now) >= self.ages_at

    def _as_seen(self, slot: int, memory: Record, now: datetime) -> Record:
        return seen_at(memory, now, endures=slot in self.cached(_enduring_slots))

    def weak_from(self) -> Ints:
        """Return the time from which each row counts half, µs."""
        found = [
            part.segment.weak_from if part.is_whole else part.segment.weak_from[part.places]
            for part in self.parts
        ]
        times = np.concatenate([np.zeros(0, np.int64), *found])
        times[list(self.cached(_enduring_slots))] = LATEST
        return times

    def enduring_slots(self) -> frozenset[int]:
        """Return the slots of rows that are exempt from their expiry."""
        found = (
            int(part.slots[place])
            for segment, place in self._enduring
            for part in self.parts
            if part.segment is segment
        )
        return frozenset(slot for slot in found if slot >= 0)

    def dots(self, query: NDArray[np.float32]) -> Floats:
        """Return the dot product of each row's vector with a query's, both of integers."""
        scores = [_dot(part, query) for part in self.parts]
        if len(scores) == 1:
            return scores[0]
        return np.concatenate(scores) if scores else np.zeros(0)

    def vector_sum(self) -> Floats:
        """Return the sum of all rows' integer vectors, exact in any order of rows."""
        sums = [_sum(part) for part in self.parts]
        return np.asarray(np.add.reduce(sums, axis=0), np.float64)

    @property
    def dimensions(self) -> int:
        """Length of the vectors, 0 without vectors."""
        return self.parts[0].segment.vectors.shape[1] if self.parts else 0

    def vectors(self, slots: Ints) -> NDArray[np.float32]:
        """Return the integer vectors of a few rows."""
        found = [(part.segment.vectors, place) for part, place in map(self._at, slots.tolist())]
        return np.stack([vectors[place] for vectors, place in found])

    def postings(self, terms: Sequence[int]) -> Postings:
        """Return the postings of the terms, term by term in the order given."""
        found = [_seen(part, *part.segment.postings(terms)) for part in self.parts]
        if len(found) == 1:
            return found[0]
        none = np.zeros(0, np.int64)
        slots = np.concatenate([none, *(part.slots for part in found)])
        counts = np.concatenate([none.astype(np.uint16), *(part.counts for part in found)])
        numbers = [np.arange(len(terms)).repeat(part.df) for part in found]
        # Sums run term by term, whatever segment a row is in.
        order = np.argsort(np.concatenate([none, *numbers]), kind="stable")
        each = zip(*(part.df for part in found), strict=True)
        return Postings(slots[order], counts[order], list(map(sum, each)) or [0] * len(terms))

    def may_hold(self, terms: Sequence[int]) -> bool:
        """Return whether any row of the segments holds any of the terms, visible or not."""
        return any(part.segment.holds(terms) for part in self.parts)

    def _at(self, slot: int) -> tuple[Part, int]:
        number = bisect_right(self._starts, slot) - 1
        part = self.parts[number]
        return part, int(part.places[slot - self._starts[number]])


def gather(frozen: Sequence[Frozen], cue: Cue, now: datetime, home: Scope | None = None) -> Pool:
    """Select the rows that ``cue`` may see.

    A row is visible if it is live, not expired, in one of the cue's scopes, and of a wanted kind.
    It must also be valid at ``valid_at``, admit the agent and the purpose, and pass the filter.

    Args:
        frozen: Columns of the owners of the cue's scopes.
        cue: The request.
        now: The clock.
        home: Scope of the reader; None for reads without a reader.
    """
    # Cached for single owners only: a pool over several owners copies their rows, and each user's
    # pool would hold another copy of the org's.
    if len(frozen) != 1 or cue.filter or cue.valid_at is not None:
        return _selected(frozen, cue, now, home)
    selections = frozen[0].selections
    reader = (cue.scopes, cue.agent, cue.purpose, cue.kinds, home)
    clock = to_us(now)
    kept: tuple[int, int, Pool] | None = selections.get(reader)
    if kept is not None and kept[0] <= clock < kept[1]:
        return kept[2]
    pool = _selected(frozen, cue, now, home)
    until = _changes_at(pool, clock)
    if cue.kinds:  # rows of other kinds hide keys too, until they end
        until = min(until, _changes_at(gather(frozen, unfiltered(cue), now, home), clock))
    if len(selections) >= MAX_SELECTIONS:
        selections.clear()
    selections[reader] = (clock, until, pool)
    return pool


def newest(pool: Pool, frozen: Sequence[Frozen]) -> tuple[int | None, ...]:
    """Return, for each index, the start of the newest state among its selected rows, µs.

    None for an index without selected rows. Rows that were not selected do not count.
    """
    times = pool.cached(_newest)
    if len(frozen) == 1:
        return (max(times, default=None),)
    by_segment = {id(part.segment): time for part, time in zip(pool.parts, times, strict=True)}
    found = [[by_segment.get(id(segment), NEVER) for segment in one.segments] for one in frozen]
    latest = [max(each, default=NEVER) for each in found]
    return tuple(None if time == NEVER else time for time in latest)


def _newest(pool: Pool) -> tuple[int, ...]:
    return tuple(part.segment.newest(part.places) for part in pool.parts)


def _enduring_slots(pool: Pool) -> frozenset[int]:
    return pool.enduring_slots()


def _selected(frozen: Sequence[Frozen], cue: Cue, now: datetime, home: Scope | None) -> Pool:
    pool = _gathered(frozen, cue, now)
    pool.levels = levels_of(cue, home)
    if len(cue.scopes) > 1:
        asked = cue.kinds or cue.filter
        holders = _gathered(frozen, unfiltered(cue), now) if asked else pool
        pool.nearest = pool.levels.nearest(holders.entry) if len(holders) else {}
    return pool


def _changes_at(pool: Pool, clock: int) -> int:
    """Return the time at which the first of the selected rows ends; rows that ended stay out."""
    ends = [pool.state[name] for name in ("hard", "valid_to") if len(pool)]
    later = [int(times[times > clock].min(initial=LATEST)) for times in ends]
    return min(later, default=LATEST)


def _gathered(frozen: Sequence[Frozen], cue: Cue, now: datetime) -> Pool:
    parts: list[Part] = []
    lasting = [where for index in frozen for where in enduring(index)]
    start = 0
    for index in frozen:
        for segment, alive in zip(index.segments, index.alive, strict=True):
            if len(segment):
                part = _part(segment, alive, cue, now, start, lasting)
                if len(part.places):
                    parts.append(part)
                    start += len(part.places)
    return Pool(parts, lasting)


def unfiltered(cue: Cue) -> Cue:
    """Return the cue without kinds and filter: a key hides others whatever kind is wanted."""
    return replace(cue, kinds=frozenset(), filter=None)


def _part(
    segment: Segment,
    alive: Bools | None,
    cue: Cue,
    now: datetime,
    start: int,
    lasting: Enduring,
) -> Part:
    if _is_all_visible(segment, alive, cue, now):
        every = segment.everywhere
        return Part(segment, every, every if start == 0 else every + start, is_whole=True)
    mask = visible(segment, cue, now)
    if alive is not None:
        mask &= alive
    endures = [place for other, place in lasting if other is segment]
    places = _admitted(segment, np.flatnonzero(mask), cue, now, endures)
    slots = np.full(len(segment), -1, np.int64)
    slots[places] = np.arange(start, start + len(places))
    return Part(segment, places, slots, is_whole=len(places) == len(segment))


def _is_all_visible(segment: Segment, alive: Bools | None, cue: Cue, now: datetime) -> bool:
    """Whether no row can be hidden, decided without reading any row.

    This is the common case of one user's own memories.
    """
    if alive is not None or not segment.is_readable or segment.restricted:
        return False
    if cue.kinds or cue.filter or cue.valid_at is not None or segment.ends_at <= to_us(now):
        return False
    return segment.scopes <= frozenset(map(scope_tag, cue.scopes))


def visible(segment: Segment, cue: Cue, now: datetime) -> Bools:
    """Return which rows of a segment meet all conditions on columns."""
    (_, mask), *others = exclusions(segment, cue, now)
    for _, met in others:
        mask &= met
    return mask


def exclusions(segment: Segment, cue: Cue, now: datetime) -> list[tuple[str, Bools]]:
    """Return each named condition with the rows that meet it, for ranking and for explaining.

    Conditions that no row of the segment can fail are left out.
    """
    entry, state = segment.entry, segment.state
    world = to_us(now if cue.valid_at is None else cue.valid_at)
    conditions = [
        ("out_of_scope", any_equal(entry["scope"], [scope_tag(s) for s in cue.scopes])),
        ("status", (RECALLED if cue.valid_at is None else EVER_TRUE)[state["status"]]),
        ("expired", (state["hard"] == NEVER) | (state["hard"] > to_us(now))),
        ("no_longer_valid", (state["valid_to"] == NEVER) | (state["valid_to"] > world)),
    ]
    if segment.restricted:
        purpose = 0 if cue.purpose is None else tag(cue.purpose)
        fits = (entry["purpose"] == 0) | (entry["purpose"] == purpose)
        conditions.append(("purpose_mismatched", fits))
    if cue.valid_at is not None:
        begun = (entry["valid_from"] == NEVER) | (entry["valid_from"] <= world)
        conditions.append(("not_yet_valid", begun))
    if cue.kinds:
        wanted = [code_of(KIND_CODES, kind) for kind in cue.kinds]
        conditions.append(("kind", any_equal(entry["kind"], wanted)))
    return conditions


def _admitted(
    segment: Segment, places: Ints, cue: Cue, now: datetime, endures: Sequence[int]
) -> Ints:
    if segment.restricted:
        admitted = [segment.admits(place, cue.agent) for place in places.tolist()]
        places = places[np.array(admitted, np.bool_)]
    if cue.filter is None or not len(places):
        return places
    lasting = np.isin(places, np.array(endures, np.int64)) if endures else None
    columns = Columns(segment.entry[places], segment.state[places], to_us(now), lasting)
    return places[passing(cue.filter, columns, lambda place: segment.rows[places[place]])]


def _dot(part: Part, query: NDArray[np.float32]) -> Floats:
    vectors = part.segment.vectors
    if vectors.shape[1] != query.shape[0]:
        return np.zeros(len(part.places))
    # Row by row, which uses one thread: BLAS threads waiting for a busy core made the same scan 37
    # times slower (measured). Components are integers, so the order of summation does not matter.
    scores = np.vecdot(vectors, query)
    return np.asarray(scores if part.is_whole else scores[part.places], np.float64)


def _sum(part: Part) -> Floats:
    vectors = part.segment.vectors
    rows = vectors if part.is_whole else vectors[part.places]
    # For so few rows float32 sums are exact too, and take a third of the time.
    wide = np.float32 if len(rows) <= EXACT_ROWS else np.float64
    return np.asarray(np.add.reduce(rows, axis=0, dtype=wide), np.float64)


def _seen(part: Part, places: Places, counts: Counts, df: list[int]) -> Postings:
    if part.slots is part.segment.everywhere:
        return Postings(places.astype(np.int64), counts, df)
    slots = part.slots[places]
    if part.is_whole:
        return Postings(slots, counts, df)
    seen = slots >= 0
    numbers = np.arange(len(df)).repeat(df)[seen]
    return Postings(slots[seen], counts[seen], np.bincount(numbers, minlength=len(df)).tolist())


def _gather(arrays: list[NDArray[np.void]]) -> NDArray[np.void]:
    """Concatenate structured arrays of one type as bytes: numpy would promote field by field."""
    if not arrays:
        return np.zeros(0, np.dtype([("none", "u1")]))
    if len(arrays) == 1:
        return arrays[0]
    width = arrays[0].dtype.itemsize
    flat = [np.ascontiguousarray(array).view(np.uint8).reshape(-1, width) for array in arrays]
    return np.concatenate(flat).view(arrays[0].dtype).reshape(-1)
