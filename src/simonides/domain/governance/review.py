"""Reviews: two contradicting memories between which a person decides."""

from __future__ import annotations

import json
from dataclasses import dataclass
from datetime import datetime, timedelta
from enum import StrEnum
from typing import Literal

from simonides.domain.canonical_json import canonical_json
from simonides.domain.memory import Record
from simonides.domain.scope import Scope
from simonides.domain.value import Value, from_us, to_us
from simonides.domain.writing.change import ReviewRecord


class ReviewStatus(StrEnum):
    """Whether a person has decided.

    ``expired``: no decision came in time. Both memories stay and keep their marks. No person is
    asked any more, but a decision is still possible.
    """

    OPEN = "open"
    DECIDED = "decided"
    EXPIRED = "expired"


class Keep(StrEnum):
    """Which memories the person keeps."""

    A = "a"
    B = "b"
    BOTH = "both"
    NEITHER = "neither"


@dataclass(frozen=True, slots=True, kw_only=True)
class Review(Value):
    """Two memories that contradict each other, both kept and marked until a person decides.

    Attributes:
        id: UUIDv7.
        scope: Scope of both memories.
        reason: Why a person is asked.
        opened_at: Time of opening; after an undone decision, the time of the undo.
        a: Root of the existing memory.
        b: Root of the new memory.
        kept: The decision, or None without one.
        decided_at: Time of the decision.
        proposed_by: :attr:`Principal.acting` of the new memory's proposer; empty if not on record.
        expired_at: Time of expiry without a decision, or None.
        sides: The current versions of ``a`` and ``b``, if requested; None for one that is gone.
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
    sides: tuple[Record | None, ...] = ()

    @property
    def kind(self) -> Literal["review"]:
        """Tells it from a held candidate."""
        return "review"

    @property
    def status(self) -> ReviewStatus:
        """Decided, open, or expired without a decision."""
        if self.kept is not None:
            return ReviewStatus.DECIDED
        return ReviewStatus.OPEN if self.expired_at is None else ReviewStatus.EXPIRED

    def is_overdue(self, now: datetime, days: float | None) -> bool:
        """Whether it has been open for ``days`` or longer; None means no limit."""
        still = self.status is ReviewStatus.OPEN and days is not None
        return still and now >= self.opened_at + timedelta(days=days or 0)


def encode_review(review: Review) -> ReviewRecord:
    """Return the stored form of a review."""
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
    """Return the review of a row, without its sides."""
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
