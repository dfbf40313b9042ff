"""Makes index entries and queries from texts, with one analyser and one embedder (the recipe)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from simonides.domain.codecs.memory import decode
from simonides.domain.errors import ModelError
from simonides.domain.memory import Record
from simonides.domain.writing.change import Renewed, StoredRow
from simonides.ports import TYPICAL_UNRELATED, Capability, Embedder
from simonides.retrieval.index.entry import (
    Indexed,
    index_text,
    pack,
    quantise,
    recipe,
    with_zero_vector,
)
from simonides.text import (
    ANALYSER_VERSION,
    Alias,
    aliases,
    analyse,
    main_script,
    query_terms,
    term_id,
)
from simonides.text.questions import Question, read_question

# The rest of a longer query adds cost and no meaning; chosen, eight times the longest query that
# a model may ask.
MAX_QUERY_CHARS = 2_000

TEXTS_AT_ONCE = 256
"""Batch size for the embedder; chosen. A batch takes the embedded model some 10 ms, a pause that
other threads accept. For most network embedders it is one request."""

FAILURES = ModelError, OSError
"""Errors of an embedder that is temporarily unavailable."""

# Defaults for an embedder without these declarations.
_NOTHING: frozenset[Capability] = frozenset()
_UNKNOWN: Mapping[str, float] = {}


class Query(NamedTuple):
    """A cue's analysed text.

    Attributes:
        terms: Distinct analysed terms, in order.
        term_ids: Their 64-bit ids.
        vector: int8 vector, or None for a query without one.
        question: What it asks for besides its words.
        unrelated: Cosine that the embedder gives unrelated texts of its script.
        aliases: Aliases of its terms.
    """

    terms: tuple[str, ...]
    term_ids: tuple[int, ...]
    vector: NDArray[np.int8] | None
    question: Question = Question()
    unrelated: float = TYPICAL_UNRELATED
    aliases: tuple[Alias, ...] = ()


class Prepared(NamedTuple):
    """Analysed texts, with or without vectors.

    Attributes:
        entries: In the order of the texts.
        lost: The error of the embedder if vectors are missing, else None.
    """

    entries: list[Indexed]
    lost: Exception | None


class Indexer:
    """Makes entries and queries with one analyser and one embedder.

    Args:
        embedder: Model, or None for keywords only.

    Attributes:
        recipe: Tag of current entries; entries of another recipe are rebuilt when read.
        bare_recipe: Tag of entries that wait for their vectors; equals ``recipe`` without an
            embedder.
        dimensions: Length of the vectors, 0 without an embedder.
        embedder: Model id, empty without an embedder.
        analyser: Version of the analyser.
        is_slow: Whether the embedder may block. It is then never called on an event loop or during
            an owner's write turn. An entry may have to wait for its vector.
        is_charged: Whether embedded texts leave the process and may cost money.
    """

    def __init__(self, embedder: Embedder | None) -> None:
        self._model = embedder
        self.analyser = ANALYSER_VERSION
        self.embedder = "" if embedder is None else embedder.model_id
        self.dimensions = 0 if embedder is None else embedder.dimensions
        self.recipe = recipe(self.analyser, self.embedder)
        self.bare_recipe = recipe(self.analyser, "")
        self._prefix = self.recipe.to_bytes(8, "little")
        able: frozenset[Capability] = getattr(embedder, "capabilities", _NOTHING)
        self.is_charged = Capability.CHARGED in able
        self.is_slow = embedder is not None and Capability.INLINE not in able
        declared: Any = embedder
        self._encode_queries = None
        if embedder is not None:
            has_query_mode = Capability.QUERIES in able
            self._encode_queries = declared.encode_queries if has_query_mode else embedder.encode

    def prepare(self, texts: Sequence[str]) -> list[Indexed]:
        """Analyse and embed texts, in their order.

        Raises:
            ModelError: If the embedder fails; or ``OSError``.
        """
        if self._model is None:
            return self.bare(texts)
        if not texts:
            return []
        rows = self._model.encode(texts)
        vectors = [(v.tobytes(), scale) for v, scale in map(quantise, rows)]
        return [
            Indexed(analyse(text), vector, scale, self.analyser, self.embedder)
            for text, (vector, scale) in zip(texts, vectors, strict=True)
        ]

    def bare(self, texts: Sequence[str]) -> list[Indexed]:
        """Analyse texts without embedding them, in their order.

        Entries that wait for their vectors are made this way.
        """
        return [Indexed(analyse(text), b"", 0.0, self.analyser, "") for text in texts]

    def prepare_anyway(self, texts: Sequence[str]) -> Prepared:
        """Analyse and embed texts; if the embedder fails, only analyse them.

        A text is thus stored even if its vector cannot be computed.
        """
        try:
            return Prepared(self.prepare(texts), None)
        except FAILURES as error:
            return Prepared(self.bare(texts), error)

    def is_current(self, entry: bytes) -> bool:
        """Return whether an entry is of this recipe, its vector included."""
        return entry.startswith(self._prefix)

    def renewed(self, rows: Sequence[StoredRow]) -> list[Renewed]:
        """Return the entries of rows, rebuilt by this recipe, in their order.

        Raises:
            ModelError: If the embedder fails; or ``OSError``.
        """
        memories = [decode(row) for row in rows]
        indexed = self.prepare([index_text(memory) for memory in memories])
        made = [self.entry(*pair) for pair in zip(memories, indexed, strict=True)]
        return [
            Renewed(row.id, row.revision, row.entry, entry, self.analyser, self.embedder)
            for row, entry in zip(rows, made, strict=True)
        ]

    def readable(self, memories: Sequence[Record]) -> list[bytes]:
        """Return entries that columns of this recipe can hold, in the order of the memories.

        They have no vectors if the embedder is slow or fails.
        """
        entries = []
        make = self.bare if self.is_slow else lambda texts: self.prepare_anyway(texts).entries
        for first in range(0, len(memories), TEXTS_AT_ONCE):
            some = memories[first : first + TEXTS_AT_ONCE]
            indexed = make([index_text(memory) for memory in some])
            entries += [self._held(self.entry(*pair)) for pair in zip(some, indexed, strict=True)]
        return entries

    def finished(self, memories: Sequence[Record]) -> list[bytes]:
        """Return entries like :meth:`readable`, but call a slow embedder too."""
        indexed = self.prepare_anyway([index_text(memory) for memory in memories]).entries
        return [self._held(self.entry(*pair)) for pair in zip(memories, indexed, strict=True)]

    def _held(self, entry: bytes) -> bytes:
        return entry if self.is_current(entry) else with_zero_vector(entry, self.dimensions)

    def entry(self, memory: Record, indexed: Indexed) -> bytes:
        """Return the packed entry of a memory from its prepared text."""
        return pack(memory, indexed, [term_id(term) for term in indexed.terms])

    def lexical_query(self, text: str) -> Query:
        """Return a query without a vector."""
        cut = text[:MAX_QUERY_CHARS]
        terms = query_terms(cut)
        ids = tuple(map(term_id, terms))
        return Query(terms, ids, None, read_question(cut), aliases=aliases(cut, terms))

    def query(self, text: str) -> Query:
        """Return a query with terms and, if the embedder supports its script, a vector.

        Raises:
            ModelError: If the embedder fails.
        """
        query = self.lexical_query(text)
        if self._model is None or self._encode_queries is None or not query.terms:
            return query
        script = main_script(text)
        if script not in self._model.scripts:
            return query
        vector, _ = quantise(np.asarray(self._encode_queries([text[:MAX_QUERY_CHARS]])[0]))
        known: Mapping[str, float] = getattr(self._model, "unrelated", _UNKNOWN)
        unrelated = known.get(script, TYPICAL_UNRELATED)
        return Query(query.terms, query.term_ids, vector, query.question, unrelated, query.aliases)
