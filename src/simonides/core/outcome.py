"""What became of a write, as a value: the outcome, its reasons in words, its audit events."""

import tomllib
from collections.abc import Mapping, Sequence
from datetime import datetime
from enum import StrEnum
from importlib.resources import files
from typing import Any

from simonides.core.errors import Refused
from simonides.core.record import Record, Value


class EventType(StrEnum):
    """What an audit event says was done."""

    CREATED = "created"
    REFRESHED = "refreshed"
    BUMPED = "bumped"
    SUPERSEDED = "superseded"
    TOUCHED = "touched"
    CONFIRMED = "confirmed"
    CORRECTED = "corrected"
    ADJUSTED = "adjusted"
    EVICTED = "evicted"
    MERGED = "merged"
    CONSOLIDATED = "consolidated"
    STALE_MARKED = "stale_marked"
    BLOCKED = "blocked"
    DROPPED = "dropped"
    FLAGGED = "flagged"
    PROMOTED = "promoted"
    FORGOTTEN = "forgotten"
    TOMBSTONED = "tombstoned"
    TOMBSTONE_LIFTED = "tombstone_lifted"
    REDACTED = "redacted"
    REFUSED = "refused"
    ALLOWED = "allowed"
    ASKED = "asked"
    REVIEWED = "reviewed"
    EXPIRED = "expired"
    COLLECTED = "collected"
    EMBEDDED = "embedded"
    TASK = "task"
    ALERTED = "alerted"
    GRANTED = "granted"
    REVOKED = "revoked"
    RECORDED = "recorded"
    RESTORED = "restored"
    ERASED = "erased"
    EXPORTED = "exported"


class Event(Value):
    """One entry of an owner's audit trail. It holds ids, reasons and digests, never content.

    Attributes:
        owner: Whose trail it is.
        seq: Place in the trail, from 1, without gaps.
        at: When it happened.
        type: What was done.
        actor: Who did it.
        subject_table: Table of the changed row.
        subject: Id of the changed row; empty where nothing was stored.
        reason: Why, machine-readable.
        data: Further ids and numbers.
    """

    owner: str
    seq: int
    at: datetime
    type: EventType
    actor: str
    subject_table: str
    subject: str
    reason: str = ""
    data: Mapping[str, Any] = {}


class OutcomeKind(StrEnum):
    """The result of one write.

    ``created``, ``superseded`` (it replaced an older version) and ``coexists`` (another value of a
    slot with several) stored a version. ``refreshed`` and ``bumped`` found it known already;
    ``bumped`` also confirmed or strengthened it. ``touched`` was weaker than what is known.
    ``undone`` took back what was misunderstood.
    """

    CREATED = "created"
    REFRESHED = "refreshed"
    BUMPED = "bumped"
    TOUCHED = "touched"
    SUPERSEDED = "superseded"
    COEXISTS = "coexists"
    HELD = "held"
    DROPPED = "dropped"
    REVIEW = "review"
    BLOCKED = "blocked"
    FORGOTTEN = "forgotten"
    UNDONE = "undone"


_DONE = frozenset("created refreshed bumped superseded coexists forgotten undone".split())
_PENDING = frozenset({"held", "review"})
_EXPLAINED = frozenset({"blocked", "dropped", "forgotten"})

_IN_WORDS: Mapping[str, Mapping[str, str]] = tomllib.loads(
    (files("simonides.core") / "outcome.toml").read_text("utf-8")
)
"""What became of a write, and why, in words for people."""


class Outcome(Value):
    """The result of one write; true if the request took effect.

    Attributes:
        kind: What became of it.
        record: The current record of the statement, or None.
        reasons: Machine-readable, most important first.
        events: The audit events written with it.
    """

    _PROPERTIES = ("explanation",)

    kind: OutcomeKind
    record: Record | None = None
    reasons: tuple[str, ...] = ()
    events: tuple[Event, ...] = ()

    @property
    def done(self) -> bool:
        """Whether the request took effect."""
        return self.kind in _DONE

    @property
    def pending(self) -> bool:
        """Whether it waits for a session's end or a person's decision."""
        return self.kind in _PENDING

    @property
    def refused(self) -> bool:
        """Whether it did not take effect; `reasons` say why."""
        return not self.done and not self.pending

    @property
    def explanation(self) -> str:
        """What happened and why, in one sentence."""
        said = _IN_WORDS["kinds"][self.kind]
        if not self.reasons or self.kind not in _EXPLAINED:
            return said
        return f"{said[:-1]}: {'; '.join(map(_reason, self.reasons))}."

    def raise_for_refusal(self) -> "Outcome":
        """Return this outcome.

        Raises:
            Refused: If it is refused.
        """
        if self.refused:
            raise Refused([self])
        return self

    def __bool__(self) -> bool:
        return self.done

    def __repr__(self) -> str:
        about = "" if self.record is None else f" {self.record.id}"
        why = f" ({', '.join(self.reasons)})" if self.reasons else ""
        return f"<Outcome {self.kind}{about}{why}>"

    __str__ = __repr__


def _reason(reason: str) -> str:
    name, _, rest = reason.partition(":")
    said = _IN_WORDS["reasons"].get(name)
    if said is None:
        return f"`{reason}`"
    return f"{said} ({reason})" if rest else said


class Outcomes(tuple[Outcome, ...]):
    """The outcomes of several writes, in the order of the request; a tuple."""

    __slots__ = ()

    def raise_for_refusal(self) -> "Outcomes":
        """Return these outcomes.

        Raises:
            Refused: If any is refused.
        """
        refused: Sequence[Outcome] = [each for each in self if each.refused]
        if refused:
            raise Refused(refused)
        return self

    def to_dict(self) -> dict[str, Any]:
        """Return the outcomes as JSON-ready data."""
        return {"items": [each.to_dict() for each in self]}
