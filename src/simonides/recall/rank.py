"""Weighs the evidence and returns rows, best first, each with its reasons and its relevance.

One linear sum of plain evidence, in two stages. The first weighs what costs little over all rows;
the second adds what the tokens of the best of them cover, and decides their order. Ranking compares
the rows of one query, and some row always comes first; how likely a row bears on the query at all
is its relevance.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from itertools import compress
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from simonides.core.policy import RecallRules
from simonides.core.settings import Settings
from simonides.models.threads import one_thread
from simonides.recall.index import NONE, Bools, Floats, Ints
from simonides.recall.interaction import Token, cosines, coverage, sessions, weights, windows
from simonides.recall.question import Form, Question
from simonides.recall.relevance import bearing, logistic, measure, odds
from simonides.recall.signals import bm25, gather, match, name_terms, wish
from simonides.recall.view import View
from simonides.storage.database import Connection
from simonides.text.words import read_toml


def _weights(stage: str) -> Mapping[Form, Mapping[str, float]]:
    """Return the weights of a stage by the form of a query, as log-odds per unit of evidence."""
    of = read_toml("recall", "weights.toml")[stage]
    return {form: of["message" if form is Form.MESSAGE else "question"] for form in Form}


FIRST, CLOSER, PLAIN = map(_weights, ("first", "closer", "plain"))

CANDIDATES = 200
"""Rows of the first stage that the second looks at, with the turns next to them. In a store of
12,583 rows 50, 100, 200 and 400 kept .994, .990, .995 and .998 of the recall among ten."""

DOUBT = 1.0
"""Log-odds that a memory loses by the confidence that it lacks. Set by judgement."""

ROUNDING = 1e-4
"""Difference in evidence that is no difference: products of matrices round by place in memory."""

STALE_FACTOR = 0.5
"""Factor on the score of stale and softly expired memories."""

HALF_LIFE_MS = 30 * 86_400_000

COMPARED = 5
"""Best rows among which a newer version may overtake an older one: what is found stays found."""

LIKENESS = 0.5
"""Minimum cosine of two versions of one statement."""

MAX_LIFT = 3.0
"""Largest lead, in log-odds, that a newer version overtakes."""


class Query(NamedTuple):
    """A query as ranking sees it.

    Attributes:
        terms: Its distinct terms.
        vector: Its unit vector; zeros where there is none.
        tokens: Its tokens; none where the embedder has no vectors of tokens.
        token_vectors: Their vectors, shape (tokens, dimensions).
        question: What it asks for.
        heads: Those of the embedder, see `Encoder`; None where it has none.
    """

    terms: Sequence[str]
    vector: Floats
    tokens: Sequence[Token]
    token_vectors: NDArray[np.int8]
    question: Question
    heads: Floats | None = None


class Ranked(NamedTuple):
    """One row found.

    Attributes:
        owner: Its owner.
        id: Its id.
        score: 0 to 1; orders the rows of one query.
        relevance: 0 to 1: how likely the row bears on the query.
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
        connection: Connection,
        settings: Settings,
        rules: RecallRules,
        *,
        now: int,
        bias: bool = False,
        floor: float = 0.0,
    ) -> None:
        """Rank.

        Args:
            view: The rows; its locks are held.
            query: What is asked.
            visible: Which rows may be returned.
            connection: Reads the token vectors of rows.
            settings: Name the mode of fusion.
            rules: The keys of preferences and their bonus, and the weights of the composite.
            now: Time of the read in milliseconds.
            bias: Whether preferences have their bonus.
            floor: Minimum relevance; pinned rows and those with the bonus are exempt.
        """
        self.view, self.query = view, query
        preferred = np.zeros(view.size, np.bool_)
        if bias:
            preferred[view.rows_of_keys(rules.preference_keys)] = True
        if not query.terms:  # no text, or stop words only
            visible = visible & (view.column("pinned") | preferred)
        self._visible, self._settings, self._now = visible, settings, now
        self._rules, self._confidence = rules, view.confidence(now)
        self._lift: Floats | None = None
        self._matches = match(view, query.terms)
        self._connection = connection
        with one_thread():
            self._evidence = self._gathered()
            self._interact()
        raw = self._sum
        if settings.fusion != "conversational":
            raw = np.where(visible, sum(self._fused().values()), -np.inf)
        elif query.question.wants_latest:
            self._lift = newest_first(view, raw)
            raw = raw + self._lift
        self._raw = raw
        first, every = best_first(view, raw, raw, 1), np.arange(view.size)
        self._top = float(raw[first[0]]) if len(first) else 0.0
        self._odds = float(odds(self._relevance(first)[0])) if len(first) else 0.0
        stale = (view.column("stale") | (view.column("soft") <= now)) & visible
        self._bonus = rules.preference_bonus * preferred
        self._factor = np.where(stale, STALE_FACTOR, 1.0)
        # Without either, the order by score is the order by evidence.
        weighted = bool(stale.any() or (preferred & visible).any())
        self._order_by = self._score(every) if weighted else raw
        self._eligible = raw > -np.inf
        if floor > 0.0:
            exempt = (self._bonus > 0.0) | view.column("pinned")
            self._eligible &= (self._relevance(every) >= floor) | exempt

    def __len__(self) -> int:
        return int(np.count_nonzero(self._eligible))

    def best(self, first: int, last: int) -> list[Ranked]:
        """Return the rows from rank ``first`` (from 0) up to ``last``, exclusive."""
        return self._ranked(self._order(last)[first:])

    def _order(self, limit: int) -> Ints:
        return best_first(self.view, self._order_by, self._raw, limit, self._eligible)

    def shows(self, row: int) -> bool:
        """Whether a row may be returned."""
        return bool(self._visible[row])

    def rank_of(self, row: int) -> int | None:
        """Return the rank of a row, from 1; None if it is not visible."""
        if not self._eligible[row]:
            return None
        return int(np.flatnonzero(self._order(self.view.size) == row)[0]) + 1

    def describe(self, row: int) -> Ranked:
        """Return one row with its score and reasons, visible or not."""
        return self._ranked(np.array([row]))[0]

    def likeness(self, ranked: Ranked) -> tuple[list[int], Floats]:
        """Return the ids of a row's tokens, and their cosines with the query's, shape (query, row).

        There are none if the query has no tokens, or the second stage did not look at the row.
        """
        row = self.view.row_of(ranked.owner, ranked.id)
        if not self.query.tokens or row is None or self._place[row] == NONE:
            return [], np.zeros((0, 0), np.float32)
        [vectors] = self.view.token_vectors(self._connection, np.array([row]))
        return self.view.token_ids(row), cosines(self.query.token_vectors, vectors)

    def _ranked(self, rows: Ints) -> list[Ranked]:
        if not len(rows):
            return []
        held = self._matches.held(rows, self.view.size).T.tolist()
        sure, scores = self._relevance(rows).tolist(), self._score(rows).tolist()
        entries = []
        for row, holds, score, relevance in zip(rows.tolist(), held, scores, sure, strict=True):
            parts = {name: value for name, value in self._parts(row).items() if value}
            why = dict(sorted(parts.items(), key=lambda part: -part[1]))
            matched = tuple(compress(self.query.terms, holds))
            owner, id = self.view.owner_and_id(row)
            entries.append(Ranked(owner, id, score, relevance, why, matched))
        return entries

    def _parts(self, row: int) -> dict[str, float]:
        """Return what each signal adds to the evidence of a row."""
        if self._settings.fusion != "conversational":
            return {name: float(values[row]) for name, values in self._fused().items()}
        position, form = self._place[row], self.query.question.form
        if position == NONE:
            weights, values = FIRST[form], {n: float(v[row]) for n, v in self._evidence.items()}
        else:
            weights = self._weights
            values = {name: float(v[position]) for name, v in self._closer.items()}
        parts = {name: weights[name] * value for name, value in values.items() if name in weights}
        parts["confidence"] = DOUBT * (float(self._confidence[row]) - 1.0)
        if self._lift is not None:
            parts["newest"] = float(self._lift[row])
        return parts

    def _score(self, rows: Ints) -> Floats:
        """Return scores: the relevance of the best row, and the others as far behind it."""
        sure = logistic(self._odds - (self._top - self._raw[rows]))
        return np.minimum(sure * self._factor[rows] + self._bonus[rows], 1.0)

    def _gathered(self) -> dict[str, Floats]:
        """Return the evidence on all rows that costs little."""
        query = self.query
        asked = (query.terms, query.vector, query.question)
        evidence = gather(self.view, *asked, self._matches)
        if not self._rules.keyword:
            evidence["words"] = np.zeros_like(evidence["words"])
        if query.heads is not None and query.question.form is not Form.MESSAGE:
            evidence["wish"] = wish(self.view, query.vector, query.heads)
        return evidence

    # -- the two stages ----------------------------------------------------------------------------

    def _interact(self) -> None:
        """Weigh the evidence: first what costs little over all rows, then tokens of the best."""
        view, query = self.view, self.query
        form = query.question.form
        doubt = DOUBT * (self._confidence - 1.0)
        first = doubt + _summed(FIRST[form], self._evidence)
        rows = candidates(view, np.where(self._visible, first, -np.inf))
        self._closer = {name: values[rows] for name, values in self._evidence.items()}
        words = self._closer["words"]
        if query.tokens:
            vectors = view.token_vectors(self._connection, rows)
            best = coverage(vectors, query.token_vectors, words)
            worths = weights(view, query.tokens, view.derived(name_terms))
            content = np.array([bool(t.terms) for t in query.tokens], np.bool_) & (worths > 0.0)
        else:  # words stand in for the vectors of tokens
            best, worths, content = words[:, None], np.ones(1, np.float32), np.ones(1, np.bool_)
        self._weights = (CLOSER if query.tokens else PLAIN)[form]
        self._place = np.full(view.size + 1, NONE)  # the last cell is that of no neighbour
        self._place[rows] = np.arange(len(rows))
        before, after = (self._place[view.column(name)[rows]] for name in ("before", "after"))
        self._closer["window"] = windows(best, before, after, worths)
        self._closer["session"] = sessions(best, view.column("session")[rows], worths)
        closer = doubt[rows] + _summed(self._weights, self._closer)
        # The others follow below, in the order of the first stage.
        rest = self._visible & (self._place[:-1] == NONE)
        self._sum = np.full(view.size, -np.inf)
        if rest.any():
            self._sum[rest] = first[rest] - first[rest].max() + closer.min()
        self._sum[rows] = closer
        # Of rows that are not looked at, for which the last cell stands, no more is known than of
        # the least relevant one.
        self._bearing = np.zeros(1, np.float32)
        if len(rows):
            least = best[:, content if content.any() else slice(None)].min(axis=1)
            bearings = bearing(measure(self._closer, closer, least, int(content.sum()), len(view)))
            self._bearing = np.append(bearings, bearings.min())

    def _relevance(self, rows: Ints) -> Floats:
        relevance: Floats = self._bearing[self._place[rows]]
        return relevance

    # -- other modes -------------------------------------------------------------------------------

    def _fused(self) -> dict[str, Floats]:
        """Return what each signal adds to the score in the modes that sources of memory name."""
        view, settings = self.view, self._settings
        weights: Mapping[str, float] = self._rules.weights.model_dump()
        words = bm25(view, self._matches)
        signals = {
            "vector": np.maximum(self._evidence["whole"], 0.0),
            "keyword": words / (words.max(initial=0.0) or 1.0),
        }
        if settings.fusion == "rrf":
            ranks = partial(_reciprocal, view, visible=self._visible, k=settings.rrf_k)
            signals, weights = {name: ranks(each) for name, each in signals.items()}, {}
        elif settings.fusion == "hybrid":
            share = settings.hybrid_weight
            weights = {"vector": share, "keyword": 1.0 - share}
        else:
            age = np.maximum(self._now - view.column("updated"), 0) / HALF_LIFE_MS
            signals |= {"recency": np.exp2(-age), "importance": view.column("importance")}
        doubt = 0.1 * DOUBT * (self._confidence - 1.0)
        weighted = {name: weights.get(name, 1.0) * each for name, each in signals.items()}
        return {**weighted, "confidence": doubt}


