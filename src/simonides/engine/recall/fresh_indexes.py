"""Brings the indexes of owners up to the store, and says what one read sees of them."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from datetime import datetime
from functools import partial
from typing import NamedTuple, TypeAlias, TypeVar

from simonides.domain.codecs.memory import decode_all
from simonides.domain.errors import StoreUnavailable
from simonides.domain.governance.consent import RECALL_OFF, Refusals, refusals_of
from simonides.domain.memory import Memory
from simonides.domain.reading.cue import MEMORY, Cue, Layer
from simonides.domain.scope import Principal, Scope, owners_of
from simonides.domain.value import from_us, to_us
from simonides.domain.writing.change import Head, Snapshot, StoredRow
from simonides.engine.core.prefetch import Prefetch
from simonides.engine.core.runtime import ReindexQueue, Runtime
from simonides.engine.knowledge.library import Library
from simonides.engine.recall.session_overlay import Overlay
from simonides.engine.recall.session_search import SessionSearch
from simonides.engine.recall.slow_models import VECTOR, VectorBackfill, has_slow_model
from simonides.engine.screening.consent_matching import StatementMatcher, is_telling, parents_of
from simonides.ports import Capability
from simonides.retrieval.index.owner_index import OwnerIndex
from simonides.retrieval.query.read_view import ReadView

MANY_READ = 1000
"""Rows out of which columns are built in about a millisecond, measured: 1 µs a row. More work than
that leaves the event loop; to hand it to a thread costs 0.4 ms."""

MANY_TELLINGS = 8
"""Turns and summaries of which a few milliseconds tell what they speak of, measured: 0.4 ms a
turn."""

MANY_RANKED = 5_000
"""Rows whose ranking takes about a millisecond, measured: 0.2 µs a row."""

T = TypeVar("T")

Standing: TypeAlias = Awaitable[Sequence[Head | Snapshot | None]]
"""An answer to where owners stand, or to what they hold."""


class Asked(NamedTuple):
    """A question under way: where the owners of a cue stand.

    Attributes:
        owners: Whose scopes it names.
        indexes: Of each, as it was in memory when the question was begun.
        standing: The answer.
    """

    owners: Sequence[Scope]
    indexes: Sequence[OwnerIndex]
    standing: Prefetch[Sequence[Head | Snapshot | None]]


class Reading:
    """One recall under way, while a store over a network says where the owners stand.

    Nearly always nothing was written since the last read. So the work is done on the indexes in
    memory while the answer is on its way, and done again only if the answer says otherwise.
    """

    def __init__(self, fresh: FreshIndexes, cue: Cue) -> None:
        self._fresh = fresh
        self._cue = cue
        self._asked: Asked | None = None

    async def __aenter__(self) -> Reading:
        """Begin to ask where the owners stand."""
        self._asked = self._fresh.begun(self._cue) if Layer.L2 in self._cue.layers else None
        return self

    async def __aexit__(self, *_: object) -> None:
        """Wait for an unused answer, after a cancellation too: it holds a connection."""
        if self._asked is not None:
            await self._asked.standing.dismiss()

    async def made(self, work: Callable[[ReadView], T]) -> T:
        """Return what the work makes of the view of the cue; it may run twice.

        Raises:
            StoreError: If the store cannot be read and nothing is warm.
        """
        asked, fresh = self._asked, self._fresh
        if asked is not None and not asked.standing.has_ended:
            view = fresh.expected(self._cue, asked)
            if view is not None:
                found = work(view)
                if await fresh.came_true(asked, view):
                    return found
        view = await fresh.view(self._cue, asked and asked.standing)
        return await fresh.aside(view, partial(work, view))


class FreshIndexes:
    """Brings the indexes that a principal reads up to the store; writes nothing.

    Attributes:
        overlay: Lays what was said in the principal's session over what is stored.
    """

    def __init__(self, runtime: Runtime, principal: Principal) -> None:
        self._runtime = runtime
        self._reader = principal.home.owner
        self._session = principal.session
        self._completer = VectorBackfill(runtime)
        self._log = SessionSearch(runtime, principal)
        self.overlay = Overlay(runtime, principal)

    @property
    def now(self) -> datetime:
        """The clock's time."""
        return from_us(self._runtime.clock.now_us())

    async def view(self, cue: Cue, asked: Standing | None = None) -> ReadView:
        """Return what a cue reads for a recall or a digest, each layer as fresh as its source.

        Statements of the principal's session lie over what is stored. While the reader has
        switched recall off there is nothing.

        Args:
            cue: Whose scopes and layers.
            asked: Where its owners stand, if that is being asked already.
        """
        if Layer.L3 in cue.layers and (await self._is_off_for(cue))[0]:
            # Nor is a source told what was asked: its answer would be shown to nobody.
            view = self.nothing() if asked is None else await self._overlaid(cue, asked)
        else:
            view = await self._layers(cue, asked)
        return await self.recallable(view, cue)

    async def _layers(self, cue: Cue, asked: Standing | None) -> ReadView:
        """Return what a cue reads in its layers; document sources are asked meanwhile."""
        if Layer.L1 in cue.layers:
            return await self._log.view()
        if cue.layers == MEMORY:
            return await self._overlaid(cue, asked)
        library = self._runtime.part(Library)
        begun = library.begin(cue.query, cue.scopes)
        view = self.nothing()
        if Layer.L2 in cue.layers:
            view = await self._overlaid(cue, asked)
        looked = await library.end(begun)
        lost = await self._completed(cue, looked.indexes)
        return view._replace(
            degraded=(*view.degraded, *looked.degraded, *lost),
            documents=[*(index.freeze() for index in looked.indexes), *looked.frozen],
        )

    async def _overlaid(self, cue: Cue, asked: Standing | None) -> ReadView:
        return await self.overlay.over(await self.stored(cue, asked), cue)

    def nothing(self) -> ReadView:
        """Return the view in which there is nothing."""
        now = self.now
        return ReadView((), (), now, now, ())

    def reading(self, cue: Cue) -> Reading:
        """Begin a recall for a cue; see :class:`Reading`."""
        return Reading(self, cue)

    async def aside(self, view: ReadView, work: Callable[[], T]) -> T:
        """Return what the work comes to; if it takes long, other tasks of the event loop go on."""
        return await self._runtime.aside(work) if self._takes_long(view) else work()

    def _takes_long(self, view: ReadView) -> bool:
        rows = view.rows
        return rows > MANY_RANKED or bool(rows and has_slow_model(self._runtime))

    def begun(self, cue: Cue) -> Asked | None:
        """Begin to ask where the owners of a cue stand, if it is about what stands now and the
        answer may take its time.
        """
        store = self._runtime.store
        if Capability.INLINE in store.capabilities or not _is_of_now(cue):
            return None
        owners = owners_of(cue.scopes)
        indexes = self._runtime.indexes.of_all(owners)
        # More is done meanwhile than to rank then: it is waited for a model, or for the store.
        waits = cue.layers != MEMORY or self._runtime.indexes.indexer.is_slow
        return Asked(owners, indexes, Prefetch(self._standing(owners, indexes), goes_on=waits))

    async def stored(self, cue: Cue, asked: Standing | None = None) -> ReadView:
        """Return what is stored of a cue's owners, at the clocks that it names.

        Args:
            cue: Whose scopes.
            asked: Where its owners stand, if that is being asked already.
        """
        owners, now = owners_of(cue.scopes), self.now
        if _is_of_now(cue):
            known, degraded = await self._known(cue, owners, asked)
            return _view_of(known, now, degraded)
        if cue.known_at is not None:
            return await self.past(cue, dict.fromkeys(owners, cue.known_at), now)
        stood = zip(owners, await self._runtime.store.heads(owners), strict=True)
        return await self.past(cue, {o: from_us(head.known_at) for o, head in stood if head}, now)

    def expected(self, cue: Cue, asked: Asked) -> ReadView | None:
        """Return what a cue reads if nothing was written since the last read, as is usual.

        None if more than the answer has to be waited for, or the ranking takes long.
        """
        owners, indexes, _ = asked
        if cue.layers != MEMORY or self._session is not None or self._reader not in owners:
            return None
        if not indexes or indexes[0].head is None or not all(map(_is_settled, indexes)):
            return None
        view = _view_of(_written(owners, indexes), self.now)
        return None if view.off or self._takes_long(view) else view

    async def came_true(self, asked: Asked, view: ReadView) -> bool:
        """Whether the answer says that what was :meth:`expected` is what is read now."""
        try:
            found = await asked.standing
        except StoreUnavailable:
            return False  # The read that follows meets the same error.
        warm = self._runtime.indexes.warm
        for owner, index, head in zip(asked.owners, asked.indexes, found, strict=True):
            if head != index.head or index is not warm(owner) or not _is_settled(index):
                return False
        # A write of this process may have gone into an index meanwhile.
        known = _written(asked.owners, asked.indexes)
        return len(known) == len(view.frozen) and all(
            index.freeze() is frozen for (_, index), frozen in zip(known, view.frozen, strict=True)
        )

    async def _completed(self, cue: Cue, indexes: Sequence[OwnerIndex]) -> tuple[str, ...]:
        """Let entries have the vectors that they wait for; name what is missing afterwards."""
        # Who only lists needs no vectors.
        waits = cue.query and any(index.bare for index in indexes)
        return (VECTOR,) if waits and not await self._completer.indexes(indexes) else ()

    async def past(self, cue: Cue, known_at: Mapping[Scope, datetime], now: datetime) -> ReadView:
        """Return what a cue reads of each owner as of a system time.

        Versions that gave way are among them where another time of the world is asked for: they
        may have been true at it. What the owner refuses now is hidden of every time.
        """
        store, indexes = self._runtime.store, self._runtime.indexes
        ever = cue.valid_at is not None
        frozen, off = [], set()
        degraded: set[str] = set()
        for owner, time in known_at.items():
            rows: Sequence[StoredRow]
            rows = await store.as_of(owner, to_us(time), superseded=ever)
            refusals = await self._refusals(owner, tellings=True)
            if refusals.recall_off:
                off.add(owner)
            if refusals:
                rows = await self._agreed(rows, owner, refusals)
            if indexes.indexer.is_slow and cue.query:
                rows, whole = await self._completer.rows(rows)
                degraded |= set() if whole else {VECTOR}
            frozen.append(await self._built(rows, partial(indexes.snapshot_of, rows)))
        clock = cue.known_at or now
        return ReadView([*known_at], frozen, now, clock, tuple(degraded), off=frozenset(off))

    async def _agreed(
        self, rows: Sequence[StoredRow], owner: Scope, refusals: Refusals
    ) -> Sequence[StoredRow]:
        """Return what its owner does not refuse of what once stood."""
        memories = await self._built(rows, partial(decode_all, rows))
        hidden = await self._refused(owner, memories, refusals)
        return [row for row in rows if row.id not in hidden]

    async def recallable(self, view: ReadView, cue: Cue) -> ReadView:
        """Return what of a view may be recalled.

        Nothing, and the view says so, if the reader has switched recall off. Owners that have
        switched it off are left out, which is not said: their choice is theirs.

        Args:
            view: What the cue reads.
            cue: The cue; the reader need not be among its scopes.
        """
        reader = self._reader
        is_off = reader in view.off
        is_read = reader in view.owners or reader in owners_of(cue.scopes)
        if not is_read or cue.layers != MEMORY:
            # The log of a session and documents are read past the index that would say so.
            is_off, lost = await self._is_off_for(cue)
            view = view._replace(degraded=(*view.degraded, *lost))
        if is_off:
            return ReadView((), (), view.now, view.clock, (*view.degraded, RECALL_OFF))
        if not view.off:
            return view
        pairs = zip(view.owners, view.frozen, strict=True)
        left = {owner: frozen for owner, frozen in pairs if owner not in view.off}
        return view._replace(owners=[*left], frozen=[*left.values()])

    async def _is_off_for(self, cue: Cue) -> tuple[bool, tuple[str, ...]]:
        """Return whether the reader has switched recall off, and what could not be reached.

        Documents are in no store. Without the store and a warm index they still answer, and the
        answer says so. Everything else that a cue names needs the store.
        """
        try:
            return await self.is_off(self._reader), ()
        except StoreUnavailable:
            if cue.layers != (Layer.L3,):
                raise
            return False, ("store",)

    async def is_off(self, owner: Scope) -> bool:
        """Whether an owner has switched recall off, by the store; by what is warm without it."""
        try:
            return (await self._refusals(owner)).recall_off
        except StoreUnavailable:
            index = self._runtime.indexes.warm(owner)
            if index is None or index.head is None:
                raise
            return index.refusals.recall_off

    async def refused(self, owner: Scope, memories: Sequence[Memory]) -> frozenset[str]:
        """Return the ids of those of an owner's memories, standing or not, that the owner does not
        want remembered.
        """
        refusals = await self._refusals(owner, tellings=any(map(is_telling, memories)))
        return await self._refused(owner, memories, refusals)

    async def _refused(
        self, owner: Scope, memories: Sequence[Memory], refusals: Refusals
    ) -> frozenset[str]:
        if not refusals:
            return frozenset()
        hidden = frozenset(memory.id for memory in memories if refusals.against(memory))
        index = self._runtime.indexes.of(owner)
        told = [each for each in memories if is_telling(each) and each.id not in hidden]
        gone = [each for each in told if not index.holds(each.id)]
        if not gone:
            return hidden
        overheard = index.overheard or StatementMatcher(owner)
        parents = await self._parents(owner, parents_of(gone))
        work = partial(overheard.refused_since, gone, refusals, parents)
        since: frozenset[str] = await self._runtime.aside(work)
        return hidden | since

    async def _refusals(self, owner: Scope, *, tellings: bool = False) -> Refusals:
        """Return what an owner does not want remembered, for reads that go past its index.

        Args:
            owner: Whose refusals.
            tellings: Whether to tell by them of verbatim turns and summaries as well; that takes
                the index.
        """
        refusals = refusals_of(await self._runtime.store.consents(owner))
        if not (refusals and tellings):
            return refusals
        known, _ = await self._known(Cue("", 1, (owner,)), (owner,))
        return known[0][1].refusals if known else refusals

    async def _known(
        self, cue: Cue, owners: Sequence[Scope], asked: Standing | None = None
    ) -> tuple[list[tuple[Scope, OwnerIndex]], tuple[str, ...]]:
        """Return the indexes of those of some owners who were ever written to, as fresh as the
        store is, and what could not be reached.
        """
        indexes = self._runtime.indexes.of_all(owners)
        standing = asked or self._standing(owners, indexes)
        current, degraded = await self._refreshed(owners, indexes, standing)
        degraded += await self._completed(cue, current)
        known = _written(owners, current)
        # While one is read others may come, of this owner or of one before.
        while unheard := [each for each in known if each[1].unheard]:
            for owner, index in unheard:
                await self._read_tellings(owner, index)
        return known, degraded

    async def _read_tellings(self, owner: Scope, index: OwnerIndex) -> None:
        """Let an index know which verbatim turns and summaries speak of what its owner refused,
        which is hidden whether it was kept before or not: each is read once.
        """
        unheard, rows, refusals = index.unheard, index.tellings(), index.refusals
        if unheard is None:
            return
        overheard = index.overheard = index.overheard or StatementMatcher(owner)
        is_long = overheard.unread(rows) > MANY_TELLINGS or len(rows) > MANY_READ
        apart = self._runtime.aside if is_long else _at_once
        made_of = await apart(partial(overheard.made_of, rows))
        parents = await self._parents(owner, made_of)
        index.heed(await apart(partial(overheard.refused, rows, refusals, parents)), unheard)

    async def _parents(self, owner: Scope, ids: Sequence[str]) -> tuple[Memory, ...]:
        return decode_all(await self._runtime.store.get(owner, ids)) if ids else ()

    async def _standing(
        self, owners: Sequence[Scope], indexes: Sequence[OwnerIndex]
    ) -> Sequence[Head | Snapshot | None]:
        """Ask where owners stand; where the nearest is not in memory yet, for its rows at once."""
        if indexes and indexes[0].head is None:
            heads = [index.head for index in indexes]
            return await self._runtime.store.snapshots(dict(zip(owners, heads, strict=True)))
        return await self._runtime.store.heads(owners)

    async def _refreshed(
        self, owners: Sequence[Scope], indexes: Sequence[OwnerIndex], asked: Standing
    ) -> tuple[Sequence[OwnerIndex], tuple[str, ...]]:
        """Bring the owners' indexes up to the store; name what could not be reached.

        If the store cannot be reached, warm indexes still answer, and the answer says so.
        """
        try:
            current = []
            for owner, index, found in zip(owners, indexes, await asked, strict=True):
                # Nearly always nobody has written since: then there is nothing to wait for.
                stands = found == index.head and not index.stale
                current.append(index if stands else await self._current(owner, index, found))
            return current, ()
        except StoreUnavailable:
            if all(index.head is None for index in indexes):
                raise
            return indexes, ("store",)

    async def _current(
        self, owner: Scope, index: OwnerIndex, found: Head | Snapshot | None
    ) -> OwnerIndex:
        head = found.head if isinstance(found, Snapshot) else found
        if head is None:
            return index if index.head is None else self._runtime.indexes.renew(owner)
        if head != index.head:
            if not isinstance(found, Snapshot):
                found = await self._runtime.store.snapshot(owner, since=index.head)
            await self._built(found.rows, partial(_taken_in, index, found))
        if index.stale:
            self._runtime.part(ReindexQueue).notice(owner, index)
        return index

    async def _built(self, rows: Sequence[StoredRow], work: Callable[[], T]) -> T:
        return await self._runtime.aside(work) if len(rows) > MANY_READ else work()


def _written(
    owners: Sequence[Scope], indexes: Sequence[OwnerIndex]
) -> list[tuple[Scope, OwnerIndex]]:
    """Return the owners who have been written to, each with its index."""
    pairs = zip(owners, indexes, strict=True)
    return [(owner, index) for owner, index in pairs if index.head is not None]


def _view_of(
    known: Sequence[tuple[Scope, OwnerIndex]], now: datetime, degraded: tuple[str, ...] = ()
) -> ReadView:
    """Return what stands now of owners who have been written to."""
    frozen = [index.freeze() for _, index in known]
    # After the columns: an owner that switches recall off in between counts already.
    off = frozenset([owner for owner, index in known if index.refusals.recall_off])
    return ReadView([owner for owner, _ in known], frozen, now, now, degraded, off=off)


def _is_settled(index: OwnerIndex) -> bool:
    """Whether an index waits for nothing but news of its owner."""
    return not (index.bare or index.stale or index.unheard)


async def _at_once(work: Callable[[], T]) -> T:
    return work()


def _is_of_now(cue: Cue) -> bool:
    return cue.known_at is None and cue.valid_at is None


def _taken_in(index: OwnerIndex, snapshot: Snapshot) -> None:
    index.refresh(snapshot)
    index.freeze()
