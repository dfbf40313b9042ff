"""Stores that are wrong on purpose, each in one way: what the contract must notice."""

import time
from dataclasses import replace

from simonides.domain.codecs.memory import decode
from simonides.domain.scope import Scope
from simonides.domain.writing.change import (
    Change,
    Committed,
    Size,
    Snapshot,
)
from simonides.storage.sqlite.store import SqliteStore


class InMemory(SqliteStore):
    """A store in memory whose tables can be written to past the port."""

    def edit(self, owner, statement, *more):
        """Run a statement; its first parameter is the owner's digest."""
        with self._turn() as connection:
            return connection.execute(statement, (self.digest(owner), *more)).fetchall()

    def digest(self, owner):
        return self._owners.of(owner).digest


class LeakingSnapshots(InMemory):
    """Shows the rows of every owner to each."""

    async def snapshot(self, owner, *, since=None):
        mine = await super().snapshot(owner, since=since)
        others = [await super(LeakingSnapshots, self).snapshot(o) for o in await self.owners()]
        return replace(mine, rows=tuple(sorted({r for s in (mine, *others) for r in s.rows})))


class LeakingGets(InMemory):
    """Finds an id wherever it lies."""

    async def get(self, owner, ids):
        found = [await super(LeakingGets, self).get(o, ids) for o in await self.owners()]
        return tuple(row for rows in found for row in rows)


class PrefixOwners(InMemory):
    """Takes owners for the same if their names differ by case only."""

    async def get(self, owner, ids):
        known = {each.path.casefold(): each for each in await self.owners()}
        return await super().get(known.get(owner.path.casefold(), owner), ids)


class HalfWritten(InMemory):
    """Writes the first memory of a change on its own, then the rest, which may be refused."""

    async def commit(self, owner, request, decide):
        whole = []

        def first_half(snapshot):
            whole.append(decide(snapshot))
            if whole[0] is None:
                return None
            return Change(known_at=whole[0].known_at, added=whole[0].added[:1])

        def second_half(_):
            change = whole[0]
            return replace(change, added=change.added[1:], known_at=change.known_at + 1)

        first = await super().commit(owner, request, first_half)
        if whole[0] is None:
            return first
        second = await super().commit(owner, request, second_half)
        return Committed(second.head, tuple(sorted((*first.rows, *second.rows))))


class OutOfTurn(InMemory):
    """Reads what stands before it takes the turn."""

    async def commit(self, owner, request, decide):
        stale = await super().snapshot(owner, since=request.since)
        time.sleep(0.001)  # others come between, as they will one day anyhow
        return await super().commit(
            owner, request, lambda seen: decide(replace(seen, rows=stale.rows))
        )


class DeafToForgetting(InMemory):
    """Keeps what it was told to forget in the audit payloads."""

    async def commit(self, owner, request, decide):
        kept = await super().links(owner)
        committed = await super().commit(owner, request, decide)
        for link in kept:
            told = "UPDATE events SET salt = ?2, payload = ?3 WHERE owner = ?1 AND seq = ?4"
            self.edit(owner, told, link.salt, link.payload, link.seq)
        return committed


class SilentRemoval(InMemory):
    """Removes rows without raising the epoch."""

    async def commit(self, owner, request, decide):
        committed = await super().commit(owner, request, decide)
        if committed.head is None or not committed.head.epoch:
            return committed
        self.edit(owner, "UPDATE owners SET epoch = 0 WHERE owner = ?")
        return committed._replace(head=committed.head._replace(epoch=0))


class Unordered(InMemory):
    """Returns rows in the reverse of the promised order."""

    async def snapshot(self, owner, *, since=None):
        snapshot = await super().snapshot(owner, since=since)
        return replace(snapshot, rows=snapshot.rows[::-1])


class ForeverPresent(InMemory):
    """Answers every question about the past with the present."""

    async def as_of(self, owner, known_at, *, superseded=False):
        return await super().as_of(owner, 2**62, superseded=superseded)


