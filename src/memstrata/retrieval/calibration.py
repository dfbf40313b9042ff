"""How sure a ranking may be that what it ranks first is relevant at all (RE-4).

Ranking compares the rows of one pool; some row always comes first. Whether the pool holds an
answer is told by what can be compared between questions and pools: how much of the question is
found where the best row stands, how rare that is, how alike their meanings are, and how far the
best row is ahead of others.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from memstrata.retrieval.cues import dated, name_terms
from memstrata.retrieval.pool import Floats, Ints, Pool
from memstrata.retrieval.scoring import Signals
from memstrata.retrieval.talk import surroundings

TYPICAL_COSINE = 0.45
"""Stands for the cosine where no vector takes part; about the mean over both kinds."""
MOST_AGAINST = 700.0
"""Log-odds beyond which an exponential overflows; such a row has no relevance to speak of."""
OTHERS = 10
"""How far the best row is ahead is told by the tenth, or the last of fewer."""


class Measures(NamedTuple):
    """What can be compared between questions, as :class:`Calibration` weighs it.

    Attributes:
        cover: Share of the question's rarity that the best row and the turns around it hold.
        rare: Of how many terms as rare as can be the fullest row holds as much.
        vector: Cosine of the best row.
        ahead: By what share of its evidence the best row is ahead of the others, at most 1.
    """

    cover: float
    rare: float
    vector: float
    ahead: float


@dataclass(frozen=True, slots=True)
class Calibration:
    """From evidence to relevance: a logistic regression, its threshold at the floor of 0.75.

    Fitted to development questions and to foreign ones, asked of a conversation that they are not
    about, and to short facts of one user: ``python benchmarks/abstention.py --data DIR`` prints
    the coefficients and what the floor keeps and empties.

    Attributes:
        constant: Log-odds where nothing is found.
        cover: Of each of the :class:`Measures`.
        rare: Likewise.
        vector: Likewise.
        ahead: Likewise.
        nothing: Log-odds of a row of average evidence, however sure the best one is; chosen.
    """

    constant: float = -7.8
    cover: float = 4.7
    rare: float = 0.6
    vector: float = 8.0
    ahead: float = 4.6
    nothing: float = -4.0


def measure(pool: Pool, signals: Signals, total: Floats) -> Measures:
    """Return what tells whether the best row of a query is relevant.

    Names of speakers are left out of what is covered: in a conversation they are found anyway. A
    date is covered by turns of that date.
    """
    found = signals.matches
    names, rarity, worth = name_terms(pool), found.idf, found.worth
    if not names.isdisjoint(signals.terms):
        terms = zip(signals.terms, found.idf, strict=True)
        rarity = [0.0 if term in names else idf for term, idf in terms]
        worth = np.array(rarity)[found.terms]
    everything = sum(rarity)
    held = np.bincount(found.slots, worth, minlength=len(pool))
    fullest = float(np.maximum.reduce(held, initial=0.0))
    rarest = math.log1p((len(pool) + 0.5) / 0.5)
    best, place = float(np.maximum.reduce(total)), max(len(pool) - OTHERS, 0)
    parted = total.copy()
    parted.partition(place)
    # All that tie, so that nothing depends on the order of rows.
    first = (total == best).nonzero()[0]
    near = surroundings(pool, first)
    covered = sum([rarity[term] for term in sorted(_found_near(pool, signals, near))])
    return Measures(
        covered / everything if everything else 0.0,
        fullest / rarest,
        max(signals.dense[first].tolist()) if signals.has_dense else TYPICAL_COSINE,
        min((best - parted.item(place)) / max(best, 1.0), 1.0),
    )


def _found_near(pool: Pool, signals: Signals, near: Ints) -> set[int]:
    """Return which terms of a query some rows hold, or name a date that one of them is of."""
    found, question = signals.matches, signals.question
    is_near = np.zeros(len(pool), np.bool_)
    is_near[near] = True
    terms = set(found.terms[is_near[found.slots]].tolist())
    if question.dates and dated(pool, question.dates)[near].any():
        numbered = enumerate(signals.terms)
        terms.update(number for number, term in numbered if term in question.date_terms)
    return terms


def relevance(pool: Pool, signals: Signals, total: Floats, by: Calibration) -> Floats:
    """Return the calibrated relevance of each row, 0 to 1, in the order of its evidence."""
    if not len(pool):
        return np.zeros(0)
    cover, rare, vector, ahead = measure(pool, signals, total)
    first = by.constant + by.cover * cover + by.rare * rare + by.vector * vector + by.ahead * ahead
    best = float(np.maximum.reduce(total))
    behind = (best - total) / max(best, 1.0)
    against = np.minimum(-fallen(first, behind, by.nothing), MOST_AGAINST)
    return np.asarray(1.0 / (1.0 + np.exp(against)), np.float64)


def fallen(first: float, behind: Floats, nothing: float) -> Floats:
    """Return log-odds of rows by how far they lie behind the first one: 1 for the average row.

    By the square: what lies close behind is nearly as relevant. At least 1, to keep an order
    where nothing is relevant.
    """
    return np.asarray(first - behind * behind * max(first - nothing, 1.0), np.float64)
