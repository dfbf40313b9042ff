"""What a write answers beyond what its turn did: what was done before, and what it cost."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from datetime import datetime

from simonides.domain.ageing import seen_at
from simonides.domain.decision import NO_USAGE, Outcome, OutcomeKind, Usage
from simonides.domain.memory import Memory

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
