"""Late interaction: how well each row covers each token of a query.

For each token of the query the greatest cosine with a token of a row is taken (MaxSim). The mean
over the query's tokens, weighted by their rarity among the rows, is what the row covers. A window
covers with the row and the turns next to it, a session with the best of its rows. Source: Khattab
and Zaharia 2020, "ColBERT"; windows and sessions are ours.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from simonides.recall.index import Floats, Ints
from simonides.recall.signals import idf
from simonides.recall.view import View

NEAR = np.float32(0.85)
"""Factor on what a neighbouring turn covers."""

UNIT = np.float32(1.0 / 127.0)


class Token(NamedTuple):
    """A token of a query.

    Attributes:
        id: Its id in the embedder's vocabulary.
        word: The word of the query that it is in.
        terms: The index terms of that word; none of a stop word.
    """

    id: int
    word: str
    terms: frozenset[str]


def weights(view: View, tokens: Sequence[Token], names: Collection[str]) -> Floats:
    """Return the weight of each token of a query; their sum is 1.

    Args:
        view: The rows, by which a token is rare.
        tokens: The query's.
        names: Terms of the speakers' names: they count for nothing, unless there is nothing else.
    """
    size = int(np.count_nonzero(view.column("tokens")))
    holding = np.array([view.holding(token.id) for token in tokens], np.int64)
    worths = idf(size, np.minimum(holding, size)).astype(np.float32)
    silent = np.array([not token.terms.isdisjoint(names) for token in tokens], np.bool_)
    worths *= ~silent | silent.all()
    return worths / max(float(worths.sum()), 1e-6)


def coverage(
    rows: Sequence[NDArray[np.int8]], query: NDArray[np.int8], otherwise: Floats
) -> Floats:
    """Return the greatest cosine of each token of a query in each row, shape (rows, tokens).

    Args:
        rows: The token vectors of each row.
        query: The token vectors of the query.
        otherwise: For each row, what it covers of each token if it has no token vectors.
    """
    counts = np.array([len(row) for row in rows], np.int64)
    best = np.repeat(otherwise[:, None], len(query), axis=1).astype(np.float32)
    filled = np.flatnonzero(counts)
    if len(filled) and len(query):
        starts = (np.cumsum(counts) - counts)[filled]
        best[filled] = np.maximum.reduceat(cosines(np.concatenate(rows), query), starts, axis=0)
    return best


def cosines(tokens: NDArray[np.int8], others: NDArray[np.int8]) -> Floats:
    """Return the cosine of each token with each other one, shape (tokens, others)."""
    return tokens.astype(np.float32) @ others.T.astype(np.float32) * (UNIT * UNIT)


def windows(best: Floats, before: Ints, after: Ints, worths: Floats) -> Floats:
    """Return what the window of each row covers: a row, and the rows next to it a little less.

    Args:
        best: What each row covers of each token.
        before: The row before each in its session, `NONE` for none.
        after: The row after it.
        worths: The weight of each token.
    """
    padded = np.concatenate([best, np.zeros((1, best.shape[1]), np.float32)])  # NONE is the last
    near = np.maximum(best, NEAR * np.maximum(padded[before], padded[after]))
    return _mean(near, worths)


def sessions(best: Floats, session: Ints, worths: Floats) -> Floats:
    """Return what the session of each row covers."""
    _, code = np.unique(session, return_inverse=True)
    covered = np.full((int(code.max(initial=-1)) + 1, best.shape[1]), -1.0, np.float32)
    np.maximum.at(covered, code, best)
    return _mean(covered, worths)[code]


def _mean(covered: Floats, worths: Floats) -> Floats:
    # Not `@`: where a query has five tokens, OpenBLAS's kernel for AVX-512 (0.3.31) also multiplies
    # what lies on the stack behind them. The sums are right, but NumPy sees the invalid product.
    mean: Floats = np.einsum("rt,t->r", covered, worths)
    return mean
