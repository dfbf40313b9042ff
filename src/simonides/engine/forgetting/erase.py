"""Erases a data subject in one transaction, then removes copies and residue.

The transaction leaves only audit commitments, tombstones and outbox items for other owners.
Delivering those items, purging logs and checking files follow. These steps may be interrupted and
continued; the receipt stays ``pending`` until all are done.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import cast

from simonides.domain.codecs.parts import PARTS
from simonides.domain.errors import ScopeDenied, StoreCorrupt, StoreError, StoreUnavailable
from simonides.domain.event import EventType, Link
from simonides.domain.governance.erasure import (
    RECEIPT_FORMAT,
    UNREADABLE,
    ErasureReceipt,
    ErasureState,
    Proof,
    Purged,
)
from simonides.domain.governance.safety_record import subject_digest
from simonides.domain.memory import Record
from simonides.domain.scope import SYNC_ACTOR, Principal, Scope
from simonides.domain.value import from_us
from simonides.domain.writing.change import (
    Change,
    Head,
    HeldCandidate,
    OutboxItem,
    PendingOutbox,
    Snapshot,
    StoredRow,
    TurnRequest,
)
from simonides.domain.writing.decision import Candidate
from simonides.engine.core import EventRecorder, Runtime, last_erasure, marks_of, tombstones
from simonides.engine.edit import Deliveries, cascade_items, deliver, remote_erasure_item
from simonides.engine.forgetting.residue import of_bodies, of_queries, residue_patterns
from simonides.engine.forgetting.unreadable_rows import DecodableRows, decodable_rows
from simonides.engine.knowledge import Library
from simonides.engine.operations import SafetyRecordStore, secret_of
from simonides.engine.recall import DIGEST, ReadJournal, WarmSessions
from simonides.policy import administers
from simonides.ports import Capability, MovableStore

ATTEMPTS = 100
"""Most attempts while other writers change the subject between read and turn. Each attempt but the
first reads only the changes."""

STAYS = frozenset({"events", "tombstones"})
"""Parts whose rows stay: commitments of the audit chain, and tombstone fingerprints."""

LEFT = STAYS | {"event_payloads", "outbox"}
"""Parts with rows after an erasure: also its own event, and outbox items for other owners."""

RECORDS = "records"
"""Reason that an erasure is pending: the safety records and feedback could not be reached."""

_TURNS = next(part for part in PARTS if part.name == "turns")

MAX_WORK = 10_000
"""Most undelivered items read for one owner; far above any real number."""


@dataclass(frozen=True, slots=True)
class PendingErasures:
    """Residue patterns of incomplete erasures; kept in memory only.

    Attributes:
        patterns: Subject to the byte strings that must not be in the store's files.
    """

    patterns: dict[Scope, tuple[bytes, ...]] = field(default_factory=dict)


class Eraser:
    """Erases data subjects for one principal."""

    def __init__(self, runtime: Runtime, principal: Principal) -> None:
        self._runtime = runtime
        self._principal = principal
        self._pending = runtime.part(PendingErasures)
        self._journal, self._records = runtime.part(ReadJournal), runtime.part(SafetyRecordStore)
        self._library, self._hot = runtime.part(Library), runtime.part(WarmSessions)

    async def erase(self, subject: Scope, reasons: tuple[str, ...] = ()) -> ErasureReceipt:
        """Erase a subject, or continue; see :meth:`simonides.AsyncMemory.erase`.

        Args:
            subject: The owner to erase.
            reasons: Reasons for the audit event, added to the count of unreadable rows.
        """
        await self._check_right(subject)
        before = await self._receipt(subject)
        if before is not None and await self._is_unchanged(subject, before):
            return await self._finish(subject)
        self._journal.discard(subject)
        turn = await self._commit(subject, reasons)
        self._pending.patterns[subject] = turn.patterns
        self._runtime.indexes.renew(subject)
        self._library.forget(subject)
        self._hot.forget(subject)
        return await self._finish(subject)

    async def status(self, subject: Scope) -> ErasureReceipt | None:
        """Try to finish the last erasure, and return its receipt; None if there was none."""
        await self._check_right(subject)
        return None if await self._receipt(subject) is None else await self._finish(subject)

    async def _check_right(self, subject: Scope) -> None:
        principal, org = self._principal, Scope.of_org(str(subject.org))
        if subject.task is None and (principal.by is not None or principal.home == subject):
            return
        grants = await self._runtime.store.grants(org)
        if subject.task is not None or not administers(principal, org, grants):
            raise ScopeDenied(
                subject.path,
                "erase",
                "a user may erase itself, but not from a task; erasing another user takes an "
                "administrator of the org",
            )

    async def _is_unchanged(self, subject: Scope, receipt: ErasureReceipt) -> bool:
        """Whether nothing was stored for a subject since its last erasure.

        Rows are counted too, because session logs and journals do not change the head.
        """
        counts: Mapping[str, int] = {}

        def look(snapshot: Snapshot) -> None:
            nonlocal counts
            counts = snapshot.counts

        (head,) = await self._runtime.store.heads([subject])
        if head is None or from_us(head.known_at) != receipt.erased_at:
            return False
        await self._runtime.store.commit(subject, TurnRequest(since=head, counts=True), look)
        return not any(count for part, count in counts.items() if part not in LEFT)

    async def _commit(self, subject: Scope, reasons: tuple[str, ...]) -> _Erasure:
        """Read and take the turn, and retry until no other write came in between.

        Raises:
            StoreUnavailable: If other writes interfered in all :data:`ATTEMPTS`.
        """
        read = _Read()
        for _ in range(ATTEMPTS):
            await self._read(subject, read)
            turn = _Erasure(self._runtime, self._principal, subject, read, reasons)
            request = TurnRequest(since=read.head, counts=True)
            await self._runtime.store.commit(subject, request, turn.decide)
            if turn.is_done:
                return turn
        raise StoreUnavailable(
            self._runtime.store.location,
            f"{subject.path} is being written to constantly; stop its writers, then erase again",
        )

    async def _read(self, subject: Scope, read: _Read) -> None:
        store = self._runtime.store
        (head,) = await store.heads([subject])
        if read.rows is None or not _is_incremental(read.head, head):
            read.rows = {}
            while page := await store.rows(subject, after=max(read.rows, default="")):
                read.rows |= {row.id: row for row in page}
        else:
            changed = await store.snapshot(subject, since=read.head)
            read.rows |= {row.id: row for row in changed.rows}
        # Outbox before derived: a promotion settled in between is then found as derived.
        read.head = head
        read.held = await store.held(subject)
        read.work = await store.outbox(source=subject, limit=MAX_WORK)
        derived = await store.derived(subject)
        read.elsewhere = [(owner, id) for owner, id in derived if owner != subject]
        asked = await store.journaled(subject, limit=MAX_WORK, kind=DIGEST)
        read.queries = [entry.body for entry in asked]
        read.logged_turns = await self._logged_turns(subject)

    async def _logged_turns(self, subject: Scope) -> list[bytes]:
        """Return the logged turns of the subject's sessions, if the store can export them."""
        chain_head = await self._runtime.store.chain_head(subject)
        if chain_head is None or Capability.MOVABLE not in self._runtime.store.capabilities:
            return []
        store, said, after = cast("MovableStore", self._runtime.store), list[bytes](), None
        while page := await store.page(chain_head[0], _TURNS, after=after):
            said += [cell for row in page for cell in row[-1:] if isinstance(cell, bytes)]
            after = _TURNS.key_of(page[-1])
        return said

    async def _finish(self, subject: Scope) -> ErasureReceipt:
        """Deliver outbox items, purge the files, and return the receipt."""
        runtime = self._runtime
        await deliver(runtime, subject)
        purged = await runtime.store.purge(subject, self._pending.patterns.get(subject, ()))
        purged = with_records(purged, await self._delete_records(subject))
        receipt = await self._receipt(subject, purged)
        if receipt is None:
            raise StoreCorrupt(runtime.store.location, "the record of an erasure is gone")
        if receipt.state is ErasureState.COMPLETE:
            self._pending.patterns.pop(subject, None)
        return receipt

    async def _delete_records(self, subject: Scope) -> Purged:
        """Delete the subject's safety records and feedback.

        They are redacted, but they are still personal data and may identify the subject.
        """
        if Capability.MOVABLE not in self._runtime.store.capabilities:
            return Purged()  # Without the store's secret no record can have been made.
        digest = subject_digest(await secret_of(self._runtime), subject)
        try:
            return await self._records.forget(digest)
        except StoreError:
            return Purged(waits=(RECORDS,))

    async def _receipt(self, subject: Scope, purged: Purged | None = None) -> ErasureReceipt | None:
        runtime, store = self._runtime, self._runtime.store
        found = await last_erasure(store, subject)
        if found is None:
            return None
        (head,) = await store.heads([subject])
        chain_head = await store.chain_head(subject)
        if head is None or chain_head is None:
            return None
        work = await store.outbox(source=subject, limit=MAX_WORK)
        looked = purged or Purged()
        waits = (*((f"cascade:{len(work)}",) if work else ()), *looked.waits)
        event = json.loads(found[1].payload or b"{}")
        receipt = ErasureReceipt(
            format=RECEIPT_FORMAT,
            subject=chain_head[0].hex(),
            state=ErasureState.PENDING if waits else ErasureState.COMPLETE,
            waits=waits,
            erased_at=datetime.fromisoformat(event["at"]),
            checked_at=from_us(runtime.clock.now_us()),
            **event["details"],
            incarnation_after=head.incarnation.hex(),
            files=looked.files,
            remains=looked.remains,
            link=_proof(*found),
        )
        if Capability.MOVABLE in store.capabilities:
            return receipt.sealed((await cast("MovableStore", store).keys()).tag_key)
        return receipt


