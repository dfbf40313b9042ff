"""Calibrates relevance: the probability that the best row answers the query at all.

Ranking compares the rows of one pool, and some row always comes first. Calibration uses measures
that are comparable between questions and pools. For the best row they are: covered share of the
question, adjacent terms found together, cosine, and lead.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from itertools import pairwise
from typing import NamedTuple

import numpy as np

from simonides.retrieval.query.cues import dated, name_terms
from simonides.retrieval.query.naming import named
from simonides.retrieval.query.pool import Floats, Ints, Pool
from simonides.retrieval.ranking.conversation import surroundings
from simonides.retrieval.ranking.evidence import DENSE_PRIOR, LEXICAL_PRIOR, Weights
from simonides.retrieval.ranking.signals import Signals, bm25
from simonides.text import analyse, term_id

TYPICAL_ROWS = 100
"""Pool size from which no correction applies; chosen, of 30, 100 and 300, which are much alike."""
LEAD_RANK = 10
"""The lead is measured against the tenth best row; in small pools against a proportional rank."""
PRIOR_WEIGHT_ROWS = 10
"""Number of an owner's rows that weigh as much as all that is known of others; chosen."""
_COMMON_WORDS = """
    can could will would shall should may might must ought
    ask be bring come find get give go going gonna got have help keep know let look make made
    mean please put recommend remember remind say see should show suggest take tell think try
    about after again always any anything because before been being best better both either else
    ever every everything first get good great here im ive just last least less lot lots many more
    most much never new next now ok okay once one only other own really right same so some someone
    something soon still than thanks thing things time today too two usually very way well yes yet
    kind sort type
"""
"""English words that a request may hold whatever it is about. In a large store their frequency
shows that "should" says less than "aisle"; in a small store only a list does. They are no stop
words: in a text they may be names or facts. The words for likes, uses, wants and needs are left
out.
"""
COMMON_SHARE = 0.8
"""Share of typical rows that are assumed to hold a common word; chosen. With .5 more foreign
questions were emptied than with .2 or 0, for as many answerable ones kept."""
TYPICAL_TENTH = 0.15
"""Score from :func:`prior_scores` of the tenth best of typical rows; chosen, of 0 to .6. With one
to five rows, nine in ten foreign questions are then emptied and as many answerable ones kept.
``python benchmarks/abstention.py --data DIR`` prints both by the number of rows."""

_WEIGHTS = Weights()


def rarities(pool: Pool, signals: Signals) -> Sequence[float]:
    """Return the corrected idf of each term of a query.

    A term in a single row of a small pool may identify the answer. A term in several rows counts as
    common with this owner, the more rows the owner has. Words that are common everywhere are never
    rare.
    """
    rows, df = len(pool), signals.matches.df
    if rows >= TYPICAL_ROWS:
        return signals.matches.idf
    more = (TYPICAL_ROWS - rows) / (rows + PRIOR_WEIGHT_ROWS)
    common, of_common = _common_terms(), COMMON_SHARE * (TYPICAL_ROWS - rows)
    found = []
    for held, term in zip(df, signals.terms, strict=True):
        others = more * (held - 1) if held > 1 else 0.0
        if term in common and others < of_common:
            others = of_common
        found.append(_idf(TYPICAL_ROWS, held + others))
    return found


def greatest_rarity(pool: Pool) -> float:
    """Return the idf of a term that no row holds."""
    return _idf(max(len(pool), TYPICAL_ROWS), 0)


