"""Exchanges one owner between a replica and its remote until both hold the same.

The steps of an exchange:

1. what one side forgot is forgotten on the other;
2. both sides agree on consents and reviews;
3. changes of the replica are merged into the remote;
4. changes of the remote are merged into the replica.

Each step is one or more turns of one store, and repeating a step is harmless. The cursor is written
only at the end, so that an interrupted exchange starts over from the last finished one.

Only memories with their states, deletions, consents and reviews cross. Each store keeps its own
audit chain, keys, journal, receipts, grants, policies, sessions and the candidates held in them.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from functools import partial
from types import MappingProxyType

from simonides.domain.codecs.memory import decode
from simonides.domain.errors import StoreUnavailable
from simonides.domain.event import EventType
from simonides.domain.governance.consent import Consent
from simonides.domain.operations.sync import CURSOR, Cursor, OwnerSync
from simonides.domain.scope import SYNC_ACTOR, Principal, Scope
from simonides.domain.writing.change import (
    Change,
    Head,
    JournalEntry,
    Snapshot,
    StoredRow,
    TurnRequest,
)
from simonides.engine.core import EventRecorder, Runtime, Trail
from simonides.engine.forgetting import Eraser, Forgetter
from simonides.engine.hygiene_scan import Cycle
from simonides.ports import MemoryStore
from simonides.transfer.sync.agreement import agreed_consents, agreed_reviews, apply_agreed
from simonides.transfer.sync.merge import Absorbed, Absorber

ROUNDS = 5
"""Most exchanges of one owner in a call. An exchange repeats after a concurrent write, or after a
received memory was deleted as forgotten. The next call does the rest.
"""

ATTEMPTS = 100
"""How often changes are read again because of concurrent writes."""

CURSORS = 4
"""Cursors kept of each owner: the number of remotes that can alternate without a full exchange."""

UNWRITTEN = Head(b"", 0, 0, 0, 0)
"""The head of an owner without any write."""


async def exchange(here: Runtime, there: Runtime, owner: Scope, *, full: bool = False) -> OwnerSync:
    """Exchange an owner between a replica and its remote.

    Args:
        here: The replica.
        there: The remote.
        owner: Whose memories.
        full: Compare everything, not only changes since the last exchange. Use it, for example,
            after a change of a policy that refused memories.

    Raises:
        StoreError: If a store fails. Finished work stays, and the next call continues.
    """
    total = OwnerSync(owner.path)
    for _ in range(ROUNDS):
        one = _Exchange(here, there, owner)
        total = total.plus(await one.run(full=full))
        if one.is_settled:
            break
        full = False
    return total


async def erase_there(there: Runtime, owner: Scope, name: str) -> None:
    """Erase an owner at the remote because the replica erased it.

    A second call with the same name does nothing: the owner may have been written again since.

    Raises:
        StoreError: If the remote fails.
    """
    trail = Trail(there.store, owner)
    await trail.follow()
    if not any(name in reasons for reasons in trail.erased.values()):
        await Eraser(there, Principal(owner, by=SYNC_ACTOR)).erase(owner, reasons=(name,))


async def unseen(store: MemoryStore, owner: Scope) -> int:
    """Return how many revisions of a replica's owner no remote has, by the noted cursors."""
    (head,) = await store.heads([owner])
    if head is None:
        return 0
    seen = [
        c.here.revision for c in await _cursors(store, owner) if _is_same_incarnation(c.here, head)
    ]
    return head.revision - max(seen, default=0)


