"""The columnar index of one owner: rows appended, removed and refreshed without a rebuild.

Every attribute that ranking reads is one numpy column over all rows, and every term has a postings
list, so a query is a handful of array operations and no Python loop over rows. A removed row stays
as a hole, emptied at once of terms and vector, until `OwnerIndex.compact`.

The index proposes and the database decides: callers fetch the rows of what they found and check
them. So an addition may appear before its commit; a removal is applied after the commit.
"""

from __future__ import annotations

import json
import threading
from array import array
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from simonides.core.clock import FOREVER
from simonides.core.record import TURN, Importance, Kind, Place, Status
from simonides.storage.database import Row
from simonides.storage.statements import INDEXED
from simonides.text.analyse import Mark, analyse, marks_of

Floats = NDArray[np.floating[Any]]
Ints = NDArray[np.integer[Any]]
Bools = NDArray[np.bool_]

NONE = -1
"""The row number of an absent neighbour. Columns padded with one value at the end serve it."""

MOST_HOLES = 0.25
"""Share of removed rows from which the index is compacted; chosen: a query then wastes a third."""

BLOCK_ROWS = 1024
"""Vectors that are widened to float32 at once: 1 MB, which stays in the cache of a core."""

KINDS = tuple(Kind)
_KIND_CODES = {kind.value: code for code, kind in enumerate(KINDS)}
_WEIGHTS = {each.value: each.weight for each in Importance}
_SHARED = Place()


@dataclass(frozen=True, slots=True)
class Entry:
    """One memory as it enters the index.

    Attributes:
        id: Its id.
        root: Id of its first version.
        terms: Terms of its indexed text, with repetition.
        marks: `Mark` of its text.
        vector: Signed bytes; empty without a usable vector.
        scale: Value of one step of the vector.
        session: Its conversation; empty for a memory that is no turn.
        time: When it was said, in milliseconds.
        Further fields are as in `Record`.
    """

    id: bytes
    root: bytes
    kind: str
    is_turn: bool
    key: str | None
    hash: str
    place: Place
    terms: Sequence[str]
    marks: int
    vector: bytes
    scale: float
    speaker: str
    session: str
    position: int
    time: int
    updated_at: int
    until: int
    soft_expires_at: int
    importance: float
    confidence: float
    is_stale: bool
    pinned: bool


def entry_of(row: Mapping[str, Any], embedder: str | None) -> Entry:
    """Return the entry of a memory's row.

    Args:
        row: Cells by column, at least those of `statements.INDEXED`.
        embedder: Id of the embedder in use; a vector of another one is left out.
    """
    is_turn = row["category"] == TURN and row["position"] is not None
    has_vector = row["vector"] is not None and row["embedder"] == embedder
    audience = row["audience"]
    ends = [each for each in (row["hard_expires_at"], row["valid_to"]) if each is not None]
    plain = row["task"] is None and audience is None and row["purpose"] is None
    return Entry(
        id=row["id"],
        root=row["root"],
        kind=row["kind"],
        is_turn=is_turn,
        key=row["key"],
        hash=row["hash"],
        place=_SHARED
        if plain
        else Place(
            row["task"],
            None if audience is None else tuple(json.loads(audience)),
            row["purpose"],
        ),
        terms=row["terms"].split(" ") if row["terms"] else (),
        marks=row["marks"],
        vector=row["vector"] if has_vector else b"",
        scale=row["scale"] if has_vector else 0.0,
        speaker=row["speaker"] or row["role"] or "",
        session=(row["session"] or "") if is_turn else "",
        position=row["position"] or 0,
        time=row["created_at"] if row["valid_from"] is None else row["valid_from"],
        updated_at=row["updated_at"],
        until=min(ends, default=FOREVER),
        soft_expires_at=FOREVER if row["soft_expires_at"] is None else row["soft_expires_at"],
        importance=_WEIGHTS[row["importance"]],
        confidence=row["confidence"],
        is_stale=row["status"] == Status.STALE,
        pinned=bool(row["pinned"]),
    )


def entries_of(rows: Iterable[Row], embedder: str | None) -> list[Entry]:
    """Return the entries of rows that were selected with the columns of `statements.INDEXED`."""
    return [entry_of(dict(zip(INDEXED, row, strict=True)), embedder) for row in rows]


