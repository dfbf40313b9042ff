"""Signals, fusion and calibration of candidates."""

from __future__ import annotations

from simonides.retrieval.ranking.fusion import Fusion, FusionMode
from simonides.retrieval.ranking.ranker import (
    Ranked,
    explain,
    filtered_hits,
    rank,
    ranking,
    reranked,
    texts_of,
    with_reranker,
)
from simonides.retrieval.ranking.staleness import spread_of

__all__ = [
    "Fusion",
    "FusionMode",
    "Ranked",
    "explain",
    "filtered_hits",
    "rank",
    "ranking",
    "reranked",
    "spread_of",
    "texts_of",
    "with_reranker",
]
