"""Looks up dreams in the audit trail, and undoes them."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Any

from simonides.domain.errors import UndoRefused
from simonides.domain.event import EventType
from simonides.domain.governance.review import decode_review, encode_review
from simonides.domain.memory import Record, Status
from simonides.domain.moment import Moment
from simonides.domain.operations.dream import (
    Consolidation,
    ConsolidationItem,
    ConsolidationStatus,
    ConsolidationStep,
)
from simonides.domain.scope import Principal, Scope
from simonides.domain.value import to_us
from simonides.domain.writing.change import Change, Head, ReviewRecord, Snapshot, TurnRequest
from simonides.engine.core import EventRecorder, Runtime
from simonides.engine.edit import UndoTarget, check_place_free
from simonides.engine.hygiene_scan import REVIEW
from simonides.engine.write import withdraw
from simonides.ports import OwnerView
from simonides.retrieval.index import OwnerIndex
from simonides.text import check_text

FORGOTTEN = "forgotten"
CHANGED_SINCE = "changed_since"
EXPIRED = "expired"

StateHistories = Mapping[str, Sequence[Record]]
"""All states of a memory by id, oldest first; empty for a deleted one."""


def restored(
    item: ConsolidationItem,
    histories: StateHistories,
    at: int,
    moment: Moment,
    view: OwnerView,
    functional: frozenset[str],
) -> tuple[Record, ...] | str:
    """Return the states that undo one item, or the reason why it cannot be undone.

    Args:
        item: As in the audit trail.
        histories: States of its memories.
        at: When the dream was applied, µs: its states begin there.
        moment: When it is undone.
        view: The current memories.
        functional: Predicates of which a subject has one value at a time.
    """
    changed = item.after if item.step is ConsolidationStep.INSIGHT else item.before
    states = []
    for id in changed:
        before = _before(histories.get(id, ()), at, moment)
        if isinstance(before, str):
            return before
        states.append(before)
    if item.step is not ConsolidationStep.INSIGHT and any(
        not _is_live(histories.get(id, ())) for id in item.after
    ):
        # Their successor was itself superseded, so another memory has their place.
        return CHANGED_SINCE
    deed = UndoTarget("", EventType.DREAMED, at, tuple(tuple(histories[id]) for id in item.ids))
    try:
        check_place_free(deed, [each for each in states if each.status.is_live], view, functional)
    except UndoRefused as refused:
        return refused.reason
    return tuple(states)


def _before(states: Sequence[Record], at: int, moment: Moment) -> Record | str:
    if not states:
        return FORGOTTEN
    last = states[-1]
    if to_us(last.known_from) != at:
        return CHANGED_SINCE
    if len(states) == 1:
        return replace(last, status=Status.EVICTED, updated_at=moment.now, known_from=moment.now)
    former = states[-2]
    if former.is_expired(moment.now):
        return EXPIRED
    return replace(former, versions=last.versions, known_from=moment.now, known_to=None)


def _is_live(states: Sequence[Record]) -> bool:
    return bool(states) and states[-1].status.is_live


PAGE = 1_000
"""Links of the audit trail read at a time, from the newest back."""


class ConsolidationUndoer:
    """Looks up and undoes the dreams of one principal's owner."""

    def __init__(self, runtime: Runtime, principal: Principal) -> None:
        self._runtime = runtime
        self._principal = principal
        self._owner = principal.home.owner

    async def dreams(self, limit: int) -> tuple[Consolidation, ...]:
        """Return the dreams applied last, the newest first."""
        found: list[Consolidation] = []
        undone = set[str]()
        async for event in self._events(await self._head()):
            undone.add(str(event["details"].get("undoes", "")))
            if event["type"] == EventType.DREAMED:
                found.append(_dream_of(event, is_undone=event["id"] in undone))
                if len(found) >= limit:
                    break
        return tuple(found)

    async def undo(self, id: str) -> Consolidation:
        """See :meth:`simonides.api.AsyncMemory.undo_dream`."""
        runtime, owner = self._runtime, self._owner
        name = check_text("id", id, 512)
        index = runtime.indexes.of(owner)
        index.refresh(await runtime.store.snapshot(owner, since=index.head))
        head = index.head
        event = None if head is None else await self._found(head, name)
        if event is None or head is None:
            advice = "no such dream is on record here; 'dreams' lists those that are"
            raise UndoRefused(name, "unknown_event", advice)
        dream = _dream_of(event, is_undone=False)
        ids = {id for item in dream.items for id in item.ids}
        histories = {id: await runtime.store.states(owner, id) for id in sorted(ids)}
        reviews = {each.id: each for each in await runtime.store.reviews(owner)}
        at = to_us(datetime.fromisoformat(event["at"]))
        turn = _UndoTurn(
            runtime, self._principal, owner, index, dream, head, histories, reviews, at
        )
        committed = await runtime.store.commit(owner, TurnRequest(since=head), turn.decide)
        index.follow(committed)
        # A restored memory may be an insight whose evidence is gone since.
        await withdraw(runtime, self._principal, owner)
        return turn.undone

    async def _head(self) -> Head | None:
        (head,) = await self._runtime.store.heads([self._owner])
        return head

    async def _found(self, head: Head, name: str) -> Mapping[str, Any] | None:
        async for event in self._events(head):
            if event["id"] == name and event["type"] == EventType.DREAMED:
                return event
            if event["details"].get("undoes") == name:
                advice = f"event {event['id']} has already undone it"
                raise UndoRefused(name, "already_undone", advice)
        return None

    async def _events(self, head: Head | None) -> AsyncIterator[Mapping[str, Any]]:
        """Yield dreams and undo events, from the newest back."""
        last = 0 if head is None else head.seq
        while last > 0:
            first = max(last - PAGE, 0)
            links = await self._runtime.store.links(self._owner, after=first, limit=last - first)
            for link in reversed(links):
                payload = link.payload or b""
                if b'"dreamed"' in payload or b'"undoes"' in payload:
                    yield json.loads(payload)
            last = first


