"""The phases of a run, its budgets, and the stop reason of every failure."""

from __future__ import annotations

from collections import deque
from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import datetime, timedelta
from typing import Any, Never

from simonides.api import AsyncMemory
from simonides.api.agent.answer import (
    ANSWER_SCHEMA,
    ANSWER_SYSTEM,
    DEFAULT_CHECKS,
    Answer,
    check_answer,
    cited_as,
    draft_answer,
)
from simonides.api.agent.result import AgentResult, AppliedMemory, MemoryState, TraceStep, TurnNote
from simonides.api.groups.pending import AsyncPending
from simonides.api.prompting import AsyncPrompting
from simonides.api.sync_markers import waits_for_model
from simonides.capture import model_intent, rule_intent
from simonides.domain.canonical_json import canonical_json
from simonides.domain.errors import CeilingReached, ModelError, ModelGarbled, ModelTimeout
from simonides.domain.memory import Record
from simonides.domain.reading.recall import Hit
from simonides.domain.reading.receipt import Receipt
from simonides.domain.scope import ScopeLevel
from simonides.domain.value import from_us
from simonides.domain.writing.decision import Candidate, Outcome, OutcomeKind, Usage
from simonides.domain.writing.proposal import Intent, Violation
from simonides.engine.capture import (
    EARLIER_TURNS,
    Proposed,
    propose_by_model,
    propose_by_rules,
    turn_of,
    turns_before,
)
from simonides.engine.core import Runtime, account_of
from simonides.engine.prompting import Effect, Floors, visible
from simonides.engine.recall import Lookup, ReadJournal
from simonides.policy import (
    OnViolation,
    Policy,
    allowed_scopes,
    check_intent,
    paths,
    resolve_scopes,
)
from simonides.ports import LanguageModel
from simonides.text import check_text

HISTORY_ANSWER_CHARS = 240
"""How much of an answer the short history keeps."""

_WRITTEN = (OutcomeKind.CREATED, OutcomeKind.SUPERSEDED)
_REFRESHED = (OutcomeKind.REFRESHED, OutcomeKind.BUMPED, OutcomeKind.TOUCHED)


class AsyncAgent:
    """Runs the reference loop for one principal, over any language model or none.

    An agent is one conversation. It keeps the last captured messages, so that "no, it's Berlin"
    corrects the earlier one.
    """

    def __init__(
        self,
        runtime: Runtime,
        memory: AsyncMemory,
        *,
        needs_model: bool = False,
        checks: Mapping[str, Effect] | None = None,
    ) -> None:
        """Build an agent.

        Args:
            runtime: The open simonides.
            memory: The principal's memory manager.
            needs_model: Stop with ``llm_unavailable`` instead of falling back to the rules.
            checks: Effects to verify in addition to
                :data:`~simonides.api.agent.answer.DEFAULT_CHECKS`.
        """
        self._runtime = runtime
        self._memory = memory
        self._bound = memory._bound
        self._needs_model = needs_model
        self._checks = {**DEFAULT_CHECKS, **(checks or {})}
        self._said: deque[str] = deque(maxlen=EARLIER_TURNS)

    @waits_for_model
    async def capture(self, message: str) -> AgentResult:
        """Store the facts of a message; the phases ``capture`` and ``store``."""
        return await self._heard(message, _Run.capture, message)

    @waits_for_model
    async def answer(self, request: str) -> AgentResult:
        """Answer a request from memory: plan, retrieve, apply."""
        return await self._run(_Run.answer, request)

    @waits_for_model
    async def run(self, message: str, request: str) -> AgentResult:
        """Capture a message and answer a request, in one run and under one budget."""
        return await self._heard(message, _Run.both, message, request)

    async def _heard(self, message: str, work: Any, *texts: str) -> AgentResult:
        result = await self._run(work, *texts)
        self._said.append(message)
        return result

    async def _run(self, work: Any, *texts: str) -> AgentResult:
        for text in texts:
            check_text("message", text, 64 * 1024)
        run = _Run(
            self._runtime,
            self._memory,
            self._checks,
            tuple(self._said),
            needs_model=self._needs_model,
        )
        try:
            await work(run, *texts)
        except _Stopped as stop:
            return await run.result("stopped", stop.reason, phase=stop.phase, **stop.facts)
        return await run.result("ok", "success")


