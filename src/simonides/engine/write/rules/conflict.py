"""Which of two statements that cannot both stand is believed.

An explicit correction always is. Under one key, and in one functional slot, the newer is if it is
at least as confident. Where nobody has declared whether a slot holds one value or several, only a
clear gap of confidence decides; otherwise both stay, and a person is asked if they come from
different sources. :func:`weigh` is what a judge of free text, too, has two statements go through
that it holds to be contradictory.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from simonides.domain.ageing import confidence_at
from simonides.domain.governance.contradiction import Opposed, Relation
from simonides.domain.memory import Memory, Status
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
"""Less than any difference of confidences that is meant: 0.9 - 0.7 is not quite 0.2."""


def contend(approved: Approved, standing: Memory, moment: Moment) -> Resolution:
    """Decide between a newcomer and what stands under its key or in its functional slot."""
    candidate = approved.candidate
    if candidate.source.is_correction:
        return supersede(approved, standing, moment, "correction")
    if _is_outsider(approved, standing):
        return touch(approved, standing, moment, "less_trusted")
    if candidate.confidence >= confidence_at(standing, moment.now):
        return supersede(approved, standing, moment, "newer_and_as_confident")
    return touch(approved, standing, moment, "less_confident")


def contend_with_all(approved: Approved, rivals: Sequence[Memory], moment: Moment) -> Resolution:
    """Decide between a newcomer and all values of its functional slot, the strongest first.

    There may be several from before the predicate was declared functional: they give way together.
    """
    strongest, *others = rivals
    resolution = contend(approved, strongest, moment)
    if resolution.kind is not OutcomeKind.SUPERSEDED:
        return resolution
    gone = [replace(superseded(m, resolution.memory, moment), versions=m.versions) for m in others]
    return replace(resolution, restated=(*resolution.restated, *gone))


def weigh(
    approved: Approved,
    standing: Memory,
    moment: Moment,
    gap: float,
    *,
    asks_the_same: bool = False,
) -> Resolution:
    """Decide between two statements that contradict each other and have neither key nor
    functional slot in common: by a clear gap of confidence, else by a person, if they come from
    different sources; who fills one slot twice may mean both.

    What comes from outside displaces nothing that does not.

    Args:
        approved: The newcomer.
        standing: What it contradicts.
        moment: When, and where ids come from.
        gap: Difference of confidence from which on the stronger is believed.
        asks_the_same: Whether a person is asked though both come from one source.
    """
    candidate = approved.candidate
    if candidate.source.is_correction:
        return supersede(approved, standing, moment, "correction")
    lead = candidate.confidence - confidence_at(standing, moment.now)
    if abs(lead) + ROUNDING >= gap:
        if lead > 0 and not _is_outsider(approved, standing):
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
    """Decide between a newcomer and what it was judged to update or to contradict.

    An update is dealt with as another value of a functional slot is. Of a contradiction a clear
    gap of confidence decides, else a person, whoever said both: that nothing says which of two
    plain statements is meant is all the more so where they come from one mouth.

    Args:
        approved: The newcomer.
        opposed: What it stands against, and how.
        moment: When, and where ids come from.
        gap: As for :func:`weigh`.
    """
    verdict, rivals = opposed
    if verdict.relation is Relation.UPDATE:
        now = moment.now
        strongest_first = sorted(
            rivals, key=lambda m: (confidence_at(m, now), m.known_from), reverse=True
        )
        resolution = contend_with_all(approved, strongest_first, moment)
    else:
        resolution = weigh(approved, rivals[0], moment, gap, asks_the_same=True)
    return replace(resolution, reasons=(*resolution.reasons, verdict.reason))


def _is_outsider(approved: Approved, standing: Memory) -> bool:
    outside = approved.candidate.label.trust is Trust.EXTERNAL
    return outside and standing.trust is not Trust.EXTERNAL
