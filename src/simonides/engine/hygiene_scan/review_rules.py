"""Resolves two conflicting memories, by a person's decision or by confidence."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from datetime import datetime
from typing import TypeAlias

from simonides.domain.ageing import confidence_at
from simonides.domain.governance.contradiction import Relation
from simonides.domain.governance.review import Keep
from simonides.domain.memory import Record, Status
from simonides.domain.moment import Moment
from simonides.domain.trust import Trust
from simonides.engine.write import ROUNDING, confirmed, superseded, untrue

SoftDays: TypeAlias = Callable[[str], float | None]
"""Maps a category to its soft lifetime in days; None means unlimited."""


def decided(
    a: Record | None,
    b: Record | None,
    keep: Keep,
    opened_at: datetime,
    moment: Moment,
    soft_days: SoftDays,
) -> tuple[Record, ...] | str:
    """Return the states after a person's decision, the kept memory first, or why there are none.

    The decision verifies the kept memory. The other is superseded by it, in its own chain. If
    neither is kept, both go into history without a successor. A version created after the review
    opened is not part of the review, so no decision ends it.

    Args:
        a: Current memory of one side, or None.
        b: Current memory of the other side, or None.
        keep: The decision.
        opened_at: When the review was opened.
        moment: When the decision is made.
        soft_days: Soft lifetimes: the kept memory is due for review one lifetime later.

    Returns:
        The states, or a reason. ``already_decided``: no side waits for a decision. ``side_gone``:
        the side to keep does not exist. ``side_changed``: a side to end was corrected after the
        review opened.
    """
    waiting = [side for side in (a, b) if side is not None and side.status is Status.REVIEW]
    if not waiting:
        return "already_decided"
    if keep is Keep.BOTH:
        return tuple(_kept(side, moment, soft_days) for side in waiting)
    ends = {Keep.A: (b,), Keep.B: (a,), Keep.NEITHER: (a, b)}[keep]
    if any(side is not None and side.created_at > opened_at for side in ends):
        return "side_changed"
    if keep is Keep.NEITHER:
        return tuple(untrue(side, moment) for side in (a, b) if side is not None)
    winner, loser = (a, b) if keep is Keep.A else (b, a)
    if winner is None:
        return "side_gone"
    kept = _kept(winner, moment, soft_days)
    if loser is None:
        return (kept,)
    return kept, gone(loser, kept, moment)


def settled(
    older: Record, newer: Record, relation: Relation, gap: float, moment: Moment
) -> tuple[Record, Record] | None:
    """Return the winner of a conflict and the superseded state of the loser, or None if a person
    must decide.

    Args:
        older: The memory stated first.
        newer: The memory stated later.
        relation: Relation of the newer to the older.
        gap: Smallest difference in confidence that decides a contradiction.
        moment: When the conflict is resolved.
    """
    lead = confidence_at(newer, moment.now) - confidence_at(older, moment.now)
    if relation is Relation.UPDATE:
        wins = newer if lead >= 0 else None
    else:
        clear = abs(lead) + ROUNDING >= gap
        wins = (newer if lead > 0 else older) if clear else None
    if wins is None:
        return None
    loses = older if wins is newer else newer
    if wins.trust is Trust.EXTERNAL and loses.trust is not Trust.EXTERNAL:
        return None
    return wins, gone(loses, wins, moment)


def gone(loser: Record, winner: Record, moment: Moment) -> Record:
    """Return the state of a memory superseded by one of another chain."""
    return replace(superseded(loser, winner, moment), versions=loser.versions)


def _kept(side: Record, moment: Moment, soft_days: SoftDays) -> Record:
    return replace(confirmed(side, moment, soft_days(side.category)), status=Status.ACTIVE)
