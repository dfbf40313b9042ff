"""Records reads in a journal, outside the path of the reads.

A read leaves its result in a queue. The queue is written to the journal of the reader's owner
within :data:`FLUSH_S` seconds, before a capture and on close. The journal holds how often each
memory was read, the receipts of digests, and how answers used them.

Journal entries raise no revision, are not part of the audit chain, and do not affect ranking. The
store keeps them with the owner's rows, so they are sealed and erased with the owner.
"""

from __future__ import annotations

import asyncio
import json
import os
import threading
import warnings
from collections import deque
from collections.abc import Callable, Coroutine, Iterable, Mapping, Sequence
from datetime import datetime
from functools import partial
from typing import Any, NamedTuple, TypeAlias, TypeVar
from weakref import WeakValueDictionary

from simonides.domain.canonical_json import canonical_json
from simonides.domain.codecs.from_dict import read_value
from simonides.domain.errors import (
    InvalidInput,
    StoreCorrupt,
    StoreError,
    StoreUnavailable,
)
from simonides.domain.memory import Record
from simonides.domain.policy.floors import FeedbackRules, FloorState, Served
from simonides.domain.reading.digest import DigestItem
from simonides.domain.reading.recall import Hit
from simonides.domain.reading.receipt import Receipt
from simonides.domain.scope import Scope
from simonides.domain.value import EPOCH, to_us
from simonides.domain.writing.change import JournalEntry
from simonides.engine.recall.shown_ledger import Said, Showing, entries_of
from simonides.ports import Alarm, MemoryStore

T = TypeVar("T")

FLUSH_S = 5.0
"""Longest wait of an entry in seconds, where there is an alarm."""

MAX_RECEIPTS = 2_000
"""Most queued receipts of one owner. From half of it on they are written at once. If writing fails,
the oldest are dropped. Chosen: about 20 MB.
"""

AT_ONCE = 256
"""Owners whose notes are written in one transaction. Chosen: it costs a few commits, and delays
other writers by some milliseconds at most.
"""

ACCESS = "access"
"""Kind of the entry with read counts and the time of the last read: ``memories`` has counts by id,
by the path of the memory's owner.
"""

DIGEST = "digest"
"""Kind of the entry with a digest's receipt."""

FEEDBACK = "feedback"
"""Kind of the entry with the learned shift of the floor; the newest one counts."""

Drive: TypeAlias = Callable[[Coroutine[Any, Any, None]], None]
"""Runs a coroutine to its end where there is no event loop."""


class Used(NamedTuple):
    """How an answer used one read.

    Attributes:
        served: The outcome of the memories shown.
        base: The policy's floor of the digest.
        rules: How the floor adapts.
    """

    served: Served
    base: float
    rules: FeedbackRules


Note: TypeAlias = Receipt | Used


class Taken(NamedTuple):
    """The queued notes of one owner.

    Attributes:
        last: Time of the last read.
        counts: Scope and number of reads of each memory, by id.
        notes: Receipts, and uses by answers, in order.
        shown: What went into prompts.
    """

    last: datetime
    counts: Mapping[str, tuple[Scope, int]]
    notes: Sequence[Note]
    shown: Said

    @property
    def used(self) -> list[Used]:
        """Uses by answers, in order."""
        return [note for note in self.notes if isinstance(note, Used)]

    def entries(self, floors: FloorState | None) -> list[JournalEntry]:
        """Return the journal entries of the reads, the receipts and the shift of the floor."""
        receipts = [note for note in self.notes if isinstance(note, Receipt)]
        found = [
            JournalEntry(to_us(each.at), DIGEST, canonical_json(each.to_dict()))
            for each in receipts
        ]
        memories: dict[str, dict[str, int]] = {}
        for id, (scope, count) in self.counts.items():
            memories.setdefault(scope.owner.path, {})[id] = count
        if memories:
            body = canonical_json({"memories": memories})
            found.insert(0, JournalEntry(to_us(self.last), ACCESS, body))
        if floors is not None:
            at = max(one.served.at for one in self.used)
            found.append(JournalEntry(to_us(at), FEEDBACK, canonical_json(floors.to_dict())))
        return [*found, *entries_of(self.shown)] if self.shown else found


