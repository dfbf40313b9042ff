"""What ranks, by name: a receipt says it, so that the same can be told from another (FX-4)."""

from __future__ import annotations

import hashlib
from dataclasses import asdict, replace
from functools import lru_cache

from simonides.domain.canonical import canonical_json
from simonides.domain.receipt import Ranking
from simonides.domain.value import plain
from simonides.retrieval.fusion import Fusion
from simonides.retrieval.indexer import Indexer

RANKER = "ranker 1"
"""Version of the ranking; raised when the same rows and settings may rank otherwise. A replay
compares what it finds with what was shown besides, so that a forgotten raise does no harm."""


def ranking(indexer: Indexer, fusion: Fusion, *, has_vector: bool) -> Ranking:
    """Return what ranks a query, with or without its vector."""
    return Ranking(
        ranker=RANKER,
        fusion=fusion.mode.value,
        settings=_hash_of(fusion),
        analyser=indexer.analyser,
        embedder=indexer.embedder if has_vector else None,
    )


def with_reranker(ranked_by: Ranking, model_id: str, candidates: int) -> Ranking:
    """Return what ranks where a reranker orders so many of the best after it."""
    return replace(ranked_by, ranker=f"{ranked_by.ranker}, {candidates} by {model_id}")


# Every read asks for the same one.
@lru_cache(maxsize=64)
def _hash_of(fusion: Fusion) -> str:
    return hashlib.sha256(canonical_json(plain(asdict(fusion)))).hexdigest()
