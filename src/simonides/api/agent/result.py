"""The report of an agent run."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from simonides.domain.value import Value
from simonides.domain.writing.decision import NO_USAGE, Usage


@dataclass(frozen=True, slots=True)
class AppliedMemory(Value):
    """A memory that the answer declares to have used.

    Attributes:
        key: Its key, or its id without one.
        value: Its content.
        scope: ``user``, ``workspace`` or ``task``.
        confidence: 0 to 1.
        score: Of the recall that found it, 0 to 1.
    """

    key: str
    value: str
    scope: str
    confidence: float
    score: float


@dataclass(frozen=True, slots=True)
class MemoryState(Value):
    """The state of a keyed memory after the run.

    Attributes:
        key: Its key.
        value: Its content.
        scope: ``user``, ``workspace`` or ``task``.
        source: Its source.
        confidence: 0 to 1.
        ttl_left_days: Whole days until its hard expiry, rounded down; None for no end.
    """

    key: str
    value: str
    scope: str
    source: str
    confidence: float
    ttl_left_days: int | None


@dataclass(frozen=True, slots=True, kw_only=True)
class TraceStep(Value):
    """One phase in full: ``capture_store``, ``retrieve`` or ``apply``; fields of other phases are
    None.
    """

    phase: str
    step: int
    ok: bool
    candidates: int | None = None
    written: tuple[str, ...] | None = None
    refreshed: tuple[str, ...] | None = None
    blocked: tuple[Mapping[str, str], ...] | None = None
    query: str | None = None
    requested_scopes: tuple[str, ...] | None = None
    include_preference_keys: bool | None = None
    memory_hits: int | None = None
    used_memory_keys: tuple[str, ...] | None = None
    applied_memory_count: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class TurnNote(Value):
    """One phase in short, for a person to read; fields of other phases are None."""

    step: int
    session: str | None
    action: str
    message: str | None = None
    written_keys: tuple[str, ...] | None = None
    refreshed_keys: tuple[str, ...] | None = None
    blocked: tuple[Mapping[str, str], ...] | None = None
    intent: Mapping[str, Any] | None = None
    resolved_scopes: tuple[str, ...] | None = None
    retrieved_keys: tuple[str, ...] | None = None
    answer: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class AgentResult(Value):
    """How a run ended.

    Attributes:
        run_id: UUIDv7.
        status: ``ok`` or ``stopped``.
        stop_reason: A reason code, ``success`` for ``ok``.
        outcome: ``memory_applied`` or ``context_only``; None without an answer.
        answer: The text; None without an answer.
        used_memory_keys: Keys that the answer declares to have used, each one retrieved.
        applied_memory: Those memories.
        memory_state: The principal's keyed memories after the run, by key.
        trace: Every phase in full, in order.
        history: Every phase in short, in order.
        usage: Model calls and tokens.
        phase: The phase in which a stopped run stopped: ``capture``, ``retrieve_plan``,
            ``retrieve`` or ``apply``.
        raw_capture: The model's proposal, if capture stopped.
        raw_intent: The model's plan, if the plan stopped.
        intent: The valid intent, if a later phase stopped.
        retrieved_keys: The retrieved keys, if apply stopped.
        invalid_used_memory_keys: Declared keys that were not retrieved.
        blocked: Refusals by execution or a guard.
    """

    run_id: str
    status: str
    stop_reason: str
    outcome: str | None = None
    answer: str | None = None
    used_memory_keys: tuple[str, ...] = ()
    applied_memory: tuple[AppliedMemory, ...] = ()
    memory_state: tuple[MemoryState, ...] = ()
    trace: tuple[TraceStep, ...] = ()
    history: tuple[TurnNote, ...] = ()
    usage: Usage = NO_USAGE
    phase: str | None = None
    raw_capture: Any = None
    raw_intent: Any = None
    intent: Mapping[str, Any] | None = None
    retrieved_keys: tuple[str, ...] | None = None
    invalid_used_memory_keys: tuple[str, ...] | None = None
    blocked: tuple[Mapping[str, str], ...] = ()
