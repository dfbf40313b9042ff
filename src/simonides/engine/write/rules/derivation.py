"""Labels travel: what is derived from memories is never more than they are."""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime

from simonides.domain.ageing import confidence_at
from simonides.domain.trust import Label, Trust, join
from simonides.domain.writing.decision import Candidate
from simonides.ports import OwnerView

PURPOSES_DIFFER = "purposes_differ"
"""Mark of what was made of memories for different purposes: nobody may read it."""

BORROWING = frozenset({Trust.AGENT, Trust.TOOL})
"""Trust of those who pass on what they have read."""

_UNKNOWN = Label(Trust.EXTERNAL)
"""Label of a parent that does not stand in the owner's view: of unknown origin."""


def inherited(candidate: Candidate, view: OwnerView, now: datetime) -> Candidate:
    """Return a candidate with the label that its parents leave it.

    It has the least trust, the strictest sensitivity and the narrowest audience of itself and its
    parents, and no more confidence than the weakest of them. The purpose that one of them was given
    for binds it too; where they are for different ones it gets the mark :data:`PURPOSES_DIFFER`.
    A parent that does not stand here (unknown, forgotten, superseded, another owner's) is an
    unknown origin: the result is external. A promoted copy is no derivation and keeps its label.

    What comes in the name of an agent or a tool and says again what stands as external text is
    derived from that, though nobody says so: it becomes one of its parents. Only the user lends a
    text his own authority, by stating it.

    Args:
        candidate: What is proposed.
        view: What stands, what this turn has resolved so far included.
        now: When: what is left of the parents' confidence counts.
    """
    if candidate.origin.memory is not None:
        return candidate
    if candidate.label.trust in BORROWING:
        candidate = _known_again(candidate, view)
    if not candidate.parents:
        return candidate
    parents = [view.by_id(id) for id in candidate.parents]
    labels = [_UNKNOWN if parent is None else parent.label for parent in parents]
    seen = [confidence_at(parent, now) for parent in parents if parent is not None]
    meant = {candidate.purpose, *(parent.purpose for parent in parents if parent is not None)}
    meant.discard(None)
    return replace(
        candidate,
        purpose=min(filter(None, meant), default=None),
        marks=(*candidate.marks, PURPOSES_DIFFER) if len(meant) > 1 else candidate.marks,
        label=join((candidate.label, *labels)),
        confidence=min((candidate.confidence, *seen)),
    )


def _known_again(candidate: Candidate, view: OwnerView) -> Candidate:
    """Return a candidate with the external text that it says again among its parents."""
    for text in (candidate.content, candidate.quote):
        source = view.from_outside(text) if text is not None else None
        if source is not None and source.id not in candidate.parents:
            return replace(candidate, parents=(*candidate.parents, source.id))
    return candidate
