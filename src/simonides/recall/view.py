"""Indexes in memory, and several owners' indexes as one.

`IndexCache` keeps the owners' indexes: refreshed by what was committed since, dropped when rows
were deleted. The length of an owner's chain says whether its index is current, and the events since
say what to read. Deletion raises the owner's epoch; an index of another epoch is built anew.

`View` joins what a reader sees of itself, its organisation and the world. Columns are concatenated
and counts summed, so evidence is standardised over the union: splitting one owner's rows over
several changes no score. A view of one index copies nothing.
"""

from __future__ import annotations

import json
import threading
from collections import OrderedDict
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from itertools import accumulate
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from simonides.recall.index import NONE, Floats, Ints, OwnerIndex
from simonides.storage import statements
from simonides.storage.database import Connection
from simonides.storage.statements import INDEXED
from simonides.text.topics import Topic, topic_of

_KNOWN_TO, _ID = INDEXED.index("known_to"), INDEXED.index("id")


T = TypeVar("T")


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
        found = [part.postings(terms) for part in self.parts]
        rows = [rows + offset for (rows, _, _), offset in zip(found, self.offsets, strict=True)]
        counts, numbers = ([each[n] for each in found] for n in (1, 2))
        return np.concatenate(rows), np.concatenate(counts), np.concatenate(numbers)

    def dots(self, query: Floats) -> Floats:
        """Return the dot product of each row's vector with a vector."""
        if len(self.parts) == 1:
            return self.parts[0].dots(query)
        return np.concatenate([part.dots(query) for part in self.parts])

    def token_vectors(self, connection: Connection, rows: Ints) -> list[NDArray[np.int8]]:
        """Return the vectors of the tokens of some rows, which rise; see `OwnerIndex`."""
        starts, found = np.searchsorted(rows, [*self.offsets, self.size]), []
        for n, part in enumerate(self.parts):
            own = rows[starts[n] : starts[n + 1]] - self.offsets[n]
            found += part.token_vectors(connection, self.owners[n], own.tolist())
        return found

    def token_ids(self, row: int) -> list[int]:
        """Return the ids of the tokens of a row."""
        part, at = self.locate(row)
        return part.token_ids(at)

    def holding(self, token: int) -> int:
        """Return how many rows hold a token."""
        return sum(part.holding.get(token, 0) for part in self.parts)

    def vectors(self, rows: Sequence[int]) -> NDArray[np.float32]:
        """Return the vectors of some rows, shape (n, dimensions)."""
        found = [self.locate(row) for row in rows]
        cells = [part.vectors[at] * part.column("scale")[at] for part, at in found]
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
        found: T = self._derived[make]
        return found


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
    found = []
    for _, kind, value, _, text in connection.rows(statements.REFUSALS, {"owner": owner}):
        data = json.loads(text)
        topic = topic_of(value, frozenset(data["names"])) if kind == "topic" else None
        found.append(OptOut(kind, value, topic))
        found += [OptOut(*each) for each in data["also"]]
    for *_, data in connection.rows(statements.PENDING, {"owner": owner}):
        if meant := json.loads(data).get("hidden"):
            found.append(OptOut("asked", "", None, frozenset(map(bytes.fromhex, meant))))
    return tuple(found)


def renew(connection: Connection, owner: str, index: OwnerIndex) -> None:
    """Let an index hide what its owner refuses or is asked about by now."""
    with index.lock:
        index.refusals = opt_outs_of(connection, owner)
        index.revision += 1


class IndexCache:
    """Indexes by owner, the least recently used dropped beyond a budget. Thread-safe."""

    def __init__(self, dimensions: int, embedder: str | None, budget_bytes: int) -> None:
        """Begin empty.

        Args:
            dimensions: Of the embedder's vectors.
            embedder: Id of the embedder in use, or None.
            budget_bytes: Memory for all indexes; the one in use may exceed it.
        """
        self.dimensions, self.embedder = dimensions, embedder
        self._budget = budget_bytes
        self.clear()

    def clear(self) -> None:
        """Begin empty, with a lock of its own; after a fork the old one may be held for ever."""
        self._indexes: OrderedDict[str, OwnerIndex] = OrderedDict()
        self._views: OrderedDict[tuple[str, ...], View] = OrderedDict()
        self._lock = threading.Lock()

    def fresh(self, connection: Connection, owner: str, events: int, epoch: int) -> OwnerIndex:
        """Return an owner's index, complete up to a length of the chain that the caller read."""
        while True:
            with self._lock:
                index = self._indexes.get(owner)
                if index is None or index.epoch != epoch:
                    index = self._indexes[owner] = OwnerIndex(self.dimensions, self.embedder, epoch)
                self._indexes.move_to_end(owner)
            # Critical section: held over the read, so that a late reader never adds a row again
            # that another call has just removed.
            with index.lock:
                if index.is_whole:
                    if events > index.seen:
                        self._refresh(connection, owner, index)
                        index.seen = events
                        self._evict(owner)
                    return index
            self.drop(owner)  # an interrupt left it in the middle of a change

    def _refresh(self, connection: Connection, owner: str, index: OwnerIndex) -> None:
        sql = statements.LOAD_SINCE if index.seen else statements.LOAD
        rows = connection.rows(sql, {"owner": owner, "seen": index.seen})
        index.remove([row[_ID] for row in rows])
        index.add(dict(zip(INDEXED, r, strict=True)) for r in rows if r[_KNOWN_TO] is None)
        index.compact_if_sparse()
        index.refusals = opt_outs_of(connection, owner)

    def reading(
        self, connection: Connection, owners: Sequence[str], work: Callable[[View], T]
    ) -> T:
        """Return ``work`` of the current indexes of some owners, which are locked meanwhile."""
        while True:
            view = self.view(connection, owners)

            def done(view: View = view) -> list[T]:
                return [work(view)] if view.is_current else []  # else a writer came between

            for found in view.locked(done):
                return found

    def view(self, connection: Connection, owners: Sequence[str]) -> View:
        """Return the current indexes of some owners as one; an owner without rows is left out."""
        names = {f"owner{number}": owner for number, owner in enumerate(owners)}
        rows = connection.rows(statements.heads(len(owners)), names)
        states = {owner: (events, epoch) for owner, epoch, events in rows}
        found = {
            each: self.fresh(connection, each, *states[each]) for each in owners if each in states
        }
        kept = {owner: part for owner, part in found.items() if len(part)}
        if not kept:
            return View(owners[:1], [OwnerIndex(self.dimensions)])
        chosen, parts = tuple(kept), tuple(kept.values())
        with self._lock:
            view = self._views.get(chosen)
        if view is None or view.parts != parts or not view.is_current:
            view = View(chosen, parts)
            with self._lock:
                self._views[chosen] = view
                self._views.move_to_end(chosen)
                while len(self._views) > len(self._indexes):
                    self._views.popitem(last=False)
        return view

    def drop(self, owner: str) -> None:
        """Forget an owner's index; it may hold what was never committed."""
        with self._lock:
            self._indexes.pop(owner, None)

    def _evict(self, in_use: str) -> None:
        with self._lock:
            total = sum(index.nbytes for index in self._indexes.values())
            for owner in list(self._indexes):
                if total <= self._budget:
                    break
                if owner != in_use:
                    total -= self._indexes.pop(owner).nbytes
                    for chosen in [each for each in self._views if owner in each]:
                        del self._views[chosen]
