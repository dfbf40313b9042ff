"""What a verbatim turn gains from where it stands: the turns around it and its session (RE-3).

A turn is often found by what was said next to it: the question it answers, the sentence before.
What depends on the pool alone, who stands next to whom, is made once for each pool.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from memstrata.language.questions import Mark
from memstrata.retrieval.entry import NO_TURN, VERBATIM
from memstrata.retrieval.pool import Bools, Floats, Ints, Pool

REACH = (0.3, 0.2, 0.1, 0.1)
"""What the turn at distance 1, 2, … counts, on either side."""

_MIX = np.uint64(0x9E3779B97F4A7C15)
"""An odd number: multiplying by it maps 64-bit tags one to one."""


class _Talk(NamedTuple):
    """The verbatim turns of a pool as they followed each other.

    Attributes:
        order: Pool places, turn after turn, session after session.
        adjoins: For each distance from 1, whether a turn and the one that many places on are so
            far apart in one session.
        share: Of each turn in that order, the square root of how much of :data:`REACH` is there.
        asked: Of each turn but the first, 1 where the one before it in its session asks something.
    """

    order: Ints
    adjoins: tuple[Bools, ...]
    share: Floats
    asked: Floats


def neighbours(pool: Pool, topic: Floats) -> Floats:
    """Return, for verbatim turns, what the turns around them score, 0 and up.

    The sum is divided by the square root of the weights there are: between sum and mean, so that
    a turn at the edge of its session or in a short one is not judged by what was never said.

    Args:
        pool: Visible rows.
        topic: Score of each row by itself, 0 and up.
    """
    total = np.zeros(len(pool))
    if not pool.has_turns:
        return total
    talk = pool.once(_talk)
    scores = topic[talk.order]
    gathered = np.zeros(len(scores))
    for distance, (weight, same) in enumerate(zip(REACH, talk.adjoins, strict=False), start=1):
        gathered[:-distance] += weight * np.where(same, scores[distance:], 0.0)
        gathered[distance:] += weight * np.where(same, scores[:-distance], 0.0)
    total[talk.order] = gathered / talk.share
    return total


def answers(pool: Pool, topic: Floats) -> Floats:
    """Return, for each turn after one that asks something, what the asking turn scores."""
    total = np.zeros(len(pool))
    if not pool.has_turns:
        return total
    talk = pool.once(_talk)
    total[talk.order[1:]] = topic[talk.order[:-1]] * talk.asked
    return total


def best_of_session(pool: Pool, values: Floats) -> Floats:
    """Return for each turn the best value in its session, for any other row its own."""
    if not pool.has_turns:
        return values
    order, starts, lengths = pool.once(_sessions)
    best = np.empty(len(pool))
    best[order] = np.maximum.reduceat(values[order], starts).repeat(lengths)
    return best


def _talk(pool: Pool) -> _Talk:
    turns = np.flatnonzero(_is_turn(pool))
    place, session = pool.entry["place"][turns], pool.entry["session"][turns]
    turn = pool.entry["turn"][turns].astype(np.int64)
    along = np.lexsort((turn, session, place))
    place, session, turn = place[along], session[along], turn[along]
    adjoins = []
    present = np.zeros(len(turns))
    for distance, weight in enumerate(REACH[: max(len(turns) - 1, 0)], start=1):
        before, after = slice(None, -distance), slice(distance, None)
        same = (session[before] == session[after]) & (place[before] == place[after])
        same &= turn[after] - turn[before] == distance
        adjoins.append(same)
        present[before] += weight * same
        present[after] += weight * same
    asks = (pool.entry["marks"][turns[along]] & Mark.ASKS) != 0
    asked = adjoins[0] & asks[:-1] if adjoins else np.zeros(0, np.bool_)
    share = np.sqrt(np.maximum(present, REACH[0]))
    return _Talk(turns[along], tuple(adjoins), share, asked.astype(np.float64))


def _sessions(pool: Pool) -> tuple[Ints, Ints, Ints]:
    """Return pool places session by session, where each session starts, and how long it is."""
    mixed = (pool.entry["session"] * _MIX) ^ pool.entry["place"]
    alone = np.arange(len(pool), dtype=np.uint64)
    is_turn = _is_turn(pool)
    # Two keys: no row that stands alone can share the first with a session.
    order = np.lexsort((np.where(is_turn, mixed, alone), is_turn))
    keys, turned = np.where(is_turn, mixed, alone)[order], is_turn[order]
    begins = np.ones(len(pool), np.bool_)
    begins[1:] = (keys[1:] != keys[:-1]) | (turned[1:] != turned[:-1])
    starts = np.flatnonzero(begins)
    return order, starts, np.diff(starts, append=len(pool))


def _is_turn(pool: Pool) -> Bools:
    verbatim = (pool.entry["marks"] & VERBATIM) != 0
    return np.asarray(verbatim & (pool.entry["turn"] != NO_TURN), np.bool_)
