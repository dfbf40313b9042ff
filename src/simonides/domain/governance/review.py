"""What a person is asked to decide: two memories of which one may be wrong."""

from __future__ import annotations

import json
from dataclasses import dataclass
from datetime import datetime, timedelta
from enum import StrEnum

from simonides.domain.canonical_json import canonical_json
from simonides.domain.memory import Memory
from simonides.domain.scope import Scope
from simonides.domain.value import Value, from_us, to_us
from simonides.domain.writing.change import ReviewRecord


class ReviewStatus(StrEnum):
    """Whether a person has decided.

    ``expired``: nobody has in time. Nothing is decided by that: both sides stay, marked as they
    are, nobody is asked about them any more, and who wants to may still decide.
    """

    OPEN = "open"
    DECIDED = "decided"
    EXPIRED = "expired"


class Keep(StrEnum):
    """What a person decides to keep."""

    A = "a"
    B = "b"
    BOTH = "both"
    NEITHER = "neither"


@dataclass(frozen=True, slots=True, kw_only=True)
class Review(Value):
    """Two memories that contradict each other, both kept and marked until a person decides.

    Attributes:
        id: UUIDv7.
        scope: Where both lie.
        reason: Why a person is asked.
        opened_at: When; where a decision was taken back, when that was.
        a: Root of the memory that stood.
        b: Root of the one that came.
        kept: What was kept, or None while it is open.
        decided_at: When that was decided.
        proposed_by: Who brought the one that came, as :attr:`Principal.acting` calls him; empty
            where that is not on record.
        expired_at: When nobody had decided in time, or None.
        sides: The versions of ``a`` and ``b`` that stand, where a reader asked for them; None for
            one that is gone.
    """

    id: str
    scope: Scope
    reason: str
    opened_at: datetime
    a: str
    b: str
    kept: Keep | None = None
    decided_at: datetime | None = None
    proposed_by: str = ""
    expired_at: datetime | None = None
    sides: tuple[Memory | None, ...] = ()

    @property
    def status(self) -> ReviewStatus:
        """Whether it is decided, or was not in time."""
        if self.kept is not None:
            return ReviewStatus.DECIDED
        return ReviewStatus.OPEN if self.expired_at is None else ReviewStatus.EXPIRED

    def is_overdue(self, now: datetime, days: float | None) -> bool:
        """Whether nobody has decided within so many days; None is for ever."""
        still = self.status is ReviewStatus.OPEN and days is not None
        return still and now >= self.opened_at + timedelta(days=days or 0)


def encode_review(review: Review) -> ReviewRecord:
    """Return a review as rows keep it."""
    at = to_us(review.decided_at or review.expired_at or review.opened_at)
    body = {
        "scope": review.scope.path,
        "reason": review.reason,
        "opened_at": to_us(review.opened_at),
        "a": review.a,
        "b": review.b,
        "kept": None if review.kept is None else review.kept.value,
        "proposed_by": review.proposed_by,
        "expired_at": None if review.expired_at is None else to_us(review.expired_at),
    }
    return ReviewRecord(review.id, review.status.value, at, canonical_json(body))


def decode_review(record: ReviewRecord) -> Review:
    """Return the review that a row keeps, without its sides."""
    body = json.loads(record.body)
    kept = None if body["kept"] is None else Keep(body["kept"])
    return Review(
        id=record.id,
        scope=Scope.parse(body["scope"]),
        reason=body["reason"],
        opened_at=from_us(body["opened_at"]),
        a=body["a"],
        b=body["b"],
        kept=kept,
        decided_at=None if kept is None else from_us(record.at),
        proposed_by=body["proposed_by"],
        expired_at=None if body["expired_at"] is None else from_us(body["expired_at"]),
    )
