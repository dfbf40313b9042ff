"""Forgetting: what goes, what waits or is on its way with it, and what stays as a ban."""

from __future__ import annotations

import json
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence

from simonides.capture.drafts import MAX_NAME_BYTES, target_scope
from simonides.domain.codecs.candidate import decode_candidate
from simonides.domain.codecs.memory import salvage
from simonides.domain.errors import InvalidInput, ScopeDenied, StoreCorrupt
from simonides.domain.memory import Memory, Place
from simonides.domain.reading.filters import Filter
from simonides.domain.scope import Principal, Scope
from simonides.domain.writing.change import HeldCandidate, StoredRow, TurnRequest
from simonides.domain.writing.decision import Candidate, Outcome
from simonides.engine.core.deletion_log import Told
from simonides.engine.core.runtime import Runtime
from simonides.engine.edit.correct import NOT_FOUND
from simonides.engine.edit.promote import deliver
from simonides.engine.forgetting.forget_turn import (
    ForgetTurn,
    not_found,
    or_none,
    read_of,
)
from simonides.engine.forgetting.selection import ForgetSelection, as_memory
from simonides.engine.forgetting.unreadable_rows import may_lie
from simonides.engine.recall.lookup import Lookup
from simonides.engine.recall.read_journal import ReadJournal
from simonides.retrieval.query.filtering import holds
from simonides.text.normalise import check_text, content_hash

MAX_OUTBOX = 10_000
"""Undelivered promotions of one owner that forgetting looks at; far above any that can wait."""

MANY = 32
"""Memories of which what was derived is asked one by one. Chosen: all of an owner at once takes as
long as some tens of single questions."""


