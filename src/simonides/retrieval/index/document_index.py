"""Index of the passages of one document source, ranked together with memories.

Passages become rows like memories, but are not stored. Analyser, embedder and columns are the same,
so that one ranking covers both.
"""

from __future__ import annotations

import threading
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from types import MappingProxyType

from simonides.domain.codecs.memory import encode_body, encode_state
from simonides.domain.memory import Record, Status
from simonides.domain.value import to_us
from simonides.domain.writing.change import Head, StoredRow
from simonides.retrieval.index.cache import IndexCache
from simonides.retrieval.index.entry import index_text
from simonides.retrieval.index.indexer import TEXTS_AT_ONCE, Indexer
from simonides.retrieval.index.segment import Frozen

_NOWHERE = bytes(16)


class DocumentIndex:
    """The passages of a source, by id; thread-safe.

    Attributes:
        index: Its index.
        revision: Revision of the source that it holds; empty before the first :meth:`put`.
    """

    def __init__(self, indexes: IndexCache) -> None:
        self.index = indexes.uncached()
        self.revision = ""
        self._indexer = indexes.indexer
        self._lock = threading.Lock()
        self._passages: Mapping[str, Record] = MappingProxyType({})
        self._puts = 0

    def __len__(self) -> int:
        return len(self._passages)

    @property
    def passages(self) -> Mapping[str, Record]:
        """The current passages by id; a later :meth:`put` does not change the returned mapping."""
        return self._passages

    def put(self, passages: Iterable[Record], revision: str) -> None:
        """Replace the passages; only new or changed ones are analysed and embedded.

        Args:
            passages: With distinct ids.
            revision: Revision of the source.
        """
        with self._lock:
            wanted = {passage.id: passage for passage in passages}
            before = self._passages
            gone = [each for id, each in before.items() if id not in wanted]
            made = [each for id, each in wanted.items() if before.get(id) != each]
            rows = [_row(replace(each, status=Status.EVICTED), b"") for each in gone]
            rows += rows_of(made, self._indexer)
            self._puts += 1
            self.index.apply(Head(_NOWHERE, 0, self._puts, 0, 0), rows)
            self._passages, self.revision = MappingProxyType(wanted), revision


def rows_of(passages: Sequence[Record], indexer: Indexer) -> list[StoredRow]:
    """Return passages as rows with entries, in their order.

    A slow embedder is called too, because no write turn is held. If it fails, the entries have no
    vectors and wait for them like others.
    """
    rows = list[StoredRow]()
    for first in range(0, len(passages), TEXTS_AT_ONCE):
        some = passages[first : first + TEXTS_AT_ONCE]
        indexed = indexer.prepare_anyway([index_text(each) for each in some]).entries
        pairs = zip(some, indexed, strict=True)
        rows += [_row(each, indexer.entry(each, made)) for each, made in pairs]
    return rows


def passage_columns(passages: Sequence[Record], indexes: IndexCache) -> Frozen:
    """Return columns of passages for a single question."""
    return indexes.snapshot_of(rows_of(passages, indexes.indexer))


def _row(passage: Record, entry: bytes) -> StoredRow:
    since = to_us(passage.known_from)
    return StoredRow(passage.id, 1, encode_body(passage), encode_state(passage), entry, since, None)