class _Stopped(Exception):
    """Ends a run early; never leaves this module."""

    def __init__(self, reason: str, phase: str, **facts: Any) -> None:
        super().__init__(reason)
        self.reason = reason
        self.phase = phase
        self.facts = facts


class _Run:
    """One run: its results so far and its remaining budget."""

    def __init__(
        self,
        runtime: Runtime,
        memory: AsyncMemory,
        checks: Mapping[str, Effect],
        before: Sequence[str],
        *,
        needs_model: bool,
    ) -> None:
        self._runtime = runtime
        self._journal = runtime.part(ReadJournal)
        self._memory = memory
        self._bound = memory._bound
        self._checks = checks
        self._before = before
        self._needs_model = needs_model
        home = memory._bound.principal.home
        self._model = account_of(runtime, home.owner)
        self._policy: Policy = runtime.policies.policy_for(home.org)
        self._ends_at = runtime.clock.monotonic() + self._policy.budgets.seconds
        self._id = runtime.ids.new(runtime.clock.now_us())
        self._usage = Usage()
        self._trace: list[TraceStep] = []
        self._history: list[TurnNote] = []
        self._blocked: list[dict[str, str]] = []
        self._answer: Answer | None = None
        self._hits: Sequence[Hit] = ()
        self._receipt: Receipt | None = None

    async def both(self, message: str, request: str) -> None:
        await self.capture(message)
        await self.answer(request)

    # -- capture and store -----------------------------------------------------------------

    async def capture(self, message: str) -> None:
        await self._journal.flush(self._bound.principal.home.owner)
        # Before the model call: the user may be erased during it.
        bound = await self._bound.unless_erased()
        proposed = await self._propose(message)
        if len(proposed.candidates) > self._policy.budgets.capture_items:
            self._stop("max_capture_items", "capture", raw_capture=proposed.raw)
        outcomes = await AsyncPending(bound).propose(proposed.candidates)
        pairs = list(zip(proposed.candidates, outcomes, strict=True))
        written = _keys(pairs, _WRITTEN)
        refreshed = _keys(pairs, _REFRESHED)
        self._blocked += [_blocked(c, o) for c, o in pairs if o.kind is OutcomeKind.BLOCKED]
        self._note(
            "capture_store",
            message=message,
            written_keys=written,
            refreshed_keys=refreshed,
            blocked=tuple(self._blocked),
        )
        self._trace.append(
            TraceStep(
                phase="capture_store",
                step=len(self._trace) + 1,
                ok=True,
                candidates=len(pairs),
                written=written,
                refreshed=refreshed,
                blocked=tuple(self._blocked),
            )
        )

    async def _propose(self, message: str) -> Proposed:
        model, left_s = self._spend("capture")
        principal = self._bound.principal
        turn = turn_of(message, principal, role="user")
        before = turns_before(self._before, principal)
        if model is None:
            return propose_by_rules(turn, principal, before)
        try:
            proposed = await propose_by_model(
                model, turn, principal, self._policy, OnViolation.STOP, left_s, before
            )
        except ModelError as error:
            self._yield(error, "invalid_memory_candidates:not_object", "capture")
            return propose_by_rules(turn, principal, before)
        self._usage += proposed.usage
        if proposed.violation is not None:
            self._stop(proposed.violation, "capture", raw_capture=proposed.raw)
        return proposed

    # -- plan, retrieve, apply -------------------------------------------------------------

    async def answer(self, request: str) -> None:
        intent, raw = await self._plan(request)
        self._spend("retrieve")
        scopes = resolve_scopes(intent, self._policy)
        if isinstance(scopes, Violation):
            self._stop(scopes.reason, "retrieve", raw_intent=raw, intent=intent.to_dict())
        reachable = paths(scopes, self._bound.principal.home)
        recall = await self._memory.recall(
            intent.query,
            limit=min(intent.top_k, self._policy.budgets.top_k),
            scopes=reachable,
            preference_bias=intent.include_preference_keys,
        )
        # A memory barred from digests is barred from this prompt too.
        allowed = self._policy.digest.sensitivities
        core = await self._core_block(intent.query)
        known = {hit.record.id for hit in core}
        found = [hit for hit in recall if hit.record.sensitivity in allowed]
        self._hits = (*core, *(hit for hit in found if hit.record.id not in known))
        self._receipt = recall.receipt
        await AsyncPrompting(self._memory).note_shown(self._hits)
        retrieved = tuple(cited_as(hit) for hit in self._hits)
        self._trace.append(
            TraceStep(
                phase="retrieve",
                step=len(self._trace) + 1,
                ok=True,
                query=intent.query,
                requested_scopes=tuple(scope.value for scope in intent.scopes),
                include_preference_keys=intent.include_preference_keys,
                memory_hits=len(found),
            )
        )
        self._note(
            "retrieve",
            message=request,
            intent=intent.to_dict(),
            resolved_scopes=tuple(scope.value for scope in scopes),
            retrieved_keys=retrieved,
        )
        await self._apply(request, intent, retrieved)

    async def _core_block(self, query: str) -> tuple[Hit, ...]:
        """Return the standing rules and dangers that are in every prompt."""
        if await self._bound.lookup.is_off():
            return ()
        cue = await self._bound.asker.cue(query, verb="digest")
        return await self._bound.digester.core_block(cue)

    async def _plan(self, request: str) -> tuple[Intent, Any]:
        model, left_s = self._spend("retrieve_plan")
        raw: Any = rule_intent(request, max_chars=self._policy.proposals.max_query_chars)
        if model is not None:
            names = tuple(scope.value for scope in allowed_scopes(self._policy))
            try:
                planned = await model_intent(model, request, scopes=names, deadline_s=left_s)
                raw = planned.value
                self._usage += planned.usage
            except ModelError as error:
                self._yield(error, "invalid_retrieval_intent:not_object", "retrieve_plan")
        intent = check_intent(raw, self._policy)
        if isinstance(intent, Violation):
            self._stop(intent.reason, "retrieve_plan", raw_intent=raw)
        return intent, raw

    async def _apply(self, request: str, intent: Intent, retrieved: tuple[str, ...]) -> None:
        facts: dict[str, Any] = {"intent": intent.to_dict(), "retrieved_keys": retrieved}
        model, left_s = self._spend("apply", **facts)
        limit = self._policy.budgets.answer_chars
        raw: Any = draft_answer(request, self._hits, limit)
        if model is not None:
            raw = await self._ask(model, request, left_s, facts, raw)
        answer = check_answer(raw, self._hits, max_chars=limit, checks=self._checks)
        if isinstance(answer, Violation):
            if answer.reason.endswith("out_of_context"):
                declared = raw["used_memory_keys"]
                foreign = tuple(key for key in declared if key not in retrieved)
                facts["invalid_used_memory_keys"] = foreign
            self._stop(answer.reason, "apply", **facts)
        self._answer = answer
        await self._learn(answer)
        self._trace.append(
            TraceStep(
                phase="apply",
                step=len(self._trace) + 1,
                ok=True,
                used_memory_keys=answer.used,
                applied_memory_count=len(answer.used),
            )
        )
        self._note("apply", message=request, answer=answer.text[:HISTORY_ANSWER_CHARS])

    async def _learn(self, answer: Answer) -> None:
        """Report the declared memories to the adaptive relevance floors."""
        if self._receipt is not None:
            used = {hit.record.id for hit in self._hits if cited_as(hit) in answer.used}
            await Floors(self._runtime, self._bound.principal).learn(self._receipt, used)

    async def _ask(
        self,
        model: LanguageModel,
        request: str,
        left_s: float,
        facts: Mapping[str, Any],
        rules: Any,
    ) -> Any:
        memories = [
            {
                "key": cited_as(hit),
                "value": visible(hit.record.content),
                "scope": _scope_name(hit.record),
                "trust": hit.record.trust.value,
                "confidence": hit.record.confidence,
            }
            for hit in self._hits
        ]
        material = canonical_json({"request": request, "memories": memories}).decode()
        try:
            given = await model.complete_json(
                system=ANSWER_SYSTEM,
                user=material,
                schema=ANSWER_SCHEMA,
                name="answer",
                deadline_s=left_s,
            )
        except ModelError as error:
            self._yield(error, "llm_invalid_json", "apply", **facts)
            return rules
        self._usage += given.usage
        return given.value

    # -- budgets and reports ---------------------------------------------------------------

    def _spend(self, phase: str, **facts: Any) -> tuple[LanguageModel | None, float]:
        """Return the model and the seconds left, or stop: no time left, or a required model is
        missing.
        """
        left_s = self._ends_at - self._runtime.clock.monotonic()
        if left_s <= 0:
            self._stop("max_seconds", phase, **facts)
        model = self._model
        if model is None and self._needs_model and phase != "retrieve":
            self._stop("llm_unavailable", phase, **facts)
        return model, left_s

    def _stop(self, reason: str, phase: str, **facts: Any) -> Never:
        name = {"capture": "capture_store", "retrieve_plan": "retrieve"}.get(phase, phase)
        self._trace.append(TraceStep(phase=name, step=len(self._trace) + 1, ok=False))
        self._note(f"stopped:{reason}")
        raise _Stopped(reason, phase, **facts)

    def _yield(self, error: ModelError, unusable: str, phase: str, **facts: Any) -> None:
        """Fall back to the rules if a ceiling stopped the model; else stop."""
        if not isinstance(error, CeilingReached) or self._needs_model:
            self._fail(error, unusable, phase, **facts)
        self._note(error.reason)

    def _fail(self, error: ModelError, unusable: str, phase: str, **facts: Any) -> Never:
        """Stop because the model failed; its cost until then counts."""
        self._usage += error.usage or Usage()
        self._stop(_stop_reason(error, unusable), phase, **facts)

    def _note(self, action: str, **fields: Any) -> None:
        session = self._bound.principal.session
        note = TurnNote(step=len(self._history) + 1, session=session, action=action, **fields)
        self._history.append(note)

    async def result(self, status: str, stop_reason: str, **facts: Any) -> AgentResult:
        base = AgentResult(
            run_id=self._id,
            status=status,
            stop_reason=stop_reason,
            memory_state=await self._memory_state(),
            trace=tuple(self._trace),
            history=tuple(self._history),
            usage=self._usage,
            blocked=tuple(self._blocked),
            **facts,
        )
        if self._answer is None:
            return base
        used = self._answer.used
        applied = tuple(_applied(hit) for hit in self._hits if cited_as(hit) in used)
        return replace(
            base,
            outcome="memory_applied" if applied else "context_only",
            answer=self._answer.text,
            used_memory_keys=used,
            applied_memory=applied,
        )

    async def _memory_state(self) -> tuple[MemoryState, ...]:
        now = from_us(self._runtime.clock.now_us())
        principal = self._bound.principal
        memories = await Lookup(self._runtime, principal).keyed(principal.home)
        return tuple(_state(memory, now) for memory in memories)


