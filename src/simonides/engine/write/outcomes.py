"""Builds the outcomes of a write turn, and the rows of held candidates."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from datetime import datetime
from typing import NamedTuple

from simonides.domain.ageing import seen_at
from simonides.domain.codecs.candidate import encode_held
from simonides.domain.event import EventType
from simonides.domain.memory import Record
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
from simonides.engine.core import EventRecorder
from simonides.policy import HYGIENE_BLOCKED
from simonides.text import content_hash


class Release(NamedTuple):
    """A decision to store a held candidate.

    Attributes:
        id: Id of the held candidate.
        reason: The decider's own words; may be empty.
    """

    id: str
    reason: str


def held_identity(candidate: Candidate, kind: str) -> tuple[object, ...]:
    """Return the identity of a held candidate; a second equal one adds no evidence."""
    said = (candidate.origin.session, candidate.origin.turn)
    return (kind, candidate.place, candidate.key, content_hash(candidate.content), *said)


def held_row(
    judgement: Hold | Repeat, kind: OutcomeKind, principal: Principal, recorder: EventRecorder
) -> HeldCandidate:
    """Return the stored form of a held candidate, with a new id."""
    candidate, moment = judgement.candidate, recorder.moment
    body = encode_held(candidate, judgement.reasons, principal.acting)
    session = candidate.origin.session
    return HeldCandidate(moment.new_id(), session, kind.value, body, moment.known_at)


def record_release(
    release: Release, outcome: Outcome, judgement: Judgement, recorder: EventRecorder
) -> bool:
    """Record the end of a hold, and return whether it ended.

    The hold ends if the candidate was stored, was already known, or is blocked by hygiene now.
    Any other refusal keeps it held.
    """
    blocked = any(reason.startswith(f"{HYGIENE_BLOCKED}:") for reason in outcome.reasons)
    # The gates drop only what is already stored.
    is_known = outcome.kind is OutcomeKind.DROPPED and isinstance(judgement, Commit)
    if not (outcome.stored or is_known or blocked):
        return False
    memory = () if outcome.record is None else (outcome.record.id,)
    recorder.record(
        EventType.DECIDED,
        judgement.candidate.scope,
        subjects=(release.id, *memory),
        reasons=("discarded" if blocked else "released",),
        details={"held": release.id, "reason": release.reason},
    )
    return True


FORGOTTEN_SINCE = "forgotten_since"
"""Reason: an earlier write with this idempotency key succeeded; its memory was forgotten later."""


def repeated_outcome(first: Outcome, memory: Record | None) -> Outcome:
    """Return the outcome of a repeated write, for the same idempotency key.

    It is the first answer with the memory's current state. If the memory was forgotten since, the
    outcome is ``FORGOTTEN``: "created" would claim that it still exists.
    """
    if memory is not None:
        return replace(first, record=memory)
    reasons = (FORGOTTEN_SINCE, f"was:{first.kind}", *first.reasons)
    return replace(first, kind=OutcomeKind.FORGOTTEN, reasons=reasons)


def final_outcome(outcome: Outcome, final: Mapping[str, Record], now: datetime) -> Outcome:
    """Return the outcome with the memory as readers see it after the whole batch."""
    if outcome.record is None:
        return outcome
    memory = final.get(outcome.record.id, outcome.record)
    if memory.created_at != now:
        memory = seen_at(memory, now)
    return outcome if memory is outcome.record else replace(outcome, record=memory)


def with_usage(
    outcomes: tuple[Outcome, ...], usage: Usage, over: str | None
) -> tuple[Outcome, ...]:
    """Add the batch's usage and spending ceiling to its outcomes.

    The first outcome carries all usage, so a sum over the outcomes is right. Each outcome that
    stores something names the ceiling that prevented its vector.
    """
    if over is not None:
        ceiling = (f"ceiling:{over}",)
        outcomes = tuple(
            replace(one, reasons=(*one.reasons, *ceiling)) if one.stored else one
            for one in outcomes
        )
    if not outcomes or usage == NO_USAGE:
        return outcomes
    first = outcomes[0]
    paid = Outcome(first.kind, first.record, first.reasons, first.events, first.usage + usage)
    return (paid, *outcomes[1:])
