"""Forgets memories by id, key, scope, filter or source.

Derived memories, held candidates, promoted copies and undelivered promotions are removed too.
Tombstones stay, so that the text is not learned again.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence

from simonides.capture import MAX_NAME_BYTES, target_scope
from simonides.domain.codecs.candidate import decode_candidate
from simonides.domain.codecs.memory import salvage
from simonides.domain.errors import InvalidInput, ScopeDenied, StoreCorrupt
from simonides.domain.memory import Place, Record
from simonides.domain.reading.filters import Filter
from simonides.domain.scope import Principal, Scope
from simonides.domain.writing.change import HeldCandidate, StoredRow, TurnRequest
from simonides.domain.writing.decision import Candidate, Outcome
from simonides.engine.core import Runtime, Told
from simonides.engine.edit import NOT_FOUND, deliver
from simonides.engine.forgetting.forget_turn import (
    ForgetTurn,
    decoded_memories,
    decoded_or_none,
    not_found,
)
from simonides.engine.forgetting.selection import ForgetSelection, as_memory
from simonides.engine.forgetting.unreadable_rows import may_belong_to
from simonides.engine.recall import Lookup, ReadJournal
from simonides.retrieval.query import holds
from simonides.text import check_text, content_hash

MAX_OUTBOX = 10_000
"""Most undelivered items read for one owner; far above any real number."""

MANY = 32
"""Most memories whose derived memories are read one by one. Chosen: reading all of an owner's takes
as long as some tens of single reads."""


class Forgetter:
    """Forgets memories for one principal, as far as it may."""

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
        """See :meth:`simonides.api.AsyncMemory.forget`."""
        if id is None and key is None and scope is None and wanted is None:
            raise InvalidInput("filter", "name a filter, a source, an origin, a session or a scope")
        if id is not None and key is not None:
            raise InvalidInput("which", "name an id or a key, not both")
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
    ) -> Callable[[Record | Candidate], bool]:
        """Return a test for the wanted origin in a scope where the principal may forget.

        That scope is ``place`` if it is given, else the principal's home and its tasks.
        """
        home = self._principal.home

        def lies_here(scope: Scope) -> bool:
            if place is not None:
                return scope == place
            return scope == home or (scope.task is not None and scope.owner == home)

        def came_from(one: Record | Candidate) -> bool:
            memory = one if isinstance(one, Record) else as_memory(one, self._lookup.now)
            return lies_here(one.scope) and holds(wanted, memory)

        return came_from

    def _place(self, named: str | None) -> Scope:
        """Return the named scope, if the principal may forget there.

        A user may also forget in its own tasks.

        Raises:
            ScopeDenied: If it may not.
        """
        home, place = self._principal.home, target_scope(named, self._principal)
        if place != home and not (place.task is not None and place.owner == home):
            raise ScopeDenied(
                place.path, "write", "a principal forgets in its own scope and in its own tasks"
            )
        return place

    async def _forgotten(self, selection: ForgetSelection) -> Outcome:
        while (outcome := await self._forget_chains(selection)) is None:
            continue
        return outcome

    async def forget_chains(self, roots: frozenset[str], *, by_key: bool = False) -> Outcome:
        """Forget whole chains of the principal's owner, in any scope and for any audience.

        Args:
            roots: Ids of the chains.
            by_key: Whether their keys are blocked too.
        """
        place, hears = self._principal.home, self._lookup.hears
        selection = ForgetSelection(place, roots, by_key=by_key, everything=False, hears=hears)
        return await self._forgotten(selection)

    async def forget_versions(self, ids: frozenset[str]) -> Outcome:
        """Forget single versions, for any audience; the rest of their chains stays."""
        selection = ForgetSelection(
            self._principal.home,
            frozenset(),
            by_key=False,
            everything=False,
            hears=lambda _: True,
            came_from=lambda one: isinstance(one, Record) and one.id in ids,
        )
        return await self._forgotten(selection)

    async def retract(self, what: str) -> Outcome:
        """Forget what a user named: a key, else a memory with exactly this text."""
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

    async def _forget_chains(self, selection: ForgetSelection) -> Outcome | None:
        """Forget a selection; None if rows were deleted between the read and the turn."""
        owner, store = self._principal.home.owner, self._runtime.store
        await self._runtime.part(ReadJournal).flush(
            owner
        )  # Receipts of deleted memories are deleted too.
        (head,) = await store.heads([owner])
        for may_wait in (True, False):
            seen = await store.heads([owner]) if may_wait else (None,)
            chains, going, unread = await self._chains(owner, selection)
            held = await store.held(owner)
            told = await self._named_events(owner, chains.values(), held)
            turn = ForgetTurn(self._runtime, self._principal, selection, chains, held, head, told)
            turn.expected, turn.going, turn.unread = seen[0], going, unread
            # Outbox before derived: a promotion settled in between is then found as derived.
            turn.work = await store.outbox(source=owner, limit=MAX_OUTBOX)
            turn.elsewhere = await self._elsewhere(owner, selection, chains)
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
            # The forget has committed. Another row is damaged: the next reader rebuilds the index
            # and gets that error.
            self._runtime.indexes.renew(owner)
        return turn.outcome

    async def _chains(
        self, owner: Scope, selection: ForgetSelection
    ) -> tuple[dict[str, StoredRow], frozenset[str], frozenset[str]]:
        """Read the chains of the selected memories and of all that may be derived from them.

        Returns:
            Every version by id, because some may stay; the ids that are certainly selected; and the
            ids of unreadable memories that a filter may mean.
        """
        lost = await self._runtime.store.get(owner, sorted(selection.lost))
        named = await self._versions(owner, selection.roots) | {row.id: row for row in lost}
        rows = dict(named)
        roots, unread = set(selection.roots), selection.unread
        if selection.came_from is not None:
            read = {row.id: decoded_or_none(row) for row in await self._all_rows()}
            roots |= {m.root for m in read.values() if m is not None and selection.selects(m)}
            unread = frozenset(id for id, memory in read.items() if memory is None)
        fresh = named | await self._versions(owner, roots - selection.roots)
        while fresh:
            rows |= fresh
            children = [id for id in await self._children(owner, [*fresh]) if id not in rows]
            found = await self._runtime.store.get(owner, children)
            fresh = await self._versions(owner, {memory.root for memory in decoded_memories(found)})
        return rows, frozenset(named), unread

    async def _versions(self, owner: Scope, roots: Collection[str]) -> dict[str, StoredRow]:
        histories = [await self._runtime.store.history(owner, root) for root in sorted(roots)]
        return {row.id: row for rows in histories for row in rows}

    async def _children(self, owner: Scope, parents: Sequence[str]) -> set[str]:
        """Return at least the owner's ids derived from the parents; for many, all derived ones."""
        derived = self._runtime.store.derived
        if len(parents) > MANY:
            return {id for scope, id in await derived(owner) if scope == owner}
        found = [await derived(owner, parent) for parent in parents]
        return {id for children in found for scope, id in children if scope == owner}

    async def _elsewhere(
        self, owner: Scope, selection: ForgetSelection, chains: Mapping[str, StoredRow]
    ) -> Mapping[str, Sequence[tuple[Scope, str]]]:
        """Return other owners' copies of the read versions, by the id of the original."""
        derived = self._runtime.store.derived
        if selection.came_from is None or all(scope == owner for scope, _ in await derived(owner)):
            return {}
        found = {id: await derived(owner, id) for id in chains}
        return {
            id: [(scope, child) for scope, child in children if scope != owner]
            for id, children in found.items()
        }

    async def _named_events(
        self,
        owner: Scope,
        rows: Iterable[StoredRow],
        held: Sequence[HeldCandidate],
    ) -> tuple[Told, ...]:
        """Return the events that name an affected key or a held candidate.

        A refused write has no memory id, but its event contains the key.
        """
        # Unreadable rows have no key here; they are deleted, or they refuse the turn.
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
    ) -> tuple[list[Record], frozenset[str], frozenset[str]]:
        """Find the memories to forget.

        Returns:
            The matching memories; the ids that match by id, key or scope but cannot be decoded; and
            the ids that cannot be decoded, so the filter's answer is unknown.
        """
        owner, store = place.owner, self._runtime.store
        rows: Sequence[StoredRow]
        if id is not None:
            rows = await store.get(owner, [check_text("id", id, 512)])
        elif key is not None:
            rows = await store.keyed(owner, place, check_text("key", key, 512))
        else:
            rows = await self._all_rows()
        # A filter may use every field, so it takes only fully readable memories.
        read = [(row, salvage(row) if wanted is None else decoded_or_none(row)) for row in rows]
        found = [memory for _, memory in read if memory is not None]
        # The lookup by key is limited to the place already. The audience is unknown.
        gone = frozenset(
            row.id
            for row, memory in read
            if memory is None and (key is not None or may_belong_to(row, place))
        )
        mine = [memory for memory in found if memory.scope == place]
        # Expired memories and those for another purpose are included, another agent's are not.
        meant = [m for m in mine if self._lookup.hears(m) and holds(wanted, m)]
        return (meant, gone, frozenset()) if wanted is None else (meant, frozenset(), gone)

    async def _roots_of(self, lost: frozenset[str]) -> frozenset[str]:
        """Return the chains of unreadable memories, found by the versions that refer to them."""
        if not lost:
            return frozenset()
        found = [one for one in map(salvage, await self._all_rows()) if one is not None]
        linked = {m.root for m in found if not lost.isdisjoint((m.supersedes, m.superseded_by))}
        return lost | linked  # The id of a first version is its chain's root.

    async def _all_rows(self) -> list[StoredRow]:
        owner, rows = self._principal.home.owner, list[StoredRow]()
        while page := await self._runtime.store.rows(owner, after=rows[-1].id if rows else ""):
            rows += page
        return rows
