"""What waits, as a write turn keeps it back and lets it go."""

from __future__ import annotations

from typing import NamedTuple

from simonides.domain.candidate_codec import encode_held
from simonides.domain.change import HeldCandidate
from simonides.domain.decision import (
    Candidate,
    Commit,
    Hold,
    Judgement,
    Outcome,
    OutcomeKind,
    Repeat,
)
from simonides.domain.event import EventType
from simonides.domain.scope import Principal
from simonides.language.normalise import content_hash
from simonides.manager.scribe import Scribe
from simonides.policy.guards import HYGIENE_BLOCKED


class Release(NamedTuple):
    """A decision that what waits is to be stored.

    Attributes:
        id: Of what waits.
        reason: Why, in the words of who decided; may be empty.
    """

    id: str
    reason: str


def held_as(candidate: Candidate, kind: str) -> tuple[object, ...]:
    """Return what tells one held candidate from another; the same twice is no more evidence."""
    said = (candidate.origin.session, candidate.origin.turn)
    return (kind, candidate.place, candidate.key, content_hash(candidate.content), *said)


def kept_back(
    judgement: Hold | Repeat, kind: OutcomeKind, principal: Principal, scribe: Scribe
) -> HeldCandidate:
    """Return a candidate as it waits, under an id of its own."""
    candidate, moment = judgement.candidate, scribe.moment
    body = encode_held(candidate, judgement.reasons, principal.acting)
    session = candidate.origin.session
    return HeldCandidate(moment.new_id(), session, kind.value, body, moment.known_at)


def let_go(release: Release, outcome: Outcome, judgement: Judgement, scribe: Scribe) -> bool:
    """Record a release, unless something but hygiene is against it; whether it waits no more.

    What policy blocks by now must not go on lying there.
    """
    blocked = any(reason.startswith(f"{HYGIENE_BLOCKED}:") for reason in outcome.reasons)
    # What the gates drop stands already.
    stands = outcome.kind is OutcomeKind.DROPPED and isinstance(judgement, Commit)
    if not (outcome.stored or stands or blocked):
        return False
    memory = () if outcome.memory is None else (outcome.memory.id,)
    scribe.record(
        EventType.DECIDED,
        judgement.candidate.scope,
        subjects=(release.id, *memory),
        reasons=("discarded" if blocked else "released",),
        details={"held": release.id, "reason": release.reason},
    )
    return True
