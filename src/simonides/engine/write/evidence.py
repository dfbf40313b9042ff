"""Withdraws insights that have lost too much of their evidence.

Forgetting a memory deletes its derived memories in the same transaction. A memory that is
superseded, contradicted, evicted or refused keeps its history, so its insights are checked here.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, field, replace

from simonides.domain.codecs.memory import decode_all, status_of
from simonides.domain.event import EventType
from simonides.domain.memory import Record, Status
from simonides.domain.moment import Moment
from simonides.domain.scope import Principal, Scope
from simonides.domain.writing.change import Change, Snapshot, StoredRow, TurnRequest
from simonides.engine.core import EventRecorder, Runtime
from simonides.engine.write.rules.insight import INSIGHT, is_borne_out, is_standing
from simonides.retrieval.index import OwnerIndex

EVIDENCE_GONE = "evidence_gone"
"""Reason: an insight has too little evidence left."""

MANY = 32
"""Most memories whose derived memories are read one by one; for more, all of the owner's are."""

_STANDING = (Status.ACTIVE, Status.STALE)


async def settle(
    runtime: Runtime, principal: Principal, owner: Scope, rows: Iterable[StoredRow]
) -> int:
    """Withdraw insights whose evidence a change has ended.

    Args:
        runtime: The open simonides; its index of the owner includes the change.
        principal: Author of the change; the audit trail names it.
        owner: Owner of the rows.
        rows: Rows that the change added or restated.

    Returns:
        How many insights were withdrawn.

    Raises:
        StoreError: If the store failed. The change itself stays committed. The next check, at the
            latest the next dream, withdraws the insights.
    """
    fallen = [row.id for row in rows if status_of(row.state) not in _STANDING]
    if not fallen:
        return 0
    return await withdraw(runtime, principal, owner, fallen)


async def withdraw(
    runtime: Runtime,
    principal: Principal,
    owner: Scope,
    parents: Sequence[str] | None = None,
) -> int:
    """Withdraw the insights that have too little evidence.

    Args:
        runtime: The open simonides.
        principal: The caller; the audit trail names it.
        owner: Owner of the insights.
        parents: Checks only insights derived from these memories; None checks all.

    Returns:
        How many insights were withdrawn.
    """
    insights = await _insights(runtime, owner, parents)
    if not insights:
        return 0
    index = runtime.indexes.of(owner)
    index.refresh(await runtime.store.snapshot(owner, since=index.head))
    turn = _WithdrawTurn(runtime, principal, owner, index, insights)
    if not turn.fallen(index):
        return 0
    committed = await runtime.store.commit(owner, TurnRequest(since=index.head), turn.decide)
    index.follow(committed)
    return turn.count


async def _insights(
    runtime: Runtime, owner: Scope, parents: Sequence[str] | None
) -> tuple[str, ...]:
    derived = runtime.store.derived
    if parents is None or len(parents) > MANY:
        found = [await derived(owner)]
    else:
        found = [await derived(owner, parent) for parent in parents]
    children = {id for each in found for scope, id in each if scope == owner}
    if not children:
        return ()
    rows = await runtime.store.get(owner, sorted(children))
    standing = [row for row in rows if status_of(row.state).is_live]
    return tuple(each.id for each in decode_all(standing) if each.category == INSIGHT)


def fallen_among(
    index: OwnerIndex, insights: Iterable[Record], least: int, moment: Moment, but: Collection[str]
) -> list[Record]:
    """Return the insights that have too little evidence.

    Args:
        index: Index of their owner.
        insights: Current insights.
        least: Least number of memories that support an insight.
        moment: Time of the check.
        but: Ids of memories that the same change ends.
    """
    now, refusals = moment.now, index.refusals

    def parent(id: str) -> Record | None:
        found = None if id in but else index.at(now).by_id(id)
        return None if found is None or refusals.against(found) else found

    return [
        each
        for each in insights
        if not is_borne_out(each, [parent(id) for id in each.parents], least, now)
    ]


def withdrawn(insight: Record, moment: Moment) -> Record:
    """Return the state of a withdrawn insight."""
    return replace(insight, status=Status.EVICTED, updated_at=moment.now, known_from=moment.now)


@dataclass(slots=True)
class _WithdrawTurn:
    """Checks the evidence again under the turn, and withdraws the insights that lack it."""

    runtime: Runtime
    principal: Principal
    owner: Scope
    index: OwnerIndex
    ids: tuple[str, ...]
    count: int = field(default=0)

    def fallen(self, index: OwnerIndex, moment: Moment | None = None) -> list[Record]:
        at = moment or Moment(self.runtime.clock.now_us(), self.runtime.ids, None)
        least = self.runtime.policies.policy_for(self.owner.org).reflection.evidence
        known = [index.found(id) for id in self.ids]
        standing = [each for each in known if each is not None and is_standing(each, at.now)]
        return fallen_among(index, standing, least, at, ())

    def decide(self, snapshot: Snapshot) -> Change | None:
        self.index.refresh(snapshot)
        recorder = EventRecorder(self.runtime, self.principal, snapshot)
        gone = self.fallen(self.index, recorder.moment)
        self.count = len(gone)
        if not gone:
            return None
        ids = tuple(memory.id for memory in gone)
        recorder.record(EventType.EVICTED, self.owner, subjects=ids, reasons=(EVIDENCE_GONE,))
        return Change(
            known_at=recorder.moment.known_at,
            restated=tuple(withdrawn(memory, recorder.moment) for memory in gone),
            events=recorder.events,
        )