def _dream_of(event: Mapping[str, Any], *, is_undone: bool) -> Consolidation:
    details = event["details"]
    return Consolidation(
        id=event["id"],
        status=ConsolidationStatus.UNDONE if is_undone else ConsolidationStatus.APPLIED,
        owner=event["scope"],
        at=datetime.fromisoformat(event["at"]),
        items=tuple(map(ConsolidationItem.of, details["items"])),
        reflected=details["reflected"],
    )


@dataclass(slots=True)
class _UndoTurn:
    """Undoes a dream under the turn, except items whose memories have changed since."""

    runtime: Runtime
    principal: Principal
    owner: Scope
    index: OwnerIndex
    dream: Consolidation
    read_at: Head
    histories: StateHistories
    reviews: Mapping[str, ReviewRecord]
    at: int
    undone: Consolidation = field(default_factory=Consolidation)

    def decide(self, snapshot: Snapshot) -> Change | None:
        self.index.refresh(snapshot)
        moved = self._moved(snapshot)
        recorder = EventRecorder(self.runtime, self.principal, snapshot)
        states: dict[str, Record] = {}
        closed: list[ReviewRecord] = []
        items = []
        # Undone in reverse order.
        for item in reversed(self.dream.items):
            again = self._restored(item, moved, recorder)
            if isinstance(again, str):
                items.append(replace(item, left=again))
                continue
            states |= {memory.id: memory for memory in again}
            closed += self._closed(item, recorder)
            items.append(item)
        items.reverse()
        self.undone = replace(self.dream, status=ConsolidationStatus.UNDONE, items=tuple(items))
        if self.dream.items and not states:
            why = "every memory of the dream has changed since; correct the memories instead"
            raise UndoRefused(self.dream.id, CHANGED_SINCE, why)
        recorder.record(
            EventType.UNDONE,
            self.owner,
            subjects=tuple(states),
            reasons=(f"was:{EventType.DREAMED}", *(f"left:{len(self.undone.left)}",)),
            details={"undoes": self.dream.id},
        )
        return Change(
            known_at=recorder.moment.known_at,
            restated=tuple(states.values()),
            reviews=tuple(closed),
            events=recorder.events,
        )

    def _moved(self, snapshot: Snapshot) -> frozenset[str] | None:
        """Return the ids changed since the dream was read; None if all may have changed."""
        head = snapshot.head
        if head is None or head[:2] != self.read_at[:2]:
            return None
        later = (row.id for row in snapshot.rows if row.revision > self.read_at.revision)
        return frozenset(later)

    def _restored(
        self, item: ConsolidationItem, moved: frozenset[str] | None, recorder: EventRecorder
    ) -> tuple[Record, ...] | str:
        if moved is None or not moved.isdisjoint(item.ids):
            return CHANGED_SINCE
        policy = self.runtime.policies.policy_for(self.owner.org)
        return restored(
            item,
            self.histories,
            self.at,
            recorder.moment,
            self.index.at(recorder.moment.now),
            policy.long_term.slots.functional,
        )

    def _closed(self, item: ConsolidationItem, recorder: EventRecorder) -> list[ReviewRecord]:
        """Return the open reviews that an item created, marked as expired."""
        if item.step is not ConsolidationStep.REVIEW:
            return []
        named = [
            reason.partition(":")[2] for reason in item.reasons if reason.startswith(f"{REVIEW}:")
        ]
        records = [self.reviews[id] for id in named if id in self.reviews]
        opened = [each for each in map(decode_review, records) if each.decided_at is None]
        return [encode_review(replace(each, expired_at=recorder.moment.now)) for each in opened]