class StaleEntries(InMemory):
    """Keeps the first index entry of a memory for good."""

    async def commit(self, owner, request, decide):
        def without_entries(snapshot):
            change = decide(snapshot)
            return None if change is None else replace(change, reindexed=())

        return await super().commit(owner, request, without_entries)


class DeafToStates(InMemory):
    """Writes new states only where whole memories tell them."""

    async def commit(self, owner, request, decide):
        def without_states(snapshot):
            change = decide(snapshot)
            return None if change is None else replace(change, states=())

        return await super().commit(owner, request, without_states)


class BlindRenewals(InMemory):
    """Writes an entry made anew though its memory has changed since."""

    async def renew(self, owner, entries):
        rows = {row.id: row for row in await super().get(owner, [each.id for each in entries])}
        now = [
            each._replace(revision=rows[each.id].revision, before=rows[each.id].entry)
            for each in entries
            if each.id in rows
        ]
        return await super().renew(owner, now)


class NewsOfRenewals(InMemory):
    """Tells every reader to read again because of entries that say the same."""

    async def renew(self, owner, entries):
        written = await super().renew(owner, entries)
        self.edit(owner, "UPDATE owners SET revision = revision + 1 WHERE owner = ?")
        return written


class WholeDeltas(InMemory):
    """Leaves rows that are no longer live out of a delta."""

    async def snapshot(self, owner, *, since=None):
        delta = await super().snapshot(owner, since=since)
        live = {row.id for row in (await super().snapshot(owner)).rows}
        return replace(delta, rows=tuple(row for row in delta.rows if row.id in live))


class Immortal(InMemory):
    """Answers after it was closed."""

    async def close(self):
        return


class Amnesiac(InMemory):
    """Forgets which writes were done under which key."""

    async def commit(self, owner, request, decide):
        def blind(snapshot: Snapshot):
            return decide(replace(snapshot, idempotent={}))

        return await super().commit(owner, request, blind)


class OldPolicies(InMemory):
    """Shows the first policy for the last."""

    async def commit(self, owner, request, decide):
        committed = await super().commit(owner, request, decide)
        later = "version > (SELECT min(version) FROM policies WHERE owner = ?1)"
        self.edit(owner, f"DELETE FROM policies WHERE owner = ?1 AND {later}")
        return committed


class EternalReviews(InMemory):
    """Keeps a review as it was first written."""

    async def commit(self, owner, request, decide):
        there = self.edit(owner, "SELECT id, status, at, body FROM reviews WHERE owner = ?")
        committed = await super().commit(owner, request, decide)
        for row in there:
            told = "UPDATE reviews SET status = ?3, at = ?4, body = ?5 WHERE owner = ?1 AND id = ?2"
            self.edit(owner, told, *row)
        return committed


class SharedOutbox(InMemory):
    """Settles whatever it is told, whoever's it is."""

    async def settle(self, source: Scope, ids, *, edges=()):
        for owner in await self.owners():
            await super().settle(owner, ids, edges=edges)


class ChildlessSettling(InMemory):
    """Settles without keeping what was derived."""

    async def settle(self, source, ids, *, edges=()):
        await super().settle(source, ids)


class EdgesGoWithParents(InMemory):
    """Does not know any more what others have of a memory that was forgotten."""

    async def derived(self, owner, parent=None):
        found, ids = set(), [row.id for row in await self.rows(owner)]
        for id in [id for id in ids if parent in (None, id)]:
            found |= {*await super().derived(owner, id)}
        return tuple(sorted(found, key=lambda child: (child[0].path, child[1])))


class ForeignEdges(InMemory):
    """Keeps an edge on the child's side, whoever's the parent is."""

    async def derived(self, owner, parent=None):
        found = list(await super().derived(owner, parent))
        for row in await self.rows(owner):
            child = decode(row)
            if parent in child.parents and (owner, child.id) not in found:
                found.append((owner, child.id))
        return tuple(found)


class BlindCondensing(InMemory):
    """Puts other entries in the place of whatever stands in a journal."""

    async def condense(self, owner, kind, entries, into):
        oldest = await super().journaled(owner, kind=kind, limit=len(entries), oldest=True)
        return await super().condense(owner, kind, oldest, into)