def _summed(weights: Mapping[str, float], evidence: Mapping[str, Floats]) -> Floats:
    names = [name for name in evidence if name in weights]
    chosen = np.array([weights[name] for name in names], np.float32)
    sums: Floats = chosen @ np.stack([evidence[name] for name in names])
    return sums


def candidates(view: View, first: Floats) -> Ints:
    """Return the best visible rows of the first stage and the visible rows next to them, rising.

    Args:
        view: The rows.
        first: Their evidence; -inf for a row that is not visible.
    """
    visible = first > -np.inf
    if np.count_nonzero(visible) <= CANDIDATES:
        return np.flatnonzero(visible)
    best = np.argpartition(-first, CANDIDATES)[:CANDIDATES]
    near = np.concatenate([best, view.column("before")[best], view.column("after")[best]])
    chosen = np.zeros(view.size, np.bool_)
    chosen[near[near != NONE]] = True
    return np.flatnonzero(chosen & visible)


def best_first(
    view: View, order_by: Floats, then_by: Floats, limit: int, among: Bools | None = None
) -> Ints:
    """Return the rows of the greatest values, ties by what was said last, then by id.

    Args:
        view: The rows.
        order_by: The values.
        then_by: Parts equal values first.
        limit: Maximum number of rows.
        among: The only rows that count; None means those whose value is finite.
    """
    chosen = order_by > -np.inf if among is None else among
    rows = np.flatnonzero(chosen)
    if limit < len(rows):
        least = np.partition(order_by[rows], len(rows) - limit)[len(rows) - limit]
        rows = rows[order_by[rows] >= least]
    ids = (view.column("id_low")[rows], view.column("id_high")[rows])
    newest = -view.column("time")[rows]
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
    overtakes &= (time[:, None] > time) & (lead >= -ROUNDING) & (lead <= MAX_LIFT)
    # Of three versions the newest overtakes both others, hence a little for each.
    lift[best] = np.where(overtakes, lead, 0.0).max(axis=1) + 0.001 * overtakes.sum(axis=1)
    return lift


def _reciprocal(view: View, values: Floats, visible: Bools, k: int) -> Floats:
    """Return half the reciprocal rank of each row, 0.5 for the best; 0 for rows without evidence.

    Source: Cormack, Clarke, Buettcher 2009; k = 60 as in the paper.
    """
    chosen = visible & (values > 0.0)
    order = best_first(view, values, values, view.size, chosen)
    reciprocals = np.zeros(view.size)
    reciprocals[order] = 0.5 * (k + 1) / (k + 1 + np.arange(len(order)))
    return reciprocals
