"""What becomes of copies that other owners have, or are about to get, of what goes.

An erasure, or a forgetting, committed the work; here it is done in the turn of each owner.
Done twice it finds nothing: what goes is named by id, and promotions that were still on their way
are met by the key of their write, taken if it is free, so that whoever carries one out later writes
nothing.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass

from simonides.domain.canonical_json import canonical_json
from simonides.domain.codecs.memory import decode
from simonides.domain.event import EventType
from simonides.domain.scope import Principal, Scope
from simonides.domain.writing.change import (
    Change,
    Head,
    IdempotencyRecord,
    OutboxItem,
    PendingOutbox,
    Snapshot,
    StoredRow,
    TurnRequest,
)
from simonides.domain.writing.decision import Outcome, OutcomeKind
from simonides.engine.core.event_recorder import EventRecorder
from simonides.engine.core.idempotency import request_of, write_name
from simonides.engine.core.runtime import Runtime
from simonides.engine.core.tombstones import renumbered, with_derived
from simonides.engine.edit.outbox import (
    Cascade,
    Following,
    packed_cascade,
    unpacked,
)

ERASER = Principal(Scope.of_global(), by="erasure")
"""Who the trail of another owner names: not whom the erasure is about."""

WITHDRAWN = "withdrawn"
"""Reason of a promotion whose original was erased before it was carried out."""


def told_to_others(
    new_id: Callable[[], str],
    work: Iterable[PendingOutbox],
    elsewhere: Iterable[tuple[Scope, str]] = (),
) -> tuple[OutboxItem, ...]:
    """Return the work that takes back, one item for each owner concerned.

    Args:
        new_id: Makes ids.
        work: What is on its way and is to come to nothing: promotions, and other takings back.
        elsewhere: Owner and id of memories that go.
    """
    ids: dict[Scope, list[str]] = {}
    writes: dict[Scope, list[tuple[str, str]]] = {}
    for owner, id in elsewhere:
        ids.setdefault(owner, []).append(id)
    for pending in work:
        carried = unpacked(pending.item)
        owner = Scope.parse(pending.item.target).owner
        if isinstance(carried, Following):
            continue  # the erasure that takes it back tells the remote itself
        if isinstance(carried, Cascade):
            ids.setdefault(owner, []).extend(carried.ids)
            writes.setdefault(owner, []).extend(carried.writes)
        elif (name := write_name(carried.candidate)) is not None:
            writes.setdefault(owner, []).append((name, request_of(carried.candidate).hex()))
    return tuple(
        packed_cascade(
            new_id(), owner, Cascade(tuple(ids.get(owner, ())), tuple(writes.get(owner, ())))
        )
        for owner in sorted({*ids, *writes}, key=lambda each: each.path)
    )


async def cascaded(runtime: Runtime, pending: PendingOutbox, cascade: Cascade) -> Outcome:
    """Remove what an erased owner left behind with another, and settle that.

    Raises:
        StoreError: If the store could not; the work stays.
    """
    store, target = runtime.store, Scope.parse(pending.item.target).owner
    asked = frozenset(cascade.ids)
    while True:
        (head,) = await store.heads([target])
        children = [child for owner, child in await store.derived(target) if owner == target]
        found = await store.get(target, [*sorted(asked), *children])
        # Whole chains: what stays of one has to go on from the highest version that is left.
        roots = sorted({memory.root for memory in map(decode, found)})
        rows = [row for root in roots for row in await store.history(target, root)]
        turn = _Removal(runtime, target, cascade, asked, rows, head)
        await store.commit(target, turn.request, turn.decide)
        if turn.outcome is not None:
            break
        asked = turn.asked
    index = runtime.indexes.warm(target)
    if index is not None:
        index.refresh(await store.snapshot(target))
    await store.settle(pending.source, [pending.item.id])
    return turn.outcome


@dataclass(slots=True)
class _Removal:
    """Removes copies, and what was derived from them, under the turn.

    Attributes:
        asked: Ids of the copies, and after :meth:`decide` those that promotions wrote meanwhile.
        rows: Of their chains, and of the chains of everything that was derived from any memory of
            this owner.
        outcome: What came of it, or None if it has to be tried again.
    """

    runtime: Runtime
    target: Scope
    cascade: Cascade
    asked: frozenset[str]
    rows: Sequence[StoredRow]
    head: Head | None
    outcome: Outcome | None = None

    @property
    def request(self) -> TurnRequest:
        """What must be read under the turn."""
        names = dict.fromkeys(name for name, _ in self.cascade.writes)
        return TurnRequest(since=self.head, idempotency_keys=tuple(names))

    def decide(self, snapshot: Snapshot) -> Change | None:
        """Let the copies go; None, and no outcome, if other rows have to be read first."""
        written = _written_by(snapshot.idempotent.values())
        removed = snapshot.complete and self.head is not None
        if removed or not written <= self.asked:
            self.asked |= written
            return None
        rows = {row.id: row for row in (*self.rows, *snapshot.rows)}
        versions = {id: decode(row) for id, row in rows.items()}
        doomed = with_derived(versions.values(), self.asked, promoted=True)
        recorder = EventRecorder(self.runtime, ERASER, snapshot)
        reasons = ("cascade", f"count:{len(doomed)}")
        if doomed:
            recorder.record(EventType.FORGOTTEN, self.target, subjects=doomed, reasons=reasons)
        self.outcome = Outcome(OutcomeKind.FORGOTTEN, None, reasons, recorder.events)
        change = Change(
            known_at=recorder.moment.known_at,
            restated=renumbered(versions, frozenset(doomed), recorder.moment),
            forgotten=doomed,
            events=recorder.events,
            idempotency=self._taken(snapshot.idempotent),
        )
        return None if change.is_empty else change

    def _taken(self, there: Mapping[str, IdempotencyRecord]) -> tuple[IdempotencyRecord, ...]:
        """Return records that leave nothing to do to whoever still carries out a promotion."""
        answer = {"kind": "forgotten", "memory": None, "reasons": [WITHDRAWN]}
        return tuple(
            IdempotencyRecord(name, bytes.fromhex(request), canonical_json(answer))
            for name, request in dict(self.cascade.writes).items()
            if name not in there
        )


def _written_by(records: Iterable[IdempotencyRecord]) -> frozenset[str]:
    answers = (json.loads(record.answer) for record in records)
    return frozenset(answer["memory"] for answer in answers if answer["memory"] is not None)
