"""What a repetition adds to what stands: weight, confirmation, or something new about it.

Content that is said again makes no new memory. A label that is stricter than the one in force,
and evidence that was missing, belong to the content version, which never changes: for those a
version follows.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from types import MappingProxyType
from typing import Any

from simonides.domain.canonical_json import canonical_json
from simonides.domain.memory import Memory
from simonides.domain.moment import Moment
from simonides.domain.trust import Trust, join
from simonides.domain.writing.decision import Approved, Candidate, Proposer
from simonides.engine.write.rules.versions import echoed, renewed

MAX_METADATA_BYTES = 16 * 1024
"""Longest metadata as canonical JSON: what is gathered keeps to it too."""


def is_trusted(candidate: Candidate, standing: Memory) -> bool:
    """Whether a repetition may change what weighs: it is at least as trusted as what stands. What
    came from outside gains by nobody's repetition but the user's own.
    """
    least = Trust.USER if standing.trust is Trust.EXTERNAL else standing.trust
    return candidate.label.trust.rank >= least.rank


def said_again(approved: Approved, standing: Memory, moment: Moment) -> Memory:
    """Return the state of a memory after its text was said again.

    The higher confidence stays, with its source; of two equal ones the more trusted. An
    independent witness verifies it, and so does the user who corrects it to what it says.
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


def independent(candidate: Candidate, standing: Memory) -> bool:
    """Whether a repetition confirms: another source or another speaker says the same.

    A person who repeats himself is no second witness, whether he states or corrects; nor is an
    agent that repeats its user, who is more trusted.
    """
    if not is_trusted(candidate, standing):
        return False
    if None not in (candidate.speaker, standing.speaker) and candidate.speaker != standing.speaker:
        return True
    if candidate.label.trust is Trust.USER and standing.trust is Trust.USER:
        return False
    return candidate.source is not standing.source


def news(candidate: Candidate, standing: Memory) -> tuple[Mapping[str, Any], tuple[str, ...]]:
    """Return what a repetition tells that the standing version does not.

    Anyone may make a label stricter; evidence, and the key of free text, come only from those who
    are at least as trusted.

    Returns:
        The fields of the content version that change, and why: none of either for a plain
        repetition.
    """
    strict = join((standing.label, candidate.label)).sensitivity
    changes: dict[str, Any] = {}
    reasons: list[str] = []
    # What a correction names keeps its key or has none: another chain may hold the correction's.
    if candidate.replaces is None and candidate.key is not None and standing.key is None:
        # The life that a repetition gives is its own category's.
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
    """Return what belongs to a statement that its user has made his own: what the outside had put
    beside the words is not his.
    """
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


def _evidence(candidate: Candidate, standing: Memory) -> dict[str, Any]:
    found: dict[str, Any] = {}
    if standing.quote is None and candidate.quote is not None:
        # The quote is from the turn that the origin names.
        found |= {"quote": candidate.quote, "origin": candidate.origin}
    if standing.triple is None and candidate.triple is not None:
        found["triple"] = candidate.triple
    # What extraction notes is about its own quote; what callers and imports give, about the fact.
    extracted = candidate.proposer in (Proposer.RULES, Proposer.MODEL)
    if not extracted or "quote" in found:
        gathered = {**candidate.metadata, **standing.metadata}
        fits = len(canonical_json(gathered)) <= MAX_METADATA_BYTES
        if len(gathered) > len(standing.metadata) and fits:
            found["metadata"] = MappingProxyType(gathered)
    return found
