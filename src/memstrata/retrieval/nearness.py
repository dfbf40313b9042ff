"""Which standing texts may say the same as a new one: what the near gates look through (LT-2).

Texts that may be one statement have the same *firm* terms: all but those of idle words and of words
with a synonym (:mod:`memstrata.language.sameness`). So they are filed under one number each, the
mixture of their firm terms with their place and kind, and a new text finds them in one step; their
vectors are looked at only then. Verbatim turns and keyed facts have gates of their own and are not
among them.

Who asks for texts that *contain* another pays for more: sets of texts by term, made when it is
first asked and kept from then on.
"""

from __future__ import annotations

import math
import struct
from collections import defaultdict
from collections.abc import Collection, Iterable
from functools import cache, reduce
from heapq import nsmallest
from operator import xor
from typing import Any, NamedTuple

import numpy as np

from memstrata.domain.change import StoredRow
from memstrata.domain.codec import KIND_CODES, STATE, code_of, decode
from memstrata.domain.gates import Shape
from memstrata.domain.memory import Kind, Place
from memstrata.language.analyser import analyse, term_id
from memstrata.language.names import LEAST_NAME_ID, STATES
from memstrata.language.sameness import idle_terms, loose_terms
from memstrata.retrieval.entry import ENTRY, ENTRY_COLUMNS, place_tag, tag

MOST = 8
"""Texts that are returned; chosen: each is opened and read, some 30 µs."""

_NOBODY: dict[str, bytes] = {}
_NOWHERE = frozenset[str]()
_COLUMNS = ENTRY_COLUMNS.names or ()
_PLACE, _KIND, _HASH, _SPEAKER, _TERMS = (  # columns of an entry's fixed part
    _COLUMNS.index(name) for name in ("place", "kind", "hash", "speaker", "terms")
)


def shape_of(terms: Iterable[str], vector: bytes) -> Shape:
    """Return what a text is compared by, of its analysed terms and its int8 vector."""
    ids = frozenset(map(term_id, terms))
    return Shape(_mixed(ids), ids, vector)


class _Filed(NamedTuple):
    """By what a text is filed: where it lies, its firm terms, its vector; its terms are read out of
    what it was filed from when they are wanted.
    """

    spot: int
    firm: int
    vector: bytes
    text: StoredRow | Shape


