"""Undo: reverts an event by adding new states, and records that as another event."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from typing import Any

from simonides.domain.ageing import seen_at
from simonides.domain.errors import UndoRefused
from simonides.domain.event import EventType
from simonides.domain.governance.review import Review, decode_review, encode_review
from simonides.domain.memory import Record
from simonides.domain.scope import Principal, Scope
from simonides.domain.value import from_us, to_us
from simonides.domain.writing.change import Change, Head, ReviewRecord, Snapshot, TurnRequest
from simonides.domain.writing.decision import Outcome, OutcomeKind
from simonides.engine.core import EventRecorder, Runtime
from simonides.engine.edit.undo_rules import (
    UndoTarget,
    check_place_free,
    check_undoable,
    undone_states,
)
from simonides.engine.recall import Lookup
from simonides.engine.write import Pending, ScopeQuotas, indexed_version, settle
from simonides.retrieval.index import OwnerIndex
from simonides.text import check_text

PAGE = 1_000
"""Audit links read per page, the newest first: most undone events are recent."""

_MICROSECOND = timedelta(microseconds=1)


class Undoer:
    """Undoes events of one principal's own scope."""

    def __init__(self, runtime: Runtime, principal: Principal) -> None:
        self._runtime = runtime
        self._principal = principal
        self._lookup = Lookup(runtime, principal)

    async def undo(self, event_id: str) -> Outcome:
        """See :meth:`simonides.api.AsyncMemory.undo`."""
        owner = self._principal.home.owner
        name = check_text("event_id", event_id, 512)
        index = self._runtime.indexes.of(owner)
        index.refresh(await self._runtime.store.snapshot(owner, since=index.head))
        # The turn checks that nothing read below has changed since this head.
        head = index.head
        event = None if head is None else await self._found(owner, head, name)
        if head is None or event is None:
            raise _unknown(name)
        target = await self._target(owner, event)
        check_undoable(target)
        turn = _UndoTurn(self._runtime, self._principal, index, target, head)
        if target.type is EventType.DECIDED:
            turn.reopened = await self._review(owner, target)
        committed = await self._runtime.store.commit(owner, TurnRequest(since=head), turn.decide)
        index.follow(committed)
        await settle(self._runtime, self._principal, owner, committed.rows)
        return turn.outcome

    async def _found(self, owner: Scope, head: Head, name: str) -> Mapping[str, Any] | None:
        """Return an event of the owner by its id; None if it is unknown.

        Raises:
            UndoRefused: If a later event has undone it.
        """
        wanted, last = name.encode("utf-8", "surrogatepass"), head.seq
        while last > 0:
            first = max(last - PAGE, 0)
            links = await self._runtime.store.links(owner, after=first, limit=last - first)
            # The undoing event is later and contains its id, so a backward scan finds it first.
            for link in reversed(links):
                if link.payload is None or wanted not in link.payload:
                    continue
                event: dict[str, Any] = json.loads(link.payload)
                if event["id"] == name:
                    return event
                if event["details"].get("undoes") == name:
                    advice = (
                        f"event {event['id']} has undone it already; correct the memory instead"
                    )
                    raise UndoRefused(name, "already_undone", advice)
            last = first
        return None

    async def _target(self, owner: Scope, event: Mapping[str, Any]) -> UndoTarget:
        store = self._runtime.store
        stories = [await store.states(owner, id) for id in event["subjects"]]
        refusals = self._runtime.indexes.of(owner).refusals
        latest = [states[-1] for states in stories if states]
        mine = event["scope"] == self._principal.home.path and all(
            self._sees(memory) and not refusals.against(memory) for memory in latest
        )
        if not mine:
            raise _unknown(event["id"])
        at = to_us(datetime.fromisoformat(event["at"]))
        type = EventType(event["type"])
        return UndoTarget(event["id"], type, at, tuple(stories), event["details"])

    def _sees(self, memory: Record) -> bool:
        purpose = memory.purpose in (None, self._principal.purpose)
        return purpose and self._lookup.hears(memory)

    async def _review(self, owner: Scope, target: UndoTarget) -> tuple[ReviewRecord, ...]:
        """Return the decided review, open again, with the present time as its opening time.

        The new time distinguishes it, in synced stores, from a review whose decision has not
        arrived yet.
        """
        records = await self._runtime.store.reviews(owner)
        named = (each for each in records if each.id == target.details.get("review"))
        now = from_us(self._runtime.clock.now_us())
        return tuple(encode_review(_reopened(decode_review(each), now)) for each in named)


def _reopened(review: Review, now: datetime) -> Review:
    # The decider's clock may be ahead of this one; the reopening must still be later.
    later = now if review.decided_at is None else max(now, review.decided_at + _MICROSECOND)
    return replace(review, kept=None, decided_at=None, opened_at=later)


def _unknown(name: str) -> UndoRefused:
    advice = "no such event is on record here; forgetting a memory deletes its events too"
    return UndoRefused(name, "unknown_event", advice)


@dataclass(slots=True)
class _UndoTurn:
    """Undoes one event under the turn, if its result is unchanged."""

    runtime: Runtime
    principal: Principal
    index: OwnerIndex
    target: UndoTarget
    read_at: Head
    reopened: tuple[ReviewRecord, ...] = ()
    outcome: Outcome = field(default_factory=lambda: Outcome(OutcomeKind.DROPPED))

    def decide(self, snapshot: Snapshot) -> Change | None:
        self.index.refresh(snapshot)
        self._check_still(snapshot)
        recorder, target = EventRecorder(self.runtime, self.principal, snapshot), self.target
        states = undone_states(target, recorder.moment)
        policy = self.runtime.policies.policy_for(self.principal.home.org)
        view = self.index.at(recorder.moment.now)
        check_place_free(target, states, view, policy.long_term.slots.functional)
        event = recorder.record(
            EventType.UNDONE,
            self.principal.home,
            subjects=tuple(memory.id for memory in states),
            reasons=(f"was:{target.type}",),
            details={"undoes": target.id},
        )
        pending = Pending(view)
        evictions = ScopeQuotas(self.index, policy.quotas, recorder).admit_restored(states, pending)
        again = seen_at(states[0], recorder.moment.now)
        self.outcome = Outcome(OutcomeKind.UNDONE, again, event.reasons, (event, *evictions))
        return Change(
            known_at=recorder.moment.known_at,
            restated=pending.restated,
            reindexed=tuple(
                indexed_version(self.runtime, memory)
                for memory in states
                if self._is_retagged(memory)
            ),
            events=recorder.events,
            reviews=self.reopened,
        )

    def _check_still(self, snapshot: Snapshot) -> None:
        """Raise unless the memories are unchanged since their states were read."""
        head = snapshot.head
        same = head is not None and head[:2] == self.read_at[:2]
        later = {row.id for row in snapshot.rows if row.revision > self.read_at.revision}
        if not same or later & self.target.ids:
            raise self.target.refused(
                "changed_since", "a memory was changed just now; read it again"
            )

    def _is_retagged(self, memory: Record) -> bool:
        return any(s[-1].id == memory.id and s[-1].tags != memory.tags for s in self.target.stories)
