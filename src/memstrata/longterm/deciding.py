"""What becomes of two memories in review when a person decides (LT-3, HY-5)."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import TypeAlias

from memstrata.domain.memory import Memory, Status
from memstrata.domain.review import Keep
from memstrata.longterm.versions import Moment, confirmed, superseded, untrue

SoftDays: TypeAlias = Callable[[str], float | None]
"""From a category to its soft life in days, None for no end."""


def decided(
    a: Memory | None, b: Memory | None, keep: Keep, moment: Moment, soft_days: SoftDays
) -> tuple[Memory, ...] | str:
    """Return the states that a decision leads to, what is kept first; or why it leads to none.

    What is kept is verified by it. What is not gives way to the other, in a chain of its own; where
    neither is kept, both go into history without a successor.

    Args:
        a: What stands of the one side, or None.
        b: What stands of the other.
        keep: The decision.
        moment: When.
        soft_days: Soft lives: what is kept is due for review one later.

    Returns:
        ``already_decided`` where no side waits for a decision any more, ``side_gone`` where the
        one to be kept does not stand.
    """
    waiting = [side for side in (a, b) if side is not None and side.status is Status.REVIEW]
    if not waiting:
        return "already_decided"
    if keep is Keep.BOTH:
        return tuple(_kept(side, moment, soft_days) for side in waiting)
    if keep is Keep.NEITHER:
        return tuple(untrue(side, moment) for side in (a, b) if side is not None)
    winner, loser = (a, b) if keep is Keep.A else (b, a)
    if winner is None:
        return "side_gone"
    kept = _kept(winner, moment, soft_days)
    if loser is None:
        return (kept,)
    gone = superseded(loser, kept, moment)
    return kept, replace(gone, versions=loser.versions)


def _kept(side: Memory, moment: Moment, soft_days: SoftDays) -> Memory:
    return replace(confirmed(side, moment, soft_days(side.category)), status=Status.ACTIVE)
