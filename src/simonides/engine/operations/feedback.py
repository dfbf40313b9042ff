"""Session feedback: a label, its source, a score, a comment.

It cannot be switched off and is never recalled: an opinion of an answer is not a memory. The
relevance threshold does not use it; see :mod:`simonides.domain.policy.floors`.
"""

from __future__ import annotations

import json
from typing import Any

from simonides.domain.canonical_json import canonical_json
from simonides.domain.errors import InvalidInput
from simonides.domain.governance.safety_record import FeedbackRecord, KeptRecord, checked_name
from simonides.domain.value import from_us

NAMES = ("label", "source")
"""Fields that hold names chosen by the caller."""


def checked_feedback(label: object, source: object, score: object) -> dict[str, Any]:
    """Check the fields of feedback, the comment excepted, and return them by name.

    Raises:
        InvalidInput: If a field is invalid; it names the field.
    """
    return {
        "label": checked_name("label", label),
        "source": checked_name("source", source),
        "score": _checked_score(score),
    }


def encode_feedback(record: FeedbackRecord) -> bytes:
    """Return the stored body of feedback: all fields except id, time and subject."""
    said = record.to_dict()
    return canonical_json({name: said[name] for name in said if name not in _APART})


def decode_feedback(kept: KeptRecord) -> FeedbackRecord:
    """Decode stored feedback.

    Raises:
        ValueError: If the body is damaged; or ``LookupError``, ``TypeError``.
    """
    said = json.loads(kept.body)
    return FeedbackRecord(
        id=kept.id,
        at=from_us(kept.at),
        label=str(said["label"]),
        source=str(said["source"]),
        score=None if said["score"] is None else float(said["score"]),
        comment=str(said["comment"]),
        redacted=tuple(map(str, said["redacted"])),
        subject=kept.subject.hex(),
        session=None if said["session"] is None else str(said["session"]),
    )


_APART = frozenset({"id", "at", "subject"})


def _checked_score(score: object) -> float | None:
    if score is None:
        return None
    if isinstance(score, bool) or not isinstance(score, (int, float)) or not -1 <= score <= 1:
        raise InvalidInput("score", "must be a number from -1 to 1")
    return float(score)
