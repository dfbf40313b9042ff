"""How likely a row bears on the query at all, 0 to 1, comparable between queries and owners.

Ranking compares the rows of one view, and some row always comes first. Comparable between queries
are measures of the best rows: how much of the query one of them and the turns around it hold, how
much of that together, and how alike it is in meaning. Words, above all names, that the index has
never seen speak against the whole result. The other rows follow by their distance behind the best.
"""

from __future__ import annotations

import math
from collections.abc import Container, Sequence
from typing import NamedTuple

import numpy as np

from simonides.recall.index import NONE, Floats, Ints
from simonides.recall.question import Question
from simonides.recall.signals import REACH, Match, Signals, among, idf, name_terms
from simonides.recall.view import View
from simonides.text.analyse import query_terms

TYPICAL_ROWS = 100
"""Least size of an index for the rarity of a term: among three rows everything is rare."""

MOST_TOGETHER = 2.0
"""One question in fifty exceeds it, but Chinese text, where every pair is a term, often."""

TYPICAL_COSINE = 0.45
"""Replaces the cosine where the embedder does not know the script."""


MEASURED = 3
"""Best rows of which each measure is taken and the greatest kept: the first may be there by its
session or speaker."""

MOST_UNKNOWN = 3
"""More unknown words say no more: a long query has many, and in Chinese every pair is a term."""


class Measures(NamedTuple):
    """What the relevance of the best row is read from.

    Speakers' names do not count, since a conversation has them anyway.

    Attributes:
        cover: Share of the query's summed IDF that a row and the turns around it hold; a row of the
            right date holds the words of that date.
        together: Summed IDF of neighbouring terms of the query that one of these rows holds both,
            of each pair the commoner one, in units of the greatest IDF.
        cosine: Cosine of the row with the query.
        unknown: How many terms of the query no row holds.
        stranger: 1 if the query names somebody or something that no row holds.
        acquaintance: 1 if it names somebody or something that a row holds.
    """

    cover: float
    together: float
    cosine: float
    unknown: float
    stranger: float
    acquaintance: float


CONSTANT = -0.7
FACTORS = Measures(3.3, 1.2, 4.5, -0.5, -0.9, 1.0)
"""Logistic regression on development questions and questions foreign to their conversation, both
counting alike, asked of whole conversations and of 1 to 100 of their rows."""

PER_LOG_ROWS = 0.7
"""Log-odds that the best of n rows loses by ln(n): of many rows the best is better by chance. It is
part of the same regression."""

BEHIND = 8.0
"""Log-odds that a row loses by the fourth power of its distance behind the best: of evidence among
the first ten, 95 % is less than .3 behind."""


class Scale(NamedTuple):
    """The relevance scale of one query.

    Attributes:
        best: Log-odds of the best row.
        top: Score of the best row.
    """

    best: float
    top: float

    def relevance(self, score: Floats) -> Floats:
        """Return the relevance of rows by their scores."""
        behind = (self.top - score) / max(self.top, 1.0)
        found: Floats = 1.0 / (1.0 + np.exp(np.minimum(BEHIND * behind**4 - self.best, 80.0)))
        return found


def scale_of(
    view: View,
    terms: Sequence[str],
    question: Question,
    signals: Signals,
    score: Floats,
    best: Ints,
) -> Scale:
    """Return the relevance scale of a query.

    Args:
        view: The rows.
        terms: The query's distinct terms.
        question: What it asks for.
        signals: Its evidence.
        score: The score of each row.
        best: The best rows, best first, at least one.
    """
    measured = measure(view, terms, question, signals, best[:MEASURED])
    chance = PER_LOG_ROWS * math.log(len(view))
    first = CONSTANT + float(np.dot(FACTORS, measured)) - chance
    return Scale(first, float(score[best[0]]))


def measure(
    view: View, terms: Sequence[str], question: Question, signals: Signals, places: Ints
) -> Measures:
    """Measure the best rows."""
    names, dated = view.derived(name_terms), set(query_terms(question.dated_words))
    asked = [
        (term, found)
        for term, found in zip(terms, signals.matches, strict=True)
        if term not in names
    ]
    rows = [held_around(view, asked, dated, signals, int(place)) for place in places]
    unknown = {term for term, found in asked if not len(found.rows)} - dated
    named = set(query_terms(question.named_words)).difference(names, dated)
    cover, together, cosine = map(max, zip(*rows, strict=True))
    count = float(min(len(unknown), MOST_UNKNOWN))
    return Measures(cover, together, cosine, count, bool(named & unknown), bool(named - unknown))


def held_around(
    view: View,
    asked: Sequence[tuple[str, Match]],
    dated: Container[str],
    signals: Signals,
    place: int,
) -> tuple[float, float, float]:
    """Return cover, togetherness and cosine of one row and the turns around it."""
    size, near = max(len(view), TYPICAL_ROWS), surroundings(view, place)
    is_dated = "date" in signals.evidence and bool((signals.evidence["date"][near] > 0.0).any())
    every = covered = together = last_worth = 0.0
    last_held = np.zeros(len(near), np.bool_)
    for term, found in asked:
        worth, held = idf(size, len(found.rows)), among(found.rows, near)
        every += worth
        if held.any() or (is_dated and term in dated):
            covered += worth
        if term not in dated:
            together += min(worth, last_worth) if (held & last_held).any() else 0.0
            last_worth, last_held = worth, held
    cosine = float(signals.cosine[place]) if signals.cosine.any() else TYPICAL_COSINE
    together = min(together / idf(size, 0), MOST_TOGETHER)
    return covered / every if every else 0.0, together, cosine


def surroundings(view: View, place: int) -> Ints:
    """Return the place of a row and those of the turns around it."""
    near = [place]
    for links in (view.column("before"), view.column("after")):
        at = place
        for _ in REACH:
            at = int(links[at])
            if at == NONE:
                break
            near.append(at)
    return np.array(near)
