"""The evidence of a query on every row that costs little, one array per signal.

Words and meaning say what a row is about; the question says what kind of row would answer it. All
values are plain: none depends on the other rows but through the rarity of words, so small stores
need no special care.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from simonides.recall.index import NONE, Bools, Floats, Ints
from simonides.recall.question import Form, Question, within
from simonides.recall.relevance import logistic
from simonides.recall.view import View
from simonides.text.analyse import Mark, analyse

BM25_K1 = 1.2
BM25_B = 0.75
"""Robertson and Zaragoza 2009, the usual values."""

NEWER_AT_HALF = 0.2
"""Share of newer rows at which recency is one half."""

ENOUGH_TERMS = 10
"""Length from which a row can answer by itself; of 10, 20 and 40."""


class Matches(NamedTuple):
    """Where the terms of a query occur: one cell for each term and row that holds it.

    Attributes:
        rows: The rows, in no order.
        terms: For each cell the number of the term.
        counts: For each cell how often the row holds the term.
        worths: The inverse document frequency (IDF) of each term.
    """

    rows: Ints
    terms: Ints
    counts: Ints
    worths: Floats

    def held(self, rows: Ints, size: int) -> Bools:
        """Return which terms some rows of ``size`` rows hold, shape (terms, rows)."""
        positions = np.full(size, NONE)
        positions[rows] = np.arange(len(rows))
        at = positions[self.rows]
        is_one = at != NONE
        holds = np.zeros((len(self.worths), len(rows)), np.bool_)
        holds[self.terms[is_one], at[is_one]] = True
        return holds


def match(view: View, terms: Sequence[str]) -> Matches:
    """Look up terms."""
    rows, counts, numbers = view.postings(terms)
    holding = np.bincount(numbers, minlength=len(terms))
    return Matches(rows, numbers, counts, idf(len(view), holding))


def gather(
    view: View, terms: Sequence[str], vector: Floats, question: Question, matches: Matches
) -> dict[str, Floats]:
    """Return the evidence of a query on every row of a view, by name.

    Args:
        view: The rows.
        terms: The query's distinct terms.
        vector: The query's unit vector; zeros where the embedder does not know its script.
        question: What the query asks for.
        matches: Where the terms occur.
    """
    whole = view.dots(vector)
    evidence = {
        "whole": whole,
        "words": words(view, terms, matches),
        "speaker": speakers(view, terms, question),
        "length": view.derived(log_length),
    }
    if not question.of_self:
        evidence["own"] = marked(view, Mark.SELF)
    if question.wants_time:
        evidence["time"] = marked(view, Mark.TIME)
    if question.days:
        evidence["date"] = within(question.days, view.column("day"))
    if question.form is Form.MESSAGE:
        evidence["opening"] = view.derived(opening)
        evidence["recency"] = view.derived(recency)
        evidence["session_whole"] = session_mean(view, whole)
    return evidence


# -- words -----------------------------------------------------------------------------------------


def idf(size: int, holding: Ints | int) -> Floats:
    """Return Lucene's inverse document frequency, above 0 for every term."""
    return np.log1p((size - holding + 0.5) / (holding + 0.5))


def words(view: View, terms: Sequence[str], matches: Matches) -> Floats:
    """Return the share of the query's summed IDF that each row holds, speakers' names apart."""
    names = view.derived(name_terms)
    worths = matches.worths * np.array([term not in names for term in terms], np.bool_)
    shares = worths / (worths.sum() or 1.0)
    return _summed(matches.rows, shares[matches.terms], view.size)


def bm25(view: View, matches: Matches) -> Floats:
    """Return the BM25 score of each row."""
    length, counts = view.column("length"), matches.counts
    average = float(length.sum()) / max(len(view), 1) or 1.0
    norms = BM25_K1 * (1.0 - BM25_B + BM25_B / average * length[matches.rows])
    gains = matches.worths[matches.terms] * counts * (BM25_K1 + 1.0) / (counts + norms)
    return _summed(matches.rows, gains, view.size)


def _summed(places: Ints, values: Floats, size: int) -> Floats:
    """Return the sum of the values at each place."""
    return np.bincount(places, values, size).astype(np.float32)


# -- what the question asks for --------------------------------------------------------------------


def speakers(view: View, terms: Sequence[str], question: Question) -> Floats:
    """Return 1 for what the named people said, or the user if the question is about the user.

    All 0 where that selects nothing, or everything.
    """
    asked = view.derived(name_terms).keys() & set(terms)
    about = sorted({code for term in asked for code in view.derived(name_terms)[term]})
    if not about and question.of_self:
        about = [code for name, code in view.speakers.items() if name.lower() in ("user", "")]
    if len(about) == len(view.speakers):
        about = []
    is_about = np.zeros(len(view.speakers), np.float32)
    is_about[about] = 1.0
    signal: Floats = is_about[view.column("speaker")]
    return signal


def name_terms(view: View) -> dict[str, set[int]]:
    """Return the terms of speakers' names, each with the speakers that have it."""
    by_term: dict[str, set[int]] = defaultdict(set)
    for name, code in view.speakers.items():
        for term in analyse(name):
            by_term[term].add(code)
    return dict(by_term)


def wish(view: View, vector: Floats, heads: Floats) -> Floats:
    """Return how likely each row states a standing wish, times how likely the query asks for work.

    A task seldom shares words with the rules that bear on it.
    """
    asks, states = heads
    of_work = logistic(vector @ asks[:-1] + asks[-1])
    return of_work * logistic(view.dots(states[:-1]) + states[-1])


def marked(view: View, mark: Mark) -> Floats:
    """Return 1 for rows that have a mark."""
    # Asked whether an enumeration is an array, numpy drops an exit raised by a signal's handler.
    signal: Floats = ((view.column("marks") & int(mark)) != 0).astype(np.float32)
    return signal


def log_length(view: View) -> Floats:
    """Return the logarithm of each turn's length, 0 from ENOUGH_TERMS on: a few words of a talk say
    little. A statement that was stored for itself says what it says.
    """
    length = np.clip(view.column("length"), 1.0, ENOUGH_TERMS)
    signal: Floats = np.log(length / ENOUGH_TERMS).astype(np.float32) * view.column("turn")
    return signal


# -- where in a talk -------------------------------------------------------------------------------


def opening(view: View) -> Floats:
    """Return 1 for the first turn of each session, which says what the session is about."""
    first: Floats = (view.column("before") == NONE).astype(np.float32)
    return first


def recency(view: View) -> Floats:
    """Return recency by rank: 1 for the newest row, one half where a fifth of all are newer."""
    times = view.column("time")
    newer = len(view) - np.sort(times[view.column("live")]).searchsorted(times, "right")
    return np.exp2(-newer / (NEWER_AT_HALF * max(len(view), 1))).astype(np.float32)


def session_mean(view: View, whole: Floats) -> Floats:
    """Return the mean cosine of each row's session with the query."""
    of_row, holds = view.column("session"), view.column("live")
    rows = np.bincount(of_row, holds, view.session_count)
    mean = np.bincount(of_row, whole * holds, view.session_count) / np.maximum(rows, 1.0)
    signal: Floats = mean[of_row].astype(np.float32)
    return signal
