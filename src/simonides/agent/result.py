"""The report of an agent run."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any

from pydantic import AfterValidator

from simonides.core.record import Value

Score = Annotated[float, AfterValidator(lambda value: round(value, 3))]
Keys = tuple[str, ...]


class Intent(Value):
    """A plan of retrieval.

    Attributes:
        kind: Always ``retrieve_memory``.
        query: What is searched for.
        top_k: Maximum number of hits.
        scopes: Names of scopes; empty means all that execution allows.
        include_preference_keys: Whether preference keys get their bonus.
    """

    kind: str = "retrieve_memory"
    query: str
    top_k: int
    scopes: Keys
    include_preference_keys: bool


class AppliedMemory(Value):
    """A memory that the answer declares to have used.

    Attributes:
        key: Its key, or its id without one.
        value: Its content, at most 280 characters.
        scope: ``user``, ``workspace`` or ``task``.
        confidence: 0 to 1.
        score: Of the recall that found it.
    """

    key: str
    value: str
    scope: str
    confidence: Score
    score: Score


class MemoryState(Value):
    """A keyed memory after the run.

    Attributes:
        key: Its key.
        value: Its content.
        scope: ``user``, ``workspace`` or ``task``.
        source: Where it comes from.
        confidence: 0 to 1.
        ttl_left_days: Days until its hard expiry; None for no end.
    """

    key: str
    value: str
    scope: str
    source: str
    confidence: Score
    ttl_left_days: float | None


class AgentRun(Value):
    """How a run ended; true if it succeeded.

    Attributes:
        run_id: A UUID.
        status: ``ok`` or ``stopped``.
        stop_reason: ``success``, or why it stopped.
        made_by: Name of the language model, or ``rules``.
        outcome: ``memory_applied`` or ``context_only``; None without an answer.
        answer: The text.
        used_memory_keys: Retrieved keys that the answer declares to have used.
        applied_memory: These memories.
        memory_state: All keyed memories in the allowed scopes, newest first.
        blocked: ``key``, ``scope`` and ``reason`` of each proposal that was not stored.
        notes: What was adjusted, such as ``confidence_clamped:language``.
        trace: ``step``, ``phase`` and ``ok`` of each phase in order (``capture_store``,
            ``retrieve``, ``apply``), and what it counted.
        history: ``step``, ``session``, ``action`` of each, and what it read and wrote.
        phase: Where a stopped run stopped: ``capture``, ``retrieve_plan``, ``retrieve``, ``apply``.
        raw_capture: Proposed memories of a stopped run.
        raw_intent: Proposed plan of a stopped run.
        raw_answer: Proposed answer of a stopped run.
        intent: Accepted plan of a stopped run.
        retrieved_keys: What a stopped run had retrieved.
        invalid_used_memory_keys: Declared keys that were not retrieved.
    """

    run_id: str
    status: str
    stop_reason: str
    made_by: str
    outcome: str | None = None
    answer: str | None = None
    used_memory_keys: Keys = ()
    applied_memory: tuple[AppliedMemory, ...] = ()
    memory_state: tuple[MemoryState, ...] = ()
    blocked: tuple[Mapping[str, str], ...] = ()
    notes: tuple[str, ...] = ()
    trace: tuple[Mapping[str, Any], ...] = ()
    history: tuple[Mapping[str, Any], ...] = ()
    phase: str | None = None
    raw_capture: Any = None
    raw_intent: Any = None
    raw_answer: Any = None
    intent: Intent | None = None
    retrieved_keys: Keys | None = None
    invalid_used_memory_keys: Keys | None = None

    def __bool__(self) -> bool:
        return self.status == "ok"

    def __repr__(self) -> str:
        where = "" if self.phase is None else f" in {self.phase}"
        return f"<AgentRun {self.stop_reason}{where} by {self.made_by}>"

    __str__ = __repr__
