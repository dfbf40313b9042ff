"""What a person is asked to decide: two memories of which one may be wrong (LT-3, HY-5)."""

from __future__ import annotations

import json
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum

from memstrata.domain.change import ReviewRecord
from memstrata.domain.codec import canonical_json
from memstrata.domain.memory import Memory
from memstrata.domain.scope import Scope
from memstrata.domain.value import Value, from_us, to_us


class ReviewStatus(StrEnum):
    """Whether a person has decided."""

    OPEN = "open"
    DECIDED = "decided"


class Keep(StrEnum):
    """What a person decides to keep."""

    A = "a"
    B = "b"
    BOTH = "both"


@dataclass(frozen=True, slots=True, kw_only=True)
class Review(Value):
    """Two memories that contradict each other, both kept and marked until a person decides.

    Attributes:
        id: UUIDv7.
        scope: Where both lie.
        reason: Why a person is asked.
        opened_at: When.
        a: Root of the memory that stood.
        b: Root of the one that came.
        kept: What was kept, or None while it is open.
        decided_at: When that was decided.
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
    sides: tuple[Memory | None, ...] = ()

    @property
    def status(self) -> ReviewStatus:
        """Whether it is decided."""
        return ReviewStatus.OPEN if self.kept is None else ReviewStatus.DECIDED


def encode_review(review: Review) -> ReviewRecord:
    """Return a review as rows keep it."""
    at = to_us(review.decided_at or review.opened_at)
    body = {
        "scope": review.scope.path,
        "reason": review.reason,
        "opened_at": to_us(review.opened_at),
        "a": review.a,
        "b": review.b,
        "kept": None if review.kept is None else review.kept.value,
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
    )