class Analysed(NamedTuple):
    """What is stored beside a memory so that an index is built without analysis.

    Attributes:
        text: The text that recall searches: ``speaker: content key tags``.
        terms: Its terms in order.
        marks: `Mark` of the content.
    """

    text: str
    terms: list[str]
    marks: int


def analysed(content: str, *, speaker: str | None, names: Sequence[str], is_turn: bool) -> Analysed:
    """Analyse a memory.

    Args:
        content: Its text.
        speaker: The name of the person who said it.
        names: Other words for it: its key, its tags.
        is_turn: Whether it is a turn of a conversation.
    """
    lead = f"{speaker}: " if speaker else ""
    text = " ".join((lead + content, *names))
    # A memory that is no turn is about its owner, whatever its grammatical subject.
    return Analysed(text, analyse(text), marks_of(content) | (0 if is_turn else Mark.SELF))


def quantise(vectors: NDArray[np.float32]) -> tuple[NDArray[np.int8], NDArray[np.float32]]:
    """Return signed bytes and the value of one step of each row: a quarter of float32's memory."""
    steps = np.abs(vectors).max(axis=1, initial=0.0) / np.float32(127)
    return np.rint(vectors / np.where(steps > 0, steps, 1)[:, None]).astype(np.int8), steps


class Column:
    """A numpy array that grows at its end in amortised constant time."""

    def __init__(self, dtype: type, width: int = 0) -> None:
        self._cells: NDArray[Any] = np.zeros((16, width) if width else 16, dtype)
        self._used = 0

    def append(self, value: object) -> None:
        """Add one cell."""
        if self._used == len(self._cells):
            self._cells = np.concatenate((self._cells, np.zeros_like(self._cells)))
        self._cells[self._used] = value
        self._used += 1

    def keep(self, chosen: Bools) -> None:
        """Drop all cells but the chosen."""
        self._cells = self.array[chosen]
        self._used = len(self._cells)
        if not self._used:
            self._cells = np.zeros((16, *self._cells.shape[1:]), self._cells.dtype)

    @property
    def array(self) -> NDArray[Any]:
        """The cells, as a view that is valid until the next append."""
        return self._cells[: self._used]

    @property
    def nbytes(self) -> int:
        """Memory that it takes."""
        return self._cells.nbytes


class Postings(NamedTuple):
    """Where one term occurs: rows, rising, and how often in each."""

    rows: array[int]
    counts: array[int]