class Forgetter:
    """Removes what one principal may."""

    def __init__(self, runtime: Runtime, principal: Principal) -> None:
        self._runtime = runtime
        self._principal = principal
        self._lookup = Lookup(runtime, principal)

    async def forget(
        self,
        *,
        id: str | None,
        key: str | None,
        scope: str | None,
        wanted: Filter | None,
        by_source: bool = False,
        dry_run: bool = False,
    ) -> Outcome:
        """See :meth:`simonides.api.AsyncMemoryManager.forget`."""
        if id is None and key is None and scope is None and wanted is None:
            named = "an id, a key, a scope, a filter, a source or an origin"
            raise InvalidInput("forget", f"name {named}")
        if id is not None and key is not None:
            raise InvalidInput("forget", "name an id or a key, not both")
        place = self._place(scope)
        if by_source and wanted is not None and id is None and key is None:
            came_from = self._came_from(wanted, None if scope is None else place)
            return await self._forgotten(
                ForgetSelection(
                    place,
                    frozenset(),
                    by_key=False,
                    everything=False,
                    hears=self._lookup.hears,
                    came_from=came_from,
                    dry_run=dry_run,
                )
            )
        targets, lost, unread = await self._targets(place, id=id, key=key, wanted=wanted)
        everything = id is None and key is None and wanted is None
        if not targets and not lost and not everything:
            return not_found(unread)
        roots = frozenset(memory.root for memory in targets) | await self._roots_of(lost)
        return await self._forgotten(
            ForgetSelection(
                place,
                roots,
                by_key=key is not None,
                everything=everything,
                hears=self._lookup.hears,
                dry_run=dry_run,
                lost=lost,
                unread=unread,
            )
        )

    def _came_from(
        self, wanted: Filter, place: Scope | None
    ) -> Callable[[Memory | Candidate], bool]:
        """Return whether something came from there and lies where the principal may forget: in one
        place if that is named, else at home and in its tasks.
        """
        home = self._principal.home

        def lies_here(scope: Scope) -> bool:
            if place is not None:
                return scope == place
            return scope == home or (scope.task is not None and scope.owner == home)

        def came_from(one: Memory | Candidate) -> bool:
            memory = one if isinstance(one, Memory) else as_memory(one, self._lookup.now)
            return lies_here(one.scope) and holds(wanted, memory)

        return came_from

    def _place(self, named: str | None) -> Scope:
        """Return the scope that is meant, if the principal may forget there: a task's
        memories are its user's to take back.
        """
        home, place = self._principal.home, target_scope(named, self._principal)
        if place != home and not (place.task is not None and place.owner == home):
            raise ScopeDenied(
                place.path, "write", "a principal forgets in its own scope and in its own tasks"
            )
        return place

    async def _forgotten(self, doom: ForgetSelection) -> Outcome:
        while (outcome := await self._forget_chains(doom)) is None:
            continue
        return outcome

    async def forget_chains(self, roots: frozenset[str], *, by_key: bool = False) -> Outcome:
        """Forget whole chains of the principal's owner, wherever in it they lie and whoever may
        hear them, and block their keys if asked to.
        """
        place, hears = self._principal.home, self._lookup.hears
        doom = ForgetSelection(place, roots, by_key=by_key, everything=False, hears=hears)
        return await self._forgotten(doom)

    async def forget_versions(self, ids: frozenset[str]) -> Outcome:
        """Forget single versions, whoever may hear them; the rest of their chains stays."""
        doom = ForgetSelection(
            self._principal.home,
            frozenset(),
            by_key=False,
            everything=False,
            hears=lambda _: True,
            came_from=lambda one: isinstance(one, Memory) and one.id in ids,
        )
        return await self._forgotten(doom)

    async def retract(self, what: str) -> Outcome:
        """Forget what a user asked to have forgotten: a key, or else a statement as it was
        said.
        """
        if len(what.encode()) <= MAX_NAME_BYTES:
            outcome = await self.forget(id=None, key=what, scope=None, wanted=None)
            if outcome is not NOT_FOUND:
                return outcome
        index = self._runtime.indexes.of(self._principal.home.owner)
        home = self._principal.home
        index.refresh(await self._runtime.store.snapshot(home.owner, since=index.head))
        alike = index.at(self._lookup.now).by_hash(Place(home), content_hash(what))
        if not alike:
            return NOT_FOUND
        return await self.forget(id=alike[0].id, key=None, scope=None, wanted=None)

    async def _forget_chains(self, doom: ForgetSelection) -> Outcome | None:
        """Forget chains as they stand; None if rows went away between reading and the turn."""
        owner, store = self._principal.home.owner, self._runtime.store
        await self._runtime.part(ReadJournal).flush(owner)  # receipts of what goes are to go too
        (head,) = await store.heads([owner])
        for may_wait in (True, False):
            seen = await store.heads([owner]) if may_wait else (None,)
            chains, going, unread = await self._chains(owner, doom)
            held = await store.held(owner)
            told = await self._told(owner, chains.values(), held)
            turn = ForgetTurn(self._runtime, self._principal, doom, chains, held, head, told)
            turn.expected, turn.going, turn.unread = seen[0], going, unread
            # In this order: a promotion that is settled in between is seen as derived, too.
            turn.work = await store.outbox(source=owner, limit=MAX_OUTBOX)
            turn.elsewhere = await self._elsewhere(owner, doom, chains)
            await store.commit(owner, TurnRequest(since=head), turn.decide)
            if turn.outcome is not None:
                break
        if turn.withdrawn:
            await store.settle(owner, turn.withdrawn)
        if turn.withdrawn or turn.copies:
            await deliver(self._runtime, owner)
        try:
            self._runtime.indexes.of(owner).refresh(await store.snapshot(owner))
        except StoreCorrupt:
            # It is done. Another damaged memory is told to whoever reads, and so builds it anew.
            self._runtime.indexes.renew(owner)
        return turn.outcome

    async def _chains(
        self, owner: Scope, doom: ForgetSelection
    ) -> tuple[dict[str, StoredRow], frozenset[str], frozenset[str]]:
        """Return every version of the chains of what goes, and of what may have been derived from
        it: to see what of them stays. The ids of those that go for sure, and of those of which
        nobody can say whether they are meant.
        """
        lost = await self._runtime.store.get(owner, sorted(doom.lost))
        named = await self._versions(owner, doom.roots) | {row.id: row for row in lost}
        rows = dict(named)
        roots, unread = set(doom.roots), doom.unread
        if doom.came_from is not None:
            read = {row.id: or_none(row) for row in await self._all_rows()}
            roots |= {m.root for m in read.values() if m is not None and doom.takes(m)}
            unread = frozenset(id for id, memory in read.items() if memory is None)
        fresh = named | await self._versions(owner, roots - doom.roots)
        while fresh:
            rows |= fresh
            children = [id for id in await self._children(owner, [*fresh]) if id not in rows]
            found = await self._runtime.store.get(owner, children)
            fresh = await self._versions(owner, {memory.root for memory in read_of(found)})
        return rows, frozenset(named), unread

    async def _versions(self, owner: Scope, roots: Collection[str]) -> dict[str, StoredRow]:
        histories = [await self._runtime.store.history(owner, root) for root in sorted(roots)]
        return {row.id: row for rows in histories for row in rows}

    async def _children(self, owner: Scope, parents: Sequence[str]) -> set[str]:
        """Return ids of this owner's that were derived from some memories, and maybe others."""
        derived = self._runtime.store.derived
        if len(parents) > MANY:
            return {id for scope, id in await derived(owner) if scope == owner}
        found = [await derived(owner, parent) for parent in parents]
        return {id for children in found for scope, id in children if scope == owner}

    async def _elsewhere(
        self, owner: Scope, doom: ForgetSelection, chains: Mapping[str, StoredRow]
    ) -> Mapping[str, Sequence[tuple[Scope, str]]]:
        """Return the copies that other owners have of what may go, by the id of the original."""
        derived = self._runtime.store.derived
        if doom.came_from is None or all(scope == owner for scope, _ in await derived(owner)):
            return {}
        found = {id: await derived(owner, id) for id in chains}
        return {
            id: [(scope, child) for scope, child in children if scope != owner]
            for id, children in found.items()
        }

    async def _told(
        self,
        owner: Scope,
        rows: Iterable[StoredRow],
        held: Sequence[HeldCandidate],
    ) -> tuple[Told, ...]:
        """Return what the trail says beside the ids of memories: events that name a key that may
        go, or a candidate that waits. What was refused has no id, and yet its key is told.
        """
        # What cannot be read goes, or refuses the turn.
        keys = {memory.key for memory in map(salvage, rows) if memory is not None}
        keys |= {decode_candidate(each.body).key for each in held}
        keys.discard(None)
        ids, found, after = {each.id for each in held}, list[Told](), 0
        while (keys or ids) and (links := await self._runtime.store.links(owner, after=after)):
            told = (Told.of(n.seq, json.loads(n.payload)) for n in links if n.payload is not None)
            found += [each for each in told if each.key in keys or ids & each.subjects]
            after = links[-1].seq
        return tuple(found)

    async def _targets(
        self, place: Scope, *, id: str | None, key: str | None, wanted: Filter | None
    ) -> tuple[list[Memory], frozenset[str], frozenset[str]]:
        """Return the memories that are meant, the ids of those that are meant by their names or
        their place and cannot be read any more, and of those of which nobody can say whether a
        filter means them.
        """
        owner, store = place.owner, self._runtime.store
        rows: Sequence[StoredRow]
        if id is not None:
            rows = await store.get(owner, [check_text("id", id, 512)])
        elif key is not None:
            rows = await store.keyed(owner, place, check_text("key", key, 512))
        else:
            rows = await self._all_rows()
        # For a filter all of a memory counts, its state too.
        read = [(row, salvage(row) if wanted is None else or_none(row)) for row in rows]
        found = [memory for _, memory in read if memory is not None]
        # By key they are looked up in their place. For whom they were meant nobody can say.
        gone = frozenset(
            row.id
            for row, memory in read
            if memory is None and (key is not None or may_lie(row, place))
        )
        mine = [memory for memory in found if memory.scope == place]
        # Expired ones and those for another purpose go too; another agent's are not ours to remove.
        meant = [m for m in mine if self._lookup.hears(m) and holds(wanted, m)]
        return (meant, gone, frozenset()) if wanted is None else (meant, frozenset(), gone)

    async def _roots_of(self, lost: frozenset[str]) -> frozenset[str]:
        """Return the chains of memories that cannot be read, as the versions beside them tell."""
        if not lost:
            return frozenset()
        found = [one for one in map(salvage, await self._all_rows()) if one is not None]
        beside = {m.root for m in found if not lost.isdisjoint((m.supersedes, m.superseded_by))}
        return lost | beside  # a first version is its chain's root

    async def _all_rows(self) -> list[StoredRow]:
        owner, rows = self._principal.home.owner, list[StoredRow]()
        while page := await self._runtime.store.rows(owner, after=rows[-1].id if rows else ""):
            rows += page
        return rows