class NearTexts:
    """The free texts of one owner; see :class:`memstrata.ports.NearTexts`."""

    def __init__(self, rows: Collection[StoredRow] = ()) -> None:
        """File rows whose entries are all of one recipe."""
        self._alike: dict[int, dict[str, bytes]] = {}
        self._filed: dict[str, _Filed] = {}
        self._expected: dict[str, _Filed] = {}
        self._having: defaultdict[int, set[str]] | None = None
        columns = np.frombuffer(b"".join([row.entry[: ENTRY.size] for row in rows]), ENTRY_COLUMNS)
        are_texts = (columns["hash"] != 0).tolist()
        for row, is_text in zip(rows, are_texts, strict=True):
            if is_text:
                self.file(row)

    @property
    def nbytes(self) -> int:
        """Memory held, roughly, in bytes; measured."""
        terms = sum(map(len, self._having.values())) if self._having is not None else 0
        return 700 * len(self._filed) + 100 * terms

    def file(self, row: StoredRow) -> None:
        """File a row, if it is free text."""
        filed = self._expected.pop(row.id, None)
        if filed is None:
            fixed = ENTRY.unpack_from(row.entry)
            if not fixed[_HASH]:
                return
            ids, vector = _contents(row, fixed)
            filed = _Filed(_spot(fixed[_PLACE], fixed[_KIND]), _mixed(ids), vector, row)
        self._file(row.id, filed)

    def expect(self, id: str, place: Place, kind: Kind, shape: Shape) -> None:
        """Note what a row will be filed by that is about to be written: it need not be read then.

        Rows that were expected before and have not come by now, never came to be.
        """
        self._expected = {id: _Filed(_spot_of(place, kind), shape.firm, shape.vector, shape)}

    def remove(self, row: StoredRow) -> None:
        """Take a row out, if it is here."""
        filed = self._filed.pop(row.id, None)
        if filed is None:
            return
        name = filed.spot ^ filed.firm
        if filed.firm and self._alike[name].pop(row.id, None) is not None and not self._alike[name]:
            del self._alike[name]
        if self._having is not None:
            for term in _terms_of(filed.text):
                self._having[term].discard(row.id)

    def add(self, id: str, place: Place, kind: Kind, shape: Shape) -> None:
        """See :class:`memstrata.ports.NearTexts`."""
        self._file(id, _Filed(_spot_of(place, kind), shape.firm, shape.vector, shape))

    def near_text(self, place: Place, kind: Kind, shape: Shape) -> list[str]:
        """See :class:`memstrata.ports.NearTexts`."""
        alike = self._like(place, kind, shape)
        return nsmallest(MOST, alike) if alike else []

    def nearest(
        self, place: Place, kind: Kind, shape: Shape, above: float
    ) -> list[tuple[str, float]]:
        """See :class:`memstrata.ports.NearTexts`."""
        found = [
            (-cosine, id)
            for id, vector in self._like(place, kind, shape).items()
            if (cosine := _cosine(shape.vector, vector)) > above
        ]
        return [(id, -cosine) for cosine, id in nsmallest(MOST, found)]

    def containing(self, place: Place, kind: Kind, shape: Shape) -> list[str]:
        """See :class:`memstrata.ports.NearTexts`."""
        wanted = shape.terms - idle_terms()
        if not wanted:
            return []
        if self._having is None:
            self._having = defaultdict(set)
            for id, filed in self._filed.items():
                self._note_terms(id, filed)
        rarest, *others = sorted((self._having.get(id, _NOWHERE) for id in wanted), key=len)
        spot = _spot_of(place, kind)
        return nsmallest(
            MOST, (id for id in rarest.intersection(*others) if self._filed[id].spot == spot)
        )

    def _like(self, place: Place, kind: Kind, shape: Shape) -> dict[str, bytes]:
        # Texts without a firm term would all lie together, whatever they say.
        if not shape.firm:
            return _NOBODY
        return self._alike.get(_spot_of(place, kind) ^ shape.firm, _NOBODY)

    def _file(self, id: str, filed: _Filed) -> None:
        self._filed[id] = filed
        if filed.firm:
            self._alike.setdefault(filed.spot ^ filed.firm, {})[id] = filed.vector
        if self._having is not None:
            self._note_terms(id, filed)

    def _note_terms(self, id: str, filed: _Filed) -> None:
        having = self._having
        if having is not None:
            for term in _terms_of(filed.text):
                having[term].add(id)


def _terms_of(text: StoredRow | Shape) -> frozenset[int]:
    if isinstance(text, Shape):
        return text.terms
    return _contents(text, ENTRY.unpack_from(text.entry))[0]


def _contents(row: StoredRow, fixed: tuple[Any, ...]) -> tuple[frozenset[int], bytes]:
    """Return the terms of a row's text, with ids of names among them, and its vector."""
    # Told by its length: an entry that waits for its vector has a zero one in its place
    # (``entry.widened``) and says that it has none.
    count = fixed[_TERMS]
    end = len(row.entry) - 10 * count
    vector = row.entry[ENTRY.size : end]
    if fixed[_SPEAKER] or len(row.state) > STATE.size:
        # Its entry has terms of its speaker and tags too, which are not said again with it.
        return frozenset(map(term_id, analyse(decode(row).content))), vector
    return frozenset(struct.unpack_from(f"<{count}Q", row.entry, end)), vector


def _mixed(ids: frozenset[int]) -> int:
    """Return the number that texts of the same firm terms have in common; 0 where there is none."""
    return reduce(xor, [id for id in ids - _passed_over() if id < LEAST_NAME_ID], 0)


@cache
def _passed_over() -> frozenset[int]:
    return loose_terms() | {STATES}


def _spot(place: int, kind: int) -> int:
    """Return what tells one place and kind from another, to be mixed with the terms."""
    return place ^ _KINDS[kind]


def _spot_of(place: Place, kind: Kind) -> int:
    return _spot(place_tag(place), code_of(KIND_CODES, kind))


_KINDS = tuple(tag("kind", kind.value) for kind in KIND_CODES)


def _cosine(one: bytes, other: bytes) -> float:
    """Return the cosine of two int8 vectors; 0 where one is missing or zero."""
    if len(one) != len(other):
        return 0.0
    mine, theirs = (np.frombuffer(vector, np.int8).astype(np.int64) for vector in (one, other))
    squares = int(mine @ mine) * int(theirs @ theirs)
    return int(mine @ theirs) / math.sqrt(squares) if squares else 0.0
