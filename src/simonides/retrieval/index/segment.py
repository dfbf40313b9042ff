"""Some rows of one owner as columns, with their postings and vectors.

A segment is immutable; its index masks out the rows that were deleted or replaced.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Sequence
from operator import itemgetter
from typing import Any, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from simonides.domain.codecs.checksums import CHECK_BYTES
from simonides.domain.codecs.memory import (
    IMPORTANCE_CODES,
    NEVER,
    STATE,
    STATUS_CODES,
    code_of,
    decode,
)
from simonides.domain.errors import StoreCorrupt
from simonides.domain.governance.consent import Refusals
from simonides.domain.memory import Record, Status
from simonides.domain.trust import Audience
from simonides.domain.writing.change import StoredRow
from simonides.retrieval.index import ageing
from simonides.retrieval.index.ageing import LATEST
from simonides.retrieval.index.entry import ENTRY, ENTRY_COLUMNS, STATE_COLUMNS, VERBATIM, tag
from simonides.text import LEAST_NAME_ID

RECALLED = np.array([status.is_live for status in STATUS_CODES])
"""By status code, whether recall may return it; a table look-up is the fastest test."""

Places: TypeAlias = NDArray[np.int32]
Counts: TypeAlias = NDArray[np.uint16]

EVER_TRUE = RECALLED | (np.arange(len(STATUS_CODES)) == code_of(STATUS_CODES, Status.SUPERSEDED))
"""By status code, whether a row may have been true at some time in the world."""

MAX_RUNS = 2048
"""Terms whose postings a segment caches; chosen: about 1 MB, enough for the words of a busy owner.
"""

MAX_OPENED = 1024
"""Decoded memories that a segment caches; chosen: about 2 MB, enough for the hits of a busy owner.
"""

_ENTRY_OF, _STATE_OF, _BODY_OF = (
    itemgetter(StoredRow._fields.index(name)) for name in ("entry", "state", "body")
)
_STATE = itemgetter(slice(STATE.size))

_LAST_BITS = 0xFFFF


class _Run(NamedTuple):
    """Postings of one term: rows, occurrences, and the number of rows."""

    places: Places
    counts: Counts
    df: int


class Segment:
    """Columns of n rows, in the order given.

    Attributes:
        rows: The rows themselves; bodies are decoded only for hits.
        entry: Structured array of :data:`~simonides.retrieval.index.entry.ENTRY_COLUMNS`, length n.
        state: Structured array of :data:`~simonides.retrieval.index.entry.STATE_COLUMNS`, length n.
        vectors: float32 of shape (n, d) holding int8 values; d may be 0.
        everywhere: The places of all rows, 0 to n - 1.
        has_turns: Whether any row is a verbatim turn.
        ends_at: Earliest hard expiry or end of validity of any row, µs.
        weak_from: For each row, the time from which it counts half, µs.
        ages_at: The earliest of these times.
        decays: Whether any row loses confidence with time.
        summaries: Places of session summaries; the latest does not expire.
        scopes: Tags of the scopes of its rows.
        is_readable: Whether every row has a status that recall returns.
        restricted: Whether any row has an audience or a purpose.
    """

    __slots__ = (
        "_audiences",
        "_counts",
        "_ends",
        "_known_from",
        "_names",
        "_nbytes",
        "_opened",
        "_places",
        "_runs",
        "_shared",
        "_terms",
        "ages_at",
        "decays",
        "ends_at",
        "entry",
        "everywhere",
        "has_turns",
        "is_readable",
        "restricted",
        "rows",
        "scopes",
        "state",
        "summaries",
        "vectors",
        "weak_from",
    )

    def __init__(self, rows: Sequence[StoredRow], dimensions: int) -> None:
        """Build the columns.

        Args:
            rows: Every entry made by the current recipe.
            dimensions: Length of the vectors of that recipe; 0 for none.

        Raises:
            StoreCorrupt: If entries or states are not in the encoders' format.
        """
        self.rows = list(rows)
        try:
            self._build(rows, dimensions)
        except (ValueError, IndexError, OverflowError) as error:
            problem = f"cannot be read: {error}; see `simonides admin check-audit`"
            raise StoreCorrupt("what memories are found by", problem) from error

    def _build(self, rows: Sequence[StoredRow], dimensions: int) -> None:
        # Each cell is read once, without a Python step per row: this runs for cold owners, whose
        # rows are cold in memory too.

        entries, start = list(map(_ENTRY_OF, rows)), ENTRY.size + dimensions
        heads = np.frombuffer(b"".join(map(itemgetter(slice(start)), entries)), np.uint8)
        heads = heads.reshape(len(rows), start)
        self.entry = np.ascontiguousarray(heads[:, : ENTRY.size]).view(ENTRY_COLUMNS)[:, 0]
        self.vectors = heads[:, ENTRY.size :].view(np.int8).astype(np.float32)
        states = b"".join(map(_STATE, map(_STATE_OF, rows)))
        self.state = np.frombuffer(states, STATE_COLUMNS)
        self.everywhere = np.arange(len(rows), dtype=np.int64)
        self.has_turns = bool((self.entry["marks"] & VERBATIM).any())
        ends = [_earliest(self.state["hard"]), _earliest(self.state["valid_to"])]
        self.ends_at = min(ends)
        self.weak_from = ageing.weak_from(self.state)
        self.ages_at = int(self.weak_from.min(initial=LATEST))
        self.decays = bool(ageing.decaying(self.state).any())
        self.summaries = ageing.summaries(self.entry, self.state)
        self.scopes = frozenset(np.unique(self.entry["scope"]).tolist())
        self.is_readable = bool(RECALLED[self.state["status"]].all())
        if self.state["importance"].max(initial=0) >= len(IMPORTANCE_CODES):
            raise ValueError("there is no such importance")
        closed = (self.entry["purpose"] != 0) | (self.entry["restricted"] != 0)
        self.restricted = bool(closed.any())
        self._opened: dict[int, Record] = {}
        self._audiences: dict[int, Audience] = {}
        self._known_from: NDArray[np.int64] | None = None
        self._names: frozenset[int] | None = None
        self._nbytes = 0
        self._index_terms(entries, start)

    def _index_terms(self, entries: Sequence[bytes], start: int) -> None:
        sizes = self.entry["terms"].astype(np.int64)
        tails = b"".join(map(itemgetter(slice(start, -CHECK_BYTES)), entries))
        words = np.frombuffer(tails, "<u2")
        # Each row has its terms, four 16-bit words each, then as many counts.
        of_each = np.column_stack((4 * sizes, sizes)).ravel()
        is_term = np.repeat(np.tile([True, False], len(sizes)), of_each)
        terms = words[is_term].view("<u8")
        # Sorted by the last 16 bits of their ids, which takes numpy a tenth of the time of all 64.
        # A look-up separates the few terms that share them.
        ends = terms.astype(np.uint16)
        order = np.argsort(ends, kind="stable")
        self._ends, self._terms = ends[order], terms[order]
        is_next = (self._ends[1:] == self._ends[:-1]) & (self._terms[1:] != self._terms[:-1])
        self._shared = frozenset(self._ends[1:][is_next].tolist())
        self._places = np.repeat(np.arange(len(self.rows), dtype=np.int32), sizes)[order]
        self._counts = words[~is_term][order]
        self._runs: dict[int, _Run] = {}

    def __len__(self) -> int:
        return len(self.rows)

    @property
    def nbytes(self) -> int:
        """Approximate memory use in bytes, for the cache's budget; computed on first use."""
        if not self._nbytes:
            bodies = sum(map(len, map(_BODY_OF, self.rows)))
            packed = self.entry.nbytes + self.state.nbytes + self._terms.nbytes
            packed += self.weak_from.nbytes
            self._nbytes = bodies + self.vectors.nbytes + 2 * packed
        return self._nbytes

    def postings(self, terms: Sequence[int]) -> tuple[Places, Counts, list[int]]:
        """Return the postings of the terms: rows, occurrences, and the number of rows per term.

        Term by term in the order given, rows rising within each.
        """
        if not terms:
            return self._places[:0], self._counts[:0], []
        places, counts, df = zip(*self._runs_of(terms), strict=True)
        return np.concatenate(places), np.concatenate(counts), list(df)

    def holds(self, terms: Sequence[int]) -> bool:
        """Return whether any row holds any of the terms."""
        return any(run.df for run in self._runs_of(terms))

    def names(self) -> frozenset[int]:
        """Return the ids of names that rows have, see :mod:`simonides.text.names`."""
        if self._names is None:
            self._names = frozenset(self._terms[self._terms >= LEAST_NAME_ID].tolist())
        return self._names

    def _runs_of(self, terms: Sequence[int]) -> list[_Run]:
        """Find the postings of terms and cache them: queries of an owner repeat words."""
        runs = self._runs
        new = [term for term in terms if term not in runs]
        if new:
            if len(runs) >= MAX_RUNS:
                # Replaced, not cleared: another thread may be reading the old ones.
                runs, new = {}, list(terms)
                self._runs = runs
            wanted = np.array(new, "<u8").astype(np.uint16)
            lows = self._ends.searchsorted(wanted, "left").tolist()
            highs = self._ends.searchsorted(wanted, "right").tolist()
            for term, low, high in zip(new, lows, highs, strict=True):
                runs[term] = self._run(term, low, high)
        return [runs[term] for term in terms]

    def _run(self, term: int, low: int, high: int) -> _Run:
        if low < high and term & _LAST_BITS in self._shared:
            mine = self._terms[low:high] == term
            places, counts = self._places[low:high][mine], self._counts[low:high][mine]
            return _Run(places, counts, len(places))
        if low < high and self._terms.item(low) != term:
            high = low  # all of another term
        return _Run(self._places[low:high], self._counts[low:high], high - low)

    def newest(self, places: NDArray[np.int64]) -> int:
        """Return the start of the newest state among rows at some places, at least one, µs."""
        if self._known_from is None:
            self._known_from = np.array([row.known_from for row in self.rows], np.int64)
        return int(self._known_from[places].max())

    def admits(self, place: int, agent: str | None) -> bool:
        """Return whether an agent belongs to the audience of a row.

        The audience is decoded from the row, once, because a tag of it could collide.
        """
        if not self.entry["restricted"][place]:
            return True
        if place not in self._audiences:
            self._audiences[place] = decode(self.rows[place]).audience
        audience = self._audiences[place]
        return audience is None or (agent is not None and agent in audience)

    def memory(self, place: int) -> Record:
        """Return the memory of a row.

        Decoded memories are cached, unless their metadata has lists or mappings, which a caller
        could change.
        """
        memory = self._opened.get(place)
        if memory is None:
            if len(self._opened) >= MAX_OPENED:
                self._opened.clear()
            memory = decode(self.rows[place])
            if not any(isinstance(value, (list, dict)) for value in memory.metadata.values()):
                self._opened[place] = memory
        return memory


