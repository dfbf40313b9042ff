"""What a reranker says, applied to a ranking (RE-10).

It says which of the best memories serve the query better, on a scale of its own, and not how sure
that is. So it orders, and the calibrated scores stay what they were: they are shared out anew, the
highest to the first. Floors have been applied before.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from simonides.domain.errors import ModelGarbled
from simonides.retrieval.entry import index_text
from simonides.retrieval.ranker import Ranked


def texts_of(ranked: Ranked, candidates: int) -> list[str]:
    """Return the texts of the best memories as they are found by: with speaker, key and tags."""
    best = ranked.order[:candidates].tolist()
    return [index_text(ranked.pool.memory(slot)) for slot in best]


def reranked(ranked: Ranked, count: int, scores: Sequence[float]) -> Ranked:
    """Return a ranking whose best are in the order of a reranker's scores.

    Args:
        ranked: With at least so many in order.
        count: How many of the best were read.
        scores: For each of them, in their order; equal ones keep it.

    Raises:
        ModelGarbled: If a score is not finite, or missing, or one too many.
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
