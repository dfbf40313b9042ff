"""The columnar index of one owner: rows appended, removed and refreshed without a rebuild.

Every attribute that ranking reads is one numpy column over all rows, and every term has a postings
list, so a query is a handful of array operations and no Python loop over rows. A removed row stays
as a hole, emptied at once of terms and vector, until `OwnerIndex.compact_if_sparse`.

The index proposes and the database decides: callers fetch the rows of what they found and check
them. So an addition may appear before its commit; a removal is applied after the commit.
"""

from __future__ import annotations

import json
import threading
from array import array
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from simonides.core.clock import DAY_MS, FOREVER, MINUTE_MS, in_steps
from simonides.core.record import (
    TURN,
    Audience,
    Importance,
    Kind,
    Partition,
    Status,
    Trust,
    is_gap,
)
from simonides.storage import statements
from simonides.storage.database import Connection
from simonides.storage.rows import MemoryRow, partition_of, rows_of_ids
from simonides.text.analyse import Mark, analyse, marks_of
from simonides.text.statement import fingerprint
from simonides.text.topics import Topic

if TYPE_CHECKING:
    from simonides.recall.view import OptOut

Floats = NDArray[np.floating[Any]]
Ints = NDArray[np.integer[Any]]
Bools = NDArray[np.bool_]

NONE = -1
"""The row number of an absent neighbour. Columns padded with one value at the end serve it."""

MOST_HOLES = 0.25
"""Share of removed rows from which the index is compacted. Set by judgement: a query then wastes a
third."""

MOST_TOKENS_KEPT = 16_384
"""Rows of an owner whose token vectors are kept in memory, about 35 MB. Set by judgement."""

MOST_COUNTED = 65_535
"""Largest number of times that a term counts in one row."""

BLOCK_ROWS = 1024
"""Vectors that are widened to float32 at once: 1 MB, which stays in the cache of a core."""

KINDS = tuple(Kind)
_KIND_CODES = {kind.value: code for code, kind in enumerate(KINDS)}
_WEIGHTS = {each.value: each.weight for each in Importance}


def _is_turn(row: MemoryRow) -> bool:
    return bool(row["category"] == TURN and row["position"] is not None)


def _tags(cell: str | None) -> tuple[str, ...]:
    return () if cell is None else tuple(json.loads(cell))


def _session(row: MemoryRow) -> str:
    """Return the conversation of a row; a memory that is no turn is a session of its own."""
    return (row["session"] if _is_turn(row) else None) or f"\0{row['id'].hex()}"


class Analysed(NamedTuple):
    """What is stored beside a memory so that an index is built without analysis.

    Attributes:
        text: The text that recall searches: ``speaker: content key tags``.
        terms: Its terms in order.
        marks: `Mark` of the content.
        fingerprint: Of the content.
    """

    text: str
    terms: list[str]
    marks: int
    fingerprint: bytes


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
    of_kind = (Mark.GAP if is_gap(content) else 0) if is_turn else Mark.SELF
    marks = int(marks_of(content) | of_kind)
    return Analysed(text, analyse(text), marks, b"" if is_turn else fingerprint(content))


def quantise(vectors: NDArray[np.float32]) -> tuple[NDArray[np.int8], NDArray[np.float32]]:
    """Return signed bytes and the value of one step of each row: a quarter of float32's memory."""
    steps = np.abs(vectors).max(axis=1, initial=0.0) / np.float32(127)
    return np.rint(vectors / np.where(steps > 0, steps, 1)[:, None]).astype(np.int8), steps


class GrowingArray:
    """A numpy array that grows at its end in amortised constant time."""

    def __init__(self, dtype: type, width: int = 0) -> None:
        self.cells: NDArray[Any] = np.zeros((16, width) if width else 16, dtype)
        self._used = 0

    def extend(self, values: Sequence[Any] | NDArray[Any]) -> None:
        """Add cells."""
        after = self._used + len(values)
        if after > len(self.cells):
            shape = (max(after, 2 * len(self.cells)), *self.cells.shape[1:])
            grown = np.zeros(shape, self.cells.dtype)
            grown[: self._used] = self.array
            self.cells = grown
        # One cell is set as it is: an array made of it would take ten times as long.
        self.cells[self._used : after] = values[0] if len(values) == 1 else values
        self._used = after

    def keep(self, chosen: Bools) -> None:
        """Drop all cells but the chosen."""
        self.cells = self.array[chosen]
        self._used = len(self.cells)

    @property
    def array(self) -> NDArray[Any]:
        """The cells, as a view that is valid until the next append."""
        return self.cells[: self._used]


