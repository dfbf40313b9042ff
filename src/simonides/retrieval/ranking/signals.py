"""The signals of ranking, each one float64 array over the pool.

Sums over rows are sums of integers. So a result does not depend on the order of rows, and rankings
are the same on every backend.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any, Generic, NamedTuple, TypeVar

import numpy as np
from numpy.typing import NDArray

from simonides.domain.codecs.memory import IMPORTANCE_CODES
from simonides.ports import TYPICAL_UNRELATED
from simonides.retrieval.index import ageing
from simonides.retrieval.index.segment import Counts
from simonides.retrieval.query.naming import look_up
from simonides.retrieval.query.pool import Bools, Floats, Ints, Pool
from simonides.text import Alias
from simonides.text.questions import Question

# Robertson and Zaragoza 2009; the same values as the baseline that recall is measured against.
BM25_K1 = 1.2
BM25_B = 0.75

RARE_TERMS = 4
"""Number of rare query terms that :func:`pairs` combines."""

# With fewer visible rows a mean and a deviation say little.
MIN_ROWS_FOR_Z = 10
STEP_BITS = 21
# Smaller signals count as 0; without a limit the scale would overflow.
LEAST_EXPONENT = -900
DAY_US = 86_400_000_000


T = TypeVar("T")


class lazy(Generic[T]):  # noqa: N801 - used like a decorator of functools
    """``cached_property`` without its lock, which before Python 3.12 costs more than some signals.

    The signals of a query are used on one thread only.
    """

    def __init__(self, make: Callable[[Any], T]) -> None:
        self._make = make
        self._name = make.__name__
        self.__doc__ = make.__doc__

    def __get__(self, signals: Any, kind: type | None = None) -> T:
        """Compute the signal and cache it on the instance."""
        found: T = self._make(signals)
        signals.__dict__[self._name] = found
        return found


class Signals:
    """The signals of every visible row for one query, each computed on first use.

    Args:
        pool: Visible rows.
        terms: Ids of the query's distinct terms.
        vector: int8 vector of the query, or None for a query without one.
        question: The parsed question.
        now_us: The clock.
        half_life_days: Of recency.
        unrelated: Cosine that the embedder gives unrelated texts.
        aliases: Aliases of the query's terms.
    """

    def __init__(
        self,
        pool: Pool,
        terms: Sequence[int],
        vector: NDArray[np.int8] | None,
        question: Question,
        now_us: int,
        half_life_days: float,
        unrelated: float = TYPICAL_UNRELATED,
        aliases: Sequence[Alias] = (),
    ) -> None:
        self._pool = pool
        self._aliases = aliases
        self.terms = terms
        self.vector = vector
        self.question = question
        self.now_us = now_us
        self._half_life_days = half_life_days
        self.unrelated = unrelated
        self.has_dense = vector is not None and np.count_nonzero(vector) > 0

    @lazy
    def matches(self) -> Matches:
        """Postings of the query's terms."""
        return find(self._pool, self.terms, self._aliases)

    @lazy
    def lexical(self) -> Floats:
        """BM25 score, 0 and up."""
        return bm25(self._pool, self.matches)

    @lazy
    def pairs(self) -> Floats:
        """Bonus of rows that hold several of the rarest terms, 0 and up."""
        return pairs(self._pool, self.matches)

    @lazy
    def cosines(self) -> Floats:
        """Cosine of the int8 vectors, -1 to 1; all 0 without a query vector."""
        return cosine(self._pool, self.vector)

    @lazy
    def dense(self) -> Floats:
        """The cosine on the scale of the embedded embedder; 0 without a vector."""
        if self.unrelated == TYPICAL_UNRELATED or not self.has_dense:
            return self.cosines
        has_vector = self._pool.cached(_scales) > 0.0
        return np.where(has_vector, as_typical(self.cosines, self.unrelated), 0.0)

    @lazy
    def recency(self) -> Floats:
        """1 for an update at the clock, halved each half-life."""
        return recency(self._pool, self.now_us, self._half_life_days)

    @lazy
    def importance(self) -> Floats:
        """0.5, 0.8 or 1."""
        return importance(self._pool)


class Matches(NamedTuple):
    """Postings of a query's terms, with their idf.

    Attributes:
        slots: Pool places, term by term in the query's order.
        counts: Occurrences in the row, of the same length.
        terms: Number of the term, of the same length.
        worth: Idf of the term, of the same length.
        df: For each term, the number of rows that hold it.
        idf: For each term, ``ln(1 + (N - df + 0.5) / (df + 0.5))``.
        by_alias: Whether the row holds only an alias of the term, of the same length as the slots;
            None if no row is found by an alias.
    """

    slots: Ints
    counts: Counts
    terms: Ints
    worth: Floats
    df: list[int]
    idf: list[float]
    by_alias: Bools | None = None


def find(pool: Pool, terms: Sequence[int], aliases: Sequence[Alias] = ()) -> Matches:
    """Look up the distinct terms of a query and their aliases."""
    (slots, counts, df), by_alias = look_up(pool, terms, aliases)
    rows = len(pool)
    idf = [math.log1p((rows - held + 0.5) / (held + 0.5)) for held in df]
    terms_there = np.arange(len(df)).repeat(df)
    return Matches(slots, counts, terms_there, np.array(idf)[terms_there], df, idf, by_alias)


