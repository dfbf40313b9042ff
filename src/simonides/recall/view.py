"""Several owners' indexes as one: what a reader sees of itself, its organisation and the world.

Columns are concatenated and counts summed, so evidence is standardised over the union: splitting
one owner's rows over several changes no score. A view of one index copies nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from simonides.core.record import Place
from simonides.recall.index import NONE, Bools, Floats, OwnerIndex

T = TypeVar("T")


class View:
    """Some indexes, nearest owner first, at one revision. Use it under `locked`."""

    def __init__(self, owners: Sequence[str], parts: Sequence[OwnerIndex]) -> None:
        """Join indexes.

        Args:
            owners: Names of their owners.
            parts: The indexes.
        """
        self.owners, self.parts = tuple(owners), tuple(parts)
        self.revisions = tuple(part.revision for part in parts)
        sizes = [part.size for part in parts]
        self.offsets: list[int] = [0, *np.cumsum(sizes).tolist()][: len(parts)]
        self.size: int = sum(sizes)
        self.count: int = sum(len(part) for part in parts)
        self.speakers, self._speaker_codes = _joined([part.speakers for part in parts])
        self.session_count = sum(len(part.sessions) for part in parts)
        self._columns: dict[str, NDArray[Any]] = {}
        self._derived: dict[Callable[[View], Any], Any] = {}

    def __len__(self) -> int:
        return self.count

    @property
    def is_current(self) -> bool:
        """Whether no index has changed since."""
        return self.revisions == tuple(part.revision for part in self.parts)

    def locked(self) -> ExitStack:
        """Return a context that holds the locks of all indexes, taken in one order."""
        stack = ExitStack()
        for part in sorted(self.parts, key=id):
            stack.enter_context(part.lock)
        return stack

    def column(self, name: str) -> NDArray[Any]:
        """Return a column of all rows by name; rows of other owners come after the nearest's."""
        found = self._columns.get(name)
        if found is None:
            found = self._columns[name] = self._concatenated(name)
        return found

    def _concatenated(self, name: str) -> NDArray[Any]:
        if len(self.parts) == 1:
            return self.parts[0].column(name)
        parts = [part.column(name) for part in self.parts]
        if name in ("before", "after"):
            parts = [
                np.where(part == NONE, NONE, part + offset)
                for part, offset in zip(parts, self.offsets, strict=True)
            ]
        elif name == "session":
            first = np.cumsum([0, *(len(part.sessions) for part in self.parts)])
            parts = [part + offset for part, offset in zip(parts, first[:-1], strict=True)]
        elif name == "speaker":
            parts = [codes[part] for part, codes in zip(parts, self._speaker_codes, strict=True)]
        return np.concatenate(parts)

    def postings(self, term: str) -> tuple[NDArray[np.int32], NDArray[np.uint16]]:
        """Return the live rows that hold a term, rising, and how often each does."""
        if len(self.parts) == 1:
            return self.parts[0].postings(term)
        found = [part.postings(term) for part in self.parts]
        rows = [rows + offset for (rows, _), offset in zip(found, self.offsets, strict=True)]
        return np.concatenate(rows).astype(np.int32), np.concatenate([each for _, each in found])

    def dots(self, queries: Floats) -> Floats:
        """Return the dot product of each row's vector with each column of a matrix."""
        if len(self.parts) == 1:
            return self.parts[0].dots(queries)
        return np.concatenate([part.dots(queries) for part in self.parts])

    @property
    def vector_sum(self) -> Floats:
        """The sum of all vectors."""
        total: Floats = sum(part.vector_sum for part in self.parts)  # type: ignore[assignment]
        return total

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
        part = int(np.searchsorted(self.offsets, row, "right")) - 1
        return self.owners[part], self.parts[part].ids[row - self.offsets[part]]

    def row_of(self, owner: str, id: bytes) -> int | None:
        """Return the row of a memory, or None."""
        for name, part, offset in zip(self.owners, self.parts, self.offsets, strict=True):
            if name == owner and id in part.row_of:
                return part.row_of[id] + offset
        return None

    def where(self, chosen: Callable[[str, Place], bool]) -> Bools:
        """Return for each row whether its owner and its place are chosen."""
        masks = []
        for owner, part in zip(self.owners, self.parts, strict=True):
            allowed = np.array([chosen(owner, place) for place in part.places], np.bool_)
            codes = part.column("place")
            masks.append(np.ones(part.size, np.bool_) if allowed.all() else allowed[codes])
        return np.concatenate(masks) if masks else np.zeros(0, np.bool_)

    def of_live(self, values: NDArray[Any]) -> NDArray[Any]:
        """Return the values of the rows without those of the holes."""
        return values if self.count == self.size else values[self.column("live")]

    def derived(self, make: Callable[[View], T]) -> T:
        """Return ``make(self)``, computed once."""
        if make not in self._derived:
            self._derived[make] = make(self)
        found: T = self._derived[make]
        return found


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
