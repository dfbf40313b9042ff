"""Small-sample correction: below :data:`TYPICAL_ROWS` rows, rarity and lead are computed as if
typical rows without a match filled the pool up.

One to ten memories do not show how rare a word is, or how far the best row is ahead. The only
memory of a user holds each of its words in all rows there are, and is ahead of none. Without the
correction, "I prefer aisle seats" alone did not answer "which seat should I book?". Next to three
unrelated memories it did. Only the calibration, which compares pools, uses the correction. The
order within one pool uses the pool's own statistics, which are better there.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import cache

import numpy as np

from simonides.language.analyser import analyse, term_id
from simonides.retrieval.evidence import DENSE_PRIOR, LEXICAL_PRIOR, Weights
from simonides.retrieval.naming import named
from simonides.retrieval.pool import Floats, Ints, Pool
from simonides.retrieval.scoring import Signals, bm25

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