def _state(memory: Record, now: datetime) -> MemoryState:
    left = None if memory.hard_expires_at is None else memory.hard_expires_at - now
    return MemoryState(
        str(memory.key),
        memory.content,
        _scope_name(memory),
        memory.source.value,
        memory.confidence,
        None if left is None else left // timedelta(days=1),
    )


def _keys(
    pairs: Sequence[tuple[Candidate, Outcome]], kinds: Sequence[OutcomeKind]
) -> tuple[str, ...]:
    return tuple(
        candidate.key or (outcome.record.id if outcome.record else "")
        for candidate, outcome in pairs
        if outcome.kind in kinds
    )


def _blocked(candidate: Candidate, outcome: Outcome) -> dict[str, str]:
    return {
        "key": candidate.key or "",
        "scope": candidate.scope.level.value,
        "reason": outcome.reasons[0],
    }


def _applied(hit: Hit) -> AppliedMemory:
    memory = hit.record
    return AppliedMemory(
        cited_as(hit), memory.content, _scope_name(memory), memory.confidence, hit.score
    )


def _scope_name(memory: Record) -> str:
    level = memory.scope.level
    return "workspace" if level is ScopeLevel.ORG else level.value


def _stop_reason(error: ModelError, unusable: str) -> str:
    """Return the stop reason for a model's failure.

    Args:
        error: The failure.
        unusable: The reason for an unusable answer in this phase.
    """
    if isinstance(error, ModelTimeout):
        return "llm_timeout"
    if not isinstance(error, ModelGarbled):
        return "llm_unavailable"
    if error.reason == "empty":
        return "llm_empty"
    if error.reason == "invalid_schema" and unusable.startswith("llm_"):
        return "llm_invalid_schema"
    return unusable
