"""The index of one owner: terms, vectors, keys, times, as numpy columns."""

from __future__ import annotations

from simonides.retrieval.index.cache import IndexCache
from simonides.retrieval.index.document_index import DocumentIndex, passage_columns
from simonides.retrieval.index.entry import (
    ENTRY,
    ENTRY_COLUMNS,
    Indexed,
    index_text,
    scope_tag,
    slot_of,
    turn_of,
)
from simonides.retrieval.index.gc_candidates import (
    KEPT_CATEGORY,
    EvictionCandidate,
    Summary,
    eviction_candidates,
    gc_candidates,
    of_kind,
)
from simonides.retrieval.index.indexer import FAILURES, TEXTS_AT_ONCE, Indexer, Query
from simonides.retrieval.index.near_duplicates import NearTexts, shape_in, shape_of
from simonides.retrieval.index.owner_index import SMALL_OWNER, OwnerIndex
from simonides.retrieval.index.segment import Frozen

__all__ = [
    "ENTRY",
    "ENTRY_COLUMNS",
    "FAILURES",
    "KEPT_CATEGORY",
    "SMALL_OWNER",
    "TEXTS_AT_ONCE",
    "DocumentIndex",
    "EvictionCandidate",
    "Frozen",
    "IndexCache",
    "Indexed",
    "Indexer",
    "NearTexts",
    "OwnerIndex",
    "Query",
    "Summary",
    "eviction_candidates",
    "gc_candidates",
    "index_text",
    "of_kind",
    "passage_columns",
    "scope_tag",
    "shape_in",
    "shape_of",
    "slot_of",
    "turn_of",
]
