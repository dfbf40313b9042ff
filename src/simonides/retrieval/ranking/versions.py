"""Lifts the newest of several versions of one statement above the older ones.

A store records replacements only between facts. Among verbatim turns, the old statement and the new
one coexist and share most of their words. If a question asks for the present state, a newer turn is
lifted just above an older one that resembles it.
"""

from __future__ import annotations

import numpy as np

from simonides.ports import TYPICAL_UNRELATED
from simonides.retrieval.query.cues import said_at
from simonides.retrieval.query.pool import Floats, Ints, Pool
from simonides.retrieval.ranking.signals import as_typical

BEST = 8
"""Number of best rows that are compared, plus those that tie with the last."""
MAX_BEST = 84
LIKENESS = 0.7
"""Least cosine of two versions of one statement."""
MAX_LIFT = 3.0
"""Largest lead of an older version, in log-odds, that a newer one can overtake."""
STEP = 0.001


def newest_first(pool: Pool, scores: Floats, unrelated: float = TYPICAL_UNRELATED) -> Floats:
    """Return the lift of each score, 0 for all but a few.

    Args:
        pool: Visible rows.
        scores: In log-odds.
        unrelated: Cosine of unrelated texts.
    """
    lift = np.zeros(len(pool))
    if len(pool) < 2 or not pool.dimensions:
        return lift
    best = _best(scores)
    if len(best) > MAX_BEST:
        return lift
    alike = as_typical(_likeness(pool, best), unrelated) >= LIKENESS
    speaker = pool.entry["speaker"][best]
    said, turn = pool.cached(said_at)[best], pool.entry["turn"][best]
    newer = (said[:, None] > said) | ((said[:, None] == said) & (turn[:, None] > turn))
    ahead = scores[best] - scores[best][:, None]
    passes = newer & alike & (speaker[:, None] == speaker) & (ahead >= 0) & (ahead <= MAX_LIFT)
    # Of three versions the newest overtakes both others, hence a step for each.
    gains = np.where(passes, ahead, 0.0).max(axis=1) + STEP * passes.sum(axis=1)
    lift[best] = np.where(passes.any(axis=1), gains, 0.0)
    return lift


def _best(scores: Floats) -> Ints:
    if len(scores) <= BEST:
        return np.arange(len(scores))
    return np.flatnonzero(scores >= np.partition(scores, -BEST)[-BEST])


def _likeness(pool: Pool, slots: Ints) -> Floats:
    vectors = pool.vectors(slots)
    # Pair by pair, which uses one thread; sums of integers are exact in any order.

    dots = np.vecdot(vectors[:, None], vectors).astype(np.float64)
    own = np.sqrt(dots.diagonal())
    return np.asarray(dots / np.maximum(own[:, None] * own, 1.0), np.float64)
