"""Cosines centred on the mean vector of the pool.

A mean of token vectors mostly encodes the kind of text, which all turns of a conversation share.
Short remarks have more or less of it by chance. Without the mean of the pool, the rest separates
subjects. Source: Mu and Viswanath 2018, "All-but-the-Top"; removing more directions than the mean
lost on every development set.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from simonides.retrieval.index.entry import quantise
from simonides.retrieval.query.pool import Floats, Pool
from simonides.retrieval.ranking.signals import MIN_ROWS_FOR_Z


class _Centre(NamedTuple):
    """The mean of a pool's unit vectors, quantised, with the distances of rows from it.

    Attributes:
        mean: Its components, -127 to 127.
        step: Value of one step of a component.
        square: The square of its length.
        dots: Dot product of each row's unit vector with it.
        distances: Distance of each row from it; infinite for rows without a vector.
    """

    mean: Floats
    step: float
    square: float
    dots: Floats
    distances: Floats


def centred_cosines(pool: Pool, cosines: Floats, vector: NDArray[np.int8]) -> Floats:
    """Return the cosine of each row with the query, both measured from the mean of the pool.

    In pools under :data:`~simonides.retrieval.ranking.signals.MIN_ROWS_FOR_Z` rows the mean says
    little; the cosines are returned unchanged.

    Args:
        pool: Visible rows.
        cosines: Plain cosine of each row with the query.
        vector: The query's, not all zero.
    """
    if len(pool) < MIN_ROWS_FOR_Z:
        return cosines
    centre = pool.cached(_centre)
    query = vector.astype(np.float64)
    along = float(query @ centre.mean) * centre.step / math.sqrt(float(query @ query))
    distance = math.sqrt(max(1.0 - 2.0 * along + centre.square, 0.0))
    if distance == 0.0:
        return np.zeros(len(pool))
    products = cosines - centre.dots - (along - centre.square)
    return np.asarray(products / (centre.distances * distance), np.float64)


def _centre(pool: Pool) -> _Centre:
    # Components are integers, and lengths in steps are rounded to integers: sums are then exact in
    # any order of rows, and rankings the same on every backend.

    scales = pool.entry["scale"]
    has_vector = scales > 0.0
    lengths = np.rint(1.0 / np.where(has_vector, scales, 1.0))
    length = float(lengths[has_vector].sum())
    mean, step = quantise((pool.vector_sum() / max(length, 1.0)).astype(np.float32))
    whole = mean.astype(np.float32)
    square = float(whole @ whole) * step * step
    dots = pool.dots(whole) * (step * scales)
    distances = np.sqrt(np.maximum(1.0 - 2.0 * dots + square, 0.0))
    distances[~has_vector | (distances == 0.0)] = math.inf
    return _Centre(whole.astype(np.float64), step, square, dots, distances)
