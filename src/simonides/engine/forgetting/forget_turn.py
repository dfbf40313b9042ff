"""The turn in which memories are forgotten: what goes, what stands again, what stays as a ban."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace

from simonides.domain.codecs.candidate import decode_candidate
from simonides.domain.codecs.memory import decode, salvage
from simonides.domain.errors import StoreCorrupt
from simonides.domain.event import EventType
from simonides.domain.governance.erasure import UNREADABLE
from simonides.domain.memory import Memory
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
from simonides.engine.core.deletion_log import BY_KEY, Told
from simonides.engine.core.event_recorder import EventRecorder
from simonides.engine.core.idempotency import marks_of
from simonides.engine.core.runtime import Runtime
from simonides.engine.core.tombstones import (
    renumbered,
    standing_again,
    tombstones,
    with_derived,
)
from simonides.engine.edit.cascade import told_to_others
from simonides.engine.edit.correct import NOT_FOUND
from simonides.engine.edit.outbox import Promotion, unpacked
from simonides.engine.forgetting.selection import ForgetSelection
from simonides.engine.recall.read_journal import DIGEST
from simonides.engine.recall.shown_ledger import ECHO

UNREADABLE_LEFT = "unreadable_left"
"""Reason, with a count: so many of the owner's memories cannot be read, may have been meant, and
stay."""

REVIVED = "source_removed"
"""Reason: what had replaced a memory was removed with the source that it came from."""


@dataclass(slots=True)
class ForgetTurn:
    """Removes whole chains under the turn, versions that came meanwhile included.

    Attributes:
        chains: Versions that go, and those derived from any memory of the owner.
        told: What the trail said when it was read.
        work: What is on its way to other owners: of what goes it is to come to nothing.
        elsewhere: What copies other owners have, by the id of the original.
        copies: Those of them that go, after :meth:`decide`.
        expected: Where the owner has to stand still, as the trail was read then; None if it may
            have moved on.
        going: Ids of those of ``chains`` that go for sure, though they cannot be read.
        unread: Ids of memories of the owner of which nobody can say whether they are meant: they
            cannot be read. They stay, and the outcome counts them.
    """

    runtime: Runtime
    principal: Principal
    doom: ForgetSelection
    chains: Mapping[str, StoredRow]
    held: Sequence[HeldCandidate]
    head: Head | None
    told: Sequence[Told]
    expected: Head | None = None
    going: frozenset[str] = frozenset()
    unread: frozenset[str] = frozenset()
    work: Sequence[PendingOutbox] = ()
    elsewhere: Mapping[str, Sequence[tuple[Scope, str]]] = field(default_factory=dict)
    copies: Sequence[tuple[Scope, str]] = ()
    outcome: Outcome | None = None
    withdrawn: tuple[str, ...] = ()

    def decide(self, snapshot: Snapshot) -> Change | None:
        """Return what goes, as the owner stands; None, with no outcome, if it has to be read anew,
        and, with one, if nothing goes.
        """
        if snapshot.complete and self.head is not None:
            return None  # the epoch moved: something of what was read is gone
        if self.expected is not None and snapshot.head != self.expected:
            return None  # the trail may tell more by now
        recorder = EventRecorder(self.runtime, self.principal, snapshot)
        versions, lost, left = self._read((*self.chains.values(), *snapshot.rows))
        named = [memory.id for memory in versions.values() if self.doom.takes(memory)]
        by_source = self.doom.came_from is not None
        readable = with_derived(versions.values(), {*named, *lost}, promoted=by_source)
        doomed = tuple(sorted({*readable, *lost}))
        gone, went = [versions[id] for id in readable], frozenset(doomed)
        again = standing_again(versions, went, recorder.moment) if by_source else ()
        stays = [m for m in (*versions.values(), *again) if m.id not in went and m.status.is_live]
        kept = tombstones(stays, keys=True) if by_source else ()
        buried = tuple(sorted({*tombstones(gone, keys=self.doom.by_key)}.difference(kept)))
        released = [held for held in self.held if self._is_copy(held, buried)]
        if not doomed and not released:
            self.outcome = not_found(self.unread | left)
            return None
        derived = len(readable) - len(set(named))
        copies = [copy for id in doomed for copy in self.elsewhere.get(id, ())]
        counted = {"count": len(doomed), "held": len(released), "derived": derived}
        counted |= {"elsewhere": len(copies), "revived": len(again), UNREADABLE: len(lost)}
        counted[UNREADABLE_LEFT] = len(self.unread | left)
        reasons = tuple(f"{what}:{n}" for what, n in counted.items() if n or what == "count")
        if self.doom.dry_run:
            self.outcome = Outcome(OutcomeKind.DROPPED, None, ("dry_run", *reasons))
            return None
        self.copies = copies
        if again:
            ids = tuple(memory.id for memory in again)
            recorder.record(EventType.UNDONE, self.doom.place, subjects=ids, reasons=(REVIVED,))
        told = {BY_KEY: True} if self.doom.by_key else {}
        forgot = (EventType.FORGOTTEN, self.doom.place)
        recorder.record(*forgot, subjects=doomed, reasons=reasons, details=told)
        self.outcome = Outcome(OutcomeKind.FORGOTTEN, None, reasons, recorder.events)
        overtaken = [each for each in self.work if _carries(each, doomed)]
        self.withdrawn = tuple(each.item.id for each in overtaken)
        return Change(
            known_at=recorder.moment.known_at,
            restated=(*again, *renumbered(versions, went, recorder.moment)),
            forgotten=doomed,
            tombstones=buried,
            released=tuple(held.id for held in released),
            events=recorder.events,
            blanked=self._blanked(gone, released),
            unjournaled=(DIGEST, ECHO),
            outbox=told_to_others(recorder.moment.new_id, overtaken, copies),
        )

    def _read(
        self, rows: Iterable[StoredRow]
    ) -> tuple[dict[str, Memory], frozenset[str], frozenset[str]]:
        """Return versions by id, the ids of those that go though they cannot be read, and of those
        that cannot be read and are not touched.
        """
        read = {row.id: salvage(row) if row.id in self.going else or_none(row) for row in rows}
        versions = {id: memory for id, memory in read.items() if memory is not None}
        lost = read.keys() - versions.keys()
        return versions, frozenset(lost & self.going), frozenset(lost - self.going)

    def _blanked(
        self, gone: Iterable[Memory], released: Sequence[HeldCandidate]
    ) -> tuple[int, ...]:
        """Return the places of events that tell a key of what goes, or of what waited with it."""
        candidates = [decode_candidate(held.body) for held in released]
        keys = {(one.scope.path, one.key) for one in gone}
        keys |= {(one.scope.path, one.key) for one in candidates}
        keys = {name for name in keys if name[1] is not None}
        ids = {held.id for held in released}
        return tuple(
            told.seq
            for told in self.told
            if (told.scope, told.key) in keys or not ids.isdisjoint(told.subjects)
        )

    def _is_copy(self, held: HeldCandidate, buried: Sequence[bytes]) -> bool:
        """Whether a candidate that waits says what is forgotten, or is to go anyhow."""
        candidate = decode_candidate(held.body)
        said = not set(buried).isdisjoint(marks_of(candidate))
        return said or self.doom.takes(candidate)


def not_found(unread: Collection[str]) -> Outcome:
    """Return that nothing was found, and how much could not be read."""
    if not unread:
        return NOT_FOUND
    return replace(NOT_FOUND, reasons=(*NOT_FOUND.reasons, f"{UNREADABLE_LEFT}:{len(unread)}"))


def or_none(row: StoredRow) -> Memory | None:
    """Return the memory of a row; None of one that cannot be read."""
    with suppress(StoreCorrupt):
        return decode(row)
    return None


def read_of(rows: Iterable[StoredRow]) -> list[Memory]:
    """Return what can be read of rows, as far as it tells what it is."""
    return [memory for memory in map(salvage, rows) if memory is not None]


def _carries(pending: PendingOutbox, gone: Collection[str]) -> bool:
    """Whether work on its way is a copy of something that goes."""
    carried = unpacked(pending.item)
    return isinstance(carried, Promotion) and not set(gone).isdisjoint(carried.candidate.parents)
