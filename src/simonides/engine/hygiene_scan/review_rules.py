"""What becomes of two memories in review when a person decides."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from datetime import datetime
from typing import TypeAlias

from simonides.domain.ageing import confidence_at
from simonides.domain.governance.contradiction import Relation
from simonides.domain.governance.review import Keep
from simonides.domain.memory import Memory, Status
from simonides.domain.moment import Moment
from simonides.domain.trust import Trust
from simonides.engine.write.rules.conflict import ROUNDING
from simonides.engine.write.rules.versions import confirmed, superseded, untrue

SoftDays: TypeAlias = Callable[[str], float | None]
"""From a category to its soft life in days, None for no end."""


def decided(
    a: Memory | None,
    b: Memory | None,
    keep: Keep,
    opened_at: datetime,
    moment: Moment,
    soft_days: SoftDays,
) -> tuple[Memory, ...] | str:
    """Return the states that a decision leads to, what is kept first; or why it leads to none.

    What is kept is verified by it. What is not gives way to the other, in a chain of its own; where
    neither is kept, both go into history without a successor. But a version that came since the
    review was opened was no side of it: nobody was asked about it, and no decision ends it.

    Args:
        a: What stands of the one side, or None.
        b: What stands of the other.
        keep: The decision.
        opened_at: When the review was opened.
        moment: When.
        soft_days: Soft lives: what is kept is due for review one later.

    Returns:
        ``already_decided`` where no side waits for a decision any more, ``side_gone`` where the
        one to be kept does not stand, ``side_changed`` where one that would go has been corrected
        since.
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
    older: Memory, newer: Memory, relation: Relation, gap: float, moment: Moment
) -> tuple[Memory, Memory] | None:
    """Return which of two memories in conflict stands, and the state in which the other gives way
    to it; None where a person has to say.

    Args:
        older: What was said first.
        newer: What was said later.
        relation: Of the newer one to the older.
        gap: Difference of confidence from which on a contradiction is decided by it.
        moment: When.
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


def gone(loser: Memory, winner: Memory, moment: Moment) -> Memory:
    """Return the state of a memory that gives way to one of another chain."""
    return replace(superseded(loser, winner, moment), versions=loser.versions)


def _kept(side: Memory, moment: Moment, soft_days: SoftDays) -> Memory:
    return replace(confirmed(side, moment, soft_days(side.category)), status=Status.ACTIVE)
