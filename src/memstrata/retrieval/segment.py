"""Some rows of one owner as columns, with their postings and vectors.

A segment is never changed after it is built; rows that die are masked out by its index.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from memstrata.domain.change import StoredRow
from memstrata.domain.codec import NEVER, STATE, decode
from memstrata.domain.memory import Memory
from memstrata.retrieval.entry import ENTRY, ENTRY_COLUMNS, STATE_COLUMNS

Places: TypeAlias = NDArray[np.int32]
Counts: TypeAlias = NDArray[np.uint16]

MAX_OPENED = 1024
"""Memories that a segment keeps opened; chosen: about 2 MB, and the hits of a busy owner fit."""


class Segment:
    """Columns of n rows, in the order given.

    Attributes:
        rows: The rows themselves; bodies are opened only for hits.
        entry: Structured array of :data:`~memstrata.retrieval.entry.ENTRY_COLUMNS`, length n.
        state: Structured array of :data:`~memstrata.retrieval.entry.STATE_COLUMNS`, length n.
        vectors: float32 of shape (n, d) holding int8 values; d may be 0.
        everywhere: The places of all rows, 0 to n - 1.
        has_turns: Whether any row is a verbatim turn.
        expires: Whether any row has a hard expiry or an end of validity.
        restricted: Whether any row has an audience or a purpose.
        nbytes: Memory held, roughly, for the cache's budget.
    """

    __slots__ = (
        "_counts",
        "_opened",
        "_places",
        "_terms",
        "entry",
        "everywhere",
        "expires",
        "has_turns",
        "nbytes",
        "restricted",
        "rows",
        "state",
        "vectors",
    )

    def __init__(self, rows: Sequence[StoredRow], dimensions: int) -> None:
        """Build the columns.

        Args:
            rows: Every entry made by the current recipe.
            dimensions: Length of the vectors of that recipe; 0 for none.
        """
        self.rows = list(rows)
        fixed = b"".join([row.entry[: ENTRY.size] for row in rows])
        self.entry = np.frombuffer(fixed, ENTRY_COLUMNS)
        states = b"".join([row.state[: STATE.size] for row in rows])
        self.state = np.frombuffer(states, STATE_COLUMNS)
        self.everywhere = np.arange(len(rows), dtype=np.int64)
        self.has_turns = bool(self.entry["verbatim"].any())
        ends = (self.state["hard"] != NEVER) | (self.state["valid_to"] != NEVER)
        self.expires = bool(ends.any())
        closed = (self.entry["purpose"] != 0) | (self.entry["restricted"] != 0)
        self.restricted = bool(closed.any())
        self._opened: dict[int, Memory] = {}
        start = ENTRY.size
        if dimensions:
            packed = b"".join([row.entry[start : start + dimensions] for row in rows])
            flat = np.frombuffer(packed, np.int8)
            self.vectors = flat.reshape(len(rows), dimensions).astype(np.float32)
        else:
            self.vectors = np.zeros((len(rows), 0), np.float32)
        self._index_terms(start + dimensions)
        bodies = sum(len(row.body) + len(row.entry) + len(row.state) for row in rows)
        self.nbytes = bodies + self.vectors.nbytes + self._terms.nbytes * 2 + len(fixed) * 2

    def _index_terms(self, start: int) -> None:
        sizes = self.entry["terms"].astype(np.int64)
        ends = (start + 8 * sizes).tolist()
        ids = b"".join([row.entry[start:end] for row, end in zip(self.rows, ends, strict=True)])
        times = b"".join([row.entry[end:] for row, end in zip(self.rows, ends, strict=True)])
        terms = np.frombuffer(ids, "<u8")
        order = np.argsort(terms, kind="stable")
        self._terms = terms[order]
        self._places = np.repeat(np.arange(len(self.rows), dtype=np.int32), sizes)[order]
        self._counts = np.frombuffer(times, "<u2")[order]

    def __len__(self) -> int:
        return len(self.rows)

    def postings(self, terms: NDArray[np.uint64]) -> Iterator[tuple[Places, Counts]]:
        """Yield, for each term, the rows that contain it, rising, and how often each does."""
        lows = self._terms.searchsorted(terms, "left").tolist()
        highs = self._terms.searchsorted(terms, "right").tolist()
        for low, high in zip(lows, highs, strict=True):
            yield self._places[low:high], self._counts[low:high]

    def memory(self, place: int) -> Memory:
        """Return the memory of a row; what was opened lately is kept, unless a caller could change
        it for the next one: metadata may hold lists and mappings.
        """
        memory = self._opened.get(place)
        if memory is None:
            if len(self._opened) >= MAX_OPENED:
                self._opened.clear()
            memory = decode(self.rows[place])
            if not any(isinstance(value, (list, dict)) for value in memory.metadata.values()):
                self._opened[place] = memory
        return memory
