"""Policy dry run: past writes from the audit trail, judged again under another policy."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from typing import Any, TypeAlias

from simonides.domain.memory import Record
from simonides.domain.scope import Scope
from simonides.domain.trust import Label, Source
from simonides.domain.value import Value
from simonides.domain.writing.decision import Candidate, Proposer

Life: TypeAlias = tuple[float | None, float | None]
"""Days until soft and hard expiry, None for no end."""


class Fate(StrEnum):
    """The part of an outcome that policy decides; it does not decide the gate of a stored write."""

    STORED = "stored"
    HELD = "held"
    REPEAT = "repeat"
    DROPPED = "dropped"
    BLOCKED = "blocked"


@dataclass(frozen=True, slots=True, kw_only=True)
class PastWrite(Value):
    """A write as recorded in the audit trail.

    Attributes:
        event: Id of the audit event.
        at: Time of the write.
        scope: Target scope.
        subject: Id of the memory or held candidate, or None if nothing was kept.
        key: Name of the fact, or None.
        category: Category of the statement.
        then: Its recorded fate.
        then_reasons: Reasons in the event.
    """

    event: str
    at: datetime
    scope: Scope
    subject: str | None
    key: str | None
    category: str
    then: Fate
    then_reasons: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Rejudged(Value):
    """A past write under another policy.

    Attributes:
        write: The write.
        now: Its fate under the other policy; None if unknown.
        reasons: Why, or why it is unknown: ``content_not_kept`` if the statement was refused or is
            gone.
        life_then: Lifetime under the policy in force; None if nothing is stored.
        life_now: Lifetime under the other policy.
        changed: Whether fate or lifetime differ.
    """

    write: PastWrite
    now: Fate | None
    reasons: tuple[str, ...]
    life_then: Life | None = None
    life_now: Life | None = None
    changed: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class DryRun(Value):
    """Effect of another policy on an org's past writes; nothing was written.

    Attributes:
        policy: Version of the tried policy.
        hash: Hash of the tried policy.
        in_force: Hash of the policy in force.
        writes: Every write that is still in the trail, by owner's path, oldest first.
        erased: Events whose payload was erased with forgotten memories: writes, or others.
    """

    policy: str
    hash: str
    in_force: str
    writes: tuple[Rejudged, ...]
    erased: int

    @property
    def changed(self) -> tuple[Rejudged, ...]:
        """The writes whose fate or lifetime would differ."""
        return tuple(write for write in self.writes if write.changed)

    @property
    def unknown(self) -> tuple[Rejudged, ...]:
        """The writes whose fate is unknown."""
        return tuple(write for write in self.writes if write.now is None)


def how_proposed(candidate: Candidate) -> dict[str, Any]:
    """Return the event details from which a candidate can be judged again.

    The memory keeps the rest. The details hold no content and no matched text; defaults are left
    out.
    """
    details: dict[str, Any] = {"proposer": candidate.proposer.value}
    if candidate.marks:
        details["marks"] = list(candidate.marks)
    if not candidate.explicit:
        details["explicit"] = False
    if candidate.ttl_days is not None:
        details["ttl_days"] = candidate.ttl_days
    return details


def proposed_again(memory: Record, details: Mapping[str, Any]) -> Candidate:
    """Return the candidate behind a stored statement.

    Args:
        memory: The memory that it became, or that already held the statement.
        details: Details of its event.
    """
    source = Source(details["source"])
    # An existing memory has its own label; a repetition arrived with the label of its source.
    trust = memory.trust if memory.source is source else source.trust
    return Candidate(
        content=memory.content,
        scope=memory.scope,
        source=source,
        proposer=Proposer(details["proposer"]),
        label=Label(trust, memory.sensitivity, memory.audience),
        kind=memory.kind,
        category=details["category"],
        key=details["key"],
        confidence=details["confidence"],
        metadata=memory.metadata,
        origin=memory.origin,
        speaker=memory.speaker,
        purpose=memory.purpose,
        ttl_days=details.get("ttl_days"),
        marks=tuple(details.get("marks", ())),
        explicit=details.get("explicit", True),
    )
