"""Audit events and the chain that makes their log tamper-evident.

The chain covers a salted commitment to each payload; payloads are stored separately. So the chain
stays verifiable when content is erased.

``commitment = SHA-256(salt ‖ payload)`` and
``mac(n) = SHA-256("simonides/chain/1" ‖ owner ‖ n ‖ mac(n-1) ‖ commitment)``, unkeyed until a
key ring is set.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum
from types import MappingProxyType
from typing import Any

from simonides.domain.scope import Scope
from simonides.domain.value import Value

CHAIN_START = bytes(32)
_DOMAIN = b"simonides/chain/1"


class EventType(StrEnum):
    """Type of an event: an outcome of a write, garbage collection, an administrator's action, a
    policy change, or the end of a session.
    """

    CREATED = "created"
    REFRESHED = "refreshed"
    BUMPED = "bumped"
    TOUCHED = "touched"
    SUPERSEDED = "superseded"
    COEXISTS = "coexists"
    REVIEW = "review"
    UNDONE = "undone"
    CONFIRMED = "confirmed"
    EVICTED = "evicted"
    STALE_MARKED = "stale_marked"
    RESTORED = "restored"
    READ_NOTED = "read_noted"
    PURGED = "purged"
    DECIDED = "decided"
    MERGED = "merged"
    HELD = "held"
    REPEAT = "repeat"
    DROPPED = "dropped"
    BLOCKED = "blocked"
    FORGOTTEN = "forgotten"
    ERASED = "erased"
    PROMOTED = "promoted"
    GRANTED = "granted"
    REVOKED = "revoked"
    POLICY_CHANGED = "policy_changed"
    CONSENT_CHANGED = "consent_changed"
    ALERTED = "alerted"
    EXPORTED = "exported"
    BROUGHT_BACK = "brought_back"
    FLAGGED = "flagged"
    RECORDS_READ = "records_read"
    RECORDS_PURGED = "records_purged"
    SYNCED = "synced"
    ARCHIVED = "archived"
    SESSION_ENDED = "session_ended"
    DREAMED = "dreamed"


@dataclass(frozen=True, slots=True)
class Event(Value):
    """One audit event, written in the transaction of its change.

    Attributes:
        id: UUIDv7.
        type: Type of the event.
        at: Time on the owner's system clock.
        scope: Affected scope.
        actor: Canonical name of the principal.
        subjects: Ids of the memories concerned; erased with them.
        reasons: Machine-readable.
        details: JSON-ready values; never holds content or matched text.
        salt: 16 random bytes for the commitment.
    """

    id: str
    type: EventType
    at: datetime
    scope: Scope
    actor: str
    subjects: tuple[str, ...] = ()
    reasons: tuple[str, ...] = ()
    details: Mapping[str, Any] = field(default_factory=lambda: MappingProxyType({}))
    salt: bytes = bytes(16)

    def to_dict(self) -> dict[str, Any]:
        """Return the fields as JSON-ready data; written out for speed, as every write needs it."""
        return {
            "id": self.id,
            "type": self.type.value,
            "at": self.at.isoformat(),
            "scope": self.scope.path,
            "actor": self.actor,
            "subjects": list(self.subjects),
            "reasons": list(self.reasons),
            "details": dict(self.details),
            "salt": self.salt.hex(),
        }


@dataclass(frozen=True, slots=True)
class Link(Value):
    """One link of an owner's chain.

    Attributes:
        seq: Sequence number, from 1, without gaps.
        commitment: SHA-256 of salt and payload, 32 bytes.
        mac: Code over this link and all before it, 32 bytes.
        salt: None once the payload is erased.
        payload: Canonical JSON of the event; None once erased.
    """

    seq: int
    commitment: bytes
    mac: bytes
    salt: bytes | None
    payload: bytes | None


def commit_to(salt: bytes, payload: bytes) -> bytes:
    """Return the 32-byte commitment to a payload."""
    return hashlib.sha256(salt + payload).digest()


def chain(previous: bytes, owner: bytes, seq: int, commitment: bytes) -> bytes:
    """Return the 32-byte code of link ``seq`` after ``previous`` in the chain of ``owner``.

    Args:
        previous: Code of link ``seq - 1``, or :data:`CHAIN_START` for the first.
        owner: The owner's 16-byte digest, so that a link cannot be moved to another owner.
        seq: Sequence number, from 1.
        commitment: Result of :func:`commit_to`.
    """
    body = owner + seq.to_bytes(8, "big") + previous + commitment
    return hashlib.sha256(_DOMAIN + body).digest()
