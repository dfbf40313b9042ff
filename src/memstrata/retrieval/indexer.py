"""From texts to index entries and queries: analyser and embedder together, as one recipe."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from memstrata.domain.change import Renewed, StoredRow
from memstrata.domain.codec import decode
from memstrata.domain.errors import ModelError
from memstrata.domain.memory import Memory
from memstrata.language.analyser import ANALYSER_VERSION, analyse, main_script, query_terms, term_id
from memstrata.language.names import others
from memstrata.language.questions import read_question
from memstrata.ports import Embedder
from memstrata.retrieval.entry import Indexed, index_text, pack, quantise, recipe, widened
from memstrata.retrieval.ranker import Query

# Beyond this many characters a query's tail adds cost and no meaning; chosen, eight times the
# longest query that a model may ask (SPEC PO-1).
MAX_QUERY_CHARS = 2_000

TEXTS_AT_ONCE = 256
"""Texts that are given to the embedder together where many are; chosen: some 10 ms of work for the
embedded model, what others of a process wait for anyhow, and one request for most over a network.
"""

FAILURES = ModelError, OSError
"""What an embedder raises that cannot do its work now."""


class Indexer:
    """Makes entries and queries by one analyser and one embedder.

    Attributes:
        recipe: Tag that entries carry; entries of another recipe are made anew when read.
        bare_recipe: Tag of entries that wait for their vectors; that of ``recipe`` itself where
            there is no embedder.
        dimensions: Length of the vectors, 0 without an embedder.
        embedder: Model id, empty without an embedder.
        analyser: Version of the analyser.
        failure: Why the last texts have no vectors, by the error's name; None if they have.
    """

    def __init__(self, embedder: Embedder | None) -> None:
        self._model = embedder
        self.analyser = ANALYSER_VERSION
        self.embedder = "" if embedder is None else embedder.model_id
        self.dimensions = 0 if embedder is None else embedder.dimensions
        self.recipe = recipe(self.analyser, self.embedder)
        self.bare_recipe = recipe(self.analyser, "")
        self.failure: str | None = None
        self._prefix = self.recipe.to_bytes(8, "little")

    def prepare(self, texts: Sequence[str]) -> list[Indexed]:
        """Analyse and embed texts, in their order.

        Where the embedder fails none of them has a vector, and says so: what is written then is
        found by its words, and its vector is made later (LT-11).
        """
        try:
            return self._embedded(texts)
        except FAILURES:
            return self._unembedded(texts)

    def _embedded(self, texts: Sequence[str]) -> list[Indexed]:
        """Analyse and embed texts, or raise what the embedder raises."""
        vectors: list[tuple[bytes, float]] = [(b"", 0.0)] * len(texts)
        if self._model is not None and texts:
            vectors = [(v.tobytes(), scale) for v, scale in map(quantise, self._encode(texts))]
        return [
            Indexed(analyse(text), vector, scale, self.analyser, self.embedder)
            for text, (vector, scale) in zip(texts, vectors, strict=True)
        ]

    def _unembedded(self, texts: Sequence[str]) -> list[Indexed]:
        return [Indexed(analyse(text), b"", 0.0, self.analyser, "") for text in texts]

    def _encode(self, texts: Sequence[str]) -> NDArray[np.float32]:
        assert self._model is not None  # noqa: S101 - only asked where there is one
        try:
            rows = self._model.encode(texts)
        except FAILURES as error:
            self.failure = type(error).__name__
            raise
        self.failure = None
        return rows

    def made(self, entry: bytes) -> bool:
        """Return whether an entry is of this recipe, its vector included."""
        return entry.startswith(self._prefix)

    def renewed(self, rows: Sequence[StoredRow]) -> list[Renewed]:
        """Return the entries of rows, made anew by this recipe, in their order.

        Raises:
            ModelError: If the embedder fails; or ``OSError``.
        """
        memories = [decode(row) for row in rows]
        indexed = self._embedded([index_text(memory) for memory in memories])
        made = [self.entry(*pair) for pair in zip(memories, indexed, strict=True)]
        return [
            Renewed(row.id, row.revision, row.entry, entry, self.analyser, self.embedder)
            for row, entry in zip(rows, made, strict=True)
        ]

    def readable(self, memories: Sequence[Memory]) -> list[bytes]:
        """Return entries of memories that columns of this recipe can hold, in their order.

        While the embedder fails they come without vectors. It is then not asked here: a
        reader would wait for its time-out once for each owner; whoever embeds a query, writes,
        or makes entries anew finds out when it works again.
        """
        entries = []
        for first in range(0, len(memories), TEXTS_AT_ONCE):
            some = memories[first : first + TEXTS_AT_ONCE]
            texts = [index_text(memory) for memory in some]
            indexed = self._unembedded(texts) if self.failure else self.prepare(texts)
            entries += [self._held(self.entry(*pair)) for pair in zip(some, indexed, strict=True)]
        return entries

    def _held(self, entry: bytes) -> bytes:
        return entry if self.made(entry) else widened(entry, self.dimensions)

    def entry(self, memory: Memory, indexed: Indexed) -> bytes:
        """Return the packed entry of a memory whose text was prepared before."""
        return pack(memory, indexed, [term_id(term) for term in indexed.terms])

    def reindex(self, memory: Memory) -> bytes:
        """Return the packed entry of a memory."""
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
        rows = self._encode([text[:MAX_QUERY_CHARS]])
        vector, _ = quantise(np.asarray(rows[0]))
        return Query(query.terms, query.term_ids, vector, query.question, query.others)
