"""Identifies the ranking in a receipt, so that a replay can detect another one."""

from __future__ import annotations

import hashlib
from dataclasses import asdict, replace
from functools import lru_cache

from simonides.domain.canonical_json import canonical_json
from simonides.domain.reading.receipt import Ranking
from simonides.domain.value import plain
from simonides.retrieval.index.indexer import Indexer
from simonides.retrieval.ranking.fusion import Fusion

RANKER = "ranker 1"
"""Version of the ranking; raised when the same rows and settings may rank differently. A replay
also compares its hits with those shown, so that a forgotten raise does no harm."""


def ranking(indexer: Indexer, fusion: Fusion, *, has_vector: bool) -> Ranking:
    """Return the identity of the ranking of a query, with or without its vector."""
    return Ranking(
        ranker=RANKER,
        fusion=fusion.mode.value,
        settings=_hash_of(fusion),
        analyser=indexer.analyser,
        embedder=indexer.embedder if has_vector else None,
    )


def with_reranker(ranked_by: Ranking, model_id: str, candidates: int) -> Ranking:
    """Return the identity with a reranker that reorders the best ``candidates``."""
    return replace(ranked_by, ranker=f"{ranked_by.ranker}, {candidates} by {model_id}")


# Cached: every read needs the same value.
@lru_cache(maxsize=64)
def _hash_of(fusion: Fusion) -> str:
    return hashlib.sha256(canonical_json(plain(asdict(fusion)))).hexdigest()
