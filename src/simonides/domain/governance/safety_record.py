"""Records that are no memories: what was done for somebody's safety, and what was thought of an
answer.

They are kept apart from memories, so that nothing recalls them, and say of whom they are by keyed
digests only: whoever has the records and not the store cannot tell who that is.
"""

from __future__ import annotations

import hashlib
import hmac
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from typing import NamedTuple

from simonides.domain.errors import InvalidInput
from simonides.domain.scope import Scope
from simonides.domain.value import Value, shown

DIGEST_BYTES = 16
"""Length of the digests of a subject and of a session."""

MAX_NAME_CHARS = 64
"""Longest name of a kind, a label, a source; chosen, as for keys of a dashboard."""

_NAME_SIGNS = frozenset("abcdefghijklmnopqrstuvwxyz0123456789_.-")
_SUBJECT = b"simonides record subject 1\0"
_SESSION = b"simonides record session 1\0"


class Shelf(StrEnum):
    """Which kind of records: each has a room, a retention and a list of its own."""

    SAFETY = "safety"
    FEEDBACK = "feedback"


class SafetySeverity(StrEnum):
    """How grave what happened was, as whoever records it judges."""

    LOW = "low"
    MEDIUM = "medium"
    HIGH = "high"
    CRITICAL = "critical"


@dataclass(frozen=True, slots=True)
class SafetyRecord(Value):
    """Something that happened and concerned somebody's safety, and what was done.

    Attributes:
        id: UUIDv7.
        at: When it happened.
        kind: Name of what it was, ``self_harm`` for one.
        severity: How grave.
        done: Name of what was done, ``helpline_shown`` for one; empty for nothing.
        note: In few words, without secrets, personal data or the ids of whom it is about.
        redacted: Marks of what was struck out of the note.
        subject: Keyed digest of whom it is about, 32 hexadecimal characters.
        session: Likewise of the conversation; None where there was none.
    """

    id: str
    at: datetime
    kind: str
    severity: SafetySeverity
    done: str
    note: str
    redacted: tuple[str, ...]
    subject: str
    session: str | None = None


@dataclass(frozen=True, slots=True)
class FeedbackRecord(Value):
    """What somebody, or something, thought of what an agent did.

    Attributes:
        id: UUIDv7.
        at: When it was given.
        label: Name of the verdict, ``helpful`` for one.
        source: Name of who gave it: ``user``, ``operator``, ``model`` or another.
        score: From -1 to 1; None where none was given.
        comment: In words, scrubbed as the note of a :class:`SafetyRecord`.
        redacted: See there, as the last two.
        subject: Of whom the conversation was.
        session: Which one.
    """

    id: str
    at: datetime
    label: str
    source: str
    score: float | None
    comment: str
    redacted: tuple[str, ...]
    subject: str
    session: str | None = None


@dataclass(frozen=True, slots=True)
class RecordsPurged(Value):
    """What a purge removed.

    Attributes:
        shelf: Of which records.
        removed: How many.
        before: Those from before this moment went; None if all did.
    """

    shelf: Shelf
    removed: int
    before: datetime | None


@dataclass(frozen=True, slots=True)
class RecordRules(Value):
    """How long records are kept, in days.

    Attributes:
        safety_days: Safety records.
        feedback_days: Feedback.
    """

    safety_days: float = 90.0
    feedback_days: float = 180.0

    def days(self, shelf: Shelf) -> float:
        """Return how long records of a shelf are kept."""
        return self.safety_days if shelf is Shelf.SAFETY else self.feedback_days


class KeptRecord(NamedTuple):
    """A record as it is kept.

    Attributes:
        id: UUIDv7.
        at: When, µs.
        subject: Keyed digest of whom it is about, :data:`DIGEST_BYTES`.
        body: The rest, as its room writes it; nothing else opens it.
    """

    id: str
    at: int
    subject: bytes
    body: bytes


def subject_digest(key: bytes, owner: Scope) -> bytes:
    """Return the digest that stands for an owner in records.

    Args:
        key: A secret of the store, which lies where the records do not.
        owner: Whom a record is about.
    """
    return _digest(key, _SUBJECT + owner.path.encode())


def session_digest(key: bytes, owner: Scope, session: str) -> bytes:
    """Return the digest that stands for an owner's conversation; those of two owners differ though
    they have one name.
    """
    return _digest(key, _SESSION + owner.path.encode() + b"\0" + session.encode())


def checked_name(field: str, raw: object) -> str:
    """Return the name of a kind, a label or a source.

    Raises:
        InvalidInput: If it is none: 1 to 64 lower-case letters, digits, ``_ . -``, of which the
            first is a letter.
    """
    if not isinstance(raw, str):
        raise InvalidInput(field, f"must be a name, not {shown(raw)}")
    fits = 0 < len(raw) <= MAX_NAME_CHARS and raw[0].isalpha() and _NAME_SIGNS.issuperset(raw)
    if not fits:
        # What was given is not repeated: it may be anything.
        raise InvalidInput(
            field,
            f"must be 1 to {MAX_NAME_CHARS} lower-case letters, digits, '_', '.', '-', a letter "
            "first",
        )
    return raw


def _digest(key: bytes, text: bytes) -> bytes:
    return hmac.digest(key, text, hashlib.sha256)[:DIGEST_BYTES]
