"""Label inheritance: a derived memory is never more trusted or less restricted than its parents."""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime

from simonides.domain.ageing import confidence_at
from simonides.domain.trust import Label, Trust, join
from simonides.domain.writing.decision import Candidate
from simonides.ports import OwnerView

PURPOSES_DIFFER = "purposes_differ"
"""Mark of a candidate derived from memories with different purposes: no reader may see it."""

REPEATING_TRUST = frozenset({Trust.AGENT, Trust.TOOL})
"""Trust levels of writers that may repeat text they have read."""

_UNKNOWN = Label(Trust.EXTERNAL)
"""Label of a parent that is not in the owner's view: its origin is unknown."""


def inherited(candidate: Candidate, view: OwnerView, now: datetime) -> Candidate:
    """Return a candidate with the label that it inherits from its parents.

    It gets the least trust, strictest sensitivity and narrowest audience among itself and its
    parents. Its confidence is at most that of the weakest one. It also gets their purpose; if their
    purposes differ, it gets the mark :data:`PURPOSES_DIFFER`. A parent that is not live here
    (unknown, forgotten, superseded, another owner's) makes the candidate external. A promoted copy
    is no derivation and keeps its label.

    If an agent or a tool repeats stored external text, that text becomes a parent too. Only the
    user can give a text more trust, by stating it.

    Args:
        candidate: The proposed candidate.
        view: Stored memories, with this turn's changes so far.
        now: Time at which the parents' decayed confidence is computed.
    """
    if candidate.origin.memory is not None:
        return candidate
    if candidate.label.trust in REPEATING_TRUST:
        candidate = _with_repeated_source(candidate, view)
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


def _with_repeated_source(candidate: Candidate, view: OwnerView) -> Candidate:
    for text in (candidate.content, candidate.quote):
        source = view.from_outside(text) if text is not None else None
        if source is not None and source.id not in candidate.parents:
            return replace(candidate, parents=(*candidate.parents, source.id))
    return candidate
