"""Refreshes owners' indexes from the store and builds the view that one read sees."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from datetime import datetime
from functools import partial
from typing import NamedTuple, TypeAlias, TypeVar

from simonides.domain.codecs.memory import decode_all
from simonides.domain.errors import StoreUnavailable
from simonides.domain.governance.consent import RECALL_OFF, Refusals, refusals_of
from simonides.domain.memory import Record
from simonides.domain.reading.cue import MEMORY, Cue, Layer
from simonides.domain.scope import Principal, Scope, owners_of
from simonides.domain.value import from_us, to_us
from simonides.domain.writing.change import Head, Snapshot, StoredRow
from simonides.engine.core import Prefetch, ReindexQueue, Runtime
from simonides.engine.knowledge import Library
from simonides.engine.recall.session_overlay import Overlay
from simonides.engine.recall.session_search import SessionSearch
from simonides.engine.recall.slow_models import VECTOR, VectorBackfill, has_slow_model
from simonides.engine.screening import StatementMatcher, is_telling, parents_of
from simonides.ports import Capability
from simonides.retrieval.index import OwnerIndex
from simonides.retrieval.query import ReadView

MANY_READ = 1000
"""Rows whose columns are built in about a millisecond, measured: 1 µs a row. More rows are built
off the event loop; handing work to a thread costs 0.4 ms.
"""

MANY_TELLINGS = 8
"""Turns and summaries that are parsed in a few milliseconds, measured: 0.4 ms a turn."""

MANY_RANKED = 5_000
"""Rows whose ranking takes about a millisecond, measured: 0.2 µs a row."""

T = TypeVar("T")

FutureHeads: TypeAlias = Awaitable[Sequence[Head | Snapshot | None]]
"""Future answer of the store: the owners' heads, or snapshots of their rows."""


class HeadsQuery(NamedTuple):
    """An open query for the heads of a cue's owners.

    Attributes:
        owners: Owners of the cue's scopes.
        indexes: Of each owner, as in memory when the query started.
        heads: The answer.
    """

    owners: Sequence[Scope]
    indexes: Sequence[OwnerIndex]
    heads: Prefetch[Sequence[Head | Snapshot | None]]


class Reading:
    """One recall, which ranks while a networked store is still answering.

    Nearly always nothing was written since the last read. So the ranking runs on the indexes in
    memory while the query for the heads is open. It runs again only if the answer shows newer
    writes.
    """

    def __init__(self, fresh: FreshIndexes, cue: Cue) -> None:
        self._fresh = fresh
        self._cue = cue
        self._asked: HeadsQuery | None = None

    async def __aenter__(self) -> Reading:
        self._asked = self._fresh.start_query(self._cue) if Layer.L2 in self._cue.layers else None
        return self

    async def __aexit__(self, *_: object) -> None:
        """Wait for an unused answer, after a cancellation too, because it holds a connection."""
        if self._asked is not None:
            await self._asked.heads.dismiss()

    async def made(self, work: Callable[[ReadView], T]) -> T:
        """Return the result of ``work`` on the cue's view; ``work`` may run twice.

        Raises:
            StoreError: If the store cannot be read and nothing is warm.
        """
        asked, fresh = self._asked, self._fresh
        if asked is not None and not asked.heads.has_ended:
            view = fresh.expected(self._cue, asked)
            if view is not None:
                found = work(view)
                if await fresh.confirmed(asked, view):
                    return found
        view = await fresh.view(self._cue, asked and asked.heads)
        return await fresh.aside(view, partial(work, view))


