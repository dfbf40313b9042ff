"""The write turn of a forget: deletions, restored memories, tombstones and the audit event."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace

from simonides.domain.codecs.candidate import decode_candidate
from simonides.domain.codecs.memory import decode, salvage
from simonides.domain.errors import StoreCorrupt
from simonides.domain.event import EventType
from simonides.domain.governance.erasure import UNREADABLE
from simonides.domain.memory import Record
from simonides.domain.scope import Principal, Scope
from simonides.domain.writing.change import (
    Change,
    Head,
    HeldCandidate,
    PendingOutbox,
    Snapshot,
    StoredRow,
)
from simonides.domain.writing.decision import Outcome, OutcomeKind
from simonides.engine.core import (
    BY_KEY,
    EventRecorder,
    Runtime,
    Told,
    marks_of,
    renumbered,
    standing_again,
    tombstones,
    with_derived,
)
from simonides.engine.edit import NOT_FOUND, Promotion, cascade_items, decoded_item
from simonides.engine.forgetting.selection import ForgetSelection
from simonides.engine.recall import DIGEST, ECHO

UNREADABLE_LEFT = "unreadable_left"
"""Reason, with a count: memories that cannot be read, may have matched the filter, and stay."""

REVIVED = "source_removed"
"""Reason: a memory is live again, because the source of its replacement was removed."""


@dataclass(slots=True)
class ForgetTurn:
    """Deletes a selection under the turn, versions added since the read included.

    Attributes:
        chains: Versions that may be deleted, by id, and those that may be derived from them.
        held: The owner's held candidates.
        head: The owner's head before the read.
        named_events: Events that name an affected key or a held candidate.
        work: Undelivered outbox items; promotions of deleted memories are cancelled.
        elsewhere: Other owners' copies, by the id of the original.
        copies: The copies to delete; set by :meth:`decide`.
        expected: The head that the audit trail was read at; None if it may have moved.
        going: Ids of ``chains`` that are deleted even if they cannot be decoded.
        unread: Ids of memories that cannot be decoded, so it is unknown whether they match. They
            stay, and the outcome counts them.
        withdrawn: Ids of the cancelled outbox items; set by :meth:`decide`.
    """

    runtime: Runtime
    principal: Principal
    selection: ForgetSelection
    chains: Mapping[str, StoredRow]
    held: Sequence[HeldCandidate]
    head: Head | None
    named_events: Sequence[Told]
    expected: Head | None = None
    going: frozenset[str] = frozenset()
    unread: frozenset[str] = frozenset()
    work: Sequence[PendingOutbox] = ()
    elsewhere: Mapping[str, Sequence[tuple[Scope, str]]] = field(default_factory=dict)
    copies: Sequence[tuple[Scope, str]] = ()
    outcome: Outcome | None = None
    withdrawn: tuple[str, ...] = ()

    def decide(self, snapshot: Snapshot) -> Change | None:
        """Build the change that deletes the selection.

        None without an ``outcome`` means that the rows read are stale and must be read again. None
        with an ``outcome`` means that nothing is deleted.
        """
        if snapshot.complete and self.head is not None:
            return None  # The epoch moved: rows were deleted since the read.
        if self.expected is not None and snapshot.head != self.expected:
            return None  # The audit trail may have new events.
        recorder = EventRecorder(self.runtime, self.principal, snapshot)
        versions, lost, left = self._read((*self.chains.values(), *snapshot.rows))
        named = [memory.id for memory in versions.values() if self.selection.selects(memory)]
        by_source = self.selection.came_from is not None
        readable = with_derived(versions.values(), {*named, *lost}, promoted=by_source)
        deleted = tuple(sorted({*readable, *lost}))
        gone, went = [versions[id] for id in readable], frozenset(deleted)
        again = standing_again(versions, went, recorder.moment) if by_source else ()
        stays = [m for m in (*versions.values(), *again) if m.id not in went and m.status.is_live]
        kept = tombstones(stays, keys=True) if by_source else ()
        marks = tuple(sorted({*tombstones(gone, keys=self.selection.by_key)}.difference(kept)))
        released = [held for held in self.held if self._is_selected(held, marks)]
        if not deleted and not released:
            self.outcome = not_found(self.unread | left)
            return None
        derived = len(readable) - len(set(named))
        copies = [copy for id in deleted for copy in self.elsewhere.get(id, ())]
        counted = {"count": len(deleted), "held": len(released), "derived": derived}
        counted |= {"elsewhere": len(copies), "revived": len(again), UNREADABLE: len(lost)}
        counted[UNREADABLE_LEFT] = len(self.unread | left)
        reasons = tuple(f"{what}:{n}" for what, n in counted.items() if n or what == "count")
        if self.selection.dry_run:
            self.outcome = Outcome(OutcomeKind.DROPPED, None, ("dry_run", *reasons))
            return None
        self.copies = copies
        if again:
            ids = tuple(memory.id for memory in again)
            recorder.record(
                EventType.UNDONE, self.selection.place, subjects=ids, reasons=(REVIVED,)
            )
        told = {BY_KEY: True} if self.selection.by_key else {}
        forgot = (EventType.FORGOTTEN, self.selection.place)
        recorder.record(*forgot, subjects=deleted, reasons=reasons, details=told)
        self.outcome = Outcome(OutcomeKind.FORGOTTEN, None, reasons, recorder.events)
        overtaken = [each for each in self.work if _promotes(each, deleted)]
        self.withdrawn = tuple(each.item.id for each in overtaken)
        return Change(
            known_at=recorder.moment.known_at,
            restated=(*again, *renumbered(versions, went, recorder.moment)),
            forgotten=deleted,
            tombstones=marks,
            released=tuple(held.id for held in released),
            events=recorder.events,
            blanked=self._blanked(gone, released),
            unjournaled=(DIGEST, ECHO),
            outbox=cascade_items(recorder.moment.new_id, overtaken, copies),
        )

    def _read(
        self, rows: Iterable[StoredRow]
    ) -> tuple[dict[str, Record], frozenset[str], frozenset[str]]:
        """Decode rows.

        Returns:
            Decoded versions by id; undecodable ids to delete; undecodable ids that stay.
        """
        read = {
            row.id: salvage(row) if row.id in self.going else decoded_or_none(row) for row in rows
        }
        versions = {id: memory for id, memory in read.items() if memory is not None}
        lost = read.keys() - versions.keys()
        return versions, frozenset(lost & self.going), frozenset(lost - self.going)

    def _blanked(
        self, gone: Iterable[Record], released: Sequence[HeldCandidate]
    ) -> tuple[int, ...]:
        """Return the positions of events that name a key or held candidate that is deleted."""
        candidates = [decode_candidate(held.body) for held in released]
        keys = {(one.scope.path, one.key) for one in gone}
        keys |= {(one.scope.path, one.key) for one in candidates}
        keys = {name for name in keys if name[1] is not None}
        ids = {held.id for held in released}
        return tuple(
            event.seq
            for event in self.named_events
            if (event.scope, event.key) in keys or not ids.isdisjoint(event.subjects)
        )

    def _is_selected(self, held: HeldCandidate, marks: Sequence[bytes]) -> bool:
        """Whether a held candidate has forgotten content, or is itself selected."""
        candidate = decode_candidate(held.body)
        said = not set(marks).isdisjoint(marks_of(candidate))
        return said or self.selection.selects(candidate)


def not_found(unread: Collection[str]) -> Outcome:
    """Return the outcome "not found", with the number of undecodable memories."""
    if not unread:
        return NOT_FOUND
    return replace(NOT_FOUND, reasons=(*NOT_FOUND.reasons, f"{UNREADABLE_LEFT}:{len(unread)}"))


def decoded_or_none(row: StoredRow) -> Record | None:
    """Return the memory of a row; None if it cannot be decoded."""
    with suppress(StoreCorrupt):
        return decode(row)
    return None


def decoded_memories(rows: Iterable[StoredRow]) -> list[Record]:
    """Return the memories of rows, decoded as far as possible; hopeless rows are left out."""
    return [memory for memory in map(salvage, rows) if memory is not None]


def _promotes(pending: PendingOutbox, gone: Collection[str]) -> bool:
    carried = decoded_item(pending.item)
    return isinstance(carried, Promotion) and not set(gone).isdisjoint(carried.candidate.parents)
