"""What becomes of an approved candidate among what stands: gates, then conflict (LT-2, LT-3).

Order of the gates, cheapest first: the memory that a correction names, or what stands of its
chain by now; a verbatim turn by its place in its session; a keyed fact by its key; a fact of a
functional slot by subject and predicate; text by the hash of its normalised form.
All compare within one place: one scope, and there what the same agents may see for the same
purpose. Where a gate finds a memory of equal text it is a repetition (``repetition.py``),
otherwise the two are in conflict: an explicit correction wins, then the newer and at least as
confident; a weaker newcomer goes into history and touches the one that stands.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from memstrata.domain.ageing import confidence_at
from memstrata.domain.decision import Approved, Candidate, OutcomeKind
from memstrata.domain.memory import Memory, Status
from memstrata.domain.trust import Trust
from memstrata.domain.value import EPOCH
from memstrata.language.normalise import content_hash, normalise
from memstrata.longterm.repetition import independent, news, said_again
from memstrata.longterm.versions import (
    Moment,
    first_version,
    next_version,
    reissued,
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


def resolve(
    approved: Approved,
    view: OwnerView,
    moment: Moment,
    functional: frozenset[str] = frozenset(),
) -> Resolution:
    """Decide between creating, renewing, superseding and touching.

    Args:
        approved: What passed every guard.
        view: What stands, what this turn has resolved so far included.
        moment: When, and where ids come from.
        functional: Predicates of which a subject has one value at a time.
    """
    candidate = approved.candidate
    named = _named(candidate, view)
    if named is not None and named.place == candidate.place:
        if named.content == candidate.content:
            return _repeat(approved, named, moment, "same_text")
        return _supersede(approved, named, moment, "correction")
    if candidate.is_turn:
        return _turn(approved, view, moment)
    if candidate.key is not None:
        return _keyed(approved, view, moment, candidate.key)
    rivals = _rivals(candidate, view, moment, functional)
    if rivals:
        return _slotted(approved, rivals, moment)
    return _free_text(approved, view, moment)


def _named(candidate: Candidate, view: OwnerView) -> Memory | None:
    """What a correction is about: the memory that it names, or what followed that one."""
    named = None if candidate.replaces is None else view.by_id(candidate.replaces)
    if named is None and candidate.replaces_root is not None:
        return view.by_root(candidate.replaces_root)
    return named


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
        return _named_anew(approved, view, moment) or _create(approved, moment, "new_key")
    if standing.is_expired(moment.now):
        return replace(
            _supersede(approved, standing, moment, "previous_expired"), kind=OutcomeKind.CREATED
        )
    if standing.content_hash == content_hash(candidate.content):
        return _repeat(approved, standing, moment, "same_key_and_value")
    return _conflict(approved, standing, moment)


def _named_anew(approved: Approved, view: OwnerView, moment: Moment) -> Resolution | None:
    """Give a key to free text that says the same, unless the one who names it is less trusted."""
    candidate = approved.candidate
    for standing in _alike(candidate, view):
        if standing.key is None and candidate.label.trust.rank >= standing.trust.rank:
            return _repeat(approved, standing, moment, "same_text")
    return None


def _rivals(
    candidate: Candidate, view: OwnerView, moment: Moment, functional: frozenset[str]
) -> Sequence[Memory]:
    """What stands in the functional slot of a candidate, the strongest and newest first."""
    triple = candidate.triple
    if triple is None or normalise(triple.predicate) not in map(normalise, functional):
        return ()
    found = [m for m in view.by_slot(candidate.place, triple) if m.kind is candidate.kind]
    now = moment.now
    return sorted(found, key=lambda m: (confidence_at(m, now), m.known_from), reverse=True)


def _slotted(approved: Approved, rivals: Sequence[Memory], moment: Moment) -> Resolution:
    """Repeat, or contend with, the value of a functional slot.

    There may be several values from before the predicate was declared functional: they give way
    together.
    """
    text_hash = content_hash(approved.candidate.content)
    for rival in rivals:
        if rival.content_hash == text_hash:
            return _repeat(approved, rival, moment, "same_text")
    strongest, *others = rivals
    resolution = _conflict(approved, strongest, moment)
    if resolution.kind is not OutcomeKind.SUPERSEDED:
        return resolution
    gone = [replace(superseded(m, resolution.memory, moment), versions=m.versions) for m in others]
    return replace(resolution, restated=(*resolution.restated, *gone))


def _conflict(approved: Approved, standing: Memory, moment: Moment) -> Resolution:
    candidate = approved.candidate
    if candidate.source.is_correction:
        return _supersede(approved, standing, moment, "correction")
    if candidate.label.trust is Trust.EXTERNAL and standing.trust is not Trust.EXTERNAL:
        return _touch(approved, standing, moment, "less_trusted")
    if candidate.confidence >= confidence_at(standing, moment.now):
        return _supersede(approved, standing, moment, "newer_and_as_confident")
    return _touch(approved, standing, moment, "less_confident")


def _free_text(approved: Approved, view: OwnerView, moment: Moment) -> Resolution:
    candidate = approved.candidate
    alike = _alike(candidate, view)
    if alike:
        return _repeat(approved, alike[0], moment, "same_text")
    return _create(approved, moment, "new_text")


def _alike(candidate: Candidate, view: OwnerView) -> Sequence[Memory]:
    equal = view.by_hash(candidate.place, content_hash(candidate.content))
    return [memory for memory in equal if memory.kind is candidate.kind]


def _create(approved: Approved, moment: Moment, reason: str) -> Resolution:
    memory = first_version(approved, moment)
    return Resolution(OutcomeKind.CREATED, memory, (memory,), reasons=(reason,))


def _supersede(approved: Approved, standing: Memory, moment: Moment, reason: str) -> Resolution:
    successor = next_version(approved, standing, moment)
    predecessor = superseded(standing, successor, moment)
    return Resolution(OutcomeKind.SUPERSEDED, successor, (successor,), (predecessor,), (reason,))


def _touch(approved: Approved, standing: Memory, moment: Moment, reason: str) -> Resolution:
    weaker = next_version(approved, standing, moment)
    newcomer = replace(
        weaker,
        status=Status.SUPERSEDED,
        supersedes=None,
        superseded_by=standing.id,
        valid_to=weaker.valid_from or EPOCH,  # it was never taken for true
    )
    kept = touched(standing, newcomer, moment)
    return Resolution(OutcomeKind.TOUCHED, kept, (newcomer,), (kept,), (reason,))


def _repeat(approved: Approved, standing: Memory, moment: Moment, reason: str) -> Resolution:
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
