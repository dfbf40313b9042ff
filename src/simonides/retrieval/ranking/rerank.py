"""Applies a reranker's scores to a ranking.

A reranker says which of the best memories serve the query better, on a scale of its own. It does
not say how certain that is. So it decides only the order. The calibrated scores are kept and
reassigned, the highest to the first. Floors are applied before.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from simonides.domain.errors import ModelGarbled
from simonides.retrieval.index.entry import index_text
from simonides.retrieval.ranking.ranker import Ranked


def texts_of(ranked: Ranked, candidates: int) -> list[str]:
    """Return the searchable texts of the best memories: with speaker, key and tags."""
    best = ranked.order[:candidates].tolist()
    return [index_text(ranked.pool.memory(slot)) for slot in best]


def reranked(ranked: Ranked, count: int, scores: Sequence[float]) -> Ranked:
    """Return a ranking with its best memories in the order of a reranker's scores.

    Args:
        ranked: With at least ``count`` memories in order.
        count: Number of the best memories that the reranker scored.
        scores: One for each of them, in their order; equal scores keep it.

    Raises:
        ModelGarbled: If a score is not finite, or if their number is wrong.
    """
    if len(scores) != count or not all(map(math.isfinite, scores)):
        raise ModelGarbled("invalid_schema", "a reranker gives each text one finite score")
    best = ranked.order[:count].tolist()
    places = sorted(range(count), key=lambda place: -scores[place])
    again = [best[place] for place in places]
    shared = ranked.score.copy()
    shared[again] = np.sort(ranked.score[best])[::-1]
    order = np.array([*again, *ranked.order[count:].tolist()], np.int64)
    said = dict(zip(best, map(float, scores), strict=True))
    return ranked._replace(order=order, score=shared, reranked=said)
