"""Finds an owner's near-duplicate texts of a new text, for the near gates.

Texts that may be the same statement have the same *firm* terms. Those are all terms except idle
words and words with a synonym (:mod:`simonides.text.similarity.same_statement`). Texts are indexed
by a hash of
firm terms, place and kind, so that one look-up finds them; vectors are compared only then. Verbatim
turns and keyed facts have gates of their own and are not indexed here.

Queries for texts that *contain* another need sets of texts by term. These are built at the first
such query and kept.
"""

from __future__ import annotations

import struct
from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from functools import cache, reduce
from heapq import nlargest, nsmallest
from operator import xor
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from simonides.domain.codecs.checksums import CHECK_BYTES
from simonides.domain.codecs.memory import KIND_CODES, STATE, code_of, decode
from simonides.domain.memory import Kind, Place
from simonides.domain.policy.gates import Need, Shape
from simonides.domain.writing.change import StoredRow
from simonides.retrieval.index.entry import ENTRY, ENTRY_COLUMNS, place_tag, tag
from simonides.text import LEAST_NAME_ID, STATES_ALIAS, analyse, term_id
from simonides.text.similarity import idle_terms, loose_terms

MOST = 4
"""Texts returned; chosen: each is decoded and compared, some 40 µs. Texts of the same firm terms
with another meaning are few."""

MOST_ABOUT = 5
"""Texts that are judged against a new one."""

MOST_OF_A_NEED = 32
"""Texts that meet one need; chosen: their vectors are compared in 20 µs."""

MOST_VISITED = 400
"""Ids that counting may visit; chosen: some 30 µs."""

_STATED = (Kind.SEMANTIC, Kind.PROCEDURAL)

_NO_VECTORS: dict[str, bytes] = {}
_NO_IDS = frozenset[str]()
_NO_ID_SET = set[str]()
_COLUMNS = ENTRY_COLUMNS.names or ()
_PLACE, _KIND, _HASH, _SPEAKER, _TERMS = (  # columns of an entry's fixed part
    _COLUMNS.index(name) for name in ("place", "kind", "hash", "speaker", "terms")
)


def shape_of(place: Place, kind: Kind, terms: Iterable[str], vector: bytes) -> Shape:
    """Return the features by which a text is compared.

    Args:
        place: Where the memory will be stored.
        kind: Of the memory.
        terms: Its analysed terms.
        vector: Its int8 vector, empty for none.
    """
    ids = frozenset(map(term_id, terms))
    return Shape(
        _place_hash(place_tag(place), code_of(KIND_CODES, kind)), _firm_hash(ids), ids, vector
    )


def shape_in(row: StoredRow) -> Shape | None:
    """Return the features of a row's free text, from its entry.

    None if the row has a key or is a verbatim turn.
    """
    fixed = ENTRY.unpack_from(row.entry)
    if not fixed[_HASH]:
        return None
    ids, vector = _contents(row, fixed)
    return Shape(_place_hash(fixed[_PLACE], fixed[_KIND]), _firm_hash(ids), ids, vector)


class _IndexedText(NamedTuple):
    """The index record of a text: hash of place and kind, hash of firm terms, vector.

    The terms themselves are read from ``text`` when needed.
    """

    spot: int
    firm: int
    vector: bytes
    text: StoredRow | Shape


