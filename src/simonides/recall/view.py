"""Several owners' indexes as one, as of now or of the past.

`View` joins what a reader sees of itself, its organisation and the world. Columns are concatenated
and counts summed, so evidence is standardised over the union: splitting one owner's rows over
several changes no score. A view of one index copies nothing.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from itertools import accumulate
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from simonides.core.clock import DAY_MS, FOREVER
from simonides.core.engine import Engine
from simonides.core.record import DECAY_A_DAY
from simonides.core.scope import Principal
from simonides.recall.index import NONE, Floats, Ints, OwnerIndex
from simonides.storage import statements
from simonides.storage.database import Connection
from simonides.storage.rows import MemoryRow, memory_row
from simonides.text.topics import Topic, topic_of

T = TypeVar("T")

PAUSE = "recall"
"""Kind of the row of `statements.PAUSED`."""


class View:
    """Some indexes, nearest owner first, at one revision. Use it in `locked`."""

    def __init__(self, owners: Sequence[str], parts: Sequence[OwnerIndex]) -> None:
        """Join indexes.

        Args:
            owners: Names of their owners.
            parts: The indexes.
        """
        self.owners, self.parts = tuple(owners), tuple(parts)
        for part in parts:
            with part.lock:
                part.settle()
        self.revisions = tuple(part.revision for part in parts)
        sizes = [part.size for part in parts]
        *self.offsets, self.size = accumulate(sizes, initial=0)
        self.speakers, self._speaker_codes = _joined([part.speakers for part in parts])
        self.session_count = sum(len(part.sessions) for part in parts)
        self._columns: dict[str, NDArray[Any]] = {}
        self._derived: dict[Callable[[View], Any], Any] = {}

    def __len__(self) -> int:
        return sum(map(len, self.parts))

    @property
    def is_current(self) -> bool:
        """Whether no index has changed since."""
        return self.revisions == tuple(part.revision for part in self.parts)

    def locked(self, work: Callable[[], T]) -> T:
        """Return ``work()``, done under the locks of all indexes, which are taken in one order."""
        return _under([part.lock for part in sorted(self.parts, key=id)], work)

    def column(self, name: str) -> NDArray[Any]:
        """Return a column of all rows by name; rows of other owners come after the nearest's."""
        if name not in self._columns:
            self._columns[name] = self._concatenated(name)
        return self._columns[name]

    def confidence(self, now: int) -> NDArray[Any]:
        """Return how sure each row is: inferences that nobody confirmed lose some every day."""
        days = np.maximum(now - self.column("time"), 0) / DAY_MS
        lost = DECAY_A_DAY * days * self.column("fades")
        confidence: NDArray[Any] = np.maximum(self.column("confidence") - lost, 0.0)
        return confidence

    def _concatenated(self, name: str) -> NDArray[Any]:
        if len(self.parts) == 1:
            return self.parts[0].column(name)
        parts = [part.column(name) for part in self.parts]
        if name in ("before", "after"):
            pairs = zip(parts, self.offsets, strict=True)
            parts = [np.where(part == NONE, NONE, part + offset) for part, offset in pairs]
        elif name == "session":
            first = accumulate((len(part.sessions) for part in self.parts), initial=0)
            parts = [part + offset for part, offset in zip(parts, first, strict=False)]
        elif name == "speaker":
            parts = [codes[part] for part, codes in zip(parts, self._speaker_codes, strict=True)]
        return np.concatenate(parts)

    def postings(self, terms: Sequence[str]) -> tuple[Ints, Ints, Ints]:
        """Return rows that hold terms, how often each does, and the number of the term."""
        if len(self.parts) == 1:
            return self.parts[0].postings(terms)
        postings = [part.postings(terms) for part in self.parts]
        rows = [rows + offset for (rows, _, _), offset in zip(postings, self.offsets, strict=True)]
        counts, numbers = ([each[n] for each in postings] for n in (1, 2))
        return np.concatenate(rows), np.concatenate(counts), np.concatenate(numbers)

    def dots(self, query: Floats) -> Floats:
        """Return the dot product of each row's vector with a vector."""
        if len(self.parts) == 1:
            return self.parts[0].dots(query)
        return np.concatenate([part.dots(query) for part in self.parts])

    def token_vectors(self, connection: Connection, rows: Ints) -> list[NDArray[np.int8]]:
        """Return the vectors of the tokens of some rows, which rise; see `OwnerIndex`."""
        starts, vectors = np.searchsorted(rows, [*self.offsets, self.size]), []
        for n, part in enumerate(self.parts):
            own = rows[starts[n] : starts[n + 1]] - self.offsets[n]
            vectors += part.token_vectors(connection, self.owners[n], own.tolist())
        return vectors

    def token_ids(self, row: int) -> list[int]:
        """Return the ids of the tokens of a row."""
        part, at = self.locate(row)
        return part.token_ids(at)

    def holding(self, token: int) -> int:
        """Return how many rows hold a token."""
        return sum(part.holding.get(token, 0) for part in self.parts)

    def vectors(self, rows: Sequence[int]) -> NDArray[np.float32]:
        """Return the vectors of some rows, shape (n, dimensions)."""
        located = [self.locate(row) for row in rows]
        cells = [part.vectors[at] * part.column("scale")[at] for part, at in located]
        return np.array(cells, np.float32)

    def locate(self, row: int) -> tuple[OwnerIndex, int]:
        """Return the index of a row, and its row there."""
        part = int(np.searchsorted(self.offsets, row, "right")) - 1
        return self.parts[part], row - self.offsets[part]

    def owner_and_id(self, row: int) -> tuple[str, bytes]:
        """Return the owner and the id of a row."""
        part, at = self.locate(row)
        return self.owners[self.parts.index(part)], part.ids[at]

    def row_of(self, owner: str, id: bytes) -> int | None:
        """Return the row of a memory, or None."""
        for name, part, offset in zip(self.owners, self.parts, self.offsets, strict=True):
            if name == owner and id in part.row_of:
                return part.row_of[id] + offset
        return None

    def rows_of_keys(self, keys: Iterable[str]) -> list[int]:
        """Return the rows of some keys."""
        return self._rows_of(keys, [part.by_key for part in self.parts])

    def rows_of_tags(self, tags: Iterable[str]) -> list[int]:
        """Return the rows of some tags."""
        return self._rows_of(tags, [part.by_tag for part in self.parts])

    def _rows_of(
        self, names: Iterable[str], listed: Iterable[Mapping[str, list[bytes]]]
    ) -> list[int]:
        return [
            part.row_of[id] + offset
            for part, offset, own in zip(self.parts, self.offsets, listed, strict=True)
            for name in names
            for id in own.get(name, ())
        ]

    def derived(self, make: Callable[[View], T]) -> T:
        """Return ``make(self)``, computed once."""
        if make not in self._derived:
            self._derived[make] = make(self)
        value: T = self._derived[make]
        return value


