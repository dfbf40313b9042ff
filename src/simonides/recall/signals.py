"""The evidence of a query on every row, one array per signal.

Words and meaning say what a row is about, the turns around it and its session where the subject
was spoken of, and the question what kind of row would answer it. Everything here is unweighted.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterable, Sequence
from typing import NamedTuple

import numpy as np

from simonides.recall.index import NONE, Bools, Floats, Ints
from simonides.recall.question import Form, Question, within
from simonides.recall.view import View
from simonides.text.analyse import Mark, analyse

BM25_K1 = 1.2
BM25_B = 0.75
"""Robertson and Zaragoza 2009, the usual values."""

SESSION_B = 0.5
"""Length normalisation of whole sessions; of 0, .25, .5 and .75, which are much alike."""

REACH = (0.3, 0.2, 0.1, 0.1)
"""Weight of the turn at distance 1, 2, … on either side; a wider reach gained nothing."""

DENSE_SHARE = 0.5
"""Weight of meaning, relative to words, in the topic that a turn lends to its neighbours."""

FULL_TOPIC = 4.0
"""The topic, in deviations, from which the kind of answer counts in full."""

NEWER_AT_HALF = 0.2
"""Share of newer rows at which recency is one half."""

PRIOR_ROWS = 10
"""How many rows the typical mean and deviation count as: a few rows make no scale of their own."""
LEXICAL, DENSE, SESSION, SESSION_DENSE = (0.6, 1.0), (0.0, 0.12), (3.9, 3.0), (0.0, 0.05)
"""Typical mean and deviation of signals in development conversations."""

ENOUGH_TERMS = 10
"""Length from which a row can answer by itself; of 10, 20 and 40."""


class Match(NamedTuple):
    """The rows that hold one term of the query.

    Attributes:
        rows: Their places.
        worth: The term's inverse document frequency (IDF).
        gain: For each row, its share of that worth, by BM25's saturation.
    """

    rows: Ints
    worth: float
    gain: Floats


class Signals(NamedTuple):
    """Evidence by name, and what the relevance scale needs besides.

    Attributes:
        evidence: One array over all rows for each signal that applies.
        matches: One for each term of the query.
        cosine: Of each row with the query.
    """

    evidence: dict[str, Floats]
    matches: list[Match]
    cosine: Floats


def gather(view: View, terms: Sequence[str], vector: Floats, question: Question) -> Signals:
    """Return the evidence of a query on every row of an index.

    Args:
        view: The rows.
        terms: The query's distinct terms.
        vector: The query's unit vector; zeros where the embedder does not know its script.
        question: What the query asks for.
    """
    matches = [match(view, term) for term in terms]
    names = view.derived(name_terms)
    subject = [found for term, found in zip(terms, matches, strict=True) if term not in names]
    words = standard(bm25(view, subject), LEXICAL, view)
    cosine, centred = cosines(view, vector)
    topic = np.maximum(words + DENSE_SHARE * standard(cosine, DENSE, view), 0.0)
    about = np.minimum(topic / FULL_TOPIC, 1.0)
    evidence = {
        "bm25": words,
        "dense": standard(centred, DENSE, view),
        "neighbours": neighbours(view, topic),
        "answers": answers(view, topic),
        "session": standard(sessions(view, subject), SESSION, view),
        "speaker": speakers(view, terms, question),
        "length": view.derived(log_length),
    }
    if question.form is Form.QUESTION:
        evidence["cover"] = cover(view, subject)
    else:
        evidence["session_meaning"] = session_meaning(view, centred)
    if question.form is not Form.QUESTION or question.of_self:
        evidence["opening"] = view.derived(opening)
    if question.wants_recent:
        evidence["recency"] = view.derived(recency)
    if not question.of_self:
        evidence["own_words"] = marked(view, Mark.SELF)
    if question.wants_time:
        evidence["time"] = about * marked(view, Mark.TIME)
    if question.days:
        evidence["date"] = about * within(question.days, view.column("time"))
    return Signals(evidence, matches, cosine)


# -- words and meaning -----------------------------------------------------------------------------


def match(view: View, term: str) -> Match:
    """Look up a term."""
    rows, counts = view.postings(term)
    worth = idf(len(view), len(rows))
    return Match(rows, worth, worth * counts / (counts + view.derived(length_norms)[rows]))


def among(rows: Ints, places: Ints) -> Bools:
    """Return which places are among some rising rows."""
    if not len(rows):
        return np.zeros(len(places), np.bool_)
    found: Bools = rows.take(rows.searchsorted(places), mode="clip") == places
    return found


def idf(size: int, holding: int) -> float:
    """Return Lucene's inverse document frequency, above 0 for every term."""
    return math.log1p((size - holding + 0.5) / (holding + 0.5))


def length_norms(view: View) -> Floats:
    """Return BM25's length normalisation of each row."""
    length = view.column("length")
    average = float(length.sum()) / max(len(view), 1) or 1.0
    return BM25_K1 * (1.0 - BM25_B + BM25_B / average * length)


def bm25(view: View, matches: Iterable[Match]) -> Floats:
    """Return the BM25 score of each row."""
    score = np.zeros(view.size, np.float32)
    for rows, _, gain in matches:
        score[rows] += gain
    return score


def cover(view: View, matches: Sequence[Match]) -> Floats:
    """Return the share of the query's summed IDF that each row holds."""
    score = np.zeros(view.size, np.float32)
    for rows, worth, _ in matches:
        score[rows] += worth
    return score / (sum(worth for _, worth, _ in matches) or 1.0)


