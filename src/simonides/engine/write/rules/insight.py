"""Decides whether an insight has enough evidence left."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime

from simonides.domain.memory import Record, Status
from simonides.text import told_by, unsupported

INSIGHT = "insight"
"""Category of insights."""


def is_standing(memory: Record | None, now: datetime) -> bool:
    """Whether a memory still counts as evidence: not contradicted, superseded or expired."""
    if memory is None or memory.is_expired(now):
        return False
    return memory.status in (Status.ACTIVE, Status.STALE)


def is_borne_out(
    insight: Record, evidence: Iterable[Record | None], least: int, now: datetime
) -> bool:
    """Whether enough evidence is left, and it contains every number, date and name of the insight.

    Args:
        insight: The insight.
        evidence: Its parents; None for each that is gone.
        least: Least number of supporting memories.
        now: The clock.
    """
    left = [memory for memory in evidence if memory is not None and is_standing(memory, now)]
    return len(left) >= least and unsupported(insight.content, told_by(left)) is None
