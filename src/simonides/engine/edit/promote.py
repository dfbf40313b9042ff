"""Promotion copies a memory to a wider scope: explicit, audited, and upward only."""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime, timedelta

from simonides.capture import target_scope
from simonides.domain.ageing import confidence_at
from simonides.domain.codecs.memory import decode
from simonides.domain.errors import InvalidScope, SimonidesError, StoreUnavailable
from simonides.domain.event import EventType
from simonides.domain.memory import Origin, Record
from simonides.domain.scope import Principal, Scope, ScopeLevel
from simonides.domain.value import from_us
from simonides.domain.writing.change import Change, OutboxItem, PendingOutbox, Snapshot, TurnRequest
from simonides.domain.writing.decision import Candidate, Judgements, Outcome, OutcomeKind, Proposer
from simonides.engine.core import ERASED_SINCE, EventRecorder, Incarnation, Runtime, life_of
from simonides.engine.edit.cascade import carry_out_cascade
from simonides.engine.edit.correct import NOT_FOUND, Changer
from simonides.engine.edit.outbox import (
    Cascade,
    Deliveries,
    RemoteErasure,
    decoded_item,
    promotion_item,
)
from simonides.engine.screening import judge_one
from simonides.engine.write import Writer

_ALLOWED = frozenset(
    {
        (ScopeLevel.TASK, ScopeLevel.USER),
        (ScopeLevel.TASK, ScopeLevel.ORG),
        (ScopeLevel.USER, ScopeLevel.ORG),
    }
)
"""Allowed pairs of source and target scope."""


PAGE = 100
"""Outbox items read per page; chosen, as the port's default."""

MIN_DAYS = 1 / 86_400
"""Least lifetime of a copy, in days: one second, because a lifetime must be above 0."""


class Promoter:
    """Copies memories of one principal's own scope upward."""

    def __init__(self, runtime: Runtime, principal: Principal) -> None:
        self._runtime = runtime
        self._principal = principal

    async def promote(self, id: str, to: str) -> Outcome:
        """See :meth:`simonides.api.AsyncMemory.promote`."""
        home = self._principal.home
        target = target_scope(to, self._principal)
        if target not in home.lineage or (home.level, target.level) not in _ALLOWED:
            raise InvalidScope(
                "to", f"{target.path} is no ancestor to promote to: task→user, task→org, user→org"
            )
        # A task acts for its user, so it may promote to that user's scope.
        acting = (
            replace(self._principal, home=target)
            if target.level is ScopeLevel.USER
            else self._principal
        )
        # A copy must not be sent after the source's owner was erased.
        incarnation = await life_of(self._runtime.store, self._principal.home.owner)
        writer = Writer(self._runtime, acting, incarnation)
        await writer.check_right(target)
        memory = await Changer(self._runtime, self._principal).standing(id)
        if memory is None:
            return NOT_FOUND
        now = from_us(self._runtime.clock.now_us())
        return await self._copy(writer, promoted(memory, target, now), incarnation)

    async def _copy(
        self, writer: Writer, candidate: Candidate, incarnation: Incarnation
    ) -> Outcome:
        """Write the copy.

        Within one owner this is one transaction. Across owners an outbox item is committed with the
        source first, and then delivered in the target's turn. Its idempotency key makes a second
        delivery harmless.
        """
        source, target = self._principal.home.owner, candidate.scope.owner
        if target == source:
            return await _write_copy(self._runtime, writer, candidate)
        id = self._runtime.ids.new(self._runtime.clock.now_us())
        item = promotion_item(id, self._principal, candidate)
        sent = await self._runtime.store.commit(
            source,
            TurnRequest(),
            lambda snapshot: self._send(snapshot, item, candidate, incarnation),
        )
        if incarnation.may_be_over(sent.head):
            return ERASED_SINCE
        delivered = await deliver(self._runtime, source)
        if item.id in delivered:
            return delivered[item.id]
        # Either another process delivered it first, and the idempotency key returns its outcome;
        # or it cannot be delivered now, and this write reports the reason.
        return await _write_copy(self._runtime, writer, candidate)

    def _send(
        self, snapshot: Snapshot, item: OutboxItem, candidate: Candidate, incarnation: Incarnation
    ) -> Change | None:
        if incarnation.may_be_over(snapshot.head):
            return None
        recorder = EventRecorder(self._runtime, self._principal, snapshot)
        recorder.record(
            EventType.PROMOTED,
            self._principal.home,
            subjects=candidate.parents,
            details={"to": item.target},
        )
        return Change(known_at=recorder.moment.known_at, events=recorder.events, outbox=(item,))