def cosines(view: View, vector: Floats) -> tuple[Floats, Floats]:
    """Return the cosine of each row with the query, plain and measured from the mean of all rows.

    A mean of token vectors mostly says what kind of text it is, which all turns share; without the
    mean, the rest separates subjects. Source: Mu and Viswanath 2018, "All-but-the-Top".
    """
    mean = (view.vector_sum / (len(view) + PRIOR_ROWS)).astype(np.float32)
    plain, along = view.dots(np.stack((vector, mean), axis=1)).T
    square = float(mean @ mean)
    own = np.sqrt(np.maximum(1.0 - 2.0 * along + square, 1e-6))
    asked = math.sqrt(max(1.0 - 2.0 * float(vector @ mean) + square, 1e-6))
    centred = (plain - along - float(vector @ mean) + square) / (own * asked)
    return plain, np.where(view.column("scale") > 0.0, centred, 0.0) if vector.any() else plain


def standard(values: Floats, prior: tuple[float, float], view: View) -> Floats:
    """Return values in deviations from their mean, both drawn to typical ones in small indexes."""
    live, rows = view.of_live(values), len(view) + PRIOR_ROWS
    mean = (float(live.sum()) + PRIOR_ROWS * prior[0]) / rows
    squares = float(np.square(live - mean).sum()) + PRIOR_ROWS * prior[1] ** 2
    return (values - mean) / math.sqrt(squares / rows)


# -- conversation ----------------------------------------------------------------------------------


def neighbours(view: View, topic: Floats) -> Floats:
    """Return the topic of the turns around each row: an answer stands next to what it answers."""
    padded = np.append(topic, 0.0)  # the last cell stands for an absent neighbour
    score = np.zeros(view.size, np.float32)
    for links in (view.column("before"), view.column("after")):
        onward, places = np.append(links, NONE), links
        for weight in REACH:
            score += weight * padded[places]
            places = onward[places]
    return score


def opening(view: View) -> Floats:
    """Return 1 for the first turn of each session, which says what the session is about.

    It counts for messages, remarks and questions in the first person: in a talk with an assistant,
    the user opens a session with the facts. For other questions it gained nothing.
    """
    first: Floats = (view.column("before") == NONE).astype(np.float32)
    return first


def answers(view: View, topic: Floats) -> Floats:
    """Return, for each turn after one that asks something, the topic of the asking turn."""
    asked = np.append(topic * marked(view, Mark.ASKS), 0.0)
    topic_before: Floats = asked[view.column("before")]
    return topic_before


def sessions(view: View, matches: Iterable[Match]) -> Floats:
    """Return the BM25 score of each row's session as one text, in which a term counts once."""
    of_row, norms = view.column("session"), view.derived(session_norms)
    count = max(int(np.count_nonzero(norms)), 1)
    score = np.zeros(len(norms), np.float32)
    for rows, _, _ in matches:
        holds = np.zeros(len(norms), np.bool_)
        holds[of_row[rows]] = True
        score[holds] += idf(count, int(holds.sum())) / (1.0 + norms[holds])
    found: Floats = score[of_row]
    return found


def session_meaning(view: View, centred: Floats) -> Floats:
    """Return the mean cosine of each row's session with the query, in deviations."""
    of_row, holds = view.column("session"), view.column("live")
    rows = np.bincount(of_row, holds)
    mean = np.bincount(of_row, centred * holds) / np.maximum(rows, 1.0)
    return standard(mean[of_row].astype(np.float32), SESSION_DENSE, view)


def session_norms(view: View) -> Floats:
    """Return BM25's length normalisation of each session; 0 for one without rows."""
    length = np.bincount(view.column("session"), view.column("length"), view.session_count)
    average = float(length.sum()) / max(int(np.count_nonzero(length)), 1) or 1.0
    norms = BM25_K1 * (1.0 - SESSION_B + SESSION_B / average * length)
    return np.where(length > 0.0, norms, 0.0).astype(np.float32)


# -- what the question asks for --------------------------------------------------------------------


def speakers(view: View, terms: Sequence[str], question: Question) -> Floats:
    """Return 1 for what the people said whom the question names, or the user of whom it is asked.

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
    found: Floats = is_about[view.column("speaker")]
    return found


def name_terms(view: View) -> dict[str, set[int]]:
    """Return the terms of speakers' names, each with the speakers that have it."""
    found: dict[str, set[int]] = defaultdict(set)
    for name, code in view.speakers.items():
        for term in analyse(name):
            found[term].add(code)
    return dict(found)


def marked(view: View, mark: Mark) -> Floats:
    """Return 1 for rows that have a mark."""
    found: Floats = ((view.column("marks") & mark) != 0).astype(np.float32)
    return found


def log_length(view: View) -> Floats:
    """Return the logarithm of each row's length, 0 from ENOUGH_TERMS on: a few words say little."""
    length = np.clip(view.column("length"), 1.0, ENOUGH_TERMS)
    found: Floats = np.log(length / ENOUGH_TERMS).astype(np.float32)
    return found


def recency(view: View) -> Floats:
    """Return recency by rank: 1 for the newest row, one half where a fifth of all are newer."""
    times = view.column("time")
    newer = len(view) - np.sort(view.of_live(times)).searchsorted(times, "right")
    return np.exp2(-newer / (NEWER_AT_HALF * max(len(view), 1))).astype(np.float32)
