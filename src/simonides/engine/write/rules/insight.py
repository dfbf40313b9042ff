"""When an insight still rests on enough of its evidence."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime

from simonides.domain.memory import Memory, Status
from simonides.text.grounding import told_by, unsupported

INSIGHT = "insight"
"""Category of insights."""


def is_standing(memory: Memory | None, now: datetime) -> bool:
    """Whether a memory still is evidence: not contradicted, not superseded, not expired."""
    if memory is None or memory.is_expired(now):
        return False
    return memory.status in (Status.ACTIVE, Status.STALE)


def is_borne_out(
    insight: Memory, evidence: Iterable[Memory | None], least: int, now: datetime
) -> bool:
    """Whether enough evidence of an insight is left, with every number, date and name in it.

    Args:
        insight: The insight.
        evidence: Its parents; None for each that is gone.
        least: The number of memories that it must rest on.
        now: The clock.
    """
    left = [memory for memory in evidence if memory is not None and is_standing(memory, now)]
    return len(left) >= least and unsupported(insight.content, told_by(left)) is None