class NearTexts:
    """The free texts of one owner; see :class:`simonides.ports.NearTexts`."""

    def __init__(self, rows: Collection[StoredRow] = ()) -> None:
        """Index rows whose entries all have the current recipe."""
        self._by_firm_hash: dict[int, dict[str, bytes]] = {}
        self._filed: dict[str, _IndexedText] = {}
        self._expected: dict[str, Shape] = {}
        self._ids_by_term: defaultdict[int, set[str]] | None = None
        columns = np.frombuffer(b"".join([row.entry[: ENTRY.size] for row in rows]), ENTRY_COLUMNS)
        plain, places = list[StoredRow](), list[int]()
        features = (columns[name].tolist() for name in ("hash", "speaker", "terms"))
        for place, (row, is_text, speaker, count) in enumerate(zip(rows, *features, strict=True)):
            if is_text and count and not _has_extra_terms(row, speaker):
                plain.append(row)
                places.append(place)
            elif is_text:
                self.file(row)
        if plain:
            self._file_plain(plain, columns[places])

    def _file_plain(self, rows: Sequence[StoredRow], columns: NDArray[Any]) -> None:
        """Index rows whose entries hold all their terms, in one pass.

        Most rows are of this kind, and an owner's first write waits for them. One by one they took
        twice as long (measured).
        """
        counts = columns["terms"].astype(np.intp)
        ends = [
            len(row.entry) - CHECK_BYTES - 10 * count
            for row, count in zip(rows, counts.tolist(), strict=True)
        ]
        packed = zip(rows, ends, counts.tolist(), strict=True)
        ids = np.frombuffer(b"".join([r.entry[end : end + 8 * n] for r, end, n in packed]), "<u8")
        firm = np.bitwise_xor.reduceat(ids * _are_firm(ids), np.cumsum(counts) - counts).tolist()
        spots = (columns["place"] ^ _KIND_TAGS[columns["kind"]]).tolist()
        size, filed, alike = ENTRY.size, self._filed, self._by_firm_hash
        for row, end, spot, mixed in zip(rows, ends, spots, firm, strict=True):
            id, vector = row.id, row.entry[size:end]
            filed[id] = _IndexedText(spot, mixed, vector, row)
            if mixed:
                alike.setdefault(spot ^ mixed, {})[id] = vector

    @property
    def nbytes(self) -> int:
        """Approximate memory use in bytes; measured."""
        terms = sum(map(len, self._ids_by_term.values())) if self._ids_by_term is not None else 0
        return 700 * len(self._filed) + 100 * terms

    def file(self, row: StoredRow) -> None:
        """Index a row, if it is free text."""
        shape = self._expected.pop(row.id, None)
        if shape is not None:
            self._file(row.id, _IndexedText(shape.spot, shape.firm, shape.vector, row), shape.terms)
            return
        known = shape_in(row)
        if known is not None:
            filed = _IndexedText(known.spot, known.firm, known.vector, row)
            self._file(row.id, filed, known.terms)

    def expect(self, shapes: Mapping[str, Shape]) -> None:
        """Set the features of rows that are about to be written, so that :meth:`file` need not read
        them.

        This discards earlier expectations: their rows were never written.
        """
        self._expected = dict(shapes)

    def remove(self, row: StoredRow) -> None:
        """Remove a row, if it is indexed."""
        filed = self._filed.pop(row.id, None)
        if filed is None:
            return
        name = filed.spot ^ filed.firm
        if (
            filed.firm
            and self._by_firm_hash[name].pop(row.id, None) is not None
            and not self._by_firm_hash[name]
        ):
            del self._by_firm_hash[name]
        if self._ids_by_term is not None:
            for term in _terms_of(filed.text):
                self._ids_by_term[term].discard(row.id)

    def add(self, id: str, shape: Shape) -> None:
        """See :class:`simonides.ports.NearTexts`."""
        self._file(id, _IndexedText(shape.spot, shape.firm, shape.vector, shape), shape.terms)

    def near_text(self, shape: Shape) -> list[str]:
        """See :class:`simonides.ports.NearTexts`."""
        alike = self._with_firm_hash(shape)
        return nsmallest(MOST, alike) if alike else []

    def nearest(self, shape: Shape, above: float) -> list[tuple[str, float]]:
        """See :class:`simonides.ports.NearTexts`."""
        size = len(shape.vector)
        alike = {id: v for id, v in self._with_firm_hash(shape).items() if len(v) == size}
        if not size or not alike:
            return []
        near = zip(_cosines(shape.vector, list(alike.values())), alike, strict=True)
        found = nsmallest(MOST, ((-cosine, id) for cosine, id in near if cosine > above))
        return [(id, -cosine) for cosine, id in found]

    def containing(self, shape: Shape) -> list[str]:
        """See :class:`simonides.ports.NearTexts`."""
        wanted = shape.terms - idle_terms()
        if not wanted:
            return []
        having = self._by_term
        rarest, *others = sorted((having.get(id, _NO_IDS) for id in wanted), key=len)
        spot = shape.spot
        return nsmallest(
            MOST, (id for id in rarest.intersection(*others) if self._filed[id].spot == spot)
        )

    def about(self, kind: Kind, shape: Shape, needs: Sequence[Need]) -> list[str]:
        """See :class:`simonides.ports.NearTexts`."""
        place = shape.spot ^ _KINDS[code_of(KIND_CODES, kind)]
        spots = [_place_hash(place, code_of(KIND_CODES, each)) for each in _STATED]
        filed, least = self._filed, dict[str, float]()
        for need in needs:
            for id in ids_meeting(self._by_term, need):
                if filed[id].spot in spots:
                    least[id] = min(need.above, least.get(id, 1.0))
        if not least:
            return []
        near = self._near(shape, list(least))
        found = [id for id, above in least.items() if above < 0 or near.get(id, -1.0) >= above]
        return nlargest(MOST_ABOUT, found, key=lambda name: (near.get(name, -1.0), name))

    def _near(self, shape: Shape, ids: Sequence[str]) -> dict[str, float]:
        size = len(shape.vector)
        alike = [id for id in ids if size and len(self._filed[id].vector) == size]
        if not alike:
            return {}
        vectors = [self._filed[id].vector for id in alike]
        return dict(zip(alike, _cosines(shape.vector, vectors), strict=True))

    def _with_firm_hash(self, shape: Shape) -> dict[str, bytes]:
        # Texts without a firm term would all share one hash, whatever their meaning.
        if not shape.firm:
            return _NO_VECTORS
        return self._by_firm_hash.get(shape.spot ^ shape.firm, _NO_VECTORS)

    @property
    def _by_term(self) -> defaultdict[int, set[str]]:
        if self._ids_by_term is None:
            self._ids_by_term = defaultdict(set)
            for id, filed in self._filed.items():
                self._index_terms(id, _terms_of(filed.text))
        return self._ids_by_term

    def _file(self, id: str, filed: _IndexedText, terms: frozenset[int]) -> None:
        self._filed[id] = filed
        if filed.firm:
            self._by_firm_hash.setdefault(filed.spot ^ filed.firm, {})[id] = filed.vector
        if self._ids_by_term is not None:
            self._index_terms(id, terms)

    def _index_terms(self, id: str, terms: frozenset[int]) -> None:
        having = self._ids_by_term
        if having is not None:
            for term in terms:
                having[term].add(id)


