"""Few rows, looked at as if typical ones in which nothing is found made up a hundred (RE-4).

How rare a word is and by how much a row is ahead of the others are told by the rows of a pool, and
one to ten memories do not tell it: the only memory of a user holds every word that it has in all
rows there are, and is ahead of none. Counted so, "I prefer aisle seats" was no answer to "which
seat should I book?" alone and one beside three others that have nothing to do with it. What
calibration compares between pools is therefore counted as of :data:`TYPICAL_ROWS` at least; what
orders the rows of one pool is not, for there their own statistics are the better ones.
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
"""From so many on a pool stands for itself; chosen, of 30, 100 and 300, which are much alike."""
OTHERS = 10
"""How far the best row is ahead is told by the tenth; of few rows by one as far down among them."""
BELIEVED_FROM = 10
"""Rows of an owner that count as much as all that is known of others; chosen."""
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
"""Share of typical rows that count as holding a common word; chosen. With .5 more foreign questions
were emptied than with .2 or 0, for as many answerable ones kept."""
TYPICAL_TENTH = 0.15
"""What the tenth best of typical rows has of :func:`standing`; chosen, of 0 to .6, so that of one
to five rows nine in ten foreign questions are emptied and as many answerable ones kept:
``python benchmarks/abstention.py --data DIR`` prints both by the number of rows."""

_WEIGHTS = Weights()


def rarities(pool: Pool, signals: Signals) -> Sequence[float]:
    """Return the idf of each term of a query.

    The one row of few that holds a term may be the answer. What more of them hold is no rarity with
    this owner, the less so the more rows it has; and common words are none with anybody.
    """
    rows, df = len(pool), signals.matches.df
    if rows >= TYPICAL_ROWS:
        return signals.matches.idf
    more = (TYPICAL_ROWS - rows) / (rows + BELIEVED_FROM)
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


def others_of(pool: Pool) -> int:
    """Return the how manyth best row tells how far the best one is ahead, 2 and up."""
    return max(OTHERS * min(len(pool), TYPICAL_ROWS) // TYPICAL_ROWS, 2)


def ahead_of_typical(
    pool: Pool, signals: Signals, first: Ints, rarity: Sequence[float], ahead: float
) -> float:
    """Return by what share of its evidence the best row is ahead of the others.

    Args:
        pool: Visible rows.
        signals: Of the query.
        first: Places of the best row, and of those that tie with it.
        rarity: Of the query's terms, by :func:`rarities`.
        ahead: By what share it is ahead of those that there are.
    """
    if len(pool) >= TYPICAL_ROWS:
        return ahead
    own: float = max(standing(pool, signals, rarity)[first].tolist())
    share = len(pool) / TYPICAL_ROWS
    return share * ahead + (1.0 - share) * max(own - TYPICAL_TENTH, 0.0) / max(own, 1.0)


def standing(pool: Pool, signals: Signals, rarity: Sequence[float]) -> Floats:
    """Return what words, meaning and names tell of each row, in log-odds as evidence weighs them,
    in deviations of typical rows.
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