class _Exchange:
    """One exchange of one owner.

    Attributes:
        is_settled: Whether both sides hold the same, unless there are further writes.
    """

    def __init__(self, here: Runtime, there: Runtime, owner: Scope) -> None:
        self._here, self._there, self._owner = here, there, owner
        self.is_settled = True

    async def run(self, *, full: bool) -> OwnerSync:
        owner, report = self._owner, OwnerSync(self._owner.path)
        here, there = await self._heads()
        cursors = await _cursors(self._here.store, owner)
        cursor = next((c for c in reversed(cursors) if c.binds(here, there)), None)
        if here is None and there is None:
            return report
        if cursor is None and await self._was_erased_there(cursors, here, there):
            await Eraser(self._here, Principal(owner, by=SYNC_ACTOR)).erase(owner)
            self.is_settled = False
            return replace(report, erased=True)
        if cursor is not None and not full and _is_unchanged(cursor, here, there):
            return report
        base = cursor or await self._start_cursor()
        mine = Trail(self._here.store, owner, base.here.seq)
        theirs = Trail(self._there.store, owner, base.there.seq)
        gone = await self._forget(mine, theirs)
        read_to = mine.seq, theirs.seq
        words, consents, reviews = await self._agree(base.consents)
        if full or _allows_more(base.consents, words):
            base = replace(base, here=UNWRITTEN, there=UNWRITTEN)

        sent, seen_here = await changes(self._here.store, owner, base.here)
        into_there = Absorber(self._there, owner, theirs)
        pushed = await into_there.absorb(sent, since=base.there.revision, anew=mine.anew)
        gone += await self._forget_barred(self._here, pushed, theirs)

        came, seen_there = await changes(self._there.store, owner, base.there)
        (before, _) = await self._heads()
        into_here = Absorber(self._here, owner, mine)
        pulled = await into_here.absorb(came, since=seen_here.revision, anew=theirs.anew)
        gone += await self._forget_barred(self._there, pulled, mine)

        (after, _) = await self._heads()
        is_quiet = _moved(seen_here, before) == 0 and _moved(before, after) == pulled.turns
        self.is_settled = is_quiet and not pushed.barred and not pulled.barred
        reached = after if is_quiet and after is not None else seen_here
        heads = reached._replace(seq=read_to[0]), seen_there._replace(seq=read_to[1])
        await self._note(Cursor(*heads, words, met=seen_there.seq))
        await _send_derivations(self._here.store, self._there.store, owner)
        await _send_derivations(self._there.store, self._here.store, owner)
        if pushed.added and pulled.added:
            await self._contradictions([*sent, *came])
        return OwnerSync(
            owner.path,
            pushed=pushed.added,
            pulled=pulled.added,
            changed=pushed.changed + pulled.changed,
            conflicts=pushed.conflicts + pulled.conflicts,
            forgotten=gone,
            consents=consents,
            reviews=reviews,
            refused=MappingProxyType({**pushed.refused, **pulled.refused}),
        )

    async def _contradictions(self, rows: Sequence[StoredRow]) -> None:
        """Scan for free text of one side that contradicts free text of the other.

        Each write checks its own store only, so that no write has seen both.
        """
        (before, _) = await self._heads()
        said_since = min(decode(row).created_at for row in rows)
        cycle = Cycle(self._here, Principal(self._owner, by=SYNC_ACTOR))
        await cycle.run(self._owner, dry_run=False, since=said_since)
        (after, _) = await self._heads()
        self.is_settled = self.is_settled and after == before

    async def _start_cursor(self) -> Cursor:
        """Store a cursor with both incarnations of the owner before anything crosses.

        If one side is erased before the exchange ends, the other can tell which incarnation that
        was.
        """
        for side in (self._here, self._there):
            (head,) = await side.store.heads([self._owner])
            if head is None:
                await side.store.commit(self._owner, TurnRequest(), partial(self._begin, side))
        here, there = await self._heads()
        cursor = Cursor(
            _first_head(here), _first_head(there), met=0 if there is None else there.seq
        )
        await self._note(cursor)
        return cursor

    def _begin(self, side: Runtime, snapshot: Snapshot) -> Change | None:
        if snapshot.head is not None:
            return None
        recorder = EventRecorder(side, Principal(self._owner, by=SYNC_ACTOR), snapshot)
        recorder.record(EventType.SYNCED, self._owner, reasons=("begun",))
        return Change(known_at=recorder.moment.known_at, events=recorder.events)

    async def _heads(self) -> tuple[Head | None, Head | None]:
        (here,) = await self._here.store.heads([self._owner])
        (there,) = await self._there.store.heads([self._owner])
        return here, there

    async def _was_erased_there(
        self, cursors: Sequence[Cursor], here: Head | None, there: Head | None
    ) -> bool:
        """Whether the remote erased the incarnation that this replica exchanged with.

        True if the same remote store has another incarnation of the owner and logged an erasure
        since their last exchange.
        """
        chain = await self._there.store.chain_head(self._owner)
        if here is None or there is None or chain is None:
            return False
        met = [
            cursor.met
            for cursor in cursors
            if _is_same_incarnation(cursor.here, here)
            and cursor.chain == chain[0]
            and cursor.there.incarnation != there.incarnation
        ]
        if not met:
            return False
        trail = Trail(self._there.store, self._owner, max(met))
        await trail.follow()
        return bool(trail.erased)

    async def _forget(self, mine: Trail, theirs: Trail) -> int:
        """Forget on each side what the other forgot. Returns the number of deleted versions."""
        await mine.follow()
        await theirs.follow()
        gone = await _forgotten(self._here, self._owner, theirs.forgotten)
        return gone + await _forgotten(self._there, self._owner, mine.forgotten)

    async def _forget_barred(self, runtime: Runtime, absorbed: Absorbed, trail: Trail) -> int:
        """Delete from the sending store what the receiving store had already forgotten.

        A version that was superseded in the sending store is deleted alone, without its chain.
        """
        found = await runtime.store.get(self._owner, sorted(absorbed.barred))
        chains, single = {}, set()
        for memory in map(decode, found):
            named = {memory.id, memory.root, memory.supersedes} & trail.forgotten.keys()
            if named or memory.status.is_live:
                chains[memory.id] = any(trail.forgotten[str(name)] for name in named)
            else:
                single.add(memory.id)
        gone = await _forgotten(runtime, self._owner, chains)
        if single:
            forgetter = Forgetter(runtime, Principal(self._owner, by=SYNC_ACTOR))
            outcome = await forgetter.forget_versions(frozenset(single))
            gone += _count(outcome.reasons)
        return gone

    async def _agree(self, base: Sequence[Consent]) -> tuple[tuple[Consent, ...], int, int]:
        here, there, owner = self._here, self._there, self._owner
        consents = [await side.store.consents(owner) for side in (here, there)]
        words = agreed_consents(base, *consents)
        reviews = [await side.store.reviews(owner) for side in (here, there)]
        records = agreed_reviews(*reviews)
        told = [await apply_agreed(side, owner, words, records) for side in (there, here)]
        return words, sum(count for count, _ in told), sum(count for _, count in told)

    async def _note(self, cursor: Cursor) -> None:
        store, owner = self._here.store, self._owner
        chain = await self._there.store.chain_head(owner)
        cursor = replace(cursor, chain=b"" if chain is None else chain[0])
        entry = JournalEntry(self._here.clock.now_us(), CURSOR, cursor.encode())
        await store.journal({owner: [entry]})
        kept = await store.journaled(owner, kind=CURSOR)
        if len(kept) > CURSORS:
            await store.condense(owner, CURSOR, kept[:-CURSORS], {})