class Frozen(NamedTuple):
    """An immutable snapshot of an owner's columns, for one query.

    Attributes:
        segments: One or two, the older first.
        alive: For each segment, which of its rows are live and not refused; None for all.
        selections: Cached selections of readers. :func:`~simonides.retrieval.query.pool.gather`
        fills and
            bounds it; the owner's next change drops it.
    """

    segments: tuple[Segment, ...]
    alive: tuple[NDArray[np.bool_] | None, ...]
    selections: dict[Hashable, Any]


def _earliest(times: NDArray[np.int64]) -> int:
    set_times = times[times != NEVER]
    return int(set_times.min()) if len(set_times) else LATEST


def admitted(segment: Segment, refusals: Refusals) -> NDArray[np.bool_] | None:
    """Return which rows an owner has not refused, by what :meth:`Refusals.against` says of
    memories; None for all of them.

    Names by tags alone: of a name that is another's by chance, once in 2^64, a memory too many is
    hidden.
    """
    if not refusals:
        return None
    keys, categories = segment.entry["key"], segment.entry["category"]
    told = np.isin(categories, _tags(refusals.categories)) & ~np.isin(keys, _tags(refusals.spared))
    told |= np.isin(keys, _tags(refusals.keys))
    if refusals.tellings:
        told |= np.array([row.id in refusals.tellings for row in segment.rows], np.bool_)
    return ~told if told.any() else None


def _tags(names: Iterable[str]) -> NDArray[np.uint64]:
    return np.array([tag(name) for name in names], "<u8")
