"""Applies a repetition to the stored memory: new times, confirmation, label or evidence.

Repeated content makes no new memory. A stricter label and new evidence are part of the content
version, which is immutable, so they make a new version.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from types import MappingProxyType
from typing import Any

from simonides.domain.canonical_json import canonical_json
from simonides.domain.memory import Record
from simonides.domain.moment import Moment
from simonides.domain.trust import Trust, join
from simonides.domain.writing.decision import Approved, Candidate, Proposer
from simonides.engine.write.rules.versions import echoed, renewed

MAX_METADATA_BYTES = 16 * 1024
"""Most bytes of metadata as canonical JSON; merged metadata keeps to it too."""


def is_trusted(candidate: Candidate, standing: Record) -> bool:
    """Whether a repetition is trusted enough to change confidence, importance or evidence.

    It must be at least as trusted as the stored memory. External text needs the user's own
    repetition.
    """
    least = Trust.USER if standing.trust is Trust.EXTERNAL else standing.trust
    return candidate.label.trust.rank >= least.rank


def said_again(approved: Approved, standing: Record, moment: Moment) -> Record:
    """Return the state of a memory after its text was repeated.

    The higher confidence is kept, with its source; if equal, the more trusted. The memory counts
    as verified if an independent source repeats it, or the user corrects it to its own text.
    """
    candidate = approved.candidate
    trusted = is_trusted(candidate, standing)
    again = (renewed if trusted else echoed)(standing, approved, moment)
    given = (candidate.confidence, candidate.label.trust.rank)
    if trusted and given > (standing.confidence, standing.trust.rank):
        again = replace(
            again,
            confidence=candidate.confidence,
            source=candidate.source,
            trust=candidate.label.trust,
        )
    named = candidate.replaces is not None and candidate.source.is_correction and trusted
    if named or independent(candidate, standing):
        again = replace(again, verified_at=moment.now)
    return again


def independent(candidate: Candidate, standing: Record) -> bool:
    """Whether a repetition confirms the memory: it comes from another source or speaker.

    A user who repeats a statement does not confirm it, whether by stating or correcting. Nor does
    an agent that repeats its user: it is less trusted.
    """
    if not is_trusted(candidate, standing):
        return False
    if None not in (candidate.speaker, standing.speaker) and candidate.speaker != standing.speaker:
        return True
    if candidate.label.trust is Trust.USER and standing.trust is Trust.USER:
        return False
    return candidate.source is not standing.source


def news(candidate: Candidate, standing: Record) -> tuple[Mapping[str, Any], tuple[str, ...]]:
    """Return the fields that a repetition adds to the stored version.

    Any writer may make the label stricter. Only an equally trusted writer may add evidence, or a
    key to free text.

    Returns:
        The changed fields of the content version, and the reasons; both empty for a plain
        repetition.
    """
    strict = join((standing.label, candidate.label)).sensitivity
    changes: dict[str, Any] = {}
    reasons: list[str] = []
    # A corrected memory does not get the correction's key: another chain may have it.
    if candidate.replaces is None and candidate.key is not None and standing.key is None:
        # The repetition's expiry is that of its own category, so the category changes too.
        changes |= {"key": candidate.key, "category": candidate.category}
        reasons.append("now_keyed")
    if strict is not standing.sensitivity:
        changes["sensitivity"] = strict
        reasons.append("stricter_label")
    evidence = _evidence(candidate, standing) if is_trusted(candidate, standing) else {}
    if standing.trust is Trust.EXTERNAL and is_trusted(candidate, standing):
        changes |= _own_words(candidate)
        reasons.append("stated_by_user")
    elif evidence:
        changes |= evidence
        reasons.append("new_evidence")
    return changes, tuple(reasons)


def _own_words(candidate: Candidate) -> dict[str, Any]:
    """Return all fields of external text that the user has stated: none of the old ones stays."""
    return {
        "quote": candidate.quote,
        "origin": candidate.origin,
        "speaker": candidate.speaker,
        "triple": candidate.triple,
        "metadata": candidate.metadata,
        "parents": candidate.parents,
        "tags": tuple(sorted(set(candidate.tags))),
        "importance": candidate.importance,
        "pinned": candidate.pinned,
        "source": candidate.source,
        "trust": candidate.label.trust,
        "confidence": candidate.confidence,
    }


def _evidence(candidate: Candidate, standing: Record) -> dict[str, Any]:
    found: dict[str, Any] = {}
    if standing.quote is None and candidate.quote is not None:
        # The quote is from the turn that the origin names.
        found |= {"quote": candidate.quote, "origin": candidate.origin}
    if standing.triple is None and candidate.triple is not None:
        found["triple"] = candidate.triple
    # Extracted metadata describes its own quote; metadata of callers and imports, the fact.
    extracted = candidate.proposer in (Proposer.RULES, Proposer.MODEL)
    if not extracted or "quote" in found:
        gathered = {**candidate.metadata, **standing.metadata}
        fits = len(canonical_json(gathered)) <= MAX_METADATA_BYTES
        if len(gathered) > len(standing.metadata) and fits:
            found["metadata"] = MappingProxyType(gathered)
    return found
