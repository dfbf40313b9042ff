"""What becomes of two memories in review when a person decides (LT-3, HY-5)."""

from __future__ import annotations

from dataclasses import replace

from memstrata.domain.memory import Memory, Status
from memstrata.domain.review import Keep
from memstrata.longterm.versions import Moment, confirmed, superseded


def decided(
    a: Memory | None, b: Memory | None, keep: Keep, moment: Moment
) -> tuple[Memory, ...] | str:
    """Return the states that a decision leads to, what is kept first; or why it leads to none.

    What is kept is verified by it. What is not gives way to the other, in a chain of its own.

    Args:
        a: What stands of the one side, or None.
        b: What stands of the other.
        keep: The decision.
        moment: When.

    Returns:
        ``already_decided`` where no side waits for a decision any more, ``side_gone`` where the
        one to be kept does not stand.
    """
    waiting = [side for side in (a, b) if side is not None and side.status is Status.REVIEW]
    if not waiting:
        return "already_decided"
    if keep is Keep.BOTH:
        return tuple(_kept(side, moment) for side in waiting)
    winner, loser = (a, b) if keep is Keep.A else (b, a)
    if winner is None:
        return "side_gone"
    kept = _kept(winner, moment)
    if loser is None:
        return (kept,)
    gone = superseded(loser, kept, moment)
    return kept, replace(gone, versions=loser.versions)


def _kept(side: Memory, moment: Moment) -> Memory:
    return replace(confirmed(side, moment), status=Status.ACTIVE)
