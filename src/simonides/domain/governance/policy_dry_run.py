"""Past writes, looked at again: what the trail keeps for it, and what a dry run answers."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from typing import Any, TypeAlias

from simonides.domain.memory import Memory
from simonides.domain.scope import Scope
from simonides.domain.trust import Label, Source
from simonides.domain.value import Value
from simonides.domain.writing.decision import Candidate, Proposer

Life: TypeAlias = tuple[float | None, float | None]
"""Days until soft and hard expiry, None for no end."""


class Fate(StrEnum):
    """What policy has to do with an outcome: which gate a stored statement took is not its say."""

    STORED = "stored"
    HELD = "held"
    REPEAT = "repeat"
    DROPPED = "dropped"
    BLOCKED = "blocked"


@dataclass(frozen=True, slots=True, kw_only=True)
class PastWrite(Value):
    """A write as the audit trail tells of it.

    Attributes:
        event: Id of the audit event.
        at: When it was written.
        scope: Where it was for.
        subject: Id of the memory or held candidate, or None where nothing was kept.
        key: Name of the fact, or None.
        category: Of the statement.
        then: What became of it.
        then_reasons: Why, as the event says.
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
        now: What would become of it; None where that cannot be told.
        reasons: Why, or why it cannot be told: ``content_not_kept`` of what was refused or has
            gone since.
        life_then: What the policy in force gives a stored statement; None where nothing is stored.
        life_now: What the other policy would give it.
        changed: Whether fate or life differ.
    """

    write: PastWrite
    now: Fate | None
    reasons: tuple[str, ...]
    life_then: Life | None = None
    life_now: Life | None = None
    changed: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class DryRun(Value):
    """What another policy would have done to an org's past writes; nothing was written.

    Attributes:
        policy: Version of the policy that was tried.
        hash: Its hash.
        in_force: Hash of the policy in force.
        writes: Every write that the trail still tells of, by owner's path, oldest first.
        erased: Events whose payload went with what was forgotten: writes, or others.
    """

    policy: str
    hash: str
    in_force: str
    writes: tuple[Rejudged, ...]
    erased: int

    @property
    def changed(self) -> tuple[Rejudged, ...]:
        """The writes that would have had another fate or life."""
        return tuple(write for write in self.writes if write.changed)

    @property
    def unknown(self) -> tuple[Rejudged, ...]:
        """The writes of which it cannot be told."""
        return tuple(write for write in self.writes if write.now is None)


def how_proposed(candidate: Candidate) -> dict[str, Any]:
    """Return what an event says of a candidate beside its outcome, so that it can be judged again.

    A memory keeps the rest. No content and no matched text is in it; what is as usual is
    left out.
    """
    said: dict[str, Any] = {"proposer": candidate.proposer.value}
    if candidate.marks:
        said["marks"] = list(candidate.marks)
    if not candidate.explicit:
        said["explicit"] = False
    if candidate.ttl_days is not None:
        said["ttl_days"] = candidate.ttl_days
    return said


def proposed_again(memory: Memory, details: Mapping[str, Any]) -> Candidate:
    """Return the candidate behind a stored statement.

    Args:
        memory: What it became, or what already stood for it.
        details: Of the event that tells of it.
    """
    source = Source(details["source"])
    # What stood already has a label of its own; the repetition came with its source's.
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