class OwnerNotes:
    """Unwritten notes on the reads of one owner; see :class:`ReadJournal`.

    Attributes:
        owner: Owner of the readers.
        floors: Shift of the owner's floor, as last read or written; None if unknown.
        is_marked: Whether the journal knows that notes are queued.
        showing: What was put into prompts, for recognising it when it comes back.
    """

    __slots__ = (
        "__weakref__",
        "_counts",
        "_journal",
        "_last",
        "_waiting",
        "floors",
        "is_marked",
        "owner",
        "showing",
    )

    def __init__(self, journal: ReadJournal, owner: Scope) -> None:
        self.owner = owner
        self.floors: FloorState | None = None
        self.is_marked = False
        self.showing = Showing()
        self._journal = journal
        self._last = EPOCH
        # Only ids, numbers and scopes, so that a read's hits are not kept alive here.
        self._counts: dict[str, tuple[Scope, int]] = {}
        self._waiting: deque[Note] = deque()

    def read(self, shown: Iterable[Hit | DigestItem], at: datetime) -> None:
        """Count the memories that a read returned; about a microsecond, on any thread.

        No lock is taken. Counts of concurrent threads, or during :meth:`taken`, may be lost.
        Nothing is counted twice.
        """
        counts = self._counts
        for one in shown:
            memory = one.record
            if memory.is_passage:
                continue  # no store has it
            known = counts.get(memory.id)
            counts[memory.id] = (memory.scope, 1 if known is None else known[1] + 1)
        self._last = at
        # Checked last: the mark is always cleared before the counts are taken.
        if not self.is_marked and counts:
            self._journal.mark(self)

    def add(self, note: Note) -> None:
        """Queue a note; does not block, and is safe on any thread."""
        self._waiting.append(note)
        if not self.is_marked:
            self._journal.mark(self)
        if len(self._waiting) == MAX_RECEIPTS // 2:
            self._journal.hurry()
        elif len(self._waiting) > MAX_RECEIPTS:
            self._drop_oldest()

    def show(self, session: str | None, shown: Iterable[Record] | str, at: datetime) -> None:
        """Queue what was put into a prompt: memories, or a text made of them."""
        self.showing.add(session, shown, self.owner, to_us(at))
        if not self.is_marked and self.showing:
            self._journal.mark(self)

    def _drop_oldest(self) -> None:
        with self._journal.lock:
            while len(self._waiting) > MAX_RECEIPTS:
                self._waiting.popleft()
                self._journal.lost += 1

    def taken(self) -> Taken:
        """Return the queued notes and empty the queue."""
        notes = list[Note]()
        with self._journal.lock:
            self.is_marked = False
            counts, self._counts = self._counts, {}
            while self._waiting:
                notes.append(self._waiting.popleft())
        # A concurrent reader may still count in the old dictionary, hence the copy.
        return Taken(self._last, counts.copy(), notes, self.showing.taken())

    def put_back(self, taken: Taken) -> None:
        """Queue taken notes again."""
        with self._journal.lock:
            for id, (scope, count) in taken.counts.items():
                _, more = self._counts.get(id, (scope, 0))
                self._counts[id] = (scope, count + more)
            self._waiting.extendleft(reversed(taken.notes))
            self.showing.put_back(taken.shown)
        self._journal.mark(self)


class _Mute(OwnerNotes):
    """Drops all notes, for reads that must leave no record, such as a comparison of two stores."""

    __slots__ = ()

    def read(self, shown: Iterable[Hit | DigestItem], at: datetime) -> None:
        del shown, at

    def add(self, note: Note) -> None:
        del note

    def show(self, session: str | None, shown: Iterable[Record] | str, at: datetime) -> None:
        del session, shown, at


