"""A dream: what consolidation would change of one owner, as one diff that can be undone."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum
from typing import Any

from simonides.domain.value import Value
from simonides.domain.writing.decision import NO_USAGE, Usage


class DreamStep(StrEnum):
    """What one item of a dream does; sources are never rewritten, only states change.

    ``merge``: what was said twice gives way to what was said first. ``supersede``: one statement
    gives way to another. ``review``: both sides of a contradiction wait for a person. ``archive``:
    a rule beyond the cap. ``insight``: a new memory that several others show. ``withdraw``: an
    insight that too little bears out any more.
    """

    MERGE = "merge"
    SUPERSEDE = "supersede"
    REVIEW = "review"
    ARCHIVE = "archive"
    INSIGHT = "insight"
    WITHDRAW = "withdraw"


class DreamStatus(StrEnum):
    """Whether a dream is only a proposal, stands, or was taken back."""

    PROPOSED = "proposed"
    APPLIED = "applied"
    UNDONE = "undone"


@dataclass(frozen=True, slots=True, kw_only=True)
class DreamItem(Value):
    """One change of the diff.

    Attributes:
        step: What it does.
        before: Ids of the memories that stop standing as they do, or wait from then on.
        after: Ids of those that stand instead: what they give way to, or an insight.
        reasons: Why, machine-readable.
        evidence: Ids of what an insight rests on.
        text: What an insight says; of a proposal, and as long as it stands.
        texts: What the memories of ``before`` and ``after`` say, by id, for whoever looks at the
            diff; empty for a dream that is only listed.
        left: Why it was left undone, or could not be taken back; None otherwise.
    """

    step: DreamStep
    before: tuple[str, ...] = ()
    after: tuple[str, ...] = ()
    reasons: tuple[str, ...] = ()
    evidence: tuple[str, ...] = ()
    text: str | None = None
    texts: Mapping[str, str] = field(default_factory=dict)
    left: str | None = None

    @property
    def ids(self) -> tuple[str, ...]:
        """Of every memory whose state it changes, or that it makes."""
        return tuple(dict.fromkeys((*self.before, *self.after)))

    @property
    def told(self) -> dict[str, Any]:
        """What the trail keeps of it: ids and reasons, no words."""
        return {
            "step": self.step.value,
            "before": list(self.before),
            "after": list(self.after),
            "reasons": list(self.reasons),
            "evidence": list(self.evidence),
        }

    @classmethod
    def of(cls, told: Mapping[str, Any]) -> DreamItem:
        """Read back what the trail keeps."""
        names = ("before", "after", "reasons", "evidence")
        named: dict[str, Any] = {name: tuple(told[name]) for name in names}
        return cls(step=DreamStep(told["step"]), **named)


@dataclass(frozen=True, slots=True, kw_only=True)
class Dream(Value):
    """What consolidation changed of one owner, or would.

    Attributes:
        id: Names it for ``undo_dream``; empty for a proposal.
        status: Where it stands.
        owner: Path of whose memories.
        at: When.
        items: In the order in which they are applied.
        more: What was found and left to the next dream: one is of bounded size.
        memories: Memories looked at.
        reflected: Whether there was enough that was new to reflect on.
        usage: What the model cost.
        diagnostics: Why the model said nothing, or what was wrong in its answer; short names.
    """

    id: str = ""
    status: DreamStatus = DreamStatus.PROPOSED
    owner: str = ""
    at: datetime | None = None
    items: tuple[DreamItem, ...] = ()
    more: int = 0
    memories: int = 0
    reflected: bool = False
    usage: Usage = NO_USAGE
    diagnostics: tuple[str, ...] = ()

    @property
    def done(self) -> tuple[DreamItem, ...]:
        """The items that were not left."""
        return tuple(item for item in self.items if item.left is None)

    @property
    def left(self) -> tuple[DreamItem, ...]:
        """The items that were left, with why."""
        return tuple(item for item in self.items if item.left is not None)
