"""Of several versions of one statement among the best, the newest first (RE-3).

A store knows which fact replaced which only where both came as facts. In turns, as they were
said, the old statement and the new one stand side by side and share most of their words. Where a
question asks how things stand, a newer turn is lifted just above an older one that it resembles.
"""

from __future__ import annotations

import numpy as np

from simonides.ports import TYPICAL_UNRELATED
from simonides.retrieval.cues import said_at
from simonides.retrieval.pool import Floats, Ints, Pool
from simonides.retrieval.scoring import as_typical

BEST = 8
"""Rows that are compared: the best ones, and those that tie with the last."""
MAX_BEST = 84
LIKENESS = 0.7
"""Least cosine of two versions of one statement."""
MAX_LIFT = 3.0
"""Log-odds by which an older version may be ahead and still be overtaken."""
STEP = 0.001


def newest_first(pool: Pool, scores: Floats, unrelated: float = TYPICAL_UNRELATED) -> Floats:
    """Return what to add to each score, 0 for all but a few.

    Args:
        pool: Visible rows.
        scores: What would order them, in log-odds.
        unrelated: Cosine of texts that have nothing to do with each other.
    """
    lift = np.zeros(len(pool))
    if len(pool) < 2 or not pool.dimensions:
        return lift
    best = _best(scores)
    if len(best) > MAX_BEST:
        return lift
    alike = as_typical(_likeness(pool, best), unrelated) >= LIKENESS
    speaker = pool.entry["speaker"][best]
    said, turn = pool.once(said_at)[best], pool.entry["turn"][best]
    newer = (said[:, None] > said) | ((said[:, None] == said) & (turn[:, None] > turn))
    ahead = scores[best] - scores[best][:, None]
    passes = newer & alike & (speaker[:, None] == speaker) & (ahead >= 0) & (ahead <= MAX_LIFT)
    # Of three versions the newest passes both others, hence a step for each.
    gains = np.where(passes, ahead, 0.0).max(axis=1) + STEP * passes.sum(axis=1)
    lift[best] = np.where(passes.any(axis=1), gains, 0.0)
    return lift


def _best(scores: Floats) -> Ints:
    if len(scores) <= BEST:
        return np.arange(len(scores))
    return np.flatnonzero(scores >= np.partition(scores, -BEST)[-BEST])


def _likeness(pool: Pool, slots: Ints) -> Floats:
    vectors = pool.vectors(slots)
    # Pair by pair, which keeps to one thread; of whole numbers, exact in any order.
    dots = np.vecdot(vectors[:, None], vectors).astype(np.float64)
    own = np.sqrt(dots.diagonal())
    return np.asarray(dots / np.maximum(own[:, None] * own, 1.0), np.float64)