class FreshIndexes:
    """Refreshes the indexes that a principal reads from the store; read-only.

    Attributes:
        overlay: Overrides stored memories with statements of the principal's session.
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

    async def view(self, cue: Cue, asked: FutureHeads | None = None) -> ReadView:
        """Return the view of a cue for a recall or a digest, each layer as fresh as its source.

        Statements of the principal's session override stored ones. The view is empty while the
        reader has switched recall off.

        Args:
            cue: Scopes and layers to read.
            asked: Future heads of its owners, if that query is open.
        """
        if Layer.L3 in cue.layers and (await self._is_off_for(cue))[0]:
            # Do not send the query to a source whose answer would not be shown.
            view = self.nothing() if asked is None else await self._overlaid(cue, asked)
        else:
            view = await self._layers(cue, asked)
        return await self.recallable(view, cue)

    async def _layers(self, cue: Cue, asked: FutureHeads | None) -> ReadView:
        """Return the view of a cue's layers; document sources are queried in parallel."""
        if Layer.L1 in cue.layers:
            return await self._log.view()
        if cue.layers == MEMORY:
            return await self._overlaid(cue, asked)
        library = self._runtime.part(Library)
        open_queries = library.begin(cue.query, cue.scopes)
        view = self.nothing()
        if Layer.L2 in cue.layers:
            view = await self._overlaid(cue, asked)
        looked = await library.end(open_queries)
        lost = await self._completed(cue, looked.indexes)
        return view._replace(
            degraded=(*view.degraded, *looked.degraded, *lost),
            documents=[*(index.freeze() for index in looked.indexes), *looked.frozen],
        )

    async def _overlaid(self, cue: Cue, asked: FutureHeads | None) -> ReadView:
        return await self.overlay.over(await self.stored(cue, asked), cue)

    def nothing(self) -> ReadView:
        """Return an empty view."""
        now = self.now
        return ReadView((), (), now, now, ())

    def reading(self, cue: Cue) -> Reading:
        """Start a recall for a cue; see :class:`Reading`."""
        return Reading(self, cue)

    async def aside(self, view: ReadView, work: Callable[[], T]) -> T:
        """Return the result of ``work``; long work runs off the event loop."""
        return await self._runtime.aside(work) if self._takes_long(view) else work()

    def _takes_long(self, view: ReadView) -> bool:
        rows = view.rows
        return rows > MANY_RANKED or bool(rows and has_slow_model(self._runtime))

    def start_query(self, cue: Cue) -> HeadsQuery | None:
        """Start the query for the heads of a cue's owners.

        None for a cue about the past, and with an in-process store, which answers at once.
        """
        store = self._runtime.store
        if Capability.INLINE in store.capabilities or not _is_of_now(cue):
            return None
        owners = owners_of(cue.scopes)
        indexes = self._runtime.indexes.of_all(owners)
        # A slow model or other layers are awaited meanwhile, so the query must run on by itself.
        waits = cue.layers != MEMORY or self._runtime.indexes.indexer.is_slow
        return HeadsQuery(
            owners, indexes, Prefetch(self._query_heads(owners, indexes), goes_on=waits)
        )

    async def stored(self, cue: Cue, asked: FutureHeads | None = None) -> ReadView:
        """Return a view of what is stored of a cue's owners, at the times that the cue names.

        Args:
            cue: Scopes to read.
            asked: Future heads of its owners, if that query is open.
        """
        owners, now = owners_of(cue.scopes), self.now
        if _is_of_now(cue):
            known, degraded = await self._known(cue, owners, asked)
            return _view_of(known, now, degraded)
        if cue.known_at is not None:
            return await self.past(cue, dict.fromkeys(owners, cue.known_at), now)
        heads = zip(owners, await self._runtime.store.heads(owners), strict=True)
        return await self.past(cue, {o: from_us(head.known_at) for o, head in heads if head}, now)

    def expected(self, cue: Cue, asked: HeadsQuery) -> ReadView | None:
        """Return a cue's view from the indexes in memory, assuming no newer writes.

        None if other answers must be awaited, or if the ranking takes long.
        """
        owners, indexes, _ = asked
        if cue.layers != MEMORY or self._session is not None or self._reader not in owners:
            return None
        if not indexes or indexes[0].head is None or not all(map(_is_settled, indexes)):
            return None
        view = _view_of(_written(owners, indexes), self.now)
        return None if view.off or self._takes_long(view) else view

    async def confirmed(self, asked: HeadsQuery, view: ReadView) -> bool:
        """Whether the heads confirm the :meth:`expected` view."""
        try:
            found = await asked.heads
        except StoreUnavailable:
            return False  # The next read of the store meets the same error.
        warm = self._runtime.indexes.warm
        for owner, index, head in zip(asked.owners, asked.indexes, found, strict=True):
            if head != index.head or index is not warm(owner) or not _is_settled(index):
                return False
        # A write of this process may have changed an index meanwhile.
        known = _written(asked.owners, asked.indexes)
        return len(known) == len(view.frozen) and all(
            index.freeze() is frozen for (_, index), frozen in zip(known, view.frozen, strict=True)
        )

    async def _completed(self, cue: Cue, indexes: Sequence[OwnerIndex]) -> tuple[str, ...]:
        """Create missing vectors; return ``vector`` in a tuple if some are still missing."""
        # Listing needs no vectors.
        waits = cue.query and any(index.bare for index in indexes)
        return (VECTOR,) if waits and not await self._completer.indexes(indexes) else ()

    async def past(self, cue: Cue, known_at: Mapping[Scope, datetime], now: datetime) -> ReadView:
        """Return a cue's view of each owner as of a system time.

        A cue with a valid time includes superseded versions, which may have been true then. Current
        refusals of the owner apply to every time.
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
                rows = await self._unrefused(rows, owner, refusals)
            if indexes.indexer.is_slow and cue.query:
                rows, whole = await self._completer.rows(rows)
                degraded |= set() if whole else {VECTOR}
            frozen.append(await self._built(rows, partial(indexes.snapshot_of, rows)))
        clock = cue.known_at or now
        return ReadView([*known_at], frozen, now, clock, tuple(degraded), off=frozenset(off))

    async def _unrefused(
        self, rows: Sequence[StoredRow], owner: Scope, refusals: Refusals
    ) -> Sequence[StoredRow]:
        memories = await self._built(rows, partial(decode_all, rows))
        hidden = await self._refused(owner, memories, refusals)
        return [row for row in rows if row.id not in hidden]

    async def recallable(self, view: ReadView, cue: Cue) -> ReadView:
        """Return the part of a view that may be recalled.

        If the reader has switched recall off, the result is empty and says so. Other owners who
        have switched it off are left out silently, because that choice is private.

        Args:
            view: The view of the cue.
            cue: The cue; the reader need not be among its scopes.
        """
        reader = self._reader
        is_off = reader in view.off
        is_read = reader in view.owners or reader in owners_of(cue.scopes)
        if not is_read or cue.layers != MEMORY:
            # The session log and documents bypass the index that holds this setting.
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
        """Return whether the reader has switched recall off, and the names of unreachable parts.

        Documents are outside the store. Without the store and a warm index they are still returned,
        with ``store`` as degraded. All other layers need the store.
        """
        try:
            return await self.is_off(self._reader), ()
        except StoreUnavailable:
            if cue.layers != (Layer.L3,):
                raise
            return False, ("store",)

    async def is_off(self, owner: Scope) -> bool:
        """Whether an owner has switched recall off: by the store, or by a warm index if it is
        unreachable.
        """
        try:
            return (await self._refusals(owner)).recall_off
        except StoreUnavailable:
            index = self._runtime.indexes.warm(owner)
            if index is None or index.head is None:
                raise
            return index.refusals.recall_off

    async def refused(self, owner: Scope, memories: Sequence[Record]) -> frozenset[str]:
        """Return the ids of those of an owner's memories, live or not, that the owner refuses."""
        refusals = await self._refusals(owner, tellings=any(map(is_telling, memories)))
        return await self._refused(owner, memories, refusals)

    async def _refused(
        self, owner: Scope, memories: Sequence[Record], refusals: Refusals
    ) -> frozenset[str]:
        if not refusals:
            return frozenset()
        hidden = frozenset(memory.id for memory in memories if refusals.against(memory))
        index = self._runtime.indexes.of(owner)
        tellings = [each for each in memories if is_telling(each) and each.id not in hidden]
        gone = [each for each in tellings if not index.holds(each.id)]
        if not gone:
            return hidden
        matcher = index.overheard or StatementMatcher(owner)
        parents = await self._parents(owner, parents_of(gone))
        work = partial(matcher.refused_since, gone, refusals, parents)
        since: frozenset[str] = await self._runtime.aside(work)
        return hidden | since

    async def _refusals(self, owner: Scope, *, tellings: bool = False) -> Refusals:
        """Return an owner's refusals, for reads that bypass its index.

        Args:
            owner: Whose refusals.
            tellings: Whether verbatim turns and summaries must be matched too, which needs the
                index.
        """
        refusals = refusals_of(await self._runtime.store.consents(owner))
        if not (refusals and tellings):
            return refusals
        known, _ = await self._known(Cue("", 1, (owner,)), (owner,))
        return known[0][1].refusals if known else refusals

    async def _known(
        self, cue: Cue, owners: Sequence[Scope], asked: FutureHeads | None = None
    ) -> tuple[list[tuple[Scope, OwnerIndex]], tuple[str, ...]]:
        """Return the refreshed indexes of the owners that were ever written, and the unreachable
        parts.
        """
        indexes = self._runtime.indexes.of_all(owners)
        heads = asked or self._query_heads(owners, indexes)
        current, degraded = await self._refreshed(owners, indexes, heads)
        degraded += await self._completed(cue, current)
        known = _written(owners, current)
        # During the await other writes may arrive, of this owner or an earlier one.
        while unparsed := [each for each in known if each[1].unheard]:
            for owner, index in unparsed:
                await self._parse_tellings(owner, index)
        return known, degraded

    async def _parse_tellings(self, owner: Scope, index: OwnerIndex) -> None:
        """Tell an index which verbatim turns and summaries mention something its owner refused.

        These are hidden whenever they were stored. Each is parsed once.
        """
        unparsed, rows, refusals = index.unheard, index.tellings(), index.refusals
        if unparsed is None:
            return
        matcher = index.overheard = index.overheard or StatementMatcher(owner)
        is_long = matcher.unread(rows) > MANY_TELLINGS or len(rows) > MANY_READ
        apart = self._runtime.aside if is_long else _at_once
        made_of = await apart(partial(matcher.made_of, rows))
        parents = await self._parents(owner, made_of)
        index.heed(await apart(partial(matcher.refused, rows, refusals, parents)), unparsed)

    async def _parents(self, owner: Scope, ids: Sequence[str]) -> tuple[Record, ...]:
        return decode_all(await self._runtime.store.get(owner, ids)) if ids else ()

    async def _query_heads(
        self, owners: Sequence[Scope], indexes: Sequence[OwnerIndex]
    ) -> Sequence[Head | Snapshot | None]:
        """Query the owners' heads; if the first index is cold, query their rows at once."""
        if indexes and indexes[0].head is None:
            heads = [index.head for index in indexes]
            return await self._runtime.store.snapshots(dict(zip(owners, heads, strict=True)))
        return await self._runtime.store.heads(owners)

    async def _refreshed(
        self, owners: Sequence[Scope], indexes: Sequence[OwnerIndex], asked: FutureHeads
    ) -> tuple[Sequence[OwnerIndex], tuple[str, ...]]:
        """Refresh the owners' indexes from the store; return the unreachable parts.

        If the store is unreachable, warm indexes are used and the result says so.
        """
        try:
            current = []
            for owner, index, found in zip(owners, indexes, await asked, strict=True):
                # Nearly always nothing was written since, and there is nothing to await.
                is_current = found == index.head and not index.stale
                current.append(index if is_current else await self._current(owner, index, found))
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
            await self._built(found.rows, partial(_refresh_index, index, found))
        if index.stale:
            self._runtime.part(ReindexQueue).notice(owner, index)
        return index

    async def _built(self, rows: Sequence[StoredRow], work: Callable[[], T]) -> T:
        return await self._runtime.aside(work) if len(rows) > MANY_READ else work()