def bm25(pool: Pool, found: Matches, *, aliases_only: bool = False) -> Floats:
    """Return the BM25 score of each row, with Lucene's idf.

    Args:
        pool: Visible rows.
        found: Postings of the terms.
        aliases_only: Count only rows found by an alias of a term.

    Source: Robertson, Zaragoza 2009.
    """
    if not len(found.slots):
        return np.zeros(len(pool))
    norms = pool.cached(_bm25_norms)[found.slots]
    gains = found.worth * found.counts / (norms + found.counts)
    if aliases_only:
        gains = gains * (False if found.by_alias is None else found.by_alias)
    # bincount adds in the order of its input: term by term, whatever the order of rows.
    return np.bincount(found.slots, gains, minlength=len(pool)).astype(np.float64, copy=False)


def pairs(pool: Pool, found: Matches) -> Floats:
    """Return, for each row, the summed idf of the commoner term of each pair of rare terms in it.

    Rare are the :data:`RARE_TERMS` terms of the query with the lowest document frequency. One rare
    word may occur anywhere; two together are seldom a coincidence.
    """
    held = [term for term, frequency in enumerate(found.df) if frequency]
    rare = sorted(held, key=found.df.__getitem__)[:RARE_TERMS]
    bits, worth = [0] * len(found.df), [0.0] * RARE_TERMS
    for place, term in enumerate(rare):
        bits[term], worth[place] = 1 << place, found.idf[term]
    which = np.bincount(found.slots, np.array(bits)[found.terms], minlength=len(pool))
    return np.asarray(np.vecdot(_RARER, worth)[which.astype(np.intp)], np.float64)


# For each set of rare terms, as bits, rarest first: the number of rarer terms in it, for each term.
_RARER = np.array(
    [
        [(held % (1 << term)).bit_count() if held >> term & 1 else 0 for term in range(RARE_TERMS)]
        for held in range(1 << RARE_TERMS)
    ],
    np.float64,
)


def _bm25_norms(pool: Pool) -> Floats:
    lengths = pool.entry["length"].astype(np.float64)
    average = float(pool.entry["length"].sum(dtype=np.int64)) / len(pool) or 1.0
    return np.asarray(BM25_K1 * (1.0 - BM25_B + BM25_B / average * lengths), np.float64)


def cosine(pool: Pool, vector: NDArray[np.int8] | None) -> Floats:
    """Return the cosine of each row's int8 vector with the query's, 0 if either is empty."""
    if vector is None or not len(pool):
        return np.zeros(len(pool))
    query = vector.astype(np.float32)
    own = math.sqrt(float(query @ query))
    if own == 0.0:
        return np.zeros(len(pool))
    # Rows are unit vectors before quantisation, so scale · norm of the int8 row is 1 to within
    # the quantisation step. Multiplying by the scale avoids a norm per row.
    return np.asarray(pool.dots(query) * pool.cached(_scales) / own, np.float64)


def as_typical(cosines: Floats, unrelated: float) -> Floats:
    """Return cosines on the scale to which weights, thresholds and calibration are fitted.

    The map is linear: ``unrelated`` becomes :data:`~simonides.ports.TYPICAL_UNRELATED`, and 1, the
    same text, stays 1.

    Args:
        cosines: From an embedder.
        unrelated: The cosine that it gives unrelated texts.
    """
    if unrelated == TYPICAL_UNRELATED:
        return cosines
    stretch = (1.0 - TYPICAL_UNRELATED) / (1.0 - unrelated)
    return np.asarray(1.0 - (1.0 - cosines) * stretch, np.float64)


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


def certainty(pool: Pool, share: float, now_us: int) -> Floats:
    """Return ``1 - share · (1 - confidence)`` for each row, with its decayed confidence."""
    if not pool.decays:
        return pool.cached(_certainty, share)
    return 1.0 - share * (1.0 - ageing.confidence(pool.entry, pool.state, now_us))


def _certainty(pool: Pool, share: float) -> Floats:
    return 1.0 - share * (1.0 - pool.state["confidence"]) if len(pool) else np.zeros(0)


def down_weight(pool: Pool, now_us: int) -> Floats:
    """Return 0.5 for stale and soft-expired rows and 1 for others."""
    if now_us < pool.ages_at:
        return pool.cached(_ones)
    return np.where(pool.cached(_weak_from) <= now_us, 0.5, 1.0)


def _weak_from(pool: Pool) -> Ints:
    return pool.weak_from()


def _ones(pool: Pool) -> Floats:
    return np.ones(len(pool))


def z_scores(values: Floats, prior: tuple[float, float], peak: float | None = None) -> Floats:
    """Return values in deviations from their mean; see :func:`spread` for the arguments."""
    mean, deviation = spread(values, prior, peak)
    return (values - mean) / deviation


def spread(
    values: Floats, prior: tuple[float, float], peak: float | None = None
) -> tuple[float, float]:
    """Return the mean and the standard deviation of values.

    Both are computed in integer steps of at least 2^-20 of the peak. The sums are then the same in
    any order of rows. Sums of squares of up to 2^21 rows do not overflow.

    Args:
        values: One signal over the pool.
        prior: Mean and deviation for pools under :data:`MIN_ROWS_FOR_Z` rows. Also replaces a
            deviation of 0.
        peak: Approximate upper limit of the absolute values, if known; None for their maximum.
    """
    mean, deviation = prior
    count = len(values)
    if count >= MIN_ROWS_FOR_Z:
        if peak is None:
            peak = float(max(np.maximum.reduce(values), -np.minimum.reduce(values)))
        scale = math.ldexp(1.0, STEP_BITS - max(math.frexp(peak)[1], LEAST_EXPONENT))
        steps = (values * scale).astype(np.int64)
        total, squares = int(np.add.reduce(steps)), int(steps.dot(steps))
        wide = count * squares - total * total
        if wide > 0:
            mean, deviation = total / count / scale, math.sqrt(wide) / count / scale
    return mean, deviation