def with_records(purged: Purged, records: Purged) -> Purged:
    """Merge the purge results of memories and of records."""
    return Purged(
        (*purged.files, *records.files),
        (*purged.waits, *records.waits),
        (*purged.remains, *records.remains),
    )


@dataclass(slots=True)
class _Read:
    """Data of a subject, read before the turn.

    Attributes:
        head: The head before the read.
        rows: Every version by id; None before the first read.
        held: Held candidates.
        work: Undelivered outbox items.
        elsewhere: Owner and id of memories that other owners derived from it.
        queries: Journal receipts, which contain the queries.
        logged_turns: Logged turns of its sessions.
    """

    head: Head | None = None
    rows: dict[str, StoredRow] | None = None
    held: Sequence[HeldCandidate] = ()
    work: Sequence[PendingOutbox] = ()
    elsewhere: Sequence[tuple[Scope, str]] = ()
    queries: Sequence[bytes] = ()
    logged_turns: Sequence[bytes] = ()


@dataclass(slots=True)
class _Erasure:
    """Deletes everything under the turn, if nothing changed since the read."""

    runtime: Runtime
    principal: Principal
    subject: Scope
    read: _Read
    reasons: tuple[str, ...] = ()
    is_done: bool = False
    patterns: tuple[bytes, ...] = field(default=())

    def decide(self, snapshot: Snapshot) -> Change | None:
        if snapshot.head != self.read.head:
            return None
        recorder = EventRecorder(self.runtime, self.principal, snapshot)
        rows = list((self.read.rows or {}).values())
        found = decodable_rows(rows, self.read.held, self.read.work)
        marks = _tombstones_of(found)
        removed = {part: count for part, count in snapshot.counts.items() if part not in STAYS}
        head = snapshot.head
        unreadable = (f"{UNREADABLE}:{found.unreadable}",) if found.unreadable else ()
        # Neither path nor ids: the event that stays must not identify the subject.
        recorder.record(
            EventType.ERASED,
            Scope.of_global(),
            reasons=(*unreadable, *self.reasons),
            details={
                "removed": removed,
                "copies": len(self.read.elsewhere),
                "tombstones": len(marks),
                "incarnation_before": None if head is None else head.incarnation.hex(),
            },
            actor="subject" if self.principal.home == self.subject else None,
        )
        records: tuple[Record | Candidate, ...] = (*found.memories, *found.candidates)
        searched = {*residue_patterns(rows, records), *of_queries(self.read.queries)}
        self.patterns = tuple(searched | {*of_bodies(self.read.logged_turns)})
        self.is_done = True
        return Change(
            known_at=recorder.moment.known_at,
            erased=True,
            tombstones=marks,
            events=recorder.events,
            outbox=(
                *cascade_items(recorder.moment.new_id, found.work, self.read.elsewhere),
                *self._remote_item(recorder),
            ),
        )

    def _remote_item(self, recorder: EventRecorder) -> tuple[OutboxItem, ...]:
        """Return the outbox item that repeats the erasure at the remote.

        None is needed if the erasure came from the remote.
        """
        if self.runtime.part(Deliveries).remote is None or self.principal.by == SYNC_ACTOR:
            return ()
        return (remote_erasure_item(recorder.moment.new_id(), self.subject),)


def _tombstones_of(found: DecodableRows) -> tuple[bytes, ...]:
    waiting = {mark for candidate in found.candidates for mark in marks_of(candidate)}
    return tuple(sorted({*tombstones(found.memories, keys=True), *waiting}))


def _is_incremental(then: Head | None, now: Head | None) -> bool:
    """Whether the changes since one head lead to another: no row was deleted in between."""
    return then is not None and now is not None and then[:2] == now[:2]


def _proof(previous: bytes, link: Link) -> Proof:
    return Proof(
        seq=link.seq,
        previous=previous.hex(),
        mac=link.mac.hex(),
        commitment=link.commitment.hex(),
        salt=(link.salt or b"").hex(),
        payload=(link.payload or b"").decode(),
    )
