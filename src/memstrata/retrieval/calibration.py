"""How sure a ranking may be that what it ranks first is relevant at all (RE-4).

Ranking compares the rows of one pool; some row always comes first. Whether the pool holds an
answer is told by what can be compared between questions and pools: how much of the question is
found together, how rare that is, how alike the nearest meaning is, how strong the best evidence.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from memstrata.retrieval.cues import name_terms
from memstrata.retrieval.pool import Floats, Pool
from memstrata.retrieval.scoring import Signals

TYPICAL_COSINE = 0.5
"""Stands for the best cosine where no vector takes part; about the mean over both kinds."""


@dataclass(frozen=True, slots=True)
class Calibration:
    """From evidence to relevance: a logistic regression, its threshold at the floor of 0.75.

    Fitted to development questions and to foreign ones, asked of a conversation that they are not
    about: ``python benchmarks/abstention.py --data DIR`` prints the coefficients and what the
    floor keeps and empties.

    Attributes:
        constant: Log-odds where nothing is found.
        cover: Of the share of the question's rarity that the fullest row holds, 0 to 1.
        rare: Of how many terms as rare as can be that is worth.
        vector: Of the best cosine.
        best: Of the best row's total evidence.
        nothing: Log-odds of a row of average evidence, however sure the best one is; chosen.
    """

    constant: float = -8.1
    cover: float = 3.2
    rare: float = 1.0
    vector: float = 6.7
    best: float = 0.37
    nothing: float = -4.0


def measure(pool: Pool, signals: Signals, total: Floats) -> tuple[float, float, float, float]:
    """Return cover, rare, vector and best for a query, as :class:`Calibration` weighs them.

    Names of speakers are left out of what is covered: in a conversation they are found anyway.
    """
    found = signals.matches
    names, rarity, worth = name_terms(pool), found.idf, found.worth
    if not names.isdisjoint(signals.terms):
        terms = zip(signals.terms, found.idf, strict=True)
        rarity = [0.0 if term in names else idf for term, idf in terms]
        worth = np.array(rarity).repeat(found.df)
    everything = sum(rarity)
    held = np.bincount(found.slots, worth, minlength=len(pool))
    fullest = float(np.maximum.reduce(held, initial=0.0))
    rarest = math.log1p((len(pool) + 0.5) / 0.5)
    cosine = TYPICAL_COSINE
    if signals.has_dense:
        cosine = float(np.maximum.reduce(signals.dense, initial=0.0))
    best = float(np.maximum.reduce(total, initial=0.0))
    return fullest / everything if everything else 0.0, fullest / rarest, cosine, best


def relevance(pool: Pool, signals: Signals, total: Floats, by: Calibration) -> Floats:
    """Return the calibrated relevance of each row, 0 to 1, in the order of its evidence."""
    if not len(pool):
        return np.zeros(0)
    cover, rare, vector, best = measure(pool, signals, total)
    first = by.constant + by.cover * cover + by.rare * rare + by.vector * vector + by.best * best
    behind = (float(np.maximum.reduce(total)) - total) / max(best, 1.0)
    return np.asarray(1.0 / (1.0 + np.exp(-fallen(first, behind, by.nothing))), np.float64)


def fallen(first: float, behind: Floats, nothing: float) -> Floats:
    """Return log-odds of rows by how far they lie behind the first one: 1 for the average row.

    By the square: what lies close behind is nearly as relevant. At least 1, to keep an order
    where nothing is relevant.
    """
    return np.asarray(first - behind * behind * max(first - nothing, 1.0), np.float64)