def _written(
    owners: Sequence[Scope], indexes: Sequence[OwnerIndex]
) -> list[tuple[Scope, OwnerIndex]]:
    """Return the owners that were ever written, each with its index."""
    pairs = zip(owners, indexes, strict=True)
    return [(owner, index) for owner, index in pairs if index.head is not None]


def _view_of(
    known: Sequence[tuple[Scope, OwnerIndex]], now: datetime, degraded: tuple[str, ...] = ()
) -> ReadView:
    """Return the current view of owners that were ever written."""
    frozen = [index.freeze() for _, index in known]
    # After the columns: an owner that switches recall off in between is covered.
    off = frozenset([owner for owner, index in known if index.refusals.recall_off])
    return ReadView([owner for owner, _ in known], frozen, now, now, degraded, off=off)


def _is_settled(index: OwnerIndex) -> bool:
    """Whether an index has no pending vectors, stale entries or unparsed turns."""
    return not (index.bare or index.stale or index.unheard)


async def _at_once(work: Callable[[], T]) -> T:
    return work()


def _is_of_now(cue: Cue) -> bool:
    return cue.known_at is None and cue.valid_at is None


def _refresh_index(index: OwnerIndex, snapshot: Snapshot) -> None:
    index.refresh(snapshot)
    index.freeze()
