"""The evidence of a query on every row, one array per signal.

Words and meaning say what a row is about, the turns around it and its session where the subject
was spoken of, and the question what kind of row would answer it. Everything here is unweighted.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Sequence
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
SUBJECT_PRIORS = np.array([[0.6, 1.0], [0.0, 0.12], [0.0, 0.12], [3.9, 3.0]], np.float32)
SESSION_PRIOR = np.array([[0.0, 0.05]], np.float32)
"""Typical mean and deviation of signals in development conversations: of words, of both cosines and
of sessions; of the mean cosine of a session."""

ENOUGH_TERMS = 10
"""Length from which a row can answer by itself; of 10, 20 and 40."""


class Matches(NamedTuple):
    """Where the terms of a query occur: one cell for each term and row that holds it.

    Attributes:
        rows: The rows, in no order.
        terms: For each cell the number of the term.
        gains: For each cell the share of the term's worth that the row has, by BM25's saturation.
        holding: How many rows hold each term.
        worths: The inverse document frequency (IDF) of each term.
    """

    rows: Ints
    terms: Ints
    gains: Floats
    holding: Ints
    worths: Floats

    def held(self, rows: Ints, size: int) -> Bools:
        """Return which terms some rows of ``size`` rows hold, shape (terms, rows)."""
        place = np.full(size, NONE)
        place[rows] = np.arange(len(rows))
        at = place[self.rows]
        is_one = at != NONE
        found = np.zeros((len(self.worths), len(rows)), np.bool_)
        found[self.terms[is_one], at[is_one]] = True
        return found[:, place[rows]]  # a row may be named twice


class Signals(NamedTuple):
    """Evidence by name, and what the relevance scale needs besides.

    Attributes:
        evidence: One array over all rows for each signal that applies.
        matches: Where the query's terms occur.
        cosine: Of each row with the query.
    """

    evidence: dict[str, Floats]
    matches: Matches
    cosine: Floats


def gather(view: View, terms: Sequence[str], vector: Floats, question: Question) -> Signals:
    """Return the evidence of a query on every row of an index.

    Args:
        view: The rows.
        terms: The query's distinct terms.
        vector: The query's unit vector; zeros where the embedder does not know its script.
        question: What the query asks for.
    """
    matches = match(view, terms)
    names = view.derived(name_terms)
    subject = np.array([term not in names for term in terms], np.bool_)
    cosine, centred = cosines(view, vector)
    found = (bm25(view, matches, subject), cosine, centred, sessions(view, matches, subject))
    words, meaning, dense, session = standard(np.stack(found), SUBJECT_PRIORS, view)
    topic = np.maximum(words + DENSE_SHARE * meaning, 0.0)
    about = np.minimum(topic / FULL_TOPIC, 1.0)
    evidence = {
        "bm25": words,
        "dense": dense,
        "session": session,
        "speaker": speakers(view, terms, question),
        "length": view.derived(log_length),
    }
    if len(view.derived(around)[0]):
        evidence["neighbours"] = neighbours(view, topic)
        evidence["answers"] = answers(view, topic)
    if question.form is Form.QUESTION:
        evidence["cover"] = cover(view, matches, subject)
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


def match(view: View, terms: Sequence[str]) -> Matches:
    """Look up terms."""
    rows, counts, numbers = view.postings(terms)
    holding = np.bincount(numbers, minlength=len(terms))
    worths = idf(len(view), holding)
    gains = worths[numbers] * counts / (counts + view.derived(length_norms)[rows])
    return Matches(rows, numbers, gains, holding, worths)


def idf(size: int, holding: Ints | int) -> Floats:
    """Return Lucene's inverse document frequency, above 0 for every term."""
    found: Floats = np.log1p((size - holding + 0.5) / (holding + 0.5))
    return found


def length_norms(view: View) -> Floats:
    """Return BM25's length normalisation of each row."""
    length = view.column("length")
    average = float(length.sum()) / max(len(view), 1) or 1.0
    return BM25_K1 * (1.0 - BM25_B + BM25_B / average * length)


def bm25(view: View, matches: Matches, chosen: Bools) -> Floats:
    """Return the BM25 score of each row, by the chosen terms."""
    return _summed(matches.rows, matches.gains * chosen[matches.terms], view.size)


def cover(view: View, matches: Matches, chosen: Bools) -> Floats:
    """Return the share of the chosen terms' summed IDF that each row holds."""
    worths = matches.worths * chosen
    return _summed(matches.rows, (worths / (worths.sum() or 1.0))[matches.terms], view.size)


def _summed(places: Ints, values: Floats, size: int) -> Floats:
    """Return the sum of the values at each place."""
    found: Floats = np.bincount(places, values, size).astype(np.float32)
    return found


