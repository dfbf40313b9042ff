"""The passages of one source of documents as an index, ranked like memories are (KN-1).

Passages become rows as memories do, but of no store: the same analyser, embedder and columns, so
that one ranking is over both.
"""

from __future__ import annotations

import threading
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from types import MappingProxyType

from simonides.domain.change import Head, StoredRow
from simonides.domain.codec import encode_body, encode_state
from simonides.domain.memory import Memory, Status
from simonides.domain.value import to_us
from simonides.retrieval.cache import IndexCache
from simonides.retrieval.entry import index_text
from simonides.retrieval.indexer import TEXTS_AT_ONCE, Indexer
from simonides.retrieval.segment import Frozen

_NOWHERE = bytes(16)


class Shelf:
    """What stands of a source, by id; safe to use from several threads.

    Attributes:
        index: Its index.
        revision: What of the source it holds; empty until something was put there.
    """

    def __init__(self, indexes: IndexCache) -> None:
        self.index = indexes.apart()
        self.revision = ""
        self._indexer = indexes.indexer
        self._lock = threading.Lock()
        self._standing: Mapping[str, Memory] = MappingProxyType({})
        self._puts = 0

    def __len__(self) -> int:
        return len(self._standing)

    @property
    def standing(self) -> Mapping[str, Memory]:
        """The passages by id, as they are at this moment; what is put later does not change it."""
        return self._standing

    def put(self, passages: Iterable[Memory], revision: str) -> None:
        """Have exactly these stand; only those that are new or changed are analysed and embedded.

        Args:
            passages: By ids that differ.
            revision: What they are of the source.
        """
        with self._lock:
            wanted = {passage.id: passage for passage in passages}
            before = self._standing
            gone = [each for id, each in before.items() if id not in wanted]
            made = [each for id, each in wanted.items() if before.get(id) != each]
            rows = [_row(replace(each, status=Status.EVICTED), b"") for each in gone]
            rows += rows_of(made, self._indexer)
            self._puts += 1
            self.index.apply(Head(_NOWHERE, 0, self._puts, 0, 0), rows)
            self._standing, self.revision = MappingProxyType(wanted), revision


def rows_of(passages: Sequence[Memory], indexer: Indexer) -> list[StoredRow]:
    """Return passages as rows with entries, in their order.

    An embedder that takes its time is asked all the same: nobody holds a turn meanwhile. Where it
    fails they are entries without vectors, which wait for theirs as others do.
    """
    rows = list[StoredRow]()
    for first in range(0, len(passages), TEXTS_AT_ONCE):
        some = passages[first : first + TEXTS_AT_ONCE]
        indexed = indexer.prepare_anyway([index_text(each) for each in some]).entries
        pairs = zip(some, indexed, strict=True)
        rows += [_row(each, indexer.entry(each, made)) for each, made in pairs]
    return rows


def laid_out(passages: Sequence[Memory], indexes: IndexCache) -> Frozen:
    """Return columns of passages that are for one question only."""
    return indexes.frozen_at(rows_of(passages, indexes.indexer))


def _row(passage: Memory, entry: bytes) -> StoredRow:
    since = to_us(passage.known_from)
    return StoredRow(passage.id, 1, encode_body(passage), encode_state(passage), entry, since, None)
