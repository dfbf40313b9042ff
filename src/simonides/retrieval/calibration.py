"""How sure a ranking may be that what it ranks first is relevant at all (RE-4).

Ranking compares the rows of one pool; some row always comes first. Whether the pool holds an
answer is told by what can be compared between questions and pools: how much of the question is
found where the best row stands, what of it is found there together, how alike their meanings are,
and how far the best row is ahead of others.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import NamedTuple

import numpy as np

from simonides.retrieval.cues import dated, name_terms
from simonides.retrieval.pool import Floats, Ints, Pool
from simonides.retrieval.scoring import Signals
from simonides.retrieval.talk import surroundings
from simonides.retrieval.typical import ahead_of_typical, greatest_rarity, others_of, rarities

TYPICAL_COSINE = 0.45
"""Stands for the cosine where no vector takes part; about the mean over both kinds."""
MOST_AGAINST = 700.0
"""Log-odds beyond which an exponential overflows; such a row has no relevance to speak of."""
MOST_TOGETHER = 2.0
"""More than any but one question in fifty has; text in Chinese, of which every pair of characters
is a term, had so much that the relevance of all its best rows was 1."""


class Measures(NamedTuple):
    """What can be compared between questions, as :class:`Calibration` weighs it.

    Attributes:
        cover: Share of the question's rarity that the best row and the turns around it hold.
        together: Terms that follow each other in the question, where one of these rows holds
            both: the rarity of the commoner one, added up, in that of a term as rare as can be;
            at most :data:`MOST_TOGETHER`.
        vector: Cosine of the best row.
        ahead: By what share of its evidence the best row is ahead of the others, at most 1.

    Rarity and the others are those of few rows as :mod:`simonides.retrieval.typical` sees them.
    """

    cover: float
    together: float
    vector: float
    ahead: float


@dataclass(frozen=True, slots=True)
class Calibration:
    """From evidence to relevance: a logistic regression, its threshold at the floor of 0.75.

    Fitted to development questions and to foreign ones, asked of a conversation that they are not
    about, and to short facts of one user: ``python benchmarks/abstention.py --data DIR`` prints
    the coefficients and what the floor keeps and empties, of one row to a whole conversation. Those
    that it prints since small owners take part in the fit keep and empty as much, but for noise.

    Attributes:
        constant: Log-odds where nothing is found.
        cover: Of each of the :class:`Measures`.
        together: Likewise.
        vector: Likewise.
        ahead: Likewise.
        asked: Of a row under a key that the question asks for, which may have neither a word nor
            a meaning in common with it; against one under a key that it asks for of somebody else,
            which may have both. Chosen, on ``python benchmarks/keyed.py --half tune``.
        nothing: Log-odds of a row of average evidence, however sure the best one is; chosen.
    """

    constant: float = -7.2
    cover: float = 4.2
    together: float = 1.2
    vector: float = 8.2
    ahead: float = 4.5
    asked: float = 9.0
    nothing: float = -12.0


def measure(pool: Pool, signals: Signals, total: Floats) -> Measures:
    """Return what tells whether the best row of a query is relevant.

    Names of speakers are left out of what is covered: in a conversation they are found anyway. A
    date is covered by turns of that date.
    """
    names, rarity = name_terms(pool), rarities(pool, signals)
    of_all = rarity
    if not names.isdisjoint(signals.terms):
        terms = zip(signals.terms, rarity, strict=True)
        rarity = [0.0 if term in names else idf for term, idf in terms]
    everything = sum(rarity)
    best, place = float(np.maximum.reduce(total)), max(len(pool) - others_of(pool), 0)
    parted = total.copy()
    parted.partition(place)
    # All that tie, so that nothing depends on the order of rows.
    first = (total == best).nonzero()[0]
    near, rarest = surroundings(pool, first), greatest_rarity(pool)
    rows = _found_near(pool, signals, near)
    covered = sum([rarity[term] for term in sorted(_covered(pool, signals, near, rows))])
    ahead = (best - parted.item(place)) / max(best, 1.0)
    return Measures(
        covered / everything if everything else 0.0,
        min(_together(signals, rows, rarity) / rarest, MOST_TOGETHER),
        max(signals.dense[first].tolist()) if signals.has_dense else TYPICAL_COSINE,
        min(ahead_of_typical(pool, signals, first, of_all, ahead), 1.0),
    )


def _found_near(pool: Pool, signals: Signals, near: Ints) -> dict[int, set[int]]:
    """Return by term of a query, as its number, which of some rows hold it."""
    found = signals.matches
    if len(near) == 1:
        (slot,) = near.tolist()
        return {term: {slot} for term in found.terms[found.slots == slot].tolist()}
    is_near = np.zeros(len(pool), np.bool_)
    is_near[near] = True
    here = is_near[found.slots]
    rows: dict[int, set[int]] = {}
    pairs = zip(found.terms[here].tolist(), found.slots[here].tolist(), strict=True)
    for term, slot in pairs:
        rows.setdefault(term, set()).add(slot)
    return rows


def _together(signals: Signals, rows: Mapping[int, set[int]], rarity: Sequence[float]) -> float:
    """Add up what neighbours in the question are worth that stand in one row together. Neither
    names of speakers nor words of a date: those are found together anyway.
    """
    dates = signals.question.date_terms
    told = [n for n, term in enumerate(signals.terms) if rarity[n] and term not in dates]
    nothing: set[int] = set()
    return sum(
        [
            min(rarity[one], rarity[two])
            for one, two in pairwise(told)
            if not rows.get(one, nothing).isdisjoint(rows.get(two, nothing))
        ]
    )


def _covered(pool: Pool, signals: Signals, near: Ints, rows: Mapping[int, set[int]]) -> set[int]:
    """Return which terms some rows hold, or name a date that one of them is of."""
    question, terms = signals.question, set(rows)
    if question.dates and dated(pool, question.dates)[near].any():
        numbered = enumerate(signals.terms)
        terms.update(number for number, term in numbered if term in question.date_terms)
    return terms


def relevance(
    pool: Pool, signals: Signals, total: Floats, by: Calibration, asked: Floats | None = None
) -> Floats:
    """Return the calibrated relevance of each row, 0 to 1, in the order of its evidence; first
    what stands under a key that is asked for, where :func:`~simonides.retrieval.naming.asked`
    found some.
    """
    if not len(pool):
        return np.zeros(0)
    cover, together, vector, ahead = measure(pool, signals, total)
    first = by.constant + by.cover * cover + by.together * together
    first += by.vector * vector + by.ahead * ahead
    best = float(np.maximum.reduce(total))
    behind = (best - total) / max(best, 1.0)
    odds = fallen(first, behind, by.nothing)
    if asked is not None:
        odds = odds + by.asked * asked
    against = np.minimum(-odds, MOST_AGAINST)
    return np.asarray(1.0 / (1.0 + np.exp(against)), np.float64)


def fallen(first: float, behind: Floats, nothing: float) -> Floats:
    """Return log-odds of rows by how far they lie behind the first one: 1 for the average row.

    By the cube: what lies close behind is nearly as relevant. At least 1, to keep an order
    where nothing is relevant.
    """
    return np.asarray(first - behind * behind * behind * max(first - nothing, 1.0), np.float64)