class Postings(NamedTuple):
    """Where one term occurs: rows, rising, and how often in each."""

    rows: array[int]
    counts: array[int]


_CELLS: Mapping[str, type] = {
    "live": np.bool_, "length": np.float32, "distinct": np.int32, "time": np.int64, "day": np.int32,
    "updated": np.int64, "until": np.int64, "soft": np.int64, "importance": np.float32,
    "confidence": np.float32, "fades": np.bool_, "stale": np.bool_, "pinned": np.bool_,
    "turn": np.bool_, "kind": np.int8, "category": np.int32, "marks": np.uint8,
    "task": np.int32, "readers": np.int32, "speaker": np.int32, "session": np.int32,
    "position": np.int64, "before": np.int64, "after": np.int64,
    "id_high": np.uint64, "id_low": np.uint64, "scale": np.float32, "embedded": np.bool_,
    "tokens": np.int32,
}  # fmt: skip
"""The columns of an index: one cell for each row."""


class OwnerIndex:
    """The memories in force of one owner as columns.

    Attributes:
        lock: Held by every reader and writer of the index.
        is_changing: Whether a turn adds rows that are not committed yet.
        is_whole: False while a change is under way, and after one that was interrupted.
        seen: Length of the audit chain up to which it is complete.
        epoch: The owner's epoch that it was built in.
        revision: Raised by every change of the rows.
        latest: Time of the row that was said last, at least.
        refusals: What the owner does not want to have remembered.
        by_key: Ids of the rows of a key.
        by_tag: Ids of the rows of a tag.
        by_fingerprint: Ids of the rows, other than turns, of a fingerprint.
        sources: Where the rows, other than turns, come from, or came from once.
        holding: How many rows hold each token.
        tokens: Token vectors of rows that were among the best of a query, by id.
    """

    def __init__(self, dimensions: int, embedder: str | None = None, epoch: int = 0) -> None:
        """Begin empty.

        Args:
            dimensions: Of the embedder's vectors.
            embedder: Its id, or None; a vector of another one is left out.
            epoch: The owner's epoch.
        """
        self.lock, self.embedder = threading.RLock(), embedder
        self.is_changing, self.is_whole = False, True
        self.seen, self.epoch, self.revision = 0, epoch, 0
        self.latest = 0
        self._columns = {name: GrowingArray(dtype) for name, dtype in _CELLS.items()}
        self._vectors = GrowingArray(np.int8, dimensions)
        # Lists of bytes and strings, not of objects: the garbage collector walks objects, and its
        # walk over 8,000 of them stops an event loop for 90 ms.
        self.ids: list[bytes] = []
        self.keys: list[str | None] = []
        self._tags: list[str | None] = []  # as in their rows
        self._fingerprints: list[bytes] = []
        self._token_ids: list[bytes] = []
        self._waiting: dict[bytes, MemoryRow] = {}
        self.holding: dict[int, int] = {}
        self.tokens: dict[bytes, NDArray[np.int8]] = {}
        self.terms: dict[str, Postings] = {}
        self.tasks: dict[str | None, int] = {}
        self.readers: dict[tuple[Audience, str | None], int] = {}
        self.speakers: dict[str, int] = {}
        self.categories: dict[str, int] = {}
        self.sessions: dict[str, int] = {}
        self.row_of: dict[bytes, int] = {}
        self.by_key: dict[str, list[bytes]] = {}
        self.by_tag: dict[str, list[bytes]] = {}
        self.by_fingerprint: dict[bytes, list[bytes]] = {}
        self.sources: set[str] = set()
        self._turns: dict[tuple[int, int], int] = {}
        self.without_vector = 0
        self.refusals: tuple[OptOut, ...] = ()
        self._hidden: tuple[int, Bools] = (-1, np.zeros(0, np.bool_))

    def __len__(self) -> int:
        return len(self.row_of) + len(self._waiting)

    @property
    def size(self) -> int:
        """The number of rows with the holes."""
        return len(self.ids)

    @property
    def nbytes(self) -> int:
        """Roughly the memory that it takes; the postings are counted by their terms and rows."""
        columns = sum(each.cells.nbytes for each in (*self._columns.values(), self._vectors))
        tokens = 100 * len(self.holding) + 3_000 * len(self.tokens)
        return columns + tokens + 260 * len(self.terms) + 600 * self.size

    def column(self, name: str) -> NDArray[Any]:
        """Return a column by name, valid until the next change."""
        return self._columns[name].array

    @property
    def vectors(self) -> NDArray[np.int8]:
        """The vectors, shape (size, dimensions)."""
        return self._vectors.array

    # -- changes -----------------------------------------------------------------------------------

    def add(self, rows: Iterable[MemoryRow]) -> None:
        """Add rows; a row whose id is there already is replaced. `settle` gives them columns.

        Args:
            rows: Cells by column, at least those of `statements.INDEXED`.
        """
        added = {row["id"]: row for row in in_steps(rows)}
        self.remove(added)
        self.is_whole = False
        for id, row in added.items():
            if not _is_turn(row):
                self.by_fingerprint.setdefault(row["fingerprint"], []).append(id)
                self.sources.add(row["source"])
            if row["key"] is not None:
                self.by_key.setdefault(row["key"], []).append(id)
            for tag in _tags(row["tags"]):
                self.by_tag.setdefault(tag, []).append(id)
            self.without_vector += not self._has_vector(row)
            self.latest = max(self.latest, row["said_at"])
        self._waiting |= added
        self.revision += 1
        self.is_whole = True

    def lacking(self, rows: Iterable[MemoryRow]) -> list[MemoryRow]:
        """Return those rows in force that it does not hold."""
        current = (row for row in rows if row["known_to"] is None)
        known = (self.row_of, self._waiting)
        return [row for row in current if not any(row["id"] in each for each in known)]

    def _has_vector(self, row: MemoryRow) -> bool:
        return row["vector"] is not None and row["embedder"] == self.embedder

    def settle(self) -> None:
        """Give all rows their columns, before they are read: many at once cost little."""
        added = list(self._waiting.values())
        if not added:
            return
        self.is_whole = False
        self._waiting.clear()
        self.revision += 1
        first = len(self.ids)
        cells = [self._entered(number, row) for number, row in in_steps(enumerate(added, first))]
        for name, values in zip(_CELLS, zip(*cells, strict=True), strict=True):
            self._columns[name].extend(values)
        self._link(first, added)
        blank = bytes(self.vectors.shape[1])
        signed = b"".join(row["vector"] if self._has_vector(row) else blank for row in added)
        self._vectors.extend(np.frombuffer(signed, np.int8).reshape(len(added), -1))
        self.is_whole = True

    def _entered(self, number: int, row: MemoryRow) -> tuple[Any, ...]:
        """Enter a row into the lists and postings; return its cells, in the order of `_CELLS`."""
        id, has_vector = row["id"], self._has_vector(row)
        terms = row["terms"].split(" ") if row["terms"] else ()
        counts: dict[str, int] = {}  # for the few terms of a row, faster than a Counter
        for term in terms:
            counts[term] = counts.get(term, 0) + 1
        for term, count in counts.items():
            postings = self.terms.get(term)
            if postings is None:
                postings = self.terms[term] = Postings(array("i"), array("H"))
            postings.rows.append(number)
            postings.counts.append(count if count < MOST_COUNTED else MOST_COUNTED)
        session = _code(self.sessions, _session(row))
        self._turns[session, row["position"] or 0] = number
        self.ids.append(id)
        self.keys.append(row["key"])
        self._tags.append(row["tags"])
        self._fingerprints.append(row["fingerprint"])
        token_ids = (row["token_ids"] or b"") if has_vector else b""
        self._token_ids.append(token_ids)
        for token in _tokens(token_ids):
            self.holding[token] = self.holding.get(token, 0) + 1
        self.row_of[id] = number
        readers = partition_of(row["task"], row["audience"], row["purpose"])
        ends = [each for each in (row["hard_expires_at"], row["valid_to"]) if each is not None]
        soft, at = row["soft_expires_at"], row["said_at"]
        fades = row["trust"] == Trust.AGENT and row["verified_at"] is None
        return (
            True, len(terms), len(counts),
            at, (at + (row["utc_offset"] or 0) * MINUTE_MS) // DAY_MS,
            row["updated_at"], min(ends, default=FOREVER), FOREVER if soft is None else soft,
            _WEIGHTS[row["importance"]], row["confidence"], fades,
            row["status"] == Status.STALE, bool(row["pinned"]), _is_turn(row),
            _KIND_CODES[row["kind"]], _code(self.categories, row["category"]), row["marks"],
            _code(self.tasks, row["task"]), _code(self.readers, readers[1:]),
            _code(self.speakers, row["speaker"] or row["role"] or ""), session,
            row["position"] or 0, NONE, NONE,
            int.from_bytes(id[:8], "big"), int.from_bytes(id[8:], "big"),
            row["scale"] if has_vector else 0.0, has_vector, len(token_ids) // 2,
        )  # fmt: skip

    def _link(self, first: int, added: Sequence[MemoryRow]) -> None:
        """Tie new turns to the turns before and after them in their sessions."""
        before, after = self.column("before"), self.column("after")
        for number, row in enumerate(added, first):
            if _is_turn(row):
                session = self.sessions[_session(row)]
                for links, back, step in ((before, after, -1), (after, before, 1)):
                    other = self._turns.get((session, row["position"] + step), NONE)
                    if other != NONE:
                        links[number], back[other] = other, number

    def remove(self, ids: Iterable[bytes]) -> None:
        """Empty rows, so that nothing of them counts in any later query."""
        for id in ids:
            if id in self._waiting:
                self.settle()
            row = self.row_of.get(id)
            if row is None:
                continue
            self.is_whole = False
            self.revision += 1
            del self.row_of[id]
            self.without_vector -= not self.column("embedded")[row]
            self.vectors[row] = 0
            self.tokens.pop(id, None)
            for token in _tokens(self._token_ids[row]):
                self.holding[token] -= 1
            self._token_ids[row] = b""
            before, after = self.column("before")[row], self.column("after")[row]
            if before != NONE:
                self.column("after")[before] = NONE
            if after != NONE:
                self.column("before")[after] = NONE
            turn = (int(self.column("session")[row]), int(self.column("position")[row]))
            if self._turns.get(turn) == row:
                del self._turns[turn]
            _unlist(self.by_fingerprint, self._fingerprints[row], id)
            _unlist(self.by_key, self.keys[row], id)
            for tag in _tags(self._tags[row]):
                _unlist(self.by_tag, tag, id)
            for name in ("live", "length", "distinct", "scale", "marks", "tokens"):
                self.column(name)[row] = 0
            self.column("before")[row] = self.column("after")[row] = NONE
            self.is_whole = True

    def compact_if_sparse(self) -> None:
        """Close the holes where they are more than `MOST_HOLES` of the rows."""
        if self.size - len(self.row_of) <= MOST_HOLES * self.size:
            return
        self.is_whole = False
        live = self.column("live").copy()
        number = np.append(np.where(live, np.cumsum(live) - 1, NONE), NONE)
        for term in list(self.terms):
            rows, counts, _ = self.postings([term])
            if len(rows):
                kept = array("i", number[rows].astype(np.int32).tobytes())
                self.terms[term] = Postings(kept, array("H", counts.tobytes()))
            else:
                del self.terms[term]
        kept_rows = np.flatnonzero(live).tolist()
        self.ids = [self.ids[row] for row in kept_rows]
        self.keys = [self.keys[row] for row in kept_rows]
        self._tags = [self._tags[row] for row in kept_rows]
        self._fingerprints = [self._fingerprints[row] for row in kept_rows]
        self._token_ids = [self._token_ids[row] for row in kept_rows]
        self.row_of = {id: row for row, id in enumerate(self.ids)}
        used = np.unique(self.column("session")[live])
        code = np.full(len(self.sessions), NONE)
        code[used] = np.arange(len(used))
        codes = ((name, int(code[old])) for name, old in self.sessions.items())
        self.sessions = {name: new for name, new in codes if new != NONE}
        self._turns = {(int(code[s]), at): int(number[row]) for (s, at), row in self._turns.items()}
        self.column("session")[:] = code[self.column("session")]
        for name in ("before", "after"):
            self.column(name)[:] = number[self.column(name)]
        for column in (*self._columns.values(), self._vectors):
            column.keep(live)
        self.revision += 1
        self.is_whole = True

    # -- lookups -----------------------------------------------------------------------------------

    def postings(self, terms: Sequence[str]) -> tuple[Ints, Ints, Ints]:
        """Return rows that hold terms, how often each does, and the number of the term."""
        entries = [(n, self.terms[term]) for n, term in enumerate(terms) if term in self.terms]
        if not entries:
            return np.zeros(0, np.int32), np.zeros(0, np.uint16), np.zeros(0, np.int64)
        rows = np.concatenate([np.frombuffer(each.rows, np.int32) for _, each in entries])
        counts = np.concatenate([np.frombuffer(each.counts, np.uint16) for _, each in entries])
        numbers = np.repeat([n for n, _ in entries], [len(each.rows) for _, each in entries])
        if len(self.row_of) == self.size:
            return rows, counts, numbers
        live = self.column("live")[rows]
        return rows[live], counts[live], numbers[live]

    def dots(self, query: Floats) -> Floats:
        """Return the dot product of each row's vector with a vector."""
        products = np.empty(self.size, np.float32)
        wide = np.empty((min(BLOCK_ROWS, self.size), len(query)), np.float32)
        for start in range(0, self.size, BLOCK_ROWS):
            block = self.vectors[start : start + BLOCK_ROWS]
            wide[: len(block)] = block
            np.matmul(wide[: len(block)], query, out=products[start : start + len(block)])
        products *= self.column("scale")
        return products

    def token_ids(self, row: int) -> list[int]:
        """Return the ids of the tokens of a row."""
        return _tokens(self._token_ids[row])

    def token_vectors(
        self, connection: Connection, owner: str, rows: Sequence[int]
    ) -> list[NDArray[np.int8]]:
        """Return the vectors of the tokens of some rows, each of shape (tokens, dimensions)."""
        width, counts = self.vectors.shape[1], self.column("tokens")
        size = {self.ids[row]: int(counts[row]) for row in rows}
        lacking = [id for id in size if size[id] and id not in self.tokens]
        if len(self.tokens) + len(lacking) > MOST_TOKENS_KEPT:
            self.tokens, lacking = {}, [id for id in size if size[id]]
        for id, cells in rows_of_ids(connection, statements.tokens_of, lacking, owner=owner):
            if len(cells) == size[id] * width:  # else it was embedded anew meanwhile
                self.tokens[id] = np.frombuffer(cells, np.int8).reshape(-1, width)
        none = np.zeros((0, width), np.int8)
        return [self.tokens.get(id, none) for id in size]

    def cosine(self, id: bytes, vector: Floats | None) -> float:
        """Return the cosine of a row with a unit vector; 0 where either has none."""
        new, row = self._waiting.get(id), self.row_of.get(id)
        if vector is None:
            return 0.0
        if new is not None and self._has_vector(new):
            return float(new["scale"]) * float(vector @ np.frombuffer(new["vector"], np.int8))
        if row is None:
            return 0.0
        return float(self.column("scale")[row]) * float(vector @ self.vectors[row])

    def overlapping(self, partition: Partition, terms: Iterable[str]) -> Floats:
        """Return the word overlap (Jaccard) of a text with each statement of a partition.

        Turns, other partitions and holes have 0.
        """
        self.settle()
        distinct = set(terms)
        shared = np.zeros(self.size, np.int32)
        for term in distinct & self.terms.keys():
            # A view would block appending to the array, so it must not outlive this line.
            shared[np.frombuffer(self.terms[term].rows, np.int32)] += 1
        united = np.maximum(self.column("distinct") + len(distinct) - shared, 1)
        here = self.column("live") & ~self.column("turn")
        here &= self.of_tasks([partition.task])
        here &= self.of_readers(lambda *readers: readers == (partition.audience, partition.purpose))
        overlaps: Floats = here * (shared / united)
        return overlaps

    def covered(self, topic: Topic) -> Bools:
        """Return which rows a topic covers."""
        self.settle()
        is_covered = self._identified(topic) & bool(topic.groups or topic.identifiers)
        for group in topic.groups:
            is_covered &= self.with_any(group)
        for other in topic.others:
            is_covered |= self.covered(other)
        return is_covered

    def with_any(self, terms: Iterable[str]) -> Bools:
        """Return which rows hold one of some terms."""
        holds = np.zeros(self.size, np.bool_)
        holds[self.postings(list(terms))[0]] = True
        return holds

    def partly(self, groups: Iterable[Iterable[str]]) -> Bools:
        """Return which rows hold a term of any of some groups."""
        return self.with_any({term for group in groups for term in group})

    def _identified(self, topic: Topic) -> Bools:
        """Return which rows hold an identifier of a topic, or one that begins with it; or all."""
        holds = np.full(self.size, not topic.identifiers)
        for terms in topic.identifiers:
            rows, _, _ = self.postings(list(terms))
            here = np.bincount(rows, minlength=self.size) == len(terms)
            if not here.any() and len(terms) == 1:
                longer = [term for term in self.terms if term.startswith(tuple(terms))]
                here[self.postings(longer)[0]] = True
            holds |= here
        return holds

    def hidden(self) -> Bools:
        """Return which rows the owner's refusals hide."""
        if self._hidden[0] != self.revision:
            is_hidden = np.zeros(self.size, np.bool_)
            for refusal in self.refusals:
                if refusal.topic is not None:
                    is_hidden |= self.covered(refusal.topic)
                elif refusal.ids:
                    is_hidden[self.rows_of(refusal.ids)] = True
                elif refusal.kind == "key":
                    is_hidden[self.rows_of(self.by_key.get(refusal.value, ()))] = True
                else:
                    code = self.categories.get(refusal.value, NONE)
                    is_hidden |= self.column("category") == code
            self._hidden = (self.revision, is_hidden)
        return self._hidden[1]

    def of_tasks(self, tasks: Iterable[str | None] | None) -> Bools:
        """Return which rows belong to some tasks, of which None is no task; to any, for None."""
        if tasks is None:
            return np.ones(self.size, np.bool_)
        codes = [self.tasks[task] for task in tasks if task in self.tasks]
        return np.isin(self.column("task"), codes)

    def of_readers(self, chosen: Callable[[Audience, str | None], bool]) -> Bools:
        """Return which rows have an audience and a purpose that are chosen."""
        allowed = np.array([chosen(*each) for each in self.readers], np.bool_)
        return np.ones(self.size, np.bool_) if allowed.all() else allowed[self.column("readers")]

    def in_scope(self, task: str | None, *, turns: bool) -> Bools:
        """Return which rows are in force in a scope: the turns in it, or everything else."""
        self.settle()
        in_force: Bools = self.column("live") & (self.column("turn") == turns)
        return in_force & self.of_tasks([task])

    def of_categories(self, names: Iterable[str]) -> Bools:
        """Return which rows are in force in some categories."""
        self.settle()
        codes = [self.categories[name] for name in names if name in self.categories]
        in_force: Bools = np.isin(self.column("category"), codes) & self.column("live")
        return in_force

    def rows_of(self, ids: Iterable[bytes]) -> list[int]:
        """Return the rows of those ids that are there."""
        return [self.row_of[id] for id in ids if id in self.row_of]


def _code(codes: dict[Any, int], name: object) -> int:
    """Return the number of a name, a new one for a new name."""
    return codes.setdefault(name, len(codes))


def _tokens(ids: bytes) -> list[int]:
    tokens: list[int] = np.frombuffer(ids, "<u2").tolist()
    return tokens


def _unlist(ids: dict[Any, list[bytes]], name: object, id: bytes) -> None:
    """Take an id out of a mapping of lists."""
    listed = ids.get(name, [])
    if id in listed:
        listed.remove(id)
        if not listed:
            del ids[name]
