"""The signals of ranking, each one float64 array over the pool.

All sums that run over rows are sums of integers, so that a figure does not depend on the order in
which rows lie in a store (FX-14).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import cached_property
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from memstrata.domain.codec import IMPORTANCE_CODES, NEVER
from memstrata.retrieval.entry import NO_TURN
from memstrata.retrieval.pool import Bools, Floats, Ints, Pool
from memstrata.retrieval.segment import STALE

# Robertson and Zaragoza 2009; the same values as the baseline that recall is measured against.
BM25_K1 = 1.2
BM25_B = 0.75

# Below this many visible rows a mean and a deviation say little (DESIGN D1).
MIN_ROWS_FOR_Z = 10
STEP_BITS = 21
# Below 2^-900 a signal is nothing; without a limit the scale would overflow.
LEAST_EXPONENT = -900
DAY_US = 86_400_000_000


class Signals:
    """What is known of every visible row for one query, each computed when a mode asks for it.

    Args:
        pool: Visible rows.
        terms: Ids of the query's distinct terms.
        vector: int8 vector of the query, or None where no vector takes part.
        now_us: The clock.
        half_life_days: Of recency.
    """

    def __init__(
        self,
        pool: Pool,
        terms: Sequence[int],
        vector: NDArray[np.int8] | None,
        now_us: int,
        half_life_days: float,
    ) -> None:
        self._pool = pool
        self._terms = terms
        self._vector = vector
        self._now_us = now_us
        self._half_life_days = half_life_days
        self.has_dense = vector is not None and bool(vector.any())

    @cached_property
    def lexical(self) -> Floats:
        """BM25 score, 0 and up."""
        return bm25(self._pool, self._terms)

    @cached_property
    def dense(self) -> Floats:
        """Cosine of the int8 vectors, -1 to 1; all 0 where no vector takes part."""
        return cosine(self._pool, self._vector)

    @cached_property
    def recency(self) -> Floats:
        """1 for an update at the clock, falling by half each half-life."""
        return recency(self._pool, self._now_us, self._half_life_days)

    @cached_property
    def importance(self) -> Floats:
        """0.5, 0.8 or 1."""
        return importance(self._pool)


def bm25(pool: Pool, terms: Sequence[int]) -> Floats:
    """Return the BM25 score of each row for the distinct query terms, with Lucene's idf.

    Source: Robertson, Zaragoza 2009; ``idf = ln(1 + (N - df + 0.5) / (df + 0.5))``.
    """
    if not len(pool) or not terms:
        return np.zeros(len(pool))
    slots, counts, df = pool.postings(terms)
    idf = np.log1p((len(pool) - df + 0.5) / (df + 0.5))
    gains = idf.repeat(df) * counts / (counts + pool.once(_bm25_norms)[slots])
    # bincount adds in the order of its input: term by term, whatever the order of rows.
    return np.bincount(slots, gains, minlength=len(pool)).astype(np.float64, copy=False)


def _bm25_norms(pool: Pool) -> Floats:
    lengths = pool.entry["length"].astype(np.float64)
    average = float(pool.entry["length"].sum(dtype=np.int64)) / len(pool) or 1.0
    return np.asarray(BM25_K1 * (1.0 - BM25_B + BM25_B / average * lengths), np.float64)


def cosine(pool: Pool, vector: NDArray[np.int8] | None) -> Floats:
    """Return the cosine of each row's int8 vector with the query's, 0 where either is empty."""
    if vector is None or not len(pool):
        return np.zeros(len(pool))
    query = vector.astype(np.float32)
    own = math.sqrt(float(query @ query))
    if own == 0.0:
        return np.zeros(len(pool))
    # Rows are unit vectors before quantisation, so scale · norm of the int8 row is 1 to within
    # the quantisation step; multiplying by the scale spares a norm per row.
    return np.asarray(pool.dots(query) * pool.once(_scales) / own, np.float64)


def _scales(pool: Pool) -> Floats:
    return np.ascontiguousarray(pool.entry["scale"], np.float64)


def recency(pool: Pool, now_us: int, half_life_days: float) -> Floats:
    """Return 1 for an update at the clock, 0.5 after one half-life, and so on."""
    if not len(pool):
        return np.zeros(0)
    age_days = np.maximum(now_us - pool.state["updated"], 0) / DAY_US
    return np.asarray(np.exp2(-age_days / half_life_days), np.float64)


def importance(pool: Pool) -> Floats:
    """Return the importance weight of each row."""
    weights = np.array([level.weight for level in IMPORTANCE_CODES])
    return weights[pool.state["importance"]] if len(pool) else np.zeros(0)


def certainty(pool: Pool, share: float) -> Floats:
    """Return ``1 - share · (1 - confidence)`` for each row."""
    return 1.0 - share * (1.0 - pool.state["confidence"]) if len(pool) else np.zeros(0)


def down_weight(pool: Pool, now_us: int) -> Floats:
    """Return 0.5 for stale and soft-expired rows and 1 for others (LT-5, HY-4)."""
    if now_us < pool.ages_at:
        return pool.once(_ones)
    stale = pool.state["status"] == STALE
    soft = (pool.state["soft"] != NEVER) & (pool.state["soft"] <= now_us)
    return np.where(stale | soft, 0.5, 1.0)


def _ones(pool: Pool) -> Floats:
    return np.ones(len(pool))


def z_scores(values: Floats, prior: tuple[float, float], weight: float = 1.0) -> Floats:
    """Return values in deviations from their mean, times a weight.

    Mean and deviation are taken in whole steps, at least 2^-20 of the largest value: integers add
    up the same in any order of rows (FX-14). Sums of squares of up to 2^21 rows do not overflow.

    Args:
        values: One signal over the pool.
        prior: Mean and deviation to use for pools under :data:`MIN_ROWS_FOR_Z` rows, or where
            the deviation is 0.
        weight: Of the result.
    """
    mean, deviation = prior
    count = len(values)
    if count >= MIN_ROWS_FOR_Z:
        peak = float(max(np.maximum.reduce(values), -np.minimum.reduce(values)))
        scale = math.ldexp(1.0, STEP_BITS - max(math.frexp(peak)[1], LEAST_EXPONENT))
        steps = (values * scale).astype(np.int64)
        total, squares = int(np.add.reduce(steps)), int(steps @ steps)
        spread = count * squares - total * total
        if spread > 0:
            mean, deviation = total / count / scale, math.sqrt(spread) / count / scale
    return (values - mean) * (weight / deviation)


class _Talk(NamedTuple):
    """The verbatim turns of a pool as they followed each other.

    Attributes:
        order: Pool places, turn after turn, session after session.
        adjoins: For each distance from 1, whether a turn and the one that many places on are so
            far apart in one session.
    """

    order: Ints
    adjoins: tuple[Bools, ...]


def neighbours(pool: Pool, base: Floats, weights: Sequence[float]) -> Floats:
    """Return, for verbatim turns, the weighted scores of the turns around them.

    Args:
        pool: Visible rows.
        base: Score of each row by itself; a negative one is no evidence against a neighbour and
            counts as 0.
        weights: Weight of the turn at distance 1, 2, … on either side, in the same session.
    """
    total = np.zeros(len(pool))
    if not pool.has_turns:
        return total
    talk = pool.once(_talk, len(weights))
    scores = np.maximum(base[talk.order], 0.0)
    gathered = np.zeros(len(scores))
    for distance, (weight, same) in enumerate(zip(weights, talk.adjoins, strict=False), start=1):
        gathered[:-distance] += weight * np.where(same, scores[distance:], 0.0)
        gathered[distance:] += weight * np.where(same, scores[:-distance], 0.0)
    total[talk.order] = gathered
    return total


def _talk(pool: Pool, reach: int) -> _Talk:
    turns = np.flatnonzero(_is_turn(pool))
    place, session = pool.entry["place"][turns], pool.entry["session"][turns]
    turn = pool.entry["turn"][turns].astype(np.int64)
    along = np.lexsort((turn, session, place))
    place, session, turn = place[along], session[along], turn[along]
    adjoins = []
    for distance in range(1, min(reach, len(turns) - 1) + 1):
        before, after = slice(None, -distance), slice(distance, None)
        same = (session[before] == session[after]) & (place[before] == place[after])
        adjoins.append(same & (turn[after] - turn[before] == distance))
    return _Talk(turns[along], tuple(adjoins))


def _is_turn(pool: Pool) -> Bools:
    return np.asarray((pool.entry["verbatim"] != 0) & (pool.entry["turn"] != NO_TURN), np.bool_)
