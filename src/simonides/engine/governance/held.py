"""Lists held candidates, and releases or discards them."""

from __future__ import annotations

from dataclasses import replace

from simonides.capture import target_scope
from simonides.domain.codecs.candidate import decode_held
from simonides.domain.event import Event, EventType
from simonides.domain.governance.held import Held
from simonides.domain.scope import Principal, Scope
from simonides.domain.writing.change import Change, Snapshot, TurnRequest
from simonides.domain.writing.decision import (
    Commit,
    Drop,
    Judgements,
    Outcome,
    OutcomeKind,
    Proposer,
)
from simonides.engine.core import EventRecorder, Runtime
from simonides.engine.edit import NOT_FOUND
from simonides.engine.governance.reviews import MAX_REASON_BYTES, OWN_PROPOSAL
from simonides.engine.recall import Lookup
from simonides.engine.screening import judge_one, looked_at_before
from simonides.engine.write import Release, Writer
from simonides.text import check_text

RELEASED = "released"
DISCARDED = "discarded"

FROM_ELSEWHERE = "promoted_from_elsewhere"
"""Reason: another owner promoted the candidate and could not forget the copy later."""


class Holder:
    """Decides held candidates of scopes that one principal may write to."""

    def __init__(self, runtime: Runtime, principal: Principal) -> None:
        self._runtime = runtime
        self._principal = principal
        self._lookup = Lookup(runtime, principal)
        self._writer = Writer(runtime, principal)

    async def held(self, scope: str | None) -> tuple[Held, ...]:
        """See :meth:`simonides.api.AsyncMemory.held`."""
        return await self._waiting(await self._permitted(scope))

    async def release(self, id: str, reason: str, scope: str | None) -> Outcome:
        """See :meth:`simonides.api.AsyncMemory.release`."""
        held = await self._known(id, reason, scope)
        if held is None:
            return NOT_FOUND
        if self._is_own(held):
            return await self._recorded(held, EventType.BLOCKED, OWN_PROPOSAL, reason)
        candidate = held.candidate
        if candidate.parents and candidate.proposer is Proposer.IMPORT and self._is_foreign(held):
            return Outcome(OutcomeKind.BLOCKED, None, (FROM_ELSEWHERE,))
        # The idempotency key makes a concurrent second release return the first one's outcome.
        named = replace(candidate, idempotency_key=f"release:{held.id}")
        policy = self._runtime.policies.policy_for(named.scope.org)
        judgement = judge_one(named, policy, looked_at_before(named, held.reasons))
        if not isinstance(judgement, Drop):
            judgement = Commit(judgement.candidate, (RELEASED, *held.reasons))
        batch = await self._writer.prepare(
            candidate.scope.owner, Judgements((judgement,)), release=Release(held.id, reason)
        )
        (outcome,) = await self._writer.commit(batch)
        return outcome

    async def discard(self, id: str, reason: str, scope: str | None) -> Outcome:
        """See :meth:`simonides.api.AsyncMemory.discard`."""
        held = await self._known(id, reason, scope)
        if held is None:
            return NOT_FOUND
        return await self._recorded(held, EventType.DECIDED, DISCARDED, reason)

    async def _permitted(self, named: str | None) -> Scope:
        scope = target_scope(named, self._principal)
        await self._writer.check_right(scope)
        return scope

    async def _known(self, id: str, reason: str, scope: str | None) -> Held | None:
        if reason:
            check_text("reason", reason, MAX_REASON_BYTES)
        found = await self._waiting(await self._permitted(scope))
        return next((held for held in found if held.id == id), None)

    async def _waiting(self, scope: Scope) -> tuple[Held, ...]:
        rows = await self._runtime.store.held(scope.owner)
        if not rows:
            return ()
        policy = self._runtime.policies.policy_for(scope.org)
        days, kept_days = policy.review_days, policy.consolidation.held_days
        found = (decode_held(row) for row in rows)
        return tuple(
            each
            for each in found
            if each.candidate.scope == scope
            and self._lookup.hears(each.candidate)
            and each.candidate.purpose in (None, self._principal.purpose)
            and not each.is_overdue(self._lookup.now, days, kept_days)
        )

    def _is_foreign(self, held: Held) -> bool:
        return held.candidate.scope.owner != self._principal.home.owner

    def _is_own(self, held: Held) -> bool:
        """Whether the principal proposed it, so that another one must decide.

        A user may decide on its own proposals for its own scope.
        """
        at_home = self._principal.is_person and not self._is_foreign(held)
        return held.proposed_by == self._principal.acting and not at_home

    async def _recorded(self, held: Held, type: EventType, why: str, reason: str) -> Outcome:
        """Record a decision that stores nothing."""
        gone = type is EventType.DECIDED
        events: tuple[Event, ...] = ()

        def record(snapshot: Snapshot) -> Change:
            nonlocal events
            recorder = EventRecorder(self._runtime, self._principal, snapshot)
            details = {"held": held.id, "reason": reason}
            scope = held.candidate.scope
            recorder.record(type, scope, subjects=(held.id,), reasons=(why,), details=details)
            events, ids = recorder.events, (held.id,) if gone else ()
            return Change(known_at=recorder.moment.known_at, events=events, released=ids)

        owner = held.candidate.scope.owner
        index = self._runtime.indexes.of(owner)
        committed = await self._runtime.store.commit(owner, TurnRequest(since=index.head), record)
        index.follow(committed)
        kind = OutcomeKind.DROPPED if gone else OutcomeKind.BLOCKED
        return Outcome(kind, None, (why,), events)
