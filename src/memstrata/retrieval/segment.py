"""Some rows of one owner as columns, with their postings and vectors.

A segment is never changed after it is built; rows that die are masked out by its index.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from memstrata.domain.change import StoredRow
from memstrata.domain.codec import STATE
from memstrata.retrieval.entry import ENTRY, ENTRY_COLUMNS, STATE_COLUMNS


class Segment:
    """Columns of n rows, in the order given.

    Attributes:
        rows: The rows themselves; bodies are opened only for hits.
        entry: Structured array of :data:`~memstrata.retrieval.entry.ENTRY_COLUMNS`, length n.
        state: Structured array of :data:`~memstrata.retrieval.entry.STATE_COLUMNS`, length n.
        vectors: float32 of shape (n, d) holding int8 values; d may be 0.
        nbytes: Memory held, roughly, for the cache's budget.
    """

    __slots__ = ("_counts", "_places", "_terms", "entry", "nbytes", "rows", "state", "vectors")

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

    def postings(self, term: int) -> tuple[NDArray[np.int32], NDArray[np.uint16]]:
        """Return the rows that contain a term, rising, and how often each does."""
        wanted = np.uint64(term)
        low = int(np.searchsorted(self._terms, wanted, "left"))
        high = int(np.searchsorted(self._terms, wanted, "right"))
        return self._places[low:high], self._counts[low:high]