def _under(locks: Sequence[AbstractContextManager[object]], work: Callable[[], T]) -> T:
    # Critical section: an interrupt could fall between two instructions of a context manager
    # written in Python, and a lock would stay. A plain `with` of a lock has no such gap.
    if not locks:
        return work()
    with locks[0]:
        return _under(locks[1:], work)


def _joined(
    names: Sequence[Mapping[str, int]],
) -> tuple[Mapping[str, int], list[NDArray[np.int32]]]:
    """Return common codes for several numberings of names, and the codes of each numbering."""
    if len(names) == 1:
        return names[0], []
    common: dict[str, int] = {}
    codes = [
        np.array([common.setdefault(name, len(common)) for name in each], np.int32)
        for each in names
    ]
    return common, codes


@dataclass(frozen=True)
class OptOut:
    """What an owner does not want to have remembered, or may want to have forgotten.

    Attributes:
        kind: ``key``, ``category``, ``topic`` or ``session``; ``asked`` while the owner is asked.
        value: The key, the category, the topic's words or the session.
        topic: The topic, or None.
        ids: Ids of the rows that a request may mean, about which the owner is asked.
    """

    kind: str
    value: str
    topic: Topic | None = None
    ids: frozenset[bytes] = frozenset()

    def covers(self, key: str | None, category: str, terms: Iterable[str]) -> bool:
        """Whether it covers a memory of a key, a category and index terms; see `Topic.covers`."""
        if self.topic is not None:
            return self.topic.covers(terms)
        return self.value == {"key": key, "category": category}.get(self.kind)


