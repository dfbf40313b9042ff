"""From texts to index entries and queries: analyser and embedder together, as one recipe."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from memstrata.domain.errors import ModelError
from memstrata.domain.memory import Memory
from memstrata.language.analyser import ANALYSER_VERSION, analyse, main_script, query_terms, term_id
from memstrata.language.questions import read_question
from memstrata.ports import TYPICAL_UNRELATED, Capability, Embedder
from memstrata.retrieval.entry import Indexed, index_text, pack, quantise, recipe
from memstrata.retrieval.ranker import Query

# Beyond this many characters a query's tail adds cost and no meaning; chosen, eight times the
# longest query that a model may ask (SPEC PO-1).
MAX_QUERY_CHARS = 2_000

# What an embedder means that leaves a declaration out.
_NOTHING: frozenset[Capability] = frozenset()
_UNKNOWN: Mapping[str, float] = {}


class Prepared(NamedTuple):
    """Texts as the index sees them, with vectors or without.

    Attributes:
        entries: In the order of the texts.
        lost: Why their vectors are missing against the wish; None where they are there.
    """

    entries: list[Indexed]
    lost: ModelError | None


class Indexer:
    """Makes entries and queries by one analyser and one embedder.

    Args:
        embedder: Model, or None for keywords only.

    Attributes:
        recipe: Tag that entries carry; entries of another recipe are made anew when read.
        waiting_recipe: Tag of entries that wait for their vectors.
        dimensions: Length of the vectors, 0 without an embedder.
        embedder: Model id, empty without an embedder.
        analyser: Version of the analyser.
        is_slow: Whether the embedder may take its time. It is then asked neither on an event loop
            nor under an owner's turn, and an entry may have to wait for its vector.
    """

    def __init__(self, embedder: Embedder | None) -> None:
        self._model = embedder
        self.analyser = ANALYSER_VERSION
        self.embedder = "" if embedder is None else embedder.model_id
        self.dimensions = 0 if embedder is None else embedder.dimensions
        self.recipe = recipe(self.analyser, self.embedder)
        # Of a name that no model has, so that no process takes such an entry for a finished one.
        self._waiting = f"{self.embedder} awaited"
        self.waiting_recipe = recipe(self.analyser, self._waiting)
        able: frozenset[Capability] = getattr(embedder, "capabilities", _NOTHING)
        self.is_slow = embedder is not None and Capability.INLINE not in able
        asks: Any = embedder
        self._encode_queries = None
        if embedder is not None:
            is_told = Capability.QUERIES in able
            self._encode_queries = asks.encode_queries if is_told else embedder.encode

    def prepare(self, texts: Sequence[str]) -> list[Indexed]:
        """Analyse and embed texts, in their order.

        Raises:
            ModelError: If the embedder fails.
        """
        if self._model is None:
            return [Indexed(analyse(text), b"", 0.0, self.analyser, "") for text in texts]
        if not texts:
            return []
        rows = self._model.encode(texts)
        vectors = [(v.tobytes(), scale) for v, scale in map(quantise, rows)]
        return [
            Indexed(analyse(text), vector, scale, self.analyser, self.embedder)
            for text, (vector, scale) in zip(texts, vectors, strict=True)
        ]

    def bare(self, texts: Sequence[str]) -> list[Indexed]:
        """Analyse texts, in their order; their vectors are awaited, and zero until they come."""
        if self._model is None:
            return self.prepare(texts)
        nothing = bytes(self.dimensions)
        return [Indexed(analyse(text), nothing, 0.0, self.analyser, self._waiting)
                for text in texts]  # fmt: skip

    def prepare_anyway(self, texts: Sequence[str]) -> Prepared:
        """Analyse and embed texts, or only analyse them where the embedder fails: what was said is
        not lost with its vector.
        """
        try:
            return Prepared(self.prepare(texts), None)
        except ModelError as error:
            return Prepared(self.bare(texts), error)

    def entry(self, memory: Memory, indexed: Indexed) -> bytes:
        """Return the packed entry of a memory whose text was prepared before."""
        return pack(memory, indexed, [term_id(term) for term in indexed.terms])

    def reindex(self, memory: Memory) -> bytes:
        """Return the packed entry of a memory whose stored one is of another recipe; without its
        vector where that takes time or fails.
        """
        text = [index_text(memory)]
        (made,) = self.bare(text) if self.is_slow else self.prepare_anyway(text).entries
        return self.entry(memory, made)

    def renewed(self, memories: Sequence[Memory]) -> list[bytes]:
        """Return the packed entries of memories with their vectors.

        Raises:
            ModelError: If the embedder fails.
        """
        made = self.prepare([index_text(memory) for memory in memories])
        return [self.entry(*pair) for pair in zip(memories, made, strict=True)]

    def knows_script(self, text: str) -> bool:
        """Return whether the embedder knows the script that a text is mainly in; the dense part
        of ranking is left out otherwise.
        """
        return self._model is not None and main_script(text) in self._model.scripts

    def lexical_query(self, text: str) -> Query:
        """Return a query without a vector."""
        cut = text[:MAX_QUERY_CHARS]
        terms = query_terms(cut)
        return Query(terms, tuple(map(term_id, terms)), None, read_question(cut))

    def query(self, text: str) -> Query:
        """Return a query with terms and, where the embedder knows the script, a vector.

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
        return Query(query.terms, query.term_ids, vector, query.question, unrelated)
