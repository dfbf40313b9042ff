"""Derived text: it names its parents, and is never more trusted or less restricted than they are.

Summaries and insights are made by :func:`derived`. :func:`inherited` gives every candidate with
parents their labels, under the write turn, whoever proposed it. A derived memory is deleted when a
parent is forgotten.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from types import MappingProxyType
from typing import Any

from simonides.domain.ageing import confidence_at
from simonides.domain.memory import Kind, Origin
from simonides.domain.scope import Scope
from simonides.domain.trust import Label, Source, Trust, join
from simonides.domain.writing.decision import Candidate, Proposer
from simonides.ports import OwnerView

PURPOSES_DIFFER = "purposes_differ"
"""Mark of a candidate derived from memories with different purposes: no reader may see it."""

REPEATING_TRUST = frozenset({Trust.AGENT, Trust.TOOL})
"""Trust levels of writers that may repeat text they have read."""

_UNKNOWN = Label(Trust.EXTERNAL)
"""Label of a parent that is not in the owner's view: its origin is unknown."""


def derived(
    text: str,
    scope: Scope,
    parents: Sequence[str],
    *,
    kind: Kind,
    category: str,
    model: str | None,
    origin: Origin,
    metadata: Mapping[str, Any],
    said_at: datetime | None = None,
    ttl_days: float | None = None,
) -> Candidate:
    """Return a text that the agent derived from memories, as a candidate.

    Args:
        text: The text.
        scope: Where it is stored.
        parents: Ids of the memories that it may repeat.
        kind: Kind of the memory.
        category: Category of the policy.
        model: Id of the model that wrote it; None for rules.
        origin: Session that it is about, or the model.
        metadata: What the category records.
        said_at: Time of the newest text that it is made of.
        ttl_days: Longest lifetime in days: that of the parent that ends first.
    """
    source = Source.AGENT_INFERRED
    return Candidate(
        content=text,
        scope=scope,
        source=source,
        proposer=Proposer.RULES if model is None else Proposer.MODEL,
        label=Label(source.trust),
        kind=kind,
        category=category,
        confidence=source.default_confidence,
        metadata=MappingProxyType(dict(metadata)),
        origin=origin,
        parents=tuple(parents),
        said_at=said_at,
        ttl_days=ttl_days,
        explicit=False,
    )


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
