"""Deletes the copies that other owners have, or are about to get, of deleted memories.

An erasure or a forget commits one outbox item for each other owner. The item is carried out here,
in that owner's turn, and is idempotent. Copies are named by id. A promotion may still be in the
outbox; the idempotency key of its write is then reserved, so a later delivery writes nothing.
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
from simonides.engine.core import (
    EventRecorder,
    Runtime,
    renumbered,
    request_of,
    with_derived,
    write_name,
)
from simonides.engine.edit.outbox import Cascade, RemoteErasure, cascade_item, decoded_item

ERASER = Principal(Scope.of_global(), by="erasure")
"""Actor in another owner's audit trail; it must not name the erased subject."""

WITHDRAWN = "withdrawn"
"""Reason: the original was erased before the promotion was delivered."""


def cascade_items(
    new_id: Callable[[], str],
    work: Iterable[PendingOutbox],
    elsewhere: Iterable[tuple[Scope, str]] = (),
) -> tuple[OutboxItem, ...]:
    """Return the outbox items that delete copies, one for each other owner.

    Args:
        new_id: Makes ids.
        work: Undelivered items to cancel: promotions, and other cascades.
        elsewhere: Owner and id of each copy to delete.
    """
    ids: dict[Scope, list[str]] = {}
    writes: dict[Scope, list[tuple[str, str]]] = {}
    for owner, id in elsewhere:
        ids.setdefault(owner, []).append(id)
    for pending in work:
        carried = decoded_item(pending.item)
        owner = Scope.parse(pending.item.target).owner
        if isinstance(carried, RemoteErasure):
            continue  # The erasure makes its own item for the remote.
        if isinstance(carried, Cascade):
            ids.setdefault(owner, []).extend(carried.ids)
            writes.setdefault(owner, []).extend(carried.writes)
        elif (name := write_name(carried.candidate)) is not None:
            writes.setdefault(owner, []).append((name, request_of(carried.candidate).hex()))
    return tuple(
        cascade_item(
            new_id(), owner, Cascade(tuple(ids.get(owner, ())), tuple(writes.get(owner, ())))
        )
        for owner in sorted({*ids, *writes}, key=lambda each: each.path)
    )


async def carry_out_cascade(runtime: Runtime, pending: PendingOutbox, cascade: Cascade) -> Outcome:
    """Delete the copies at another owner, and settle the outbox item.

    Raises:
        StoreError: If the store failed; the item stays in the outbox.
    """
    store, target = runtime.store, Scope.parse(pending.item.target).owner
    asked = frozenset(cascade.ids)
    while True:
        (head,) = await store.heads([target])
        children = [child for owner, child in await store.derived(target) if owner == target]
        found = await store.get(target, [*sorted(asked), *children])
        # Whole chains are read: the versions that stay must be renumbered.
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
    """Deletes copies, and the memories derived from them, under the turn.

    Attributes:
        asked: Ids of the copies; :meth:`decide` adds those that promotions wrote meanwhile.
        rows: Rows of their chains, and of the chains of this owner's derived memories.
        outcome: The result, or None if other rows must be read and the turn taken again.
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
        """What the store must read under the turn."""
        names = dict.fromkeys(name for name, _ in self.cascade.writes)
        return TurnRequest(since=self.head, idempotency_keys=tuple(names))

    def decide(self, snapshot: Snapshot) -> Change | None:
        """Return the deletion; None without an ``outcome`` means that other rows must be read."""
        written = _written_by(snapshot.idempotent.values())
        removed = snapshot.complete and self.head is not None
        if removed or not written <= self.asked:
            self.asked |= written
            return None
        rows = {row.id: row for row in (*self.rows, *snapshot.rows)}
        versions = {id: decode(row) for id, row in rows.items()}
        deleted = with_derived(versions.values(), self.asked, promoted=True)
        recorder = EventRecorder(self.runtime, ERASER, snapshot)
        reasons = ("cascade", f"count:{len(deleted)}")
        if deleted:
            recorder.record(EventType.FORGOTTEN, self.target, subjects=deleted, reasons=reasons)
        self.outcome = Outcome(OutcomeKind.FORGOTTEN, None, reasons, recorder.events)
        change = Change(
            known_at=recorder.moment.known_at,
            restated=renumbered(versions, frozenset(deleted), recorder.moment),
            forgotten=deleted,
            events=recorder.events,
            idempotency=self._reserved(snapshot.idempotent),
        )
        return None if change.is_empty else change

    def _reserved(self, there: Mapping[str, IdempotencyRecord]) -> tuple[IdempotencyRecord, ...]:
        """Return idempotency records that turn a later delivery of a promotion into a no-op."""
        answer = {"kind": "forgotten", "memory": None, "reasons": [WITHDRAWN]}
        return tuple(
            IdempotencyRecord(name, bytes.fromhex(request), canonical_json(answer))
            for name, request in dict(self.cascade.writes).items()
            if name not in there
        )


def _written_by(records: Iterable[IdempotencyRecord]) -> frozenset[str]:
    answers = (json.loads(record.answer) for record in records)
    return frozenset(answer["memory"] for answer in answers if answer["memory"] is not None)