class OwnerIndex:
    """The memories in force of one owner as columns.

    Attributes:
        lock: Held by every reader and writer of the index.
        is_changing: Whether a turn adds rows that are not committed yet.
        seen: Length of the audit chain up to which it is complete.
        epoch: The owner's epoch that it was built in.
        revision: Raised by every change of the rows.
    """

    def __init__(self, dimensions: int, epoch: int = 0) -> None:
        self.lock = threading.RLock()
        self.is_changing = False
        self.seen, self.epoch, self.revision = 0, epoch, 0
        self._columns: dict[str, Column] = {
            "live": Column(np.bool_),
            "length": Column(np.float32),
            "distinct": Column(np.int32),
            "time": Column(np.int64),
            "updated": Column(np.int64),
            "until": Column(np.int64),
            "soft": Column(np.int64),
            "importance": Column(np.float32),
            "confidence": Column(np.float32),
            "stale": Column(np.bool_),
            "pinned": Column(np.bool_),
            "turn": Column(np.bool_),
            "kind": Column(np.int8),
            "marks": Column(np.uint8),
            "place": Column(np.int32),
            "speaker": Column(np.int32),
            "session": Column(np.int32),
            "position": Column(np.int64),
            "before": Column(np.int64),
            "after": Column(np.int64),
            "id_high": Column(np.uint64),
            "id_low": Column(np.uint64),
            "scale": Column(np.float32),
            "embedded": Column(np.bool_),
        }
        self._vectors = Column(np.int8, dimensions)
        # Lists of bytes and strings, not of objects: the garbage collector walks objects, and its
        # walk over 8,000 of them stops an event loop for 90 ms.
        self.ids: list[bytes] = []
        self.keys: list[str | None] = []
        self._hashes: list[str] = []
        self.terms: dict[str, Postings] = {}
        self.places: dict[Place, int] = {}
        self.speakers: dict[str, int] = {}
        self.sessions: dict[str, int] = {}
        self.row_of: dict[bytes, int] = {}
        self.by_key: dict[str, list[int]] = {}
        self.by_hash: dict[tuple[int, str], int] = {}
        self._turns: dict[tuple[int, int], int] = {}
        self.vector_sum = np.zeros(dimensions)
        self.without_vector = 0

    def __len__(self) -> int:
        return len(self.row_of)

    @property
    def size(self) -> int:
        """The number of rows with the holes."""
        return len(self.ids)

    @property
    def nbytes(self) -> int:
        """Roughly the memory that it takes; the postings are counted by their terms and rows."""
        columns = sum(column.nbytes for column in (*self._columns.values(), self._vectors))
        return columns + 260 * len(self.terms) + 600 * self.size

    def column(self, name: str) -> NDArray[Any]:
        """Return a column by name, valid until the next change."""
        return self._columns[name].array

    @property
    def vectors(self) -> NDArray[np.int8]:
        """The vectors, shape (size, dimensions)."""
        return self._vectors.array

    # -- changes -----------------------------------------------------------------------------------

    def add(self, entries: Iterable[Entry]) -> None:
        """Add rows; a row whose id is there already replaces it."""
        for entry in entries:
            self.remove([entry.id])
            self._append(entry)
        self.revision += 1

    def _append(self, entry: Entry) -> None:
        row = len(self.ids)
        counts = Counter(entry.terms)
        for term, count in counts.items():
            postings = self.terms.get(term)
            if postings is None:
                postings = self.terms[term] = Postings(array("i"), array("H"))
            postings.rows.append(row)
            postings.counts.append(min(count, 65_535))
        place = self.places.setdefault(entry.place, len(self.places))
        # A memory that is no turn is a session of its own.
        name = entry.session or f"\0{entry.id.hex()}"
        session = self.sessions.setdefault(name, len(self.sessions))
        before, after = self._linked(row, session, entry.position)
        cells: dict[str, Any] = {
            "live": True,
            "length": len(entry.terms),
            "distinct": len(counts),
            "time": entry.time,
            "updated": entry.updated_at,
            "until": entry.until,
            "soft": entry.soft_expires_at,
            "importance": entry.importance,
            "confidence": entry.confidence,
            "stale": entry.is_stale,
            "pinned": entry.pinned,
            "turn": entry.is_turn,
            "kind": _KIND_CODES[entry.kind],
            "marks": entry.marks,
            "place": place,
            "speaker": self.speakers.setdefault(entry.speaker, len(self.speakers)),
            "session": session,
            "position": entry.position,
            "before": before,
            "after": after,
            "id_high": int.from_bytes(entry.id[:8], "big"),
            "id_low": int.from_bytes(entry.id[8:], "big"),
            "scale": entry.scale,
            "embedded": bool(entry.vector),
        }
        for name, value in cells.items():
            self._columns[name].append(value)
        vector = np.frombuffer(entry.vector, np.int8) if entry.vector else 0
        self._vectors.append(vector)
        self.vector_sum += entry.scale * vector
        self.without_vector += not entry.vector
        self.ids.append(entry.id)
        self.keys.append(entry.key)
        self._hashes.append(entry.hash)
        self.row_of[entry.id] = row
        if not entry.is_turn:
            self.by_hash[place, entry.hash] = row
        if entry.key is not None:
            self.by_key.setdefault(entry.key, []).append(row)

    def _linked(self, row: int, session: int, position: int) -> tuple[int, int]:
        """Tie a turn to the turns before and after it in its session; return these two."""
        self._turns[session, position] = row
        before = self._turns.get((session, position - 1), NONE)
        after = self._turns.get((session, position + 1), NONE)
        if before != NONE:
            self.column("after")[before] = row
        if after != NONE:
            self.column("before")[after] = row
        return before, after

    def remove(self, ids: Iterable[bytes]) -> None:
        """Empty rows, so that nothing of them counts in any later query."""
        for id in ids:
            row = self.row_of.pop(id, None)
            if row is None:
                continue
            self.revision += 1
            self.vector_sum -= self.column("scale")[row] * self.vectors[row]
            self.without_vector -= not self.column("embedded")[row]
            self.vectors[row] = 0
            before, after = self.column("before")[row], self.column("after")[row]
            if before != NONE:
                self.column("after")[before] = NONE
            if after != NONE:
                self.column("before")[after] = NONE
            place = int(self.column("place")[row])
            turn = (int(self.column("session")[row]), int(self.column("position")[row]))
            if self._turns.get(turn) == row:
                del self._turns[turn]
            if self.by_hash.get((place, self._hashes[row])) == row:
                del self.by_hash[place, self._hashes[row]]
            key = self.keys[row]
            if key is not None:
                self.by_key[key].remove(row)
                if not self.by_key[key]:
                    del self.by_key[key]
            for name in ("live", "length", "distinct", "scale", "marks"):
                self.column(name)[row] = 0
            self.column("before")[row] = self.column("after")[row] = NONE

    def touch(self, id: bytes, updated_at: int, soft: int | None, until: int) -> None:
        """Renew the times of a row that was said again."""
        row = self.row_of.get(id)
        if row is not None:
            self.column("updated")[row] = updated_at
            self.column("soft")[row] = FOREVER if soft is None else soft
            self.column("until")[row] = until
            self.revision += 1

    def compact_if_sparse(self) -> None:
        """Close the holes where they are more than `MOST_HOLES` of the rows."""
        if self.size - len(self) <= MOST_HOLES * self.size:
            return
        live = self.column("live").copy()
        number = np.append(np.where(live, np.cumsum(live) - 1, NONE), NONE)
        for term in list(self.terms):
            rows, counts = self.postings(term)
            if len(rows):
                kept = array("i", number[rows].astype(np.int32).tobytes())
                self.terms[term] = Postings(kept, array("H", counts.tobytes()))
            else:
                del self.terms[term]
        kept_rows = np.flatnonzero(live).tolist()
        self.ids = [self.ids[row] for row in kept_rows]
        self.keys = [self.keys[row] for row in kept_rows]
        self._hashes = [self._hashes[row] for row in kept_rows]
        self.row_of = {id: row for row, id in enumerate(self.ids)}
        self._turns = {turn: int(number[row]) for turn, row in self._turns.items()}
        self.by_hash = {name: int(number[row]) for name, row in self.by_hash.items()}
        self.by_key = {key: [int(number[r]) for r in rows] for key, rows in self.by_key.items()}
        for name in ("before", "after"):
            self.column(name)[:] = number[self.column(name)]
        for column in (*self._columns.values(), self._vectors):
            column.keep(live)
        self.revision += 1

    # -- lookups -----------------------------------------------------------------------------------

    def postings(self, term: str) -> tuple[NDArray[np.int32], NDArray[np.uint16]]:
        """Return the live rows that hold a term, rising, and how often each does."""
        found = self.terms.get(term)
        if found is None:
            return np.zeros(0, np.int32), np.zeros(0, np.uint16)
        rows, counts = np.array(found.rows, np.int32), np.array(found.counts, np.uint16)
        if len(self) == self.size:
            return rows, counts
        live = self.column("live")[rows]
        return rows[live], counts[live]

    def dots(self, queries: Floats) -> Floats:
        """Return the dot product of each row's vector with each column of a matrix."""
        found = np.empty((self.size, queries.shape[1]), np.float32)
        wide = np.empty((min(BLOCK_ROWS, self.size), len(queries)), np.float32)
        for start in range(0, self.size, BLOCK_ROWS):
            block = self.vectors[start : start + BLOCK_ROWS]
            wide[: len(block)] = block
            np.matmul(wide[: len(block)], queries, out=found[start : start + len(block)])
        scaled: Floats = found * self.column("scale")[:, None]
        return scaled

    def near(
        self, place: Place, terms: Iterable[str], vector: Floats | None
    ) -> tuple[Floats, Floats]:
        """Return word overlap (Jaccard) and cosine of a text with each statement of a place.

        Turns, other places and holes have 0.
        """
        distinct = set(terms)
        shared = np.zeros(self.size, np.int32)
        for term in distinct:
            shared[self.postings(term)[0]] += 1
        united = np.maximum(self.column("distinct") + len(distinct) - shared, 1)
        here = self.column("live") & ~self.column("turn")
        here &= self.column("place") == self.places.get(place, NONE)
        close = np.zeros(self.size) if vector is None else self.dots(vector[:, None])[:, 0]
        return here * (shared / united), here * close

    def count(self, task: str | None, *, turns: bool) -> int:
        """Return how many memories in force a scope has: turns, or everything else."""
        codes = [code for place, code in self.places.items() if place.task == task]
        of_scope = np.isin(self.column("place"), codes) & self.column("live")
        return int(np.count_nonzero(of_scope & (self.column("turn") == turns)))
