"""Weighs the evidence and returns rows, best first, each with its reasons and its relevance.

Ranking compares the rows of one query, and some row always comes first. Relevance is comparable
between queries and owners: 0 to 1, and it rises with the probability that a row bears on the query
at all; from .75 on, a digest shows it. It is read from the
best rows: how much of the query one of them and the turns around it hold, how much of that
together, and how alike it is in meaning. Words, above all names, that no row holds speak against
the whole result. The other rows follow by their distance behind the best.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from itertools import compress
from typing import NamedTuple

import numpy as np

from simonides.core.policy import RecallRules
from simonides.core.settings import Settings
from simonides.recall.index import NONE, TYPICAL_ROWS, Bools, Floats, Ints
from simonides.recall.question import Form, Question
from simonides.recall.signals import Signals, around, bm25, gather, idf, name_terms
from simonides.recall.view import View
from simonides.text.analyse import query_terms

WEIGHTS: Mapping[Form, Mapping[str, float]] = {
    Form.QUESTION: {
        "bm25": 0.2, "cover": 1.8, "dense": 0.55, "neighbours": 0.4, "answers": 0.2,
        "session": 0.75, "opening": 2.1, "speaker": 1.8, "own_words": 1.5, "time": 2.1,
        "date": 3.1, "length": 1.2,
    },
    Form.MESSAGE: {
        "bm25": 0.15, "neighbours": 0.3, "session": 0.5, "session_meaning": 0.7,
        "opening": 2.1, "speaker": 0.5, "recency": 1.4,
    },
    Form.REMARK: {"session_meaning": 1.0},
}  # fmt: skip
"""Log-odds per unit of evidence: a softmax regression on the development questions of six sets, by
form of query, rounded, some chosen by hand on the same questions. A message continues the subject
of a session, and a remark shares its meaning with what it refers to, but hardly a word. The weight
of `opening` in a question is that of a message. Chosen on one half of the conversations, it gains
on the other, both ways; 1.0 to 2.1 are much alike. It rests on BEAM, the only set that asks turns
in the first person."""

DOUBT = 1.0
"""Log-odds that a memory loses by the confidence that it lacks; chosen."""

STALE_FACTOR = 0.5
"""Factor on the score of stale and softly expired memories."""

WEIGHTED = {"vector": 0.4, "keyword": 0.3, "recency": 0.2, "importance": 0.1}
"""Weights of the composite; its recency halves every 30 days."""

HALF_LIFE_MS = 30 * 86_400_000

COMPARED = 5
"""Best rows among which a newer version may overtake an older one: what is found stays found."""

LIKENESS = 0.7
"""Least cosine of two versions of one statement."""

MAX_LIFT = 3.0
"""Largest lead, in log-odds, that a newer version overtakes."""


class Query(NamedTuple):
    """A query as ranking sees it.

    Attributes:
        terms: Its distinct terms.
        vector: Its unit vector; zeros where there is none.
        question: What it asks for.
    """

    terms: Sequence[str]
    vector: Floats
    question: Question

    @property
    def is_empty(self) -> bool:
        """Whether nothing can be searched for: no text, or stop words only."""
        return not self.terms


class Ranked(NamedTuple):
    """One row found.

    Attributes:
        owner: Its owner.
        id: Its id.
        score: 0 to 1; orders the rows of one query.
        relevance: 0 to 1: how likely the row bears on the query; from .75 on a digest shows it.
        why: What each signal added, in log-odds, largest first.
        terms: Terms of the query that it holds.
    """

    owner: str
    id: bytes
    score: float
    relevance: float
    why: Mapping[str, float]
    terms: tuple[str, ...]


class Ranking:
    """All visible rows of a view in order, computed as far as they are asked for."""

    def __init__(
        self,
        view: View,
        query: Query,
        visible: Bools,
        *,
        now: int,
        settings: Settings,
        preferences: RecallRules | None,
        floor: float = 0.0,
    ) -> None:
        """Rank.

        Args:
            view: The rows; its locks are held.
            query: What is asked.
            visible: Which rows may be returned.
            now: Time of the read in milliseconds.
            settings: Name the mode of fusion.
            preferences: The keys of preferences and their bonus, or None.
            floor: Least relevance; pinned rows and those with the bonus are exempt.
        """
        self.view, self._query = view, query
        preferred = np.zeros(view.size, np.bool_)
        if preferences is not None:
            preferred[view.rows_of_keys(preferences.preference_keys)] = True
        if query.is_empty:
            visible = visible & (view.column("pinned") | preferred)
        self._visible = visible
        self._signals = gather(view, query.terms, query.vector, query.question)
        self._parts = self._weighed(settings, now)
        raw = np.where(visible, sum(self._parts.values()), -np.inf)
        if query.question.wants_latest and settings.fusion == "conversational":
            self._parts["newest"] = newest_first(view, raw)
            raw = raw + self._parts["newest"]
        self._raw = raw
        first = best_first(view, raw, raw, 3)
        asked = (query.terms, query.question, self._signals)
        self._scale = scale_of(view, *asked, raw, first) if len(first) else Scale(0.0, 0.0)
        stale = (view.column("stale") | (view.column("soft") <= now)) & visible
        self._bonus = (preferences.preference_bonus if preferences else 0.0) * preferred
        self._factor = np.where(stale, STALE_FACTOR, 1.0)
        # Without either, the order by score is the order by evidence.
        weighted = bool(stale.any() or (preferred & visible).any())
        self._order_by = self._score(np.arange(view.size)) if weighted else raw
        self._eligible = raw > -np.inf
        if floor > 0.0:
            exempt = (self._bonus > 0.0) | view.column("pinned")
            self._eligible &= (self._scale.relevance(raw) >= floor) | exempt

    def __len__(self) -> int:
        return int(np.count_nonzero(self._eligible))

    def best(self, first: int, last: int) -> list[Ranked]:
        """Return the rows from rank ``first`` (from 0) up to ``last``, exclusive."""
        return self._ranked(self._order(last)[first:])

    def _order(self, limit: int) -> Ints:
        return best_first(self.view, self._order_by, self._raw, limit, self._eligible)

    def rank_of(self, row: int) -> int | None:
        """Return the rank of a row, from 1; None if it is not visible."""
        if not self._eligible[row]:
            return None
        return int(np.flatnonzero(self._order(self.view.size) == row)[0]) + 1

    def describe(self, row: int) -> Ranked:
        """Return one row with its score and reasons, visible or not."""
        return self._ranked(np.array([row]))[0]

    def _ranked(self, rows: Ints) -> list[Ranked]:
        if not len(rows):
            return []
        table = np.stack([values[rows] for values in self._parts.values()], axis=1).tolist()
        held = self._signals.matches.held(rows, self.view.size).T.tolist()
        sure, scores = self._scale.relevance(self._raw[rows]).tolist(), self._score(rows).tolist()
        found, every = [], zip(rows.tolist(), table, held, scores, sure, strict=True)
        for row, values, holds, score, relevance in every:
            parts = zip(self._parts, values, strict=True)
            why = dict(sorted(((n, v) for n, v in parts if v), key=lambda part: -part[1]))
            matched = tuple(compress(self._query.terms, holds))
            owner, id = self.view.owner_and_id(row)
            found.append(Ranked(owner, id, score, relevance, why, matched))
        return found

    def _score(self, rows: Ints) -> Floats:
        sure = self._scale.relevance(self._raw[rows])
        return np.minimum(sure * self._factor[rows] + self._bonus[rows], 1.0)

    def _weighed(self, settings: Settings, now: int) -> dict[str, Floats]:
        """Return what each signal adds to the score, by the mode of fusion."""
        view, signals = self.view, self._signals
        doubt = DOUBT * (view.column("confidence") - np.float32(1.0))
        if settings.fusion == "conversational":
            weights = WEIGHTS[self._query.question.form]
            known = signals.evidence.items()
            found = {name: weights[name] * values for name, values in known if name in weights}
            return {**found, "confidence": doubt}
        words = bm25(view, signals.matches, np.ones(len(self._query.terms), np.bool_))
        keyword, vector = words / (words.max(initial=0.0) or 1.0), np.maximum(signals.cosine, 0.0)
        if settings.fusion == "rrf":
            ranks = {"keyword": _reciprocal(view, keyword, self._visible, settings.rrf_k)}
            ranks["vector"] = _reciprocal(view, vector, self._visible, settings.rrf_k)
            return {**ranks, "confidence": 0.1 * doubt}
        if settings.fusion == "hybrid":
            share = settings.hybrid_weight
            hybrid = {"vector": share * vector, "keyword": (1.0 - share) * keyword}
            return {**hybrid, "confidence": 0.1 * doubt}
        age = np.maximum(now - view.column("updated"), 0) / HALF_LIFE_MS
        evidence = {
            "vector": vector, "keyword": keyword, "recency": np.exp2(-age),
            "importance": view.column("importance"),
        }  # fmt: skip
        weighted = {name: WEIGHTED[name] * values for name, values in evidence.items()}
        return {**weighted, "confidence": 0.1 * doubt}


def best_first(
    view: View, order_by: Floats, then_by: Floats, limit: int, among: Bools | None = None
) -> Ints:
    """Return the rows of the greatest values, ties by the newest ``updated_at``, then by id.

    Args:
        view: The rows.
        order_by: The values.
        then_by: Parts equal values first.
        limit: Most rows.
        among: The only rows that count; None means those whose value is finite.
    """
    chosen = order_by > -np.inf if among is None else among
    rows = np.flatnonzero(chosen)
    if limit < len(rows):
        least = np.partition(order_by[rows], len(rows) - limit)[len(rows) - limit]
        rows = rows[order_by[rows] >= least]
    ids = (view.column("id_low")[rows], view.column("id_high")[rows])
    newest = -view.column("updated")[rows]
    return rows[np.lexsort((*ids, newest, -then_by[rows], -order_by[rows]))][:limit]


def newest_first(view: View, score: Floats) -> Floats:
    """Return the lift of newer versions of a statement just above the older ones.

    Among verbatim turns an old statement and its update share most of their words. Where a question
    asks for the present state, the newer one answers.
    """
    lift = np.zeros(len(score), np.float32)
    best = best_first(view, score, score, COMPARED)
    if not len(best):
        return lift
    vectors = view.vectors(best.tolist())
    speaker, time = view.column("speaker")[best], view.column("time")[best]
    lead = score[best] - score[best][:, None]
    overtakes = (vectors @ vectors.T >= LIKENESS) & (speaker == speaker[:, None])
    overtakes &= (time[:, None] > time) & (lead >= 0.0) & (lead <= MAX_LIFT)
    # Of three versions the newest overtakes both others, hence a little for each.
    lift[best] = np.where(overtakes, lead, 0.0).max(axis=1) + 0.001 * overtakes.sum(axis=1)
    return lift


def _reciprocal(view: View, values: Floats, visible: Bools, k: int) -> Floats:
    """Return half the reciprocal rank of each row, 0.5 for the best; 0 for rows without evidence.

    Source: Cormack, Clarke, Buettcher 2009; k = 60 as in the paper.
    """
    chosen = visible & (values > 0.0)
    order = best_first(view, values, values, view.size, chosen)
    found = np.zeros(view.size)
    found[order] = 0.5 * (k + 1) / (k + 1 + np.arange(len(order)))
    return found


# -- relevance -------------------------------------------------------------------------------------

MOST_TOGETHER = 2.0
"""One question in fifty exceeds it, but Chinese text, where every pair is a term, often."""

TYPICAL_COSINE = 0.45
"""Replaces the cosine where the embedder does not know the script."""


MEASURED = 3
"""Best rows of which each measure is taken and the greatest kept: the first may be there by its
session or speaker."""

MOST_UNKNOWN = 3
"""More unknown words say no more: a long query has many, and in Chinese every pair is a term."""


CONSTANT = -0.7
FACTORS = (3.3, 1.2, 4.5, -0.5, -0.9, 1.0)
"""Of what `measure` returns, in its order. Logistic regression on development questions and
questions foreign to their conversation, both counting alike, asked of whole conversations and of 1
to 100 of their rows."""

PER_LOG_ROWS = 0.7
"""Log-odds that the best of n rows loses by ln(n): of many rows the best is better by chance. It is
part of the same regression."""

PER_LOG_LENGTH, TYPICAL_LENGTH = 0.65, 16.0
"""Log-odds that it loses by the mean length of the rows, in terms, beyond a typical one: long rows
hold the words of a question by chance. With it one floor serves three development sets, whose turns
have 16, 24 and 216 terms."""

ANCHOR = 3.0
"""Log-odds by which the scale lies above the probability, so that the floor of digests is .75."""

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
        odds = self.best + ANCHOR - BEHIND * behind**4
        found: Floats = 1.0 / (1.0 + np.exp(np.minimum(-odds, 80.0)))
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
    mean_length = float(view.column("length").sum()) / len(view)
    chance = PER_LOG_ROWS * math.log(len(view))
    chance += PER_LOG_LENGTH * math.log(max(mean_length / TYPICAL_LENGTH, 1.0))
    first = CONSTANT + float(np.dot(FACTORS, measured)) - chance
    return Scale(first, float(score[best[0]]))


def measure(
    view: View, terms: Sequence[str], question: Question, signals: Signals, places: Ints
) -> tuple[float, ...]:
    """Measure the best rows, each together with the turns around it.

    Speakers' names do not count, since a conversation has them anyway.

    Returns:
        The share of the query's summed IDF that a row and the turns around it hold; a row of the
        right date holds the words of that date. The summed IDF of neighbouring terms of the query
        that one of these rows holds both, of each pair the commoner one, in units of the greatest
        IDF. The cosine of the row with the query. How many terms of the query no row holds. 1 if
        the query names somebody or something that no row holds. 1 if it names somebody or something
        that a row holds.
    """
    names, dated = view.derived(name_terms), set(query_terms(question.dated_words))
    asked = [(n, term) for n, term in enumerate(terms) if term not in names]
    numbers, holding = np.array([n for n, _ in asked], np.int64), signals.matches.holding
    unknown = {term for n, term in asked if not holding[n]} - dated
    named = set(query_terms(question.named_words)).difference(names, dated)
    near = [surroundings(view, int(place)) for place in places]
    starts = np.cumsum([0, *map(len, near)])[:-1]
    held = signals.matches.held(np.concatenate(near), view.size)[numbers]
    size = max(len(view), TYPICAL_ROWS)
    worths = idf(size, holding[numbers])
    is_date = np.array([term in dated for _, term in asked], np.bool_)
    in_place = np.logical_or.reduceat(held, starts, axis=1)
    if "date" in signals.evidence:
        right = np.logical_or.reduceat(signals.evidence["date"][np.concatenate(near)] > 0.0, starts)
        in_place |= is_date[:, None] & right
    cover = worths @ in_place / (worths.sum() or 1.0)
    words, rare = held[~is_date], worths[~is_date]
    pairs = np.logical_or.reduceat(words[1:] & words[:-1], starts, axis=1)
    together = np.minimum(rare[1:], rare[:-1]) @ pairs / idf(size, 0)
    cosine = signals.cosine[places] if signals.cosine.any() else np.array([TYPICAL_COSINE])
    return (
        float(cover.max()), min(float(together.max()), MOST_TOGETHER), float(cosine.max()),
        min(len(unknown), MOST_UNKNOWN), bool(named & unknown), bool(named - unknown),
    )  # fmt: skip


def surroundings(view: View, row: int) -> Ints:
    """Return a row and the turns around it."""
    rows, near = view.derived(around)
    at = int(rows.searchsorted(row))
    if at == len(rows) or rows[at] != row:
        return np.array([row])
    found = near[:, at]
    return np.append(found[found != NONE], row)
