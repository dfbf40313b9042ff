"""Scores of a verbatim turn from its conversation: surrounding turns and its session.

A turn is often found by the text next to it: the question it answers, the sentence before. The
adjacency of turns depends on the pool alone and is computed once for each pool.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from simonides.retrieval.index.entry import NO_TURN, VERBATIM
from simonides.retrieval.query.pool import Bools, Floats, Ints, Pool
from simonides.retrieval.ranking.signals import BM25_K1, Matches, z_scores
from simonides.text.questions import Mark

REACH = (0.3, 0.2, 0.1, 0.1)
"""Weight of the turn at distance 1, 2, …, on either side."""

SESSION_B = 0.5
"""Length normalisation of sessions, less than that of turns: a long session says much on its
subject. Of 0.5, 0.75 and 0.9 the best for sessions found."""
WHOLE_PRIOR = (3.9, 3.0)
"""Typical mean and deviation of the keyword score of a session, for pools of few sessions."""

MOST_CELLS = 1_000_000
"""Terms times sessions that are counted at once: 8 MB."""

_MIX = np.uint64(0x9E3779B97F4A7C15)
"""An odd number: multiplying by it maps 64-bit tags one to one."""


class _Around(NamedTuple):
    """The adjacent turns of each row of a pool; rows that are not turns have no weights.

    Attributes:
        places: For each distance on either side, the pool place at that distance, or any.
        weights: Its weight, or 0 if absent, divided by the root of the sum of weights.
        before: The pool place of the turn before, or any.
        asked: 1 if that turn exists and asks something, else 0.
    """

    places: Ints
    weights: Floats
    before: Ints
    asked: Floats


def neighbours(pool: Pool, topic: Floats) -> Floats:
    """Return, for verbatim turns, the weighted score of the surrounding turns, 0 and up.

    The sum is divided by the square root of the existing weights, between sum and mean. So a turn
    at the edge of its session, or in a short one, is not punished for missing neighbours.

    Args:
        pool: Visible rows.
        topic: Own score of each row, 0 and up.
    """
    if not pool.has_turns:
        return np.zeros(len(pool))
    around = pool.cached(_around)
    # Distance by distance: every row is summed in the same order, whatever its place.
    return np.asarray(np.add.reduce(topic[around.places] * around.weights, axis=0), np.float64)


def surroundings(pool: Pool, slots: Ints) -> Ints:
    """Return some rows and the surrounding turns that :func:`neighbours` uses."""
    if not pool.has_turns:
        return slots
    around = pool.cached(_around)
    return np.append(around.places[:, slots][around.weights[:, slots] > 0.0], slots)


def answers(pool: Pool, topic: Floats) -> Floats:
    """Return, for each turn after one that asks something, the score of the asking turn."""
    if not pool.has_turns:
        return np.zeros(len(pool))
    around = pool.cached(_around)
    return topic[around.before] * around.asked


def best_of_session(pool: Pool, values: Floats) -> Floats:
    """Return for each turn the best value in its session, for any other row its own."""
    if not pool.has_turns:
        return values
    order, starts, lengths = pool.cached(_sessions)
    best = np.empty(len(pool))
    best[order] = np.maximum.reduceat(values[order], starts).repeat(lengths)
    return best


def whole_sessions(pool: Pool, found: Matches) -> Floats:
    """Return for each row the keyword score of its session as one text, as a z-score over sessions.

    A message continues the subject of a session, and its words are spread over several turns. A row
    that is not a turn is a session of its own. The score is BM25 with sessions as documents.

    Args:
        pool: Visible rows.
        found: Postings of the query's terms.
    """
    session, lengths = pool.cached(_session_of), pool.cached(_session_lengths)
    count, ends = len(lengths), np.cumsum([0, *found.df])
    norms = BM25_K1 * (
        1.0 - SESSION_B + SESSION_B * count / (float(lengths.sum()) or 1.0) * lengths
    )
    scores, step = np.zeros(count), max(MOST_CELLS // count, 1)
    for first in range(0, len(found.df), step):
        df = found.df[first : first + step]
        run = slice(ends[first], ends[first + len(df)])
        term = np.arange(len(df)).repeat(df)
        cells = term * count + session[found.slots[run]]
        times = np.bincount(cells, found.counts[run], minlength=len(df) * count)
        times = times.reshape(len(df), count)
        held = np.count_nonzero(times, axis=1)
        rarity = np.log1p((count - held + 0.5) / (held + 0.5))[:, None]
        scores += np.add.reduce(rarity * times / (times + norms), axis=0)
    return np.asarray(z_scores(scores, WHOLE_PRIOR)[session], np.float64)


def _session_of(pool: Pool) -> Ints:
    order, starts, lengths = pool.cached(_sessions)
    number = np.empty(len(pool), np.int64)
    number[order] = np.arange(len(starts)).repeat(lengths)
    return number


def _session_lengths(pool: Pool) -> Floats:
    lengths = np.bincount(pool.cached(_session_of), pool.entry["length"])
    return lengths.astype(np.float64, copy=False)


def _around(pool: Pool) -> _Around:
    turns = np.flatnonzero(_is_turn(pool))
    place, session = pool.entry["place"][turns], pool.entry["session"][turns]
    turn = pool.entry["turn"][turns].astype(np.int64)
    along = np.lexsort((turn, session, place))
    slots, place, session, turn = turns[along], place[along], session[along], turn[along]
    places = np.zeros((2 * len(REACH), len(pool)), np.int64)
    weights = np.zeros(places.shape)
    for distance, weight in enumerate(REACH, start=1):
        before, after = slice(None, -distance), slice(distance, None)
        same = (session[before] == session[after]) & (place[before] == place[after])
        same &= turn[after] - turn[before] == distance
        nearer, farther = slots[before][same], slots[after][same]
        places[2 * distance - 2, farther], weights[2 * distance - 2, farther] = nearer, weight
        places[2 * distance - 1, nearer], weights[2 * distance - 1, nearer] = farther, weight
    share = np.sqrt(np.maximum(weights.sum(axis=0), REACH[0]))
    asks = (pool.entry["marks"] & Mark.ASKS) != 0
    asked = (weights[0] > 0) & asks[places[0]]
    return _Around(places, weights / share, places[0], asked.astype(np.float64))


def _sessions(pool: Pool) -> tuple[Ints, Ints, Ints]:
    """Return pool places session by session, and the start and length of each session."""
    mixed = (pool.entry["session"] * _MIX) ^ pool.entry["place"]
    alone = np.arange(len(pool), dtype=np.uint64)
    is_turn = _is_turn(pool)
    # Two keys: is_turn separates single rows from sessions with the same first key.
    order = np.lexsort((np.where(is_turn, mixed, alone), is_turn))
    keys, turned = np.where(is_turn, mixed, alone)[order], is_turn[order]
    begins = np.ones(len(pool), np.bool_)
    begins[1:] = (keys[1:] != keys[:-1]) | (turned[1:] != turned[:-1])
    starts = np.flatnonzero(begins)
    return order, starts, np.diff(starts, append=len(pool))


def _is_turn(pool: Pool) -> Bools:
    verbatim = (pool.entry["marks"] & VERBATIM) != 0
    return np.asarray(verbatim & (pool.entry["turn"] != NO_TURN), np.bool_)