async def _write_copy(runtime: Runtime, writer: Writer, candidate: Candidate) -> Outcome:
    policy = runtime.policies.policy_for(candidate.scope.org)
    judgements = Judgements((judge_one(candidate, policy),))
    (outcome,) = await writer.commit(await writer.prepare(candidate.scope.owner, judgements))
    return outcome


async def deliver(runtime: Runtime, source: Scope | None = None) -> dict[str, Outcome]:
    """Deliver the outbox items of one owner (None: of every owner).

    Each item is written as its sender, whose rights are checked again. A failed item stays in the
    outbox, does not block the others, and is listed in :class:`Deliveries`.

    Returns:
        Item id to outcome, for each delivered item.
    """
    done: dict[str, Outcome] = {}
    failed: dict[str, str] = {}
    while True:
        page = await runtime.store.outbox(source=source, limit=PAGE + len(failed))
        fresh = [p for p in page if p.item.id not in failed and p.item.id not in done]
        if not fresh:
            break
        for pending in fresh:
            try:
                done[pending.item.id] = await _carry_out(runtime, pending)
            except SimonidesError as error:
                failed[pending.item.id] = type(error).__name__
    undelivered = runtime.part(Deliveries).undelivered
    for id in list(undelivered):
        if source is None or id in done:
            undelivered.pop(id, None)
    undelivered.update(failed)
    return done


async def _carry_out(runtime: Runtime, pending: PendingOutbox) -> Outcome:
    carried = decoded_item(pending.item)
    if isinstance(carried, Cascade):
        return await carry_out_cascade(runtime, pending, carried)
    if isinstance(carried, RemoteErasure):
        return await _erase_at_remote(runtime, pending)
    sender, candidate = carried
    writer = Writer(runtime, sender)
    outcome = await _write_copy(runtime, writer, candidate)
    edges = await _edges(runtime, candidate, outcome)
    await runtime.store.settle(pending.source, [pending.item.id], edges=edges)
    return outcome


async def _erase_at_remote(runtime: Runtime, pending: PendingOutbox) -> Outcome:
    """Erase the subject at the remote.

    Raises:
        StoreError: If the remote failed. The item stays in the outbox, and the erasure's receipt
            stays pending.
    """
    remote = runtime.part(Deliveries).remote
    if remote is None:
        problem = "an erasure must be repeated at the remote; open this replica in mode synced"
        raise StoreUnavailable(runtime.store.location, problem)
    await remote.erase_there(Scope.parse(pending.item.target), pending.item.id)
    await runtime.store.settle(pending.source, [pending.item.id])
    return Outcome(OutcomeKind.FORGOTTEN, None, ("remote",))


async def _edges(
    runtime: Runtime, candidate: Candidate, outcome: Outcome
) -> tuple[tuple[str, Scope, str], ...]:
    """Return the derivation edges from the originals to the copy.

    The copy may be in the history of the target's memory. A memory that was already there is not a
    child.
    """
    if outcome.record is None:
        return ()
    owner = candidate.scope.owner
    chain = map(decode, await runtime.store.history(owner, outcome.record.root))
    return tuple(
        (parent, owner, version.id)
        for version in chain
        for parent in candidate.parents
        if parent in version.parents
    )


def promoted(memory: Record, target: Scope, now: datetime) -> Candidate:
    """Return the copy to propose at the target.

    Label and evidence are the original's. The confidence is the decayed one: promotion does not
    restore it. The original is its origin and parent, and it expires no later than the original.
    """
    ends = memory.hard_expires_at
    left = None if ends is None else max((ends - now) / timedelta(days=1), MIN_DAYS)
    return Candidate(
        content=memory.content,
        scope=target,
        source=memory.source,
        proposer=Proposer.IMPORT,
        label=memory.label,
        kind=memory.kind,
        category=memory.category,
        key=memory.key,
        confidence=confidence_at(memory, now),
        importance=memory.importance,
        tags=memory.tags,
        metadata=memory.metadata,
        triple=memory.triple,
        quote=memory.quote,
        origin=Origin(session=memory.origin.session, memory=memory.id, name=memory.origin.name),
        speaker=memory.speaker,
        parents=(memory.id,),
        purpose=memory.purpose,
        timeless=memory.timeless,
        ttl_days=left,
        valid_from=memory.valid_from,
        idempotency_key=f"promote:{memory.scope.path}:{memory.id}:{memory.version}",
    )