def opt_outs_of(connection: Connection, owner: str) -> tuple[OptOut, ...]:
    """Return what an owner does not want to have remembered, or is asked about."""
    opt_outs = []
    for _, kind, value, _, text in connection.rows(statements.REFUSALS, {"owner": owner}):
        if kind == PAUSE:
            continue
        data = json.loads(text)
        topic = topic_of(value, frozenset(data["names"])) if kind == "topic" else None
        opt_outs.append(OptOut(kind, value, topic))
        opt_outs += [OptOut(*each) for each in data["also"]]
    for *_, data in connection.rows(statements.PENDING, {"owner": owner}):
        if meant := json.loads(data).get("hidden"):
            opt_outs.append(OptOut("asked", "", None, frozenset(map(bytes.fromhex, meant))))
    return tuple(opt_outs)


def unrefused(connection: Connection, who: Principal, rows: Iterable[MemoryRow]) -> list[MemoryRow]:
    """Return the memories that the user did not refuse; none if the conversation is refused."""
    opt_outs = opt_outs_of(connection, who.owner)
    if is_refused(who, opt_outs):
        return []
    return [
        row
        for row in rows
        if not any(
            row["id"] in each.ids or each.covers(row["key"], row["category"], row["terms"].split())
            for each in opt_outs
        )
    ]


def is_paused(connection: Connection, who: Principal) -> bool:
    """Whether the user has paused recall: nothing of the memory goes into prompts."""
    return connection.one(statements.PAUSED, {"owner": who.owner}) is not None


def is_refused(who: Principal, opt_outs: Iterable[OptOut]) -> bool:
    """Whether the conversation of the caller is refused."""
    return any((each.kind, each.value) == ("session", who.conversation) for each in opt_outs)


def renew_opt_outs(connection: Connection, owner: str, index: OwnerIndex) -> None:
    """Let an index hide what its owner refuses or is asked about by now."""
    with index.lock:
        index.refusals = opt_outs_of(connection, owner)
        index.revision += 1


def view_of_the_past(
    engine: Engine,
    connection: Connection,
    owners: Sequence[str],
    known_at: int | None,
    valid_at: int | None,
    now: int,
) -> View:
    """Return a view of what was known at one moment and true at another; built for this call."""
    parts: dict[str, OwnerIndex] = {}
    for owner in owners:
        index = OwnerIndex(engine.indexes.dimensions, engine.indexes.embedder)
        rows = past_rows(connection, owner, known_at, valid_at)
        # What has expired by now is never returned, also not from the past.
        index.add(row for row in rows if not _ended_by(row["hard_expires_at"], now))
        if len(index) or not parts:
            parts[owner] = index
    return View(tuple(parts), tuple(parts.values()))


def past_rows(
    connection: Connection, owner: str, known_at: int | None, valid_at: int | None
) -> list[MemoryRow]:
    """Return one version a memory: known at a moment, and true at another.

    Without ``valid_at`` it is the version in force at ``known_at``. With it, of the versions that
    were known by then, the last one that had begun to be true. The first version of a memory is
    true from ever on unless it says otherwise; a later one from when it was recorded.
    """
    moment = FOREVER if known_at is None else known_at
    rows = map(memory_row, connection.rows(statements.AS_OF, {"owner": owner, "known_at": moment}))
    if valid_at is None:
        ends = ("known_to", "hard_expires_at", "valid_to")
        return [row for row in rows if not any(_ended_by(row[end], moment) for end in ends)]
    chosen: dict[bytes, MemoryRow] = {}
    begun: dict[bytes, int] = {}
    for row in rows:  # by memory, then by version
        begins = row["valid_from"]
        if begins is None:
            begins = -FOREVER if row["version"] == 1 else row["known_from"]
        if begun.get(row["root"], -FOREVER) <= begins <= valid_at:
            chosen[row["root"]], begun[row["root"]] = row, begins
    return [row for row in chosen.values() if not _ended_by(row["valid_to"], valid_at)]


def _ended_by(end: int | None, moment: int) -> bool:
    return end is not None and end <= moment
