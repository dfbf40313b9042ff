"""Decides which of two conflicting statements is kept.

An explicit correction always wins. Under one key, or in one functional slot, the newer statement
wins if it is at least as confident. If a slot is not declared to hold one value or several, only
a clear gap of confidence decides. Otherwise both stay, and a review is opened if their sources
differ. :func:`weigh` also decides between free texts that were judged to be contradictory.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from simonides.domain.ageing import confidence_at
from simonides.domain.governance.contradiction import Opposed, Relation
from simonides.domain.memory import Record, Status
from simonides.domain.moment import Moment
from simonides.domain.trust import Trust
from simonides.domain.writing.decision import Approved, OutcomeKind
from simonides.engine.write.rules.results import (
    Resolution,
    ask,
    create,
    supersede,
    touch,
)
from simonides.engine.write.rules.versions import superseded

ROUNDING = 1e-9
"""Tolerance for floating-point errors in confidences: 0.9 - 0.7 is not quite 0.2."""


def contend(approved: Approved, standing: Record, moment: Moment) -> Resolution:
    """Decide between a candidate and the memory under its key or in its functional slot."""
    candidate = approved.candidate
    if candidate.source.is_correction:
        return supersede(approved, standing, moment, "correction")
    if _is_external(approved, standing):
        return touch(approved, standing, moment, "less_trusted")
    if candidate.confidence >= confidence_at(standing, moment.now):
        return supersede(approved, standing, moment, "newer_and_as_confident")
    return touch(approved, standing, moment, "less_confident")


def contend_with_all(approved: Approved, values: Sequence[Record], moment: Moment) -> Resolution:
    """Decide between a candidate and all values of its functional slot, the strongest first.

    Several values may date from before the predicate was declared functional; all are superseded
    together.
    """
    strongest, *others = values
    resolution = contend(approved, strongest, moment)
    if resolution.kind is not OutcomeKind.SUPERSEDED:
        return resolution
    gone = [replace(superseded(m, resolution.record, moment), versions=m.versions) for m in others]
    return replace(resolution, restated=(*resolution.restated, *gone))


def weigh(
    approved: Approved,
    standing: Record,
    moment: Moment,
    gap: float,
    *,
    asks_the_same: bool = False,
) -> Resolution:
    """Decide between contradicting statements that share neither a key nor a functional slot.

    A clear gap of confidence decides. Otherwise both stay, and a review is opened if their sources
    differ; one source that gives two values may mean both. External text never replaces other
    text.

    Args:
        approved: The candidate.
        standing: The memory that it contradicts.
        moment: Time of the decision, and source of ids.
        gap: Least difference of confidence that decides.
        asks_the_same: Whether a review is opened even if both have the same source.
    """
    candidate = approved.candidate
    if candidate.source.is_correction:
        return supersede(approved, standing, moment, "correction")
    lead = candidate.confidence - confidence_at(standing, moment.now)
    if abs(lead) + ROUNDING >= gap:
        if lead > 0 and not _is_external(approved, standing):
            return supersede(approved, standing, moment, "more_confident")
        if lead < 0:
            return touch(approved, standing, moment, "less_confident")
    is_same = candidate.source is standing.source and not asks_the_same
    if standing.status is Status.REVIEW:
        return create(approved, moment, "in_review_already", OutcomeKind.COEXISTS)
    if is_same:
        return create(approved, moment, "same_source", OutcomeKind.COEXISTS)
    return ask(approved, standing, moment, "small_gap")


def oppose(approved: Approved, opposed: Opposed, moment: Moment, gap: float) -> Resolution:
    """Decide between a candidate and the memories that it was judged to update or to contradict.

    An update is treated like another value of a functional slot. A contradiction is decided by a
    clear gap of confidence, else by a review, even if both have the same source.

    Args:
        approved: The candidate.
        opposed: The memories that it opposes, and the relation.
        moment: Time of the decision, and source of ids.
        gap: As for :func:`weigh`.
    """
    verdict, others = opposed
    if verdict.relation is Relation.UPDATE:
        now = moment.now
        strongest_first = sorted(
            others, key=lambda m: (confidence_at(m, now), m.known_from), reverse=True
        )
        resolution = contend_with_all(approved, strongest_first, moment)
    else:
        resolution = weigh(approved, others[0], moment, gap, asks_the_same=True)
    return replace(resolution, reasons=(*resolution.reasons, verdict.reason))


def _is_external(approved: Approved, standing: Record) -> bool:
    outside = approved.candidate.label.trust is Trust.EXTERNAL
    return outside and standing.trust is not Trust.EXTERNAL