def comparison_rank(pool: Pool) -> int:
    """Return the rank against which the lead of the best row is measured, 2 and up."""
    return max(LEAD_RANK * min(len(pool), TYPICAL_ROWS) // TYPICAL_ROWS, 2)


def corrected_lead(
    pool: Pool, signals: Signals, first: Ints, rarity: Sequence[float], ahead: float
) -> float:
    """Return the corrected lead of the best row, as a share of its evidence.

    Args:
        pool: Visible rows.
        signals: Of the query.
        first: Places of the best row, and of those that tie with it.
        rarity: Of the query's terms, by :func:`rarities`.
        ahead: The lead over the existing rows.
    """
    if len(pool) >= TYPICAL_ROWS:
        return ahead
    own: float = max(prior_scores(pool, signals, rarity)[first].tolist())
    share = len(pool) / TYPICAL_ROWS
    return share * ahead + (1.0 - share) * max(own - TYPICAL_TENTH, 0.0) / max(own, 1.0)


def prior_scores(pool: Pool, signals: Signals, rarity: Sequence[float]) -> Floats:
    """Return the score of each row from words, meaning and names, in log-odds.

    The weights are those of evidence, the deviations those of typical rows.
    """
    found = signals.matches
    mean, deviation = LEXICAL_PRIOR
    lexical = bm25(pool, found._replace(worth=np.array(rarity)[found.terms]))
    total = (lexical - mean) * (_WEIGHTS.bm25 / deviation)
    if signals.has_dense:
        mean, deviation = DENSE_PRIOR
        total += (signals.dense - mean) * (_WEIGHTS.vector / deviation)
    by_name = named(pool, signals.terms)
    if by_name is not None:
        total += _WEIGHTS.named * by_name
    return total


def _idf(rows: float, held: float) -> float:
    return math.log1p((rows - held + 0.5) / (held + 0.5))


@cache
def _common_terms() -> frozenset[int]:
    """Return the numbers of the terms of these words."""
    return frozenset(map(term_id, analyse(_COMMON_WORDS)))


TYPICAL_COSINE = 0.45
"""Replaces a missing cosine; about the mean of relevant and foreign questions."""
MAX_NEGATIVE_LOG_ODDS = 700.0
"""Limit of negated log-odds, beyond which an exponential overflows; relevance is about 0 there."""
MOST_TOGETHER = 2.0
"""Limit of :attr:`Measures.together`; one question in fifty exceeds it. Without it, Chinese text
got relevance 1 for all its best rows, because each pair of characters is a term."""


class Measures(NamedTuple):
    """Measures that are comparable between questions; :class:`Calibration` weighs them.

    Attributes:
        cover: Share of the question's summed idf found in the best row and the turns around it.
        together: Summed idf, over adjacent pairs found in one of these rows, of the commoner term.
            The unit is the greatest possible idf; at most :data:`MOST_TOGETHER`.
        vector: Cosine of the best row.
        ahead: Lead of the best row over others, as a share of its evidence; at most 1.

    For small pools, idf and lead have the small-sample correction of
    :mod:`simonides.retrieval.ranking.calibration`.
    """

    cover: float
    together: float
    vector: float
    ahead: float


@dataclass(frozen=True, slots=True)
class Calibration:
    """Logistic regression from evidence to relevance, with its threshold at the floor of 0.75.

    It is fitted to development questions, questions foreign to their conversation, and short facts
    of one user. ``python benchmarks/abstention.py --data DIR`` prints the coefficients, and what
    the floor keeps and empties, from one row to a whole conversation. A fit that includes small
    owners keeps and empties as much, within noise.

    Attributes:
        constant: Log-odds without any evidence.
        cover: Coefficient of :attr:`Measures.cover`.
        together: Coefficient of :attr:`Measures.together`.
        vector: Coefficient of :attr:`Measures.vector`.
        ahead: Coefficient of :attr:`Measures.ahead`.
        asked: Added for a row under a key that the question asks for; such a row may share no word
            or meaning with it. Subtracted for a row under a key asked for of another person.
            Chosen, on ``python benchmarks/keyed.py --half tune``.
        nothing: Log-odds of a row of average evidence, whatever the best row has; chosen.
    """

    constant: float = -7.2
    cover: float = 4.2
    together: float = 1.2
    vector: float = 8.2
    ahead: float = 4.5
    asked: float = 9.0
    nothing: float = -12.0


def measure(pool: Pool, signals: Signals, total: Floats) -> Measures:
    """Return the measures of the best row of a query.

    Speakers' names are excluded from the cover: a conversation has them anyway. A turn of a date
    covers the words of that date.
    """
    names, rarity = name_terms(pool), rarities(pool, signals)
    of_all = rarity
    if not names.isdisjoint(signals.terms):
        terms = zip(signals.terms, rarity, strict=True)
        rarity = [0.0 if term in names else idf for term, idf in terms]
    everything = sum(rarity)
    best, place = float(np.maximum.reduce(total)), max(len(pool) - comparison_rank(pool), 0)
    parted = total.copy()
    parted.partition(place)
    # All ties, so that the result does not depend on the order of rows.
    first = (total == best).nonzero()[0]
    near, rarest = surroundings(pool, first), greatest_rarity(pool)
    rows = _found_near(pool, signals, near)
    covered = sum([rarity[term] for term in sorted(_covered(pool, signals, near, rows))])
    ahead = (best - parted.item(place)) / max(best, 1.0)
    return Measures(
        covered / everything if everything else 0.0,
        min(_adjacent_found(signals, rows, rarity) / rarest, MOST_TOGETHER),
        max(signals.dense[first].tolist()) if signals.has_dense else TYPICAL_COSINE,
        min(corrected_lead(pool, signals, first, of_all, ahead), 1.0),
    )


def _found_near(pool: Pool, signals: Signals, near: Ints) -> dict[int, set[int]]:
    """Return, by term number of the query, which of the given rows hold it."""
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


def _adjacent_found(
    signals: Signals, rows: Mapping[int, set[int]], rarity: Sequence[float]
) -> float:
    """Sum the idf of adjacent query terms that one row holds together.

    Speakers' names and words of a date are excluded: they occur together anyway.
    """
    dates = signals.question.date_terms
    counted = [n for n, term in enumerate(signals.terms) if rarity[n] and term not in dates]
    nothing: set[int] = set()
    return sum(
        [
            min(rarity[one], rarity[two])
            for one, two in pairwise(counted)
            if not rows.get(one, nothing).isdisjoint(rows.get(two, nothing))
        ]
    )


def _covered(pool: Pool, signals: Signals, near: Ints, rows: Mapping[int, set[int]]) -> set[int]:
    """Return the terms held by the given rows, and those of a date that one of the rows has."""
    question, terms = signals.question, set(rows)
    if question.dates and dated(pool, question.dates)[near].any():
        numbered = enumerate(signals.terms)
        terms.update(number for number, term in numbered if term in question.date_terms)
    return terms


def relevance(
    pool: Pool, signals: Signals, total: Floats, by: Calibration, asked: Floats | None = None
) -> Floats:
    """Return the calibrated relevance of each row, 0 to 1, in the order of its evidence.

    Rows under a key that the question asks for come first; see
    :func:`~simonides.retrieval.query.naming.key_matches`.
    """
    if not len(pool):
        return np.zeros(0)
    cover, together, vector, ahead = measure(pool, signals, total)
    first = by.constant + by.cover * cover + by.together * together
    first += by.vector * vector + by.ahead * ahead
    best = float(np.maximum.reduce(total))
    behind = (best - total) / max(best, 1.0)
    odds = log_odds_behind(first, behind, by.nothing)
    if asked is not None:
        odds = odds + by.asked * asked
    negated = np.minimum(-odds, MAX_NEGATIVE_LOG_ODDS)
    return np.asarray(1.0 / (1.0 + np.exp(negated)), np.float64)


def log_odds_behind(first: float, behind: Floats, nothing: float) -> Floats:
    """Return log-odds of rows by their distance behind the best one; 1 is the average row.

    The distance counts by its cube: a row close behind is nearly as relevant. The drop is at least
    1, to keep an order where nothing is relevant.
    """
    return np.asarray(first - behind * behind * behind * max(first - nothing, 1.0), np.float64)
