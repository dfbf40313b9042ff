"""Lists reviews of contradicting memories, and decides them."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import cast

from simonides.domain.ageing import seen_at
from simonides.domain.errors import InvalidInput
from simonides.domain.event import Event, EventType
from simonides.domain.governance.consent import Refusals
from simonides.domain.governance.review import (
    Keep,
    Review,
    ReviewStatus,
    decode_review,
    encode_review,
)
from simonides.domain.memory import Record
from simonides.domain.scope import Principal
from simonides.domain.value import shown
from simonides.domain.writing.change import Change, Snapshot, TurnRequest
from simonides.domain.writing.decision import Outcome, OutcomeKind
from simonides.engine.core import EventRecorder, Runtime
from simonides.engine.edit import NOT_FOUND
from simonides.engine.hygiene_scan import decided
from simonides.engine.recall import Lookup
from simonides.engine.write import settle
from simonides.retrieval.index import OwnerIndex
from simonides.text import check_text

OWN_PROPOSAL = "own_proposal"
"""Reason: the agent or administrator proposed one of the sides, so another one must decide."""

MAX_REASON_BYTES = 1_000
"""Longest reason of a decision; chosen: a remark, not a document."""


class Reviewer:
    """Lists and decides the reviews of one principal's own scope."""

    def __init__(self, runtime: Runtime, principal: Principal) -> None:
        self._runtime = runtime
        self._principal = principal
        self._lookup = Lookup(runtime, principal)

    async def reviews(self, status: str) -> tuple[Review, ...]:
        """See :meth:`simonides.api.AsyncMemory.reviews`."""
        wanted = _named("status", status, ReviewStatus)
        owner = self._principal.home.owner
        recorded = [*await self._runtime.store.reviews(owner, status=wanted)]
        if wanted is ReviewStatus.EXPIRED:
            # Overdue reviews may still be stored as open.
            recorded += await self._runtime.store.reviews(owner, status=ReviewStatus.OPEN)
        if not recorded:
            return ()
        index = self._runtime.indexes.of(owner)
        index.refresh(await self._runtime.store.snapshot(owner, since=index.head))
        seen = [self._as_of_now(decode_review(record)) for record in recorded]
        found = [self._with_sides(each, index) for each in seen if each.status is wanted]
        return tuple(review for review in found if self._is_mine(review, index.refusals))

    def _as_of_now(self, review: Review) -> Review:
        days = self._runtime.policies.policy_for(self._principal.home.org).review_days
        overdue = review.is_overdue(self._lookup.now, days)
        return replace(review, expired_at=self._lookup.now) if overdue else review

    def _with_sides(self, review: Review, index: OwnerIndex) -> Review:
        now = self._lookup.now
        found = [index.at(now).by_root(root) for root in (review.a, review.b)]
        sides = (None if side is None else seen_at(side, now) for side in found)
        return replace(review, sides=tuple(sides))

    def _is_mine(self, review: Review, refusals: Refusals) -> bool:
        """Whether this principal may see and decide the review.

        It must be of its own scope, and at least one memory must still be live. Each live one must
        be visible to its agent, and not refused.
        """
        standing = [side for side in review.sides if side is not None]
        mine = review.scope == self._principal.home and bool(standing)
        seen = [self._lookup.admits(side) and not refusals.against(side) for side in standing]
        return mine and all(seen)

    async def decide(self, id: str, keep: str, reason: str) -> Outcome:
        """See :meth:`simonides.api.AsyncMemory.decide`."""
        wanted = cast(Keep, _named("keep", keep, Keep))
        if reason:
            check_text("reason", reason, MAX_REASON_BYTES)
        known = [review for review in await self._all() if review.id == id]
        if not known:
            return NOT_FOUND
        if known[0].proposed_by == self._principal.acting and not self._principal.is_person:
            return await self._refused(known[0])
        owner = self._principal.home.owner
        index = self._runtime.indexes.of(owner)
        turn = _Decision(self._runtime, self._principal, index, known[0], wanted, reason)
        committed = await self._runtime.store.commit(
            owner, TurnRequest(since=index.head), turn.decide
        )
        index.follow(committed)
        await settle(self._runtime, self._principal, owner, committed.rows)
        return turn.outcome

    async def _refused(self, review: Review) -> Outcome:
        """Record and return that the proposer of one side must not decide."""
        owner = self._principal.home.owner
        events: tuple[Event, ...] = ()

        def record(snapshot: Snapshot) -> Change:
            nonlocal events
            recorder = EventRecorder(self._runtime, self._principal, snapshot)
            recorder.record(
                EventType.BLOCKED,
                review.scope,
                reasons=(OWN_PROPOSAL,),
                details={"review": review.id},
            )
            events = recorder.events
            return Change(known_at=recorder.moment.known_at, events=events)

        index = self._runtime.indexes.of(owner)
        committed = await self._runtime.store.commit(owner, TurnRequest(since=index.head), record)
        index.follow(committed)
        return Outcome(OutcomeKind.BLOCKED, None, (OWN_PROPOSAL,), events)

    async def _all(self) -> tuple[Review, ...]:
        return tuple([each for status in ReviewStatus for each in await self.reviews(status)])


def _named(field: str, name: str, kinds: type[ReviewStatus] | type[Keep]) -> ReviewStatus | Keep:
    try:
        return kinds(name)
    except ValueError as error:
        allowed = ", ".join(repr(kind.value) for kind in kinds)
        raise InvalidInput(field, f"must be one of {allowed}, not {shown(name)}") from error


@dataclass(slots=True)
class _Decision:
    """Decides one review under the turn, if it can still be decided."""

    runtime: Runtime
    principal: Principal
    index: OwnerIndex
    review: Review
    keep: Keep
    reason: str
    outcome: Outcome = NOT_FOUND

    def decide(self, snapshot: Snapshot) -> Change | None:
        self.index.refresh(snapshot)
        recorder = EventRecorder(self.runtime, self.principal, snapshot)
        moment, review = recorder.moment, self.review
        a, b = (self.index.at(moment.now).by_root(root) for root in (review.a, review.b))
        policy = self.runtime.policies.policy_for(self.principal.home.org)
        states = decided(
            a, b, self.keep, review.opened_at, moment, lambda name: policy.ttl_for(name)[0]
        )
        if isinstance(states, str):
            self.outcome = Outcome(OutcomeKind.DROPPED, a or b, (states,))
            return None
        self._record(recorder, states)
        closed = replace(review, kept=self.keep, decided_at=moment.now)
        return Change(
            known_at=moment.known_at,
            restated=states,
            events=recorder.events,
            reviews=(encode_review(closed),),
        )

    def _record(self, recorder: EventRecorder, states: tuple[Record, ...]) -> None:
        why = f"kept:{self.keep}"
        recorder.record(
            EventType.DECIDED,
            self.review.scope,
            subjects=tuple(memory.id for memory in states),
            reasons=(why,),
            # The reason may repeat a memory; forgetting the memory deletes the event with it.
            details={"review": self.review.id, "kept": self.keep.value, "reason": self.reason},
        )
        lost = any(not memory.status.is_live for memory in states)
        kind = OutcomeKind.SUPERSEDED if lost else OutcomeKind.COEXISTS
        kept = seen_at(states[0], recorder.moment.now) if self.keep is not Keep.NEITHER else None
        self.outcome = Outcome(kind, kept, ("decided", why), recorder.events)