def centre(view: View) -> tuple[Floats, float, Floats, Floats]:
    """Return the mean of all vectors, drawn to zero in small indexes; its squared length; each
    row's part along it and length from it.
    """
    mean = (view.vector_sum / (len(view) + PRIOR_ROWS)).astype(np.float32)
    square, along = float(mean @ mean), view.dots(mean)
    own = np.sqrt(np.maximum(1.0 - 2.0 * along + np.float32(square), np.float32(1e-6)))
    return mean, square, along, own


def cosines(view: View, vector: Floats) -> tuple[Floats, Floats]:
    """Return the cosine of each row with the query, plain and measured from the mean of all rows.

    A mean of token vectors mostly says what kind of text it is, which all turns share; without the
    mean, the rest separates subjects. Source: Mu and Viswanath 2018, "All-but-the-Top".
    """
    plain = view.dots(vector)
    if not vector.any():
        return plain, plain
    mean, square, along, own = view.derived(centre)
    shift = float(vector @ mean)
    asked = math.sqrt(max(1.0 - 2.0 * shift + square, 1e-6))
    centred = (plain - along + np.float32(square - shift)) / (own * np.float32(asked))
    return plain, np.where(view.column("scale") > 0.0, centred, np.float32(0.0))


def standard(values: Floats, priors: Floats, view: View) -> Floats:
    """Return rows of values in deviations from their means; few values are drawn to typical ones.

    Args:
        values: Shape (signals, rows).
        priors: Typical mean and deviation of each signal, shape (signals, 2).
        view: The rows.
    """
    live, rows = view.of_live(values), len(view) + PRIOR_ROWS
    typical, deviation = priors.T[..., None]
    mean = (live.sum(axis=1, keepdims=True) + PRIOR_ROWS * typical) / rows
    squares = np.square(live - mean).sum(axis=1, keepdims=True) + PRIOR_ROWS * deviation**2
    found: Floats = (values - mean) / np.sqrt(squares / rows).astype(np.float32)
    return found


# -- conversation ----------------------------------------------------------------------------------


def around(view: View) -> tuple[Ints, Ints]:
    """Return the turns that have neighbours, and these, as far as `REACH`.

    The second has the rows at each step before and after them, shape (steps, turns); NONE for none.
    """
    links = (view.column("before"), view.column("after"))
    rows = np.flatnonzero((links[0] != NONE) | (links[1] != NONE))
    near = []
    for link in links:
        onward, places = np.append(link, NONE), rows
        for _ in REACH:
            places = onward[places]
            near.append(places)
    return rows, np.array(near)


def neighbours(view: View, topic: Floats) -> Floats:
    """Return the topic of the turns around each row: an answer stands next to what it answers."""
    rows, near = view.derived(around)
    padded = np.append(topic, np.float32(0.0))  # the last cell stands for an absent neighbour
    score = np.zeros(view.size, np.float32)
    score[rows] = np.array([*REACH, *REACH], np.float32) @ padded[near]
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


def sessions(view: View, matches: Matches, chosen: Bools) -> Floats:
    """Return the BM25 score of each row's session as one text, in which a term counts once."""
    of_row, norms = view.column("session"), view.derived(session_norms)
    count, is_chosen = max(int(np.count_nonzero(norms)), 1), chosen[matches.terms]
    holds = np.zeros(len(chosen) * len(norms), np.bool_)
    holds[matches.terms[is_chosen] * len(norms) + of_row[matches.rows[is_chosen]]] = True
    terms, places = np.divmod(np.flatnonzero(holds), len(norms))
    rarity = idf(count, np.bincount(terms, minlength=len(chosen)))
    score = _summed(places, rarity[terms], len(norms)) / (1.0 + norms)
    found: Floats = score[of_row]
    return found


def session_meaning(view: View, centred: Floats) -> Floats:
    """Return the mean cosine of each row's session with the query, in deviations."""
    of_row, holds = view.column("session"), view.column("live")
    rows = np.bincount(of_row, holds)
    mean = np.bincount(of_row, centred * holds) / np.maximum(rows, 1.0)
    found: Floats = standard(mean[of_row].astype(np.float32)[None], SESSION_PRIOR, view)[0]
    return found


def session_norms(view: View) -> Floats:
    """Return BM25's length normalisation of each session; 0 for one without rows."""
    length = np.bincount(view.column("session"), view.column("length"), view.session_count)
    average = float(length.sum()) / max(int(np.count_nonzero(length)), 1) or 1.0
    norms = BM25_K1 * (1.0 - SESSION_B + SESSION_B / average * length)
    return np.where(length > 0.0, norms, 0.0).astype(np.float32)


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
    # Asked whether an enumeration is an array, numpy drops an exit raised by a signal's handler.
    found: Floats = ((view.column("marks") & int(mark)) != 0).astype(np.float32)
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
