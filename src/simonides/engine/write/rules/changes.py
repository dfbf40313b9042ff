"""Candidates that are only useful as a change: endings, and likings said in passing."""

from __future__ import annotations

from simonides.capture.rules import ENDING, LIKED_IN_PASSING
from simonides.domain.governance.contradiction import OppositionLook, Relation
from simonides.domain.memory import Record
from simonides.domain.policy.gates import Shape
from simonides.domain.writing.decision import Candidate
from simonides.engine.write.rules.pending import Pending


def changes_nothing(
    candidate: Candidate, view: Pending, look: OppositionLook, shape: Shape | None
) -> str | None:
    """Return the mark of a candidate that is only useful as a change, if it changes nothing.

    A liking in passing must reverse a rejection. An ending must end the value that it names.
    """
    if LIKED_IN_PASSING in candidate.marks:
        against = None if shape is None else look(candidate, shape, None)
        lifts = against is not None and against.verdict.relation is Relation.UPDATE
        return None if lifts else LIKED_IN_PASSING
    if ENDING in candidate.marks:
        standing = view.by_key(candidate.place, str(candidate.key))
        return None if standing is not None and _ends(candidate, standing) else ENDING
    return None


def _ends(candidate: Candidate, standing: Record) -> bool:
    """Whether a statement that something is over names the stored value, or names nothing."""
    said = candidate.content.casefold()
    names = [word for word in candidate.content.split()[1:] if word[0].isupper()]
    return standing.content.casefold() in said or not names
