"""Maps from tags to an owner's live rows, for the lookups of gates."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from operator import itemgetter
from typing import NamedTuple, TypeVar

import numpy as np

from simonides.domain.memory import Place
from simonides.domain.scope import Scope
from simonides.domain.writing.change import StoredRow
from simonides.retrieval.index.entry import (
    ENTRY,
    ENTRY_COLUMNS,
    VERBATIM,
    place_tag,
    scope_tag,
    slot_tag,
    tag,
)

N = TypeVar("N")


class _Marks(NamedTuple):
    """The tags of a row; each field is the column of this name."""

    scope: int
    place: int
    key: int
    hash: int
    session: int
    turn: int
    marks: int
    slot: int
    root: int


class Filing:
    """Ids of rows by key, hash, turn, slot and root.

    The caller must compare a match with the memory: different names may have the same tag. An
    expired row is found until it is replaced.
    """

    def __init__(self, rows: Collection[StoredRow]) -> None:
        """Index rows whose entries all have the current recipe."""
        self._keys: dict[tuple[int, int], str] = {}
        self._hashes: dict[tuple[int, int], dict[str, None]] = {}
        self._turns: dict[tuple[int, int, int], str] = {}
        self._slots: dict[tuple[int, int], dict[str, None]] = {}
        # The verbatim turns of a scope and its other memories have separate quotas.
        self._shelves: dict[tuple[int, bool], dict[str, None]] = {}
        # Only chains with several versions; the first version is found by its id.
        self._roots: dict[int, str] = {}
        columns = np.frombuffer(b"".join([row.entry[: ENTRY.size] for row in rows]), ENTRY_COLUMNS)
        lists = (columns[name].tolist() for name in _Marks._fields)
        for row, marks in zip(rows, zip(*lists, strict=True), strict=True):
            self._file(row.id, marks)

    def add(self, row: StoredRow) -> None:
        """Add a row."""
        self._file(row.id, _marks(row))

    def remove(self, row: StoredRow) -> None:
        """Remove a row; its entry must be the one it was added with."""
        id, marks = row.id, _marks(row)
        _drop_if(self._turns, (marks.place, marks.session, marks.turn), id)
        _drop_if(self._keys, (marks.place, marks.key), id)
        self._hashes.get((marks.place, marks.hash), {}).pop(id, None)
        self._slots.get((marks.place, marks.slot), {}).pop(id, None)
        _drop_if(self._roots, marks.root, id)
        shelf = (marks.scope, marks.marks & VERBATIM > 0)
        members = self._shelves.get(shelf, {})
        members.pop(id, None)
        if not members:
            self._shelves.pop(shelf, None)

    def by_key(self, place: Place, key: str) -> str | None:
        """Return the id of a key's row in a place."""
        return self._keys.get((place_tag(place), tag(key)))

    def by_hash(self, place: Place, content_hash: str) -> list[str]:
        """Return the ids of a place's unkeyed rows with a normalised text, in order."""
        return sorted(self._hashes.get((place_tag(place), tag(content_hash)), ()))

    def by_turn(self, place: Place, session: str, turn: int) -> str | None:
        """Return the id of a verbatim turn."""
        return self._turns.get((place_tag(place), tag(session), turn))

    def by_root(self, root: str) -> str | None:
        """Return the id of a chain's live version, unless it is the first."""
        return self._roots.get(tag(root))

    def by_slot(self, place: Place, subject: str, predicate: str) -> list[str]:
        """Return the ids of a slot's rows in order; names are in normal form."""
        return sorted(self._slots.get((place_tag(place), slot_tag(subject, predicate)), ()))

    def members(self, scope: Scope, *, turns: bool) -> Collection[str]:
        """Return the ids of a scope's verbatim turns, or of its other rows."""
        return self._shelves.get((scope_tag(scope), turns), {})

    @property
    def scopes(self) -> frozenset[int]:
        """Tags of the scopes that have rows."""
        return frozenset(scope for scope, _ in self._shelves)

    def _file(self, id: str, marks: Sequence[int]) -> None:
        # A plain tuple in the order of _Marks: an owner's first write indexes all rows.
        scope, place, key, hash, session, turn, flags, slot, root = marks
        self._shelves.setdefault((scope, flags & VERBATIM > 0), {})[id] = None
        if flags & VERBATIM:
            self._turns[place, session, turn] = id
        elif key:
            self._keys[place, key] = id
        else:
            self._hashes.setdefault((place, hash), {})[id] = None
        if slot:
            self._slots.setdefault((place, slot), {})[id] = None
        if root:
            self._roots[root] = id


def _drop_if(places: dict[N, str], place: N, id: str) -> None:
    if places.get(place) == id:
        del places[place]


def _marks(row: StoredRow) -> _Marks:
    return _Marks._make(_PICKED(ENTRY.unpack_from(row.entry)))


_PICKED = itemgetter(*((ENTRY_COLUMNS.names or ()).index(name) for name in _Marks._fields))