def ids_meeting(by_term: Mapping[int, set[str]], need: Need) -> list[str]:
    """Return ids that meet a need; if they are many, the newest, newest first.

    Args:
        by_term: Ids by term number.
        need: The required terms. The rarest are counted first, up to :data:`MOST_VISITED` ids.
    """
    if not need.terms:
        # Each of these words suffices; the limit per word keeps a common one from hiding the rest.
        either = (nlargest(MOST_OF_A_NEED, by_term.get(term, ())) for term in need.one_of)
        return nlargest(MOST_OF_A_NEED, {id for ids in either for id in ids})
    lists = sorted((by_term.get(term, _NO_ID_SET) for term in need.terms), key=len)
    if need.least >= len(lists):
        found = set.intersection(*lists) if lists else set[str]()
    else:
        counted: Counter[str] = Counter()
        budget = MOST_VISITED
        for ids in lists:
            budget -= len(ids)
            if budget < 0:
                break
            counted.update(ids)
        found = {id for id, count in counted.items() if count >= need.least}
    if need.one_of and found:
        found = {id for term in need.one_of for id in found & by_term.get(term, _NO_ID_SET)}
    return nlargest(MOST_OF_A_NEED, found)


def _terms_of(text: StoredRow | Shape) -> frozenset[int]:
    if isinstance(text, Shape):
        return text.terms
    return _contents(text, ENTRY.unpack_from(text.entry))[0]


def _contents(row: StoredRow, fixed: tuple[Any, ...]) -> tuple[frozenset[int], bytes]:
    """Return the terms of a row's text, including name ids, and its vector."""
    # The vector's size follows from the length: an entry that waits for its vector contains a zero
    # vector (``entry.with_zero_vector``) although it declares none.
    count = fixed[_TERMS]
    end = len(row.entry) - CHECK_BYTES - 10 * count
    vector = row.entry[ENTRY.size : end]
    if _has_extra_terms(row, fixed[_SPEAKER]):
        return frozenset(map(term_id, analyse(decode(row).content))), vector
    return frozenset(struct.unpack_from(f"<{count}Q", row.entry, end)), vector


def _has_extra_terms(row: StoredRow, speaker: int) -> bool:
    """Whether the entry also has terms of the row's speaker or tags.

    A repetition of the text does not repeat these.
    """
    return bool(speaker) or len(row.state) > STATE.size + CHECK_BYTES


def _firm_hash(ids: frozenset[int]) -> int:
    """Return a hash of the firm terms; 0 without any."""
    return reduce(xor, filter(LEAST_NAME_ID.__gt__, ids - _ignored_terms()), 0)


def _are_firm(ids: NDArray[np.uint64]) -> NDArray[np.bool_]:
    """Return which of some terms :func:`_firm_hash` includes."""
    passed = _sorted_ignored_terms()
    are_passed: NDArray[np.bool_] = passed.take(passed.searchsorted(ids), mode="clip") == ids
    are_terms: NDArray[np.bool_] = ids < LEAST_NAME_ID
    return are_terms & ~are_passed


@cache
def _ignored_terms() -> frozenset[int]:
    return loose_terms() | {STATES_ALIAS}


@cache
def _sorted_ignored_terms() -> NDArray[np.uint64]:
    return np.array(sorted(_ignored_terms()), "<u8")


def _place_hash(place: int, kind: int) -> int:
    """Return a hash of place and kind, to be combined with that of the terms."""
    return place ^ _KINDS[kind]


_KINDS = tuple(tag("kind", kind.value) for kind in KIND_CODES)
_KIND_TAGS = np.array(_KINDS, "<u8")


def _cosines(asked: bytes, vectors: Sequence[bytes]) -> list[float]:
    """Return the cosines of an int8 vector with others of its length; 0 for zero vectors."""
    flat = np.frombuffer(b"".join((asked, *vectors)), np.int8).astype(np.float64)
    rows = flat.reshape(len(vectors) + 1, len(asked))
    lengths = np.sqrt(np.einsum("ij,ij->i", rows, rows))
    products, scale = rows[1:] @ rows[0], lengths[1:] * lengths[0]
    found: list[float] = np.divide(
        products, scale, out=np.zeros(len(vectors)), where=scale > 0
    ).tolist()
    return found
