"""From texts to index entries and queries: analyser and embedder together, as one recipe."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from memstrata.domain.memory import Memory
from memstrata.language.analyser import ANALYSER_VERSION, analyse, main_script, query_terms, term_id
from memstrata.language.names import others
from memstrata.language.questions import read_question
from memstrata.ports import Embedder
from memstrata.retrieval.entry import Indexed, index_text, pack, quantise, recipe
from memstrata.retrieval.ranker import Query

# Beyond this many characters a query's tail adds cost and no meaning; chosen, eight times the
# longest query that a model may ask (SPEC PO-1).
MAX_QUERY_CHARS = 2_000


class Indexer:
    """Makes entries and queries by one analyser and one embedder.

    Attributes:
        recipe: Tag that entries carry; entries of another recipe are made anew when read.
        dimensions: Length of the vectors, 0 without an embedder.
        embedder: Model id, empty without an embedder.
        analyser: Version of the analyser.
    """

    def __init__(self, embedder: Embedder | None) -> None:
        self._model = embedder
        self.analyser = ANALYSER_VERSION
        self.embedder = "" if embedder is None else embedder.model_id
        self.dimensions = 0 if embedder is None else embedder.dimensions
        self.recipe = recipe(self.analyser, self.embedder)

    def prepare(self, texts: Sequence[str]) -> list[Indexed]:
        """Analyse and embed texts, in their order.

        Raises:
            ModelError: If the embedder fails.
        """
        vectors: list[tuple[bytes, float]] = [(b"", 0.0)] * len(texts)
        if self._model is not None and texts:
            rows = self._model.encode(texts)
            vectors = [(v.tobytes(), scale) for v, scale in map(quantise, rows)]
        return [
            Indexed(analyse(text), vector, scale, self.analyser, self.embedder)
            for text, (vector, scale) in zip(texts, vectors, strict=True)
        ]

    def entry(self, memory: Memory, indexed: Indexed) -> bytes:
        """Return the packed entry of a memory whose text was prepared before."""
        return pack(memory, indexed, [term_id(term) for term in indexed.terms])

    def reindex(self, memory: Memory) -> bytes:
        """Return the packed entry of a memory whose stored one is of another recipe."""
        return self.entry(memory, self.prepare([index_text(memory)])[0])

    def knows_script(self, text: str) -> bool:
        """Return whether the embedder knows the script that a text is mainly in; the dense part
        of ranking is left out otherwise.
        """
        return self._model is not None and main_script(text) in self._model.scripts

    def lexical_query(self, text: str) -> Query:
        """Return a query without a vector."""
        cut = text[:MAX_QUERY_CHARS]
        terms = query_terms(cut)
        ids = tuple(map(term_id, terms))
        return Query(terms, ids, None, read_question(cut), others(cut, terms))

    def query(self, text: str) -> Query:
        """Return a query with terms and, where the embedder knows the script, a vector.

        Raises:
            ModelError: If the embedder fails.
        """
        query = self.lexical_query(text)
        if self._model is None or not query.terms or not self.knows_script(text):
            return query
        rows = self._model.encode([text[:MAX_QUERY_CHARS]])
        vector, _ = quantise(np.asarray(rows[0]))
        return Query(query.terms, query.term_ids, vector, query.question, query.others)
