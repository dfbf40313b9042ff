"""A dream: the changes of one consolidation run for one owner, as one diff that can be undone."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum
from typing import Any

from simonides.domain.value import Value
from simonides.domain.writing.decision import NO_USAGE, Usage


class ConsolidationStep(StrEnum):
    """Kind of a dream's change; contents are never rewritten, only states change.

    ``merge``: a duplicate is superseded by the first statement. ``supersede``: one statement
    supersedes another. ``review``: both sides of a contradiction wait for a person. ``archive``: a
    rule beyond the cap is archived. ``insight``: a new memory derived from several others.
    ``withdraw``: an insight has too little evidence left.
    """

    MERGE = "merge"
    SUPERSEDE = "supersede"
    REVIEW = "review"
    ARCHIVE = "archive"
    INSIGHT = "insight"
    WITHDRAW = "withdraw"


class ConsolidationStatus(StrEnum):
    """Whether a dream is a proposal, in force, or undone."""

    PROPOSED = "proposed"
    APPLIED = "applied"
    UNDONE = "undone"


@dataclass(frozen=True, slots=True, kw_only=True)
class ConsolidationItem(Value):
    """One change of the diff.

    Attributes:
        step: Kind of the change.
        before: Ids of the memories that are superseded, archived, or wait for review.
        after: Ids of the memories that replace them, or of the insight.
        reasons: Why, machine-readable.
        evidence: Ids of the memories that support an insight.
        text: Text of an insight; only in a proposal and while the insight exists.
        texts: Contents of ``before`` and ``after``, by id, for display of the diff; empty for a
            listed dream.
        left: Why it was skipped, or could not be undone; None otherwise.
    """

    step: ConsolidationStep
    before: tuple[str, ...] = ()
    after: tuple[str, ...] = ()
    reasons: tuple[str, ...] = ()
    evidence: tuple[str, ...] = ()
    text: str | None = None
    texts: Mapping[str, str] = field(default_factory=dict)
    left: str | None = None

    @property
    def ids(self) -> tuple[str, ...]:
        """Ids of every memory that it changes or creates."""
        return tuple(dict.fromkeys((*self.before, *self.after)))

    @property
    def told(self) -> dict[str, Any]:
        """Details for the audit trail: ids and reasons, no content."""
        return {
            "step": self.step.value,
            "before": list(self.before),
            "after": list(self.after),
            "reasons": list(self.reasons),
            "evidence": list(self.evidence),
        }

    @classmethod
    def of(cls, details: Mapping[str, Any]) -> ConsolidationItem:
        """Read an item from its details in the audit trail."""
        names = ("before", "after", "reasons", "evidence")
        named: dict[str, Any] = {name: tuple(details[name]) for name in names}
        return cls(step=ConsolidationStep(details["step"]), **named)


@dataclass(frozen=True, slots=True, kw_only=True)
class Consolidation(Value):
    """The applied or proposed changes of one consolidation run.

    Attributes:
        id: Id for ``undo_dream``; empty for a proposal.
        status: Proposed, applied or undone.
        owner: Path of the owner.
        at: Time of the run.
        items: In the order in which they are applied.
        more: Changes left to the next dream, because the size of a dream is bounded.
        memories: Number of memories considered.
        reflected: Whether there was enough new material for a reflection.
        usage: Cost of the model.
        diagnostics: Short names of why the model gave no answer, or of errors in its answer.
    """

    id: str = ""
    status: ConsolidationStatus = ConsolidationStatus.PROPOSED
    owner: str = ""
    at: datetime | None = None
    items: tuple[ConsolidationItem, ...] = ()
    more: int = 0
    memories: int = 0
    reflected: bool = False
    usage: Usage = NO_USAGE
    diagnostics: tuple[str, ...] = ()

    @property
    def done(self) -> tuple[ConsolidationItem, ...]:
        """The items that were applied or proposed."""
        return tuple(item for item in self.items if item.left is None)

    @property
    def left(self) -> tuple[ConsolidationItem, ...]:
        """The skipped items, with reasons."""
        return tuple(item for item in self.items if item.left is not None)
