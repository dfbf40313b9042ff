"""What waits: proposals that are kept back, recalled by nobody (CO-5, FX-1, HY-6)."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta

from memstrata.domain.decision import Candidate
from memstrata.domain.value import Value

HYGIENE_HELD = "hygiene_held"
"""How a reason begins for which nothing but a decision lets a candidate go; a mark follows."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Held(Value):
    """A candidate that is kept back.

    Attributes:
        id: UUIDv7, as the event names it that told of it.
        candidate: What was proposed; ``content`` may be an attack, so show it as quoted data.
        reasons: Why it waits, ``hygiene_held:poison:override`` or ``unsupported_number``; empty
            where that is not on record.
        held_at: Since when.
        proposed_by: Who brought it, as :attr:`Principal.acting` calls him; empty where that is not
            on record.
    """

    id: str
    candidate: Candidate
    reasons: tuple[str, ...]
    held_at: datetime
    proposed_by: str = ""

    def is_overdue(self, now: datetime, days: float | None) -> bool:
        """Whether it waits for a decision, and nobody has made one within so many days; None is
        for ever. What waits for the end of its session or for being said again is never overdue.
        """
        waits = any(reason.startswith(f"{HYGIENE_HELD}:") for reason in self.reasons)
        return waits and days is not None and now >= self.held_at + timedelta(days=days)
