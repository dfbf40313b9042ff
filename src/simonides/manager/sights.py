"""What a read looks at: the columns of its owners, as fresh as the store is (RE-5)."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from datetime import datetime
from functools import partial
from typing import NamedTuple, TypeAlias, TypeVar

from simonides.domain.change import Head, Snapshot, StoredRow
from simonides.domain.codec import decode_all
from simonides.domain.consent import RECALL_OFF, Refusals, refusals_of
from simonides.domain.cue import Cue
from simonides.domain.errors import StoreUnavailable
from simonides.domain.layer import MEMORY, Layer
from simonides.domain.memory import Memory
from simonides.domain.receipt import Seen
from simonides.domain.scope import Scope
from simonides.domain.value import from_us, to_us
from simonides.manager.ahead import Begun
from simonides.manager.completing import Completer
from simonides.manager.services import ReindexQueue, Services
from simonides.manager.spoken import Overheard, is_telling, parents_of
from simonides.ports import Capability
from simonides.retrieval.owner_index import OwnerIndex
from simonides.retrieval.pool import Pool, gather, newest, unasked
from simonides.retrieval.segment import Frozen

MANY_READ = 1000
"""Rows out of which columns are built in about a millisecond, measured: 1 µs a row. More work than
that leaves the event loop; to hand it to a thread costs 0.4 ms."""

MANY_TELLINGS = 8
"""Turns and summaries of which a few milliseconds tell what they speak of, measured: 0.4 ms a
turn."""

VECTOR = "vector"
"""What is degraded where the query, or any memory that was read, is without its vector."""

T = TypeVar("T")

Standing: TypeAlias = Awaitable[Sequence[Head | Snapshot | None]]
"""An answer to where owners stand, or to what they hold."""


class Sight(NamedTuple):
    """What one read looks at.

    Attributes:
        owners: Whose memories.
        frozen: Columns of each owner, in their order.
        now: The clock of the read.
        clock: Time to rank at: the system time that was asked for, or else ``now``.
        degraded: Names of what could not be reached.
        documents: Columns of the passages that are read beside memories.
        off: Those of the owners who have switched recall off (MO-2).
        in_session: Ids of what was stated in the reader's session and is not stored (RE-9).
        overridden: Ids of what is stored and gives way to that, or was asked to be forgotten.
    """

    owners: Sequence[Scope]
    frozen: Sequence[Frozen]
    now: datetime
    clock: datetime
    degraded: tuple[str, ...]
    documents: Sequence[Frozen] = ()
    off: frozenset[Scope] = frozenset()
    in_session: frozenset[str] = frozenset()
    overridden: tuple[str, ...] = ()

    @property
    def columns(self) -> Sequence[Frozen]:
        """All that is ranked: those of the owners, then those of documents."""
        return [*self.frozen, *self.documents] if self.documents else self.frozen

    def seen(self, cue: Cue, pool: Pool) -> tuple[Seen, ...]:
        """Return how far the changes of each owner were seen, by what the reader may see of them
        alone: where the owner stands would tell of a sibling's writes (SC-4).

        Args:
            cue: What this is read for.
            pool: What of it the cue asks for.
        """
        if cue.kinds or cue.filter is not None:
            pool = gather(self.columns, unasked(cue), self.clock, pool.levels.home)
        # Of documents there is no such time: they are read as they are.
        known = newest(pool, self.columns)[: len(self.owners)]
        times = zip(self.owners, known, strict=True)
        return tuple(Seen(owner, from_us(time)) for owner, time in times if time is not None)


class Asked(NamedTuple):
    """A question under way: where the owners of a cue stand.

    Attributes:
        owners: Whose scopes it names.
        indexes: Of each, as it was in memory when the question was begun.
        standing: The answer.
    """

    owners: Sequence[Scope]
    indexes: Sequence[OwnerIndex]
    standing: Begun[Sequence[Head | Snapshot | None]]


class Sights:
    """Brings the indexes that a read needs up to the store; writes nothing."""

    def __init__(self, services: Services) -> None:
        self._services = services
        self._completer = Completer(services)
        self._reindexing = services.part(ReindexQueue)

    @property
    def now(self) -> datetime:
        """The clock's time."""
        return from_us(self._services.clock.now_us())

    def begun(self, cue: Cue) -> Asked | None:
        """Begin to ask where the owners of a cue stand, if it is about what stands now and the
        answer may take its time.
        """
        store = self._services.store
        if Capability.INLINE in store.capabilities or not _is_of_now(cue):
            return None
        owners = owners_of(cue.scopes)
        indexes = self._services.indexes.of_all(owners)
        # More is done meanwhile than to rank then: it is waited for a model, or for the store.
        waits = cue.layers != MEMORY or self._services.indexes.indexer.is_slow
        return Asked(owners, indexes, Begun(self._standing(owners, indexes), goes_on=waits))

    async def of(self, cue: Cue, asked: Standing | None = None) -> Sight:
        """Return what a cue reads: the columns of its owners at the clocks that it names.

        Args:
            cue: Whose scopes.
            asked: Where its owners stand, if somebody has begun to ask.
        """
        owners, now = owners_of(cue.scopes), self.now
        if _is_of_now(cue):
            known, degraded = await self._known(cue, owners, asked)
            return _sight_of(known, now, degraded)
        if cue.known_at is not None:
            return await self.past(cue, dict.fromkeys(owners, cue.known_at), now)
        stood = zip(owners, await self._services.store.heads(owners), strict=True)
        return await self.past(cue, {o: from_us(head.known_at) for o, head in stood if head}, now)

    def expected(self, asked: Asked) -> Sight | None:
        """Return what is read of owners who are asked about if nobody has written since they were
        read last; None if more than that is to be waited for.
        """
        owners, indexes, _ = asked
        if not indexes or indexes[0].head is None or not all(map(_is_settled, indexes)):
            return None
        return _sight_of(_written(owners, indexes), self.now)

    async def came_true(self, asked: Asked, sight: Sight) -> bool:
        """Whether what was :meth:`expected` is what is read now, by the answer."""
        try:
            found = await asked.standing
        except StoreUnavailable:
            return False  # Whoever goes on to read hears of it as well.
        warm = self._services.indexes.warm
        for owner, index, head in zip(asked.owners, asked.indexes, found, strict=True):
            if head != index.head or index is not warm(owner) or not _is_settled(index):
                return False
        # A write of this process may have gone into an index meanwhile.
        known = _written(asked.owners, asked.indexes)
        return len(known) == len(sight.frozen) and all(
            index.freeze() is frozen for (_, index), frozen in zip(known, sight.frozen, strict=True)
        )

    async def completed(self, cue: Cue, indexes: Sequence[OwnerIndex]) -> tuple[str, ...]:
        """Let entries have the vectors that they wait for; name what is missing afterwards."""
        # Who only lists needs no vectors.
        waits = cue.query and any(index.bare for index in indexes)
        return (VECTOR,) if waits and not await self._completer.indexes(indexes) else ()

    async def past(self, cue: Cue, known_at: Mapping[Scope, datetime], now: datetime) -> Sight:
        """Return what a cue reads of each owner as of a system time.

        Versions that gave way are among them where another time of the world is asked for: they
        may have been true at it. What the owner refuses now is hidden of every time.
        """
        store, indexes = self._services.store, self._services.indexes
        ever = cue.valid_at is not None
        frozen, off = [], set()
        degraded: set[str] = set()
        for owner, time in known_at.items():
            rows: Sequence[StoredRow]
            rows = await store.as_of(owner, to_us(time), superseded=ever)
            refusals = await self.refusals(owner, tellings=True)
            if refusals.recall_off:
                off.add(owner)
            if refusals:
                rows = await self._agreed(rows, owner, refusals)
            if indexes.indexer.is_slow and cue.query:
                rows, whole = await self._completer.rows(rows)
                degraded |= set() if whole else {VECTOR}
            frozen.append(await self._built(rows, partial(indexes.frozen_at, rows)))
        clock = cue.known_at or now
        return Sight([*known_at], frozen, now, clock, tuple(degraded), off=frozenset(off))

    async def _agreed(
        self, rows: Sequence[StoredRow], owner: Scope, refusals: Refusals
    ) -> Sequence[StoredRow]:
        """Return what its owner does not refuse of what once stood."""
        memories = await self._built(rows, partial(decode_all, rows))
        hidden = await self._refused(owner, memories, refusals)
        return [row for row in rows if row.id not in hidden]

    async def audible(self, sight: Sight, cue: Cue, reader: Scope) -> Sight:
        """Return what of a sight may be recalled (MO-2): nothing, and it says so, if the reader has
        switched recall off; nothing of others who have, which is not said: it is theirs.

        Args:
            sight: What a cue reads.
            cue: The cue; the reader need not be among its scopes.
            reader: The owner that the principal who asks belongs to.
        """
        is_off = reader in sight.off
        is_read = reader in sight.owners or reader in owners_of(cue.scopes)
        if not is_read or cue.layers != MEMORY:
            # The log of a session and documents are read past the index that would say so.
            is_off, lost = await self.is_off_for(cue, reader)
            sight = sight._replace(degraded=(*sight.degraded, *lost))
        if is_off:
            return Sight((), (), sight.now, sight.clock, (*sight.degraded, RECALL_OFF))
        if not sight.off:
            return sight
        pairs = zip(sight.owners, sight.frozen, strict=True)
        left = {owner: frozen for owner, frozen in pairs if owner not in sight.off}
        return sight._replace(owners=[*left], frozen=[*left.values()])

    async def is_off_for(self, cue: Cue, reader: Scope) -> tuple[bool, tuple[str, ...]]:
        """Return whether a reader has switched recall off, and what could not be reached.

        Documents are in no store: where it is away and nothing is warm they answer, and say that
        it is (RE-5). Whatever else a cue names would need the store.
        """
        try:
            return await self.is_off(reader), ()
        except StoreUnavailable:
            if cue.layers != (Layer.L3,):
                raise
            return False, ("store",)

    async def is_off(self, owner: Scope) -> bool:
        """Whether an owner has switched recall off, by the store; by what is warm without it."""
        try:
            return (await self.refusals(owner)).recall_off
        except StoreUnavailable:
            index = self._services.indexes.warm(owner)
            if index is None or index.head is None:
                raise
            return index.refusals.recall_off

    async def refused(self, owner: Scope, memories: Sequence[Memory]) -> frozenset[str]:
        """Return the ids of those of an owner's memories, standing or not, that the owner does not
        want remembered.
        """
        refusals = await self.refusals(owner, tellings=any(map(is_telling, memories)))
        return await self._refused(owner, memories, refusals)

    async def _refused(
        self, owner: Scope, memories: Sequence[Memory], refusals: Refusals
    ) -> frozenset[str]:
        if not refusals:
            return frozenset()
        hidden = frozenset(memory.id for memory in memories if refusals.against(memory))
        index = self._services.indexes.of(owner)
        told = [each for each in memories if is_telling(each) and each.id not in hidden]
        gone = [each for each in told if not index.holds(each.id)]
        if not gone:
            return hidden
        overheard = index.overheard or Overheard(owner)
        parents = await self._parents(owner, parents_of(gone))
        work = partial(overheard.refused_since, gone, refusals, parents)
        since: frozenset[str] = await self._services.aside(work)
        return hidden | since

    async def refusals(self, owner: Scope, *, tellings: bool = False) -> Refusals:
        """Return what an owner does not want remembered, for reads that go past its index.

        Args:
            owner: Whose refusals.
            tellings: Whether to tell by them of verbatim turns and summaries as well; that takes
                the index.
        """
        refusals = refusals_of(await self._services.store.consents(owner))
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
        indexes = self._services.indexes.of_all(owners)
        standing = asked or self._standing(owners, indexes)
        current, degraded = await self._refreshed(owners, indexes, standing)
        degraded += await self.completed(cue, current)
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
        overheard = index.overheard = index.overheard or Overheard(owner)
        is_long = overheard.unread(rows) > MANY_TELLINGS or len(rows) > MANY_READ
        apart = self._services.aside if is_long else _at_once
        made_of = await apart(partial(overheard.made_of, rows))
        parents = await self._parents(owner, made_of)
        index.heed(await apart(partial(overheard.refused, rows, refusals, parents)), unheard)

    async def _parents(self, owner: Scope, ids: Sequence[str]) -> tuple[Memory, ...]:
        return decode_all(await self._services.store.get(owner, ids)) if ids else ()

    async def _standing(
        self, owners: Sequence[Scope], indexes: Sequence[OwnerIndex]
    ) -> Sequence[Head | Snapshot | None]:
        """Ask where owners stand; where the nearest is not in memory yet, for its rows at once."""
        if indexes and indexes[0].head is None:
            heads = [index.head for index in indexes]
            return await self._services.store.snapshots(dict(zip(owners, heads, strict=True)))
        return await self._services.store.heads(owners)

    async def _refreshed(
        self, owners: Sequence[Scope], indexes: Sequence[OwnerIndex], asked: Standing
    ) -> tuple[Sequence[OwnerIndex], tuple[str, ...]]:
        """Bring the owners' indexes up to the store; name what could not be reached.

        Without the store a warm index still answers, and the answer says so (RE-5).
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
            return index if index.head is None else self._services.indexes.renew(owner)
        if head != index.head:
            if not isinstance(found, Snapshot):
                found = await self._services.store.snapshot(owner, since=index.head)
            await self._built(found.rows, partial(_taken_in, index, found))
        if index.stale:
            self._reindexing.notice(owner, index)
        return index

    async def _built(self, rows: Sequence[StoredRow], work: Callable[[], T]) -> T:
        return await self._services.aside(work) if len(rows) > MANY_READ else work()


def _written(
    owners: Sequence[Scope], indexes: Sequence[OwnerIndex]
) -> list[tuple[Scope, OwnerIndex]]:
    """Return the owners who have been written to, each with its index."""
    pairs = zip(owners, indexes, strict=True)
    return [(owner, index) for owner, index in pairs if index.head is not None]


def _sight_of(
    known: Sequence[tuple[Scope, OwnerIndex]], now: datetime, degraded: tuple[str, ...] = ()
) -> Sight:
    """Return what stands now of owners who have been written to."""
    frozen = [index.freeze() for _, index in known]
    # After the columns: whoever switched recall off in between is heeded already.
    off = frozenset([owner for owner, index in known if index.refusals.recall_off])
    return Sight([owner for owner, _ in known], frozen, now, now, degraded, off=off)


def _is_settled(index: OwnerIndex) -> bool:
    """Whether an index waits for nothing but news of its owner."""
    return not (index.bare or index.stale or index.unheard)


def owners_of(scopes: Sequence[Scope]) -> tuple[Scope, ...]:
    """Return who owns the memories of scopes, each once, in their order."""
    return tuple(dict.fromkeys(scope.owner for scope in scopes))


async def _at_once(work: Callable[[], T]) -> T:
    return work()


def _is_of_now(cue: Cue) -> bool:
    return cue.known_at is None and cue.valid_at is None


def _taken_in(index: OwnerIndex, snapshot: Snapshot) -> None:
    index.refresh(snapshot)
    index.freeze()
