"""Safety records and feedback records, which are not memories and are never recalled.

They are stored apart from memories and identify users only by keyed digests. Without the store's
key, a record cannot be linked to a user.
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
"""Maximum length of the name of a kind, a label or a source; chosen, as for dashboard keys."""

_NAME_SIGNS = frozenset("abcdefghijklmnopqrstuvwxyz0123456789_.-")
_SUBJECT = b"simonides record subject 1\0"
_SESSION = b"simonides record session 1\0"


class Shelf(StrEnum):
    """Kind of records: each kind has its own storage, retention and list."""

    SAFETY = "safety"
    FEEDBACK = "feedback"


class SafetySeverity(StrEnum):
    """How serious the incident was, as judged by the recorder."""

    LOW = "low"
    MEDIUM = "medium"
    HIGH = "high"
    CRITICAL = "critical"


@dataclass(frozen=True, slots=True)
class SafetyRecord(Value):
    """An incident that concerned a user's safety, and the response.

    Attributes:
        id: UUIDv7.
        at: When it happened.
        kind: Name of the incident, for example ``self_harm``.
        severity: How serious.
        done: Name of the response, for example ``helpline_shown``; empty for none.
        note: A short text without secrets, personal data or the subject's ids.
        redacted: Marks of what was redacted in the note.
        subject: Keyed digest of the subject, 32 hexadecimal characters.
        session: Keyed digest of the conversation, same form; None without one.
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
    """A rating of an agent's action by a person or a program.

    Attributes:
        id: UUIDv7.
        at: When it was given.
        label: Name of the verdict, for example ``helpful``.
        source: Who gave the rating: ``user``, ``operator``, ``model`` or another name.
        score: From -1 to 1; None without one.
        comment: Free text, scrubbed like the note of a :class:`SafetyRecord`.
        redacted: Marks of what was redacted in the comment.
        subject: Keyed digest of the conversation's user.
        session: Keyed digest of the conversation; None without one.
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
    """Result of a purge.

    Attributes:
        shelf: Kind of the records.
        removed: Number of removed records.
        before: Only older records were removed; None if all were.
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
        """Return the retention of a kind of records."""
        return self.safety_days if shelf is Shelf.SAFETY else self.feedback_days


class KeptRecord(NamedTuple):
    """A record as stored.

    Attributes:
        id: UUIDv7.
        at: Time, µs.
        subject: Keyed digest of the subject, :data:`DIGEST_BYTES` long.
        body: The other fields; opaque to the store.
    """

    id: str
    at: int
    subject: bytes
    body: bytes


def subject_digest(key: bytes, owner: Scope) -> bytes:
    """Return the digest that replaces an owner in records.

    Args:
        key: A secret of the store, stored apart from the records.
        owner: Subject of the record.
    """
    return _digest(key, _SUBJECT + owner.path.encode())


def session_digest(key: bytes, owner: Scope, session: str) -> bytes:
    """Return the digest of an owner's conversation; equal names of two owners give two digests."""
    return _digest(key, _SESSION + owner.path.encode() + b"\0" + session.encode())


def checked_name(field: str, raw: object) -> str:
    """Return the name of a kind, a label or a source.

    Raises:
        InvalidInput: If it is not 1 to 64 lower-case letters, digits, ``_ . -``, starting with a
            letter.
    """
    if not isinstance(raw, str):
        raise InvalidInput(field, f"must be a name, not {shown(raw)}")
    fits = 0 < len(raw) <= MAX_NAME_CHARS and raw[0].isalpha() and _NAME_SIGNS.issuperset(raw)
    if not fits:
        # The message does not repeat the value: it may be personal or secret.
        raise InvalidInput(
            field,
            f"must be 1 to {MAX_NAME_CHARS} lower-case letters, digits, '_', '.', '-', a letter "
            "first",
        )
    return raw


def _digest(key: bytes, text: bytes) -> bytes:
    return hmac.digest(key, text, hashlib.sha256)[:DIGEST_BYTES]