class ForgetfulCondensing(InMemory):
    """Removes entries and keeps for nobody else what they come to."""

    async def condense(self, owner, kind, entries, into):
        mine = {scope: more for scope, more in into.items() if scope == owner}
        return await super().condense(owner, kind, entries, mine)


class EternalLeases(InMemory):
    """Lets nobody have what a dead worker held."""

    async def lease(self, owner, name, holder, *, now, until):
        return await super().lease(owner, name, holder, now=now, until=2**62)


class SharedLeases(InMemory):
    """Lets everybody have a lease that somebody holds."""

    async def lease(self, owner, name, holder, *, now, until):
        await super().lease(owner, name, holder, now=now, until=until)
        return True


class GenerousSpending(InMemory):
    """Lets more be spent than a ceiling says."""

    async def spend(self, owner, day, counts, *, most=None):
        return await super().spend(owner, day, counts, most=None if most is None else {})


class RevivingSettlements(InMemory):
    """Begins a day for what is settled late."""

    async def spend(self, owner, day, counts, *, most=None):
        return await super().spend(owner, day, counts, most=most or {})


class ErasesWithoutReaders(InMemory):
    """Keeps what the readers of an erased owner did."""

    async def commit(self, owner, request, decide):
        there = self.edit(owner, "SELECT n, at, kind, body FROM read_journal WHERE owner = ?")
        committed = await super().commit(owner, request, decide)
        for row in there:
            self.edit(owner, "INSERT OR IGNORE INTO read_journal VALUES (?, ?, ?, ?, ?)", *row)
        return committed


class ErasesForAll(InMemory):
    """Erases what another owner has under the same keys."""

    async def commit(self, owner, request, decide):
        committed = await super().commit(owner, request, decide)
        erased = "SELECT 1 FROM owners WHERE owner = ?1 AND erased_at IS NOT NULL"
        self.edit(owner, f"DELETE FROM held WHERE EXISTS ({erased})")
        return committed


class ErasesTombstones(InMemory):
    """Lets what was erased be learned again."""

    async def commit(self, owner, request, decide):
        def forgiving(snapshot):
            change = decide(snapshot)
            return replace(change, tombstones=()) if change and change.erased else change

        return await super().commit(owner, request, forgiving)


class LateJournal(InMemory):
    """Writes what readers did before an erasure after it."""

    async def journal(self, notes):
        late = {o: [e._replace(at=2**62) for e in entries] for o, entries in notes.items()}
        await super().journal(late)


class SilentConsents(InMemory):
    """Tells readers of new consents by a delta, which has none."""

    async def commit(self, owner, request, decide):
        before = (await super().heads([owner]))[0]
        committed = await super().commit(owner, request, decide)
        if before is None or not await self.consents(owner):
            return committed
        self.edit(owner, "UPDATE owners SET epoch = ?2 WHERE owner = ?1", before.epoch)
        return committed._replace(head=committed.head._replace(epoch=before.epoch))


class LiveSizes(InMemory):
    """Weighs only what stands."""

    async def size(self, owner):
        rows = (await super().snapshot(owner)).rows
        return Size(len(rows), sum(len(r.body) + len(r.state) + len(r.entry) for r in rows))


BROKEN = (
    Amnesiac,
    BlindCondensing,
    BlindRenewals,
    DeafToStates,
    EternalLeases,
    ForgetfulCondensing,
    GenerousSpending,
    RevivingSettlements,
    SharedLeases,
    ChildlessSettling,
    DeafToForgetting,
    EdgesGoWithParents,
    ErasesForAll,
    ErasesTombstones,
    ErasesWithoutReaders,
    EternalReviews,
    ForeignEdges,
    ForeverPresent,
    HalfWritten,
    Immortal,
    LeakingGets,
    LateJournal,
    LeakingSnapshots,
    LiveSizes,
    NewsOfRenewals,
    OldPolicies,
    OutOfTurn,
    PrefixOwners,
    SharedOutbox,
    SilentConsents,
    SilentRemoval,
    StaleEntries,
    Unordered,
    WholeDeltas,
)
