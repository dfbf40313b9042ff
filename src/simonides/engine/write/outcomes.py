"""What waits, as a write turn keeps it back and lets it go."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from datetime import datetime
from typing import NamedTuple

from simonides.domain.ageing import seen_at
from simonides.domain.codecs.candidate import encode_held
from simonides.domain.event import EventType
from simonides.domain.memory import Memory
from simonides.domain.scope import Principal
from simonides.domain.writing.change import HeldCandidate
from simonides.domain.writing.decision import (
    NO_USAGE,
    Candidate,
    Commit,
    Hold,
    Judgement,
    Outcome,
    OutcomeKind,
    Repeat,
    Usage,
)
from simonides.engine.core.event_recorder import EventRecorder
from simonides.policy.guards import HYGIENE_BLOCKED
from simonides.text.normalise import content_hash


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
    judgement: Hold | Repeat, kind: OutcomeKind, principal: Principal, recorder: EventRecorder
) -> HeldCandidate:
    """Return a candidate as it waits, under an id of its own."""
    candidate, moment = judgement.candidate, recorder.moment
    body = encode_held(candidate, judgement.reasons, principal.acting)
    session = candidate.origin.session
    return HeldCandidate(moment.new_id(), session, kind.value, body, moment.known_at)


def let_go(
    release: Release, outcome: Outcome, judgement: Judgement, recorder: EventRecorder
) -> bool:
    """Record a release, unless something but hygiene is against it; whether it waits no more.

    What policy blocks by now must not go on lying there.
    """
    blocked = any(reason.startswith(f"{HYGIENE_BLOCKED}:") for reason in outcome.reasons)
    # What the gates drop stands already.
    stands = outcome.kind is OutcomeKind.DROPPED and isinstance(judgement, Commit)
    if not (outcome.stored or stands or blocked):
        return False
    memory = () if outcome.memory is None else (outcome.memory.id,)
    recorder.record(
        EventType.DECIDED,
        judgement.candidate.scope,
        subjects=(release.id, *memory),
        reasons=("discarded" if blocked else "released",),
        details={"held": release.id, "reason": release.reason},
    )
    return True


FORGOTTEN_SINCE = "forgotten_since"
"""Reason: the write was done under this idempotency key, and what it left was forgotten later."""


def as_it_is(first: Outcome, memory: Memory | None) -> Outcome:
    """Return what a write that was done before has come to: its first answer with the memory as it
    is now, or that the memory was forgotten since, for "created" would say that it is there.
    """
    if memory is not None:
        return replace(first, memory=memory)
    reasons = (FORGOTTEN_SINCE, f"was:{first.kind}", *first.reasons)
    return replace(first, kind=OutcomeKind.FORGOTTEN, reasons=reasons)


def settled(outcome: Outcome, final: Mapping[str, Memory], now: datetime) -> Outcome:
    """Show the memory as the whole batch leaves it, and as readers see it."""
    if outcome.memory is None:
        return outcome
    memory = final.get(outcome.memory.id, outcome.memory)
    if memory.created_at != now:
        memory = seen_at(memory, now)
    return outcome if memory is outcome.memory else replace(outcome, memory=memory)


def charged(outcomes: tuple[Outcome, ...], usage: Usage, over: str | None) -> tuple[Outcome, ...]:
    """Put what the batch has cost on the first outcome, so that the sum is right; and say in each
    that stores something which ceiling was in the way of its vector.
    """
    if over is not None:
        told = (f"ceiling:{over}",)
        outcomes = tuple(
            replace(one, reasons=(*one.reasons, *told)) if one.stored else one for one in outcomes
        )
    if not outcomes or usage == NO_USAGE:
        return outcomes
    first = outcomes[0]
    paid = Outcome(first.kind, first.memory, first.reasons, first.events, first.usage + usage)
    return (paid, *outcomes[1:])
