"""What becomes of an approved candidate among what stands: gates, then conflict (LT-2, LT-3).

Order of the gates, cheapest first: the memory that a correction names; a verbatim turn by its
place in its session; a keyed fact by its key; free text by the hash of its normalised text.
All compare within one place: one scope, and there what the same agents may see for the same
purpose. Where a gate finds a memory of equal text it is a repetition, otherwise the two are in
conflict: an explicit correction wins, then the newer and at least as confident; a weaker newcomer
goes into history and touches the one that stands.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from memstrata.domain.decision import Approved, Candidate, OutcomeKind
from memstrata.domain.memory import Memory, Status
from memstrata.domain.trust import Trust
from memstrata.language.normalise import content_hash
from memstrata.longterm.versions import (
    Moment,
    echoed,
    first_version,
    next_version,
    renewed,
    superseded,
    touched,
)
from memstrata.ports import OwnerView


@dataclass(frozen=True, slots=True)
class Resolution:
    """What one candidate comes to.

    Attributes:
        kind: The outcome.
        memory: The record that now stands for the statement.
        added: New content versions.
        restated: Memories with a new state.
        reasons: Machine-readable; the first names the gate or rule that decided.
    """

    kind: OutcomeKind
    memory: Memory
    added: tuple[Memory, ...] = ()
    restated: tuple[Memory, ...] = ()
    reasons: tuple[str, ...] = ()


def resolve(approved: Approved, view: OwnerView, moment: Moment) -> Resolution:
    """Decide between creating, renewing, superseding and touching.

    Args:
        approved: What passed every guard.
        view: What stands, what this turn has resolved so far included.
        moment: When, and where ids come from.
    """
    candidate = approved.candidate
    if candidate.replaces is not None:
        named = view.by_id(candidate.replaces)
        if named is not None and named.place == candidate.place:
            return _supersede(approved, named, moment, "correction")
    if candidate.is_turn:
        return _turn(approved, view, moment)
    if candidate.key is not None:
        return _keyed(approved, view, moment, candidate.key)
    return _free_text(approved, view, moment)


def _turn(approved: Approved, view: OwnerView, moment: Moment) -> Resolution:
    candidate = approved.candidate
    session, turn = str(candidate.origin.session), int(candidate.origin.turn or 0)
    standing = view.by_turn(candidate.place, session, turn)
    if standing is None:
        return _create(approved, moment, "new_turn")
    if standing.content == candidate.content and standing.speaker == candidate.speaker:
        return Resolution(OutcomeKind.DROPPED, standing, reasons=("turn_already_stored",))
    return _supersede(approved, standing, moment, "turn_edited")


def _keyed(approved: Approved, view: OwnerView, moment: Moment, key: str) -> Resolution:
    candidate = approved.candidate
    standing = view.by_key(candidate.place, key)
    if standing is None:
        return _create(approved, moment, "new_key")
    if standing.is_expired(moment.now):
        return replace(
            _supersede(approved, standing, moment, "previous_expired"), kind=OutcomeKind.CREATED
        )
    if standing.content_hash == content_hash(candidate.content):
        return _repeat(approved, standing, moment, "same_key_and_value")
    if candidate.source.is_correction:
        return _supersede(approved, standing, moment, "correction")
    if candidate.label.trust is Trust.EXTERNAL and standing.trust is not Trust.EXTERNAL:
        return _touch(approved, standing, moment, "less_trusted")
    if candidate.confidence >= standing.confidence:
        return _supersede(approved, standing, moment, "newer_and_as_confident")
    return _touch(approved, standing, moment, "less_confident")


def _free_text(approved: Approved, view: OwnerView, moment: Moment) -> Resolution:
    candidate = approved.candidate
    equal = view.by_hash(candidate.place, content_hash(candidate.content))
    alike = [memory for memory in equal if memory.kind is candidate.kind]
    if alike:
        return _repeat(approved, alike[0], moment, "same_text")
    return _create(approved, moment, "new_text")


def _create(approved: Approved, moment: Moment, reason: str) -> Resolution:
    memory = first_version(approved, moment)
    return Resolution(OutcomeKind.CREATED, memory, (memory,), reasons=(reason,))


def _supersede(approved: Approved, standing: Memory, moment: Moment, reason: str) -> Resolution:
    successor = next_version(approved, standing, moment)
    predecessor = superseded(standing, successor, moment)
    return Resolution(OutcomeKind.SUPERSEDED, successor, (successor,), (predecessor,), (reason,))


def _touch(approved: Approved, standing: Memory, moment: Moment, reason: str) -> Resolution:
    newcomer = replace(
        next_version(approved, standing, moment),
        status=Status.SUPERSEDED,
        superseded_by=standing.id,
    )
    kept = touched(standing, newcomer, moment)
    return Resolution(OutcomeKind.TOUCHED, kept, (newcomer,), (kept,), (reason,))


def _repeat(approved: Approved, standing: Memory, moment: Moment, reason: str) -> Resolution:
    candidate = approved.candidate
    trusted = candidate.label.trust.rank >= standing.trust.rank
    again = (renewed if trusted else echoed)(standing, approved, moment)
    if trusted and candidate.confidence > standing.confidence:
        again = replace(
            again,
            confidence=candidate.confidence,
            source=candidate.source,
            trust=candidate.label.trust,
        )
    if trusted and _is_independent(candidate, standing):
        again = replace(again, verified_at=moment.now)
        kind, why = OutcomeKind.BUMPED, "independent_source"
    else:
        kind, why = OutcomeKind.REFRESHED, "said_again"
    return Resolution(kind, again, restated=(again,), reasons=(reason, why))


def _is_independent(candidate: Candidate, standing: Memory) -> bool:
    """Whether a repetition confirms: another source or another speaker says the same.

    A person who repeats himself is no second witness, nor is an agent that repeats its user: the
    caller has already asked for at least equal trust.
    """
    other_speaker = None not in (candidate.speaker, standing.speaker) and (
        candidate.speaker != standing.speaker
    )
    return candidate.source is not standing.source or other_speaker