async def changes(
    store: MemoryStore, owner: Scope, since: Head
) -> tuple[tuple[StoredRow, ...], Head]:
    """Return the rows of an owner changed since a head, and the present head.

    The rows have any status and are ordered by revision, then id.

    Raises:
        StoreUnavailable: If concurrent writes never pause.
    """
    for _ in range(ATTEMPTS):
        (head,) = await store.heads([owner])
        if head is None:
            return (), UNWRITTEN
        if head[:3] == since[:3]:
            return (), head
        if head[:2] == since[:2]:
            snapshot = await store.snapshot(owner, since=since)
            if not snapshot.complete and snapshot.head is not None:
                return snapshot.rows, snapshot.head
        after = since.revision if _is_same_incarnation(since, head) else 0
        rows = [row for row in await _all_rows(store, owner) if row.revision > after]
        if await store.heads([owner]) == (head,):
            return tuple(sorted(rows, key=lambda row: (row.revision, row.id))), head
    raise StoreUnavailable(
        store.location,
        f"{owner.path} is written to all the time; stop what writes for it, then sync again",
    )


async def _all_rows(store: MemoryStore, owner: Scope) -> list[StoredRow]:
    rows: list[StoredRow] = []
    while page := await store.rows(owner, after=rows[-1].id if rows else ""):
        rows += page
    return rows


async def _send_derivations(of: MemoryStore, to: MemoryStore, owner: Scope) -> None:
    """Send a store the derivation edges from an owner's memories to copies of other owners.

    An erasure there then deletes the copies too.
    """
    edges = []
    for child_owner, id in await of.derived(owner):
        if child_owner != owner:
            found = map(decode, await of.get(child_owner, [id]))
            edges += [(parent, child_owner, id) for child in found for parent in child.parents]
    if edges:
        await to.settle(owner, [], edges=edges)


async def _forgotten(runtime: Runtime, owner: Scope, names: dict[str, bool]) -> int:
    """Forget in a store the chains of some memories; unknown ids are skipped.

    Args:
        runtime: The store's.
        owner: Whose memories.
        names: Whether to bar the key too, by memory id.

    Returns:
        The number of deleted versions.
    """
    if not names:
        return 0
    memories = [decode(row) for row in await runtime.store.get(owner, sorted(names))]
    gone = 0
    for by_key in (False, True):
        roots = frozenset(m.root for m in memories if names[m.id] is by_key)
        if roots:
            forgetter = Forgetter(runtime, Principal(owner, by=SYNC_ACTOR))
            outcome = await forgetter.forget_chains(roots, by_key=by_key)
            gone += _count(outcome.reasons)
    return gone


def _count(reasons: Iterable[str]) -> int:
    parted = (reason.partition(":") for reason in reasons)
    return next((int(number) for name, _, number in parted if name == "count"), 0)


async def _cursors(store: MemoryStore, owner: Scope) -> list[Cursor]:
    """Return the cursors of an owner, oldest first."""
    entries = await store.journaled(owner, kind=CURSOR)
    return [Cursor.decode(entry.body) for entry in entries]


def _is_unchanged(cursor: Cursor, here: Head | None, there: Head | None) -> bool:
    """Whether neither side was written since the cursor."""
    stand = (cursor.here.revision, cursor.there.revision)
    return stand == (_revision(here), _revision(there))


def _first_head(head: Head | None) -> Head:
    """Return the first head of an owner's incarnation."""
    return UNWRITTEN if head is None else Head(head.incarnation, 0, 0, 0, 0)


def _is_same_incarnation(one: Head, other: Head) -> bool:
    return one.incarnation == other.incarnation and one.revision <= other.revision


def _revision(head: Head | None) -> int:
    return 0 if head is None else head.revision


def _moved(one: Head | None, other: Head | None) -> int:
    return _revision(other) - _revision(one)


def _allows_more(base: Iterable[Consent], now: Iterable[Consent]) -> bool:
    """Whether a refused consent is allowed again: memories may then be missing on one side."""
    refused = {(each.about, each.name) for each in base if not each.allowed}
    return any(each.allowed and (each.about, each.name) in refused for each in now)
