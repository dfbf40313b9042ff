"""The possible resolutions of a candidate, and a function that builds each; no decisions."""

from __future__ import annotations

from dataclasses import dataclass, replace

from simonides.domain.governance.review import Review
from simonides.domain.memory import Record, Status
from simonides.domain.moment import Moment
from simonides.domain.value import EPOCH
from simonides.domain.writing.decision import Approved, OutcomeKind
from simonides.engine.write.rules.repetition import independent, news, said_again
from simonides.engine.write.rules.versions import (
    first_version,
    next_version,
    reissued,
    superseded,
    touched,
    under_review,
)


@dataclass(frozen=True, slots=True)
class Resolution:
    """The resolution of one candidate.

    Attributes:
        kind: The outcome.
        record: The memory that now holds the statement.
        added: New content versions.
        restated: Memories with a new state.
        reasons: Machine-readable; the first names the gate or rule that decided.
        review: The review that a person must decide, if any.
    """

    kind: OutcomeKind
    record: Record
    added: tuple[Record, ...] = ()
    restated: tuple[Record, ...] = ()
    reasons: tuple[str, ...] = ()
    review: Review | None = None


def create(
    approved: Approved, moment: Moment, reason: str, kind: OutcomeKind = OutcomeKind.CREATED
) -> Resolution:
    """Store a memory that starts a new version chain."""
    memory = first_version(approved, moment)
    return Resolution(kind, memory, (memory,), reasons=(reason,))


def supersede(approved: Approved, standing: Record, moment: Moment, reason: str) -> Resolution:
    """Replace the stored memory with a new version."""
    successor = next_version(approved, standing, moment)
    predecessor = superseded(standing, successor, moment)
    return Resolution(OutcomeKind.SUPERSEDED, successor, (successor,), (predecessor,), (reason,))


def touch(approved: Approved, standing: Record, moment: Moment, reason: str) -> Resolution:
    """Keep the stored memory, and add the weaker candidate to its history."""
    weaker = next_version(approved, standing, moment)
    newcomer = replace(
        weaker,
        status=Status.SUPERSEDED,
        supersedes=None,
        superseded_by=standing.id,
        valid_to=weaker.valid_from or EPOCH,  # It was never believed.
    )
    kept = touched(standing, newcomer, moment)
    return Resolution(OutcomeKind.TOUCHED, kept, (newcomer,), (kept,), (reason,))


def repeat(approved: Approved, standing: Record, moment: Moment, reason: str) -> Resolution:
    """Renew or confirm the stored memory, or give it a version with more fields."""
    candidate = approved.candidate
    confirms = independent(candidate, standing)
    again = said_again(approved, standing, moment)
    changes, found = news(candidate, standing)
    if changes:
        successor = reissued(again, changes, moment)
        gone = superseded(standing, successor, moment)
        return Resolution(
            OutcomeKind.SUPERSEDED, successor, (successor,), (gone,), (reason, *found)
        )
    kind = OutcomeKind.BUMPED if confirms else OutcomeKind.REFRESHED
    why = "independent_source" if confirms else "said_again"
    return Resolution(kind, again, restated=(again,), reasons=(reason, why))


def ask(approved: Approved, standing: Record, moment: Moment, reason: str) -> Resolution:
    """Keep both sides of a conflict, marked for review, until a person decides."""
    one = under_review(standing, moment)
    other = replace(first_version(approved, moment), status=Status.REVIEW)
    review = Review(
        id=moment.new_id(),
        scope=other.scope,
        reason=reason,
        opened_at=moment.now,
        a=one.root,
        b=other.root,
    )
    return Resolution(OutcomeKind.REVIEW, other, (other,), (one,), (reason,), review)