class ReadJournal:
    """Writes the queued notes of readers to the store.

    Safe to share between threads. There is one :class:`OwnerNotes` per owner while it is referenced
    or holds queued notes.

    Attributes:
        lost: Notes dropped because they could not be written.
        lock: Held while notes are moved, never while they are written.
    """

    def __init__(self, store: MemoryStore, alarm: Alarm | None = None) -> None:
        """Create a journal.

        Args:
            store: Where it is written.
            alarm: Starts the writing; None: only captures and closing do.
        """
        self.lost = 0
        self._store = store
        self._alarm = alarm
        self._kind: type[OwnerNotes] = OwnerNotes
        self._drive: Drive | None = None
        self.lock = threading.Lock()
        self._notes: WeakValueDictionary[Scope, OwnerNotes] = WeakValueDictionary()
        self._marked: dict[Scope, OwnerNotes] = {}
        self._is_armed = False
        self._is_closed = False
        self._process = os.getpid()
        self._problem: str | None = None

    def mute(self) -> None:
        """Record no further reads: measurements are not uses of memory."""
        self._kind = _Mute
        self._notes.clear()

    def driven_by(self, drive: Drive) -> None:
        """Set the function that writes where no event loop is running at the time of the read."""
        self._drive = drive

    def of(self, owner: Scope) -> OwnerNotes:
        """Return the notes of an owner."""
        with self.lock:
            return self._notes.setdefault(owner, self._kind(self, owner))

    def check_open(self) -> None:
        """Raise :class:`StoreUnavailable` if the journal is closed and would not write a note."""
        if self._is_closed:
            raise StoreUnavailable(self._store.location, "the store is closed")

    def mark(self, notes: OwnerNotes) -> None:
        """Register queued notes and set the alarm."""
        with self.lock:
            notes.is_marked = True
            self._marked[notes.owner] = notes
            arm, self._is_armed = not self._is_armed, True
        if arm:
            self._wake_in(FLUSH_S)

    def hurry(self) -> None:
        """Write the queue as soon as possible, because it is long."""
        self._wake_in(0.0)

    def _wake_in(self, seconds: float) -> None:
        if self._alarm is not None:
            self._alarm.after(seconds, partial(self._due, _running_loop()))

    @property
    def problems(self) -> tuple[str, ...]:
        """Errors of the last write, for ``status``; no content, no scope."""
        unwritten = () if self._problem is None else (f"journal_unwritten:{self._problem}",)
        return (*unwritten, *(("receipts_lost",) if self.lost else ()))

    async def flush(self, owner: Scope | None = None) -> None:
        """Write the queued notes of an owner, or of all.

        Notes that cannot be written stay queued, and :attr:`problems` says so. No read or capture
        fails because of the journal.
        """
        with self.lock:
            wanted = [*self._marked] if owner is None else [owner]
            marked = [n for n in (self._marked.pop(each, None) for each in wanted) if n is not None]
        for first in range(0, len(marked), AT_ONCE):
            await self._write(marked[first : first + AT_ONCE])

    def discard(self, owner: Scope) -> None:
        """Drop an owner's queued notes and the shift of its floor, because the owner is being
        erased.
        """
        with self.lock:
            self._marked.pop(owner, None)
            notes = self._notes.get(owner)
        if notes is not None:
            notes.taken()
            notes.floors, notes.showing.ledger = None, None

    async def close(self) -> None:
        """Write the queue for the last time; warn if that fails."""
        if self._is_closed or self._process != os.getpid():
            return  # a forked child: the parent writes the queue
        await self.flush()
        self._is_closed = True
        if self._problem is not None and self._marked:
            warnings.warn(
                f"simonides: the last read notes are lost: {self._problem} while writing them to"
                f" {self._store.location}",
                RuntimeWarning,
                stacklevel=2,
            )
            self._marked.clear()

    async def floors(self, notes: OwnerNotes) -> FloorState:
        """Return the shift of an owner's floor.

        Raises:
            StoreError: If it is not known and cannot be read.
        """
        known = notes.floors
        if known is None:
            known = notes.floors = await self._stored_floors(notes.owner)
        return known

    async def _stored_floors(self, owner: Scope) -> FloorState:
        found = await self._store.journaled(owner, limit=1, kind=FEEDBACK)
        if not found:
            return FloorState()
        return _read(FloorState, found[0], self._store.location)

    async def receipts(self, owner: Scope, limit: int) -> tuple[Receipt, ...]:
        """Return the newest ``limit`` receipts of an owner's digests, oldest first."""
        await self.flush(owner)
        found = await self._store.journaled(owner, limit=limit, kind=DIGEST)
        return tuple(_read(Receipt, entry, self._store.location) for entry in found)

    async def _write(self, marked: Sequence[OwnerNotes]) -> None:
        self._problem = None
        taken = {notes: notes.taken() for notes in marked}
        written: dict[OwnerNotes, list[JournalEntry]] = {}
        floors: dict[OwnerNotes, FloorState | None] = {}
        for notes, what in taken.items():
            try:
                floors[notes] = await self._moved_floors(notes.owner, what)
            except StoreError as error:
                # A broken entry of one owner must not prevent the writes of others.
                self._put_back(notes, what, error)
                continue
            written[notes] = what.entries(floors[notes])
        try:
            found = {notes.owner: entries for notes, entries in written.items() if entries}
            if found:
                await self._store.journal(found)
        except StoreError as error:
            for notes in written:
                self._put_back(notes, taken[notes], error)
            return
        for notes in written:
            # None if nothing was decided here. Another process may have, so the next digest reads
            # it.
            notes.floors = floors[notes]
        try:
            for notes in written:
                if taken[notes].shown:
                    await notes.showing.trimmed(self._store, notes.owner)
        except StoreError as error:
            # The notes are written. The ledger stays too long until the next time.
            self._problem = type(error).__name__

    def _put_back(self, notes: OwnerNotes, taken: Taken, error: StoreError) -> None:
        self._problem = type(error).__name__
        notes.put_back(taken)

    async def _moved_floors(self, owner: Scope, taken: Taken) -> FloorState | None:
        """Return the shift of a floor after the taken notes; None if none affects it."""
        if not taken.used:
            return None
        # Another process may have moved it meanwhile. Two processes at the same moment may lose a
        # read of each other's. That is acceptable, because these are rates, not accounts.
        # a read of each other's; these are rates, not accounts.
        state = await self._stored_floors(owner)
        for one in taken.used:
            state = state.after(one.served, one.base, one.rules)
        return state

    def _due(self, loop: asyncio.AbstractEventLoop | None) -> None:
        with self.lock:
            self._is_armed = False
            idle = self._is_closed or not self._marked or self._process != os.getpid()
        if idle:
            return
        work = self.flush()
        try:
            if loop is not None and self._drive is None:
                asyncio.run_coroutine_threadsafe(work, loop)
            elif self._drive is not None:
                self._drive(work)
            else:
                work.close()
        except (StoreError, RuntimeError) as error:
            # The loop was closed meanwhile; closing the store writes the queue.
            work.close()
            self._problem = type(error).__name__


def _read(kind: type[T], entry: JournalEntry, location: str) -> T:
    try:
        found: T = read_value(kind, entry.kind, json.loads(entry.body))
    except (ValueError, InvalidInput) as error:
        raise StoreCorrupt(location, f"a journal entry cannot be read: {error}") from error
    return found


def _running_loop() -> asyncio.AbstractEventLoop | None:
    try:
        return asyncio.get_running_loop()
    except RuntimeError:
        return None
