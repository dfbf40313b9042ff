"""Forgetting: what goes, what waits or is on its way with it, and what stays as a ban (LT-10)."""

from __future__ import annotations

import json
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from memstrata.capture.drafts import MAX_NAME_BYTES, target_scope
from memstrata.domain.candidate_codec import decode_candidate
from memstrata.domain.change import (
    Change,
    Head,
    HeldCandidate,
    PendingOutbox,
    Snapshot,
    StoredRow,
    TurnRequest,
)
from memstrata.domain.codec import decode, salvage
from memstrata.domain.decision import Candidate, Outcome, OutcomeKind
from memstrata.domain.erasure import UNREADABLE
from memstrata.domain.errors import InvalidInput, ScopeDenied, StoreCorrupt
from memstrata.domain.event import EventType
from memstrata.domain.filters import Filter
from memstrata.domain.memory import Memory, Place
from memstrata.domain.scope import Principal, Scope
from memstrata.language.normalise import check_text, content_hash
from memstrata.longterm.forgetting import renumbered, standing_again, tombstones, with_derived
from memstrata.manager.cascading import told_to_others
from memstrata.manager.changes import NOT_FOUND
from memstrata.manager.doom import Doom, as_memory
from memstrata.manager.journal import DIGEST
from memstrata.manager.outbox import Promotion, unpacked
from memstrata.manager.promotion import deliver
from memstrata.manager.reading import Reader
from memstrata.manager.salvaging import may_lie
from memstrata.manager.scribe import Scribe
from memstrata.manager.services import Services
from memstrata.manager.showing import ECHO
from memstrata.manager.write_names import marks_of
from memstrata.retrieval.filtering import holds

MAX_OUTBOX = 10_000
"""Undelivered promotions of one owner that forgetting looks at; far above any that can wait."""

REVIVED = "source_removed"
"""Reason: what had replaced a memory was removed with the source that it came from."""

MANY = 32
"""Memories of which what was derived is asked one by one. Chosen: all of an owner at once takes as
long as some tens of single questions."""


class Forgetter:
    """Removes what one principal may."""

    def __init__(self, services: Services, principal: Principal) -> None:
        self._services = services
        self._principal = principal
        self._reader = Reader(services, principal)

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
        """See :meth:`memstrata.manager.AsyncMemoryManager.forget`."""
        if id is None and key is None and scope is None and wanted is None:
            named = "an id, a key, a scope, a filter, a source or an origin"
            raise InvalidInput("forget", f"name {named}")
        if id is not None and key is not None:
            raise InvalidInput("forget", "name an id or a key, not both")
        place = self._place(scope)
        if by_source and wanted is not None and id is None and key is None:
            came_from = self._came_from(wanted, None if scope is None else place)
            return await self._forgotten(
                Doom(
                    place,
                    frozenset(),
                    by_key=False,
                    everything=False,
                    hears=self._reader.hears,
                    came_from=came_from,
                    dry_run=dry_run,
                )
            )
        targets, lost = await self._targets(place, id=id, key=key, wanted=wanted)
        everything = id is None and key is None and wanted is None
        if not targets and not lost and not everything:
            return NOT_FOUND
        roots = frozenset(memory.root for memory in targets) | await self._roots_of(lost)
        return await self._forgotten(
            Doom(
                place,
                roots,
                by_key=key is not None,
                everything=everything,
                hears=self._reader.hears,
                dry_run=dry_run,
                lost=lost,
            )
        )

    def _came_from(
        self, wanted: Filter, place: Scope | None
    ) -> Callable[[Memory | Candidate], bool]:
        """Return whether something came from where it is asked for and lies where the principal
        may forget: in one place if that is named, else at home and in its tasks.
        """
        home = self._principal.home

        def lies_here(scope: Scope) -> bool:
            if place is not None:
                return scope == place
            return scope == home or (scope.task is not None and scope.owner == home)

        def came_from(one: Memory | Candidate) -> bool:
            memory = one if isinstance(one, Memory) else as_memory(one, self._reader.now)
            return lies_here(one.scope) and holds(wanted, memory)

        return came_from

    def _place(self, named: str | None) -> Scope:
        """Return the scope that is meant, if the principal may forget there (SC-3): a task's
        memories are its user's to take back.
        """
        home, place = self._principal.home, target_scope(named, self._principal)
        if place != home and not (place.task is not None and place.owner == home):
            raise ScopeDenied(
                place.path, "write", "a principal forgets in its own scope and in its own tasks"
            )
        return place

    async def _forgotten(self, doom: Doom) -> Outcome:
        while (outcome := await self._forget_chains(doom)) is None:
            continue
        return outcome

    async def forget_chains(self, roots: frozenset[str]) -> Outcome:
        """Forget whole chains of the principal's owner, wherever in it they lie and whoever may
        hear them; their keys are not blocked.
        """
        place = self._principal.home
        hears = self._reader.hears
        return await self._forgotten(
            Doom(place, roots, by_key=False, everything=False, hears=hears)
        )

    async def retract(self, what: str) -> Outcome:
        """Forget what a user asked to have forgotten: a key, or else a statement as it was
        said.
        """
        if len(what.encode()) <= MAX_NAME_BYTES:
            outcome = await self.forget(id=None, key=what, scope=None, wanted=None)
            if outcome is not NOT_FOUND:
                return outcome
        index = self._services.indexes.of(self._principal.home.owner)
        home = self._principal.home
        index.refresh(await self._services.store.snapshot(home.owner, since=index.head))
        alike = index.by_hash(Place(home), content_hash(what), self._reader.now)
        if not alike:
            return NOT_FOUND
        return await self.forget(id=alike[0].id, key=None, scope=None, wanted=None)

    async def _forget_chains(self, doom: Doom) -> Outcome | None:
        """Forget chains as they stand; None if rows went away between reading and the turn."""
        owner, store = self._principal.home.owner, self._services.store
        await self._services.journal.flush(owner)  # receipts of what goes are to go too
        (head,) = await store.heads([owner])
        for may_wait in (True, False):
            seen = await store.heads([owner]) if may_wait else (None,)
            chains, going = await self._chains(owner, doom)
            held = await store.held(owner)
            told = await self._told(owner, chains.values(), held)
            turn = _Forgetting(self._services, self._principal, doom, chains, held, head, told)
            turn.expected, turn.going = seen[0], going
            # In this order: a promotion that is settled in between is seen as derived, too.
            turn.work = await store.outbox(source=owner, limit=MAX_OUTBOX)
            turn.elsewhere = await self._elsewhere(owner, doom, chains)
            await store.commit(owner, TurnRequest(since=head), turn.decide)
            if turn.outcome is not None:
                break
        if turn.withdrawn:
            await store.settle(owner, turn.withdrawn)
        if turn.withdrawn or turn.copies:
            await deliver(self._services, owner)
        try:
            self._services.indexes.of(owner).refresh(await store.snapshot(owner))
        except StoreCorrupt:
            # It is done. Another damaged memory is told to whoever reads, and so builds it anew.
            self._services.indexes.renew(owner)
        return turn.outcome

    async def _chains(
        self, owner: Scope, doom: Doom
    ) -> tuple[dict[str, StoredRow], frozenset[str]]:
        """Return every version of the chains of what goes, and of what may have been derived from
        it: to see what of them stays. And the ids of those that go for sure.
        """
        lost = await self._services.store.get(owner, sorted(doom.lost))
        named = await self._versions(owner, doom.roots) | {row.id: row for row in lost}
        rows = dict(named)
        roots = set(doom.roots)
        if doom.came_from is not None:
            roots |= {m.root for m in map(decode, await self._all_rows()) if doom.takes(m)}
        fresh = named | await self._versions(owner, roots - doom.roots)
        while fresh:
            rows |= fresh
            children = [id for id in await self._children(owner, [*fresh]) if id not in rows]
            found = await self._services.store.get(owner, children)
            fresh = await self._versions(owner, {memory.root for memory in map(decode, found)})
        return rows, frozenset(named)

    async def _versions(self, owner: Scope, roots: Collection[str]) -> dict[str, StoredRow]:
        histories = [await self._services.store.history(owner, root) for root in sorted(roots)]
        return {row.id: row for rows in histories for row in rows}

    async def _children(self, owner: Scope, parents: Sequence[str]) -> set[str]:
        """Return ids of this owner's that were derived from some memories, and maybe others."""
        derived = self._services.store.derived
        if len(parents) > MANY:
            return {id for scope, id in await derived(owner) if scope == owner}
        found = [await derived(owner, parent) for parent in parents]
        return {id for children in found for scope, id in children if scope == owner}

    async def _elsewhere(
        self, owner: Scope, doom: Doom, chains: Mapping[str, StoredRow]
    ) -> Mapping[str, Sequence[tuple[Scope, str]]]:
        """Return the copies that other owners have of what may go, by the id of the original."""
        derived = self._services.store.derived
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
    ) -> tuple[_Told, ...]:
        """Return what the trail says beside the ids of memories: events that name a key that may
        go, or a candidate that waits. What was refused has no id, and yet its key is told.
        """
        # What cannot be read goes, or refuses the turn.
        keys = {memory.key for memory in map(salvage, rows) if memory is not None}
        keys |= {decode_candidate(each.body).key for each in held}
        keys.discard(None)
        ids, found, after = {each.id for each in held}, list[_Told](), 0
        while (keys or ids) and (links := await self._services.store.links(owner, after=after)):
            told = (_Told.of(n.seq, json.loads(n.payload)) for n in links if n.payload is not None)
            found += [each for each in told if each.key in keys or ids & each.subjects]
            after = links[-1].seq
        return tuple(found)

    async def _targets(
        self, place: Scope, *, id: str | None, key: str | None, wanted: Filter | None
    ) -> tuple[list[Memory], frozenset[str]]:
        """Return the memories that are meant, and the ids of those that are meant by their names
        and cannot be read any more.
        """
        owner, store = place.owner, self._services.store
        rows: Sequence[StoredRow]
        if id is not None:
            rows = await store.get(owner, [check_text("id", id, 512)])
        elif key is not None:
            rows = await store.keyed(owner, place, check_text("key", key, 512))
        else:
            rows = await self._all_rows()
        lost = frozenset[str]()
        if wanted is None and (id is not None or key is not None):
            # By key they are looked up in their place. For whom they were meant nobody can say.
            gone = [row for row in rows if salvage(row) is None]
            lost = frozenset(row.id for row in gone if key is not None or may_lie(row, place))
            found = [memory for memory in map(salvage, rows) if memory is not None]
        else:
            found = [decode(row) for row in rows]
        mine = [memory for memory in found if memory.scope == place]
        # Expired ones and those for another purpose go too; another agent's are not ours to remove.
        return [m for m in mine if self._reader.hears(m) and holds(wanted, m)], lost

    async def _roots_of(self, lost: frozenset[str]) -> frozenset[str]:
        """Return the chains of memories that cannot be read, as the versions beside them tell."""
        if not lost:
            return frozenset()
        found = [one for one in map(salvage, await self._all_rows()) if one is not None]
        beside = {m.root for m in found if not lost.isdisjoint((m.supersedes, m.superseded_by))}
        return lost | beside  # a first version is its chain's root

    async def _all_rows(self) -> list[StoredRow]:
        owner, rows = self._principal.home.owner, list[StoredRow]()
        while page := await self._services.store.rows(owner, after=rows[-1].id if rows else ""):
            rows += page
        return rows


class _Told(NamedTuple):
    """What one event says beside the ids of memories.

    Attributes:
        seq: Its place in the chain.
        scope: Path of where it happened.
        key: That it names, or None.
        subjects: Ids that it names.
    """

    seq: int
    scope: str
    key: str | None
    subjects: frozenset[str]

    @classmethod
    def of(cls, seq: int, event: Mapping[str, Any]) -> _Told:
        """Read an event."""
        key = event["details"].get("key")
        return cls(seq, event["scope"], key, frozenset(event["subjects"]))


@dataclass(slots=True)
class _Forgetting:
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
    """

    services: Services
    principal: Principal
    doom: Doom
    chains: Mapping[str, StoredRow]
    held: Sequence[HeldCandidate]
    head: Head | None
    told: Sequence[_Told]
    expected: Head | None = None
    going: frozenset[str] = frozenset()
    work: Sequence[PendingOutbox] = ()
    elsewhere: Mapping[str, Sequence[tuple[Scope, str]]] = field(default_factory=dict)
    copies: Sequence[tuple[Scope, str]] = ()
    outcome: Outcome | None = None
    withdrawn: tuple[str, ...] = ()

    def decide(self, snapshot: Snapshot) -> Change | None:
        if snapshot.complete and self.head is not None:
            return None  # the epoch moved: something of what was read is gone
        if self.expected is not None and snapshot.head != self.expected:
            return None  # the trail may tell more by now
        scribe = Scribe(self.services, self.principal, snapshot)
        versions, lost = self._read((*self.chains.values(), *snapshot.rows))
        named = [memory.id for memory in versions.values() if self.doom.takes(memory)]
        by_source = self.doom.came_from is not None
        readable = with_derived(versions.values(), {*named, *lost}, promoted=by_source)
        doomed = tuple(sorted({*readable, *lost}))
        gone, went = [versions[id] for id in readable], frozenset(doomed)
        again = standing_again(versions, went, scribe.moment) if by_source else ()
        stays = [m for m in (*versions.values(), *again) if m.id not in went and m.status.is_live]
        kept = tombstones(stays, keys=True) if by_source else ()
        buried = tuple(sorted({*tombstones(gone, keys=self.doom.by_key)}.difference(kept)))
        released = [held for held in self.held if self._is_copy(held, buried)]
        if not doomed and not released:
            self.outcome = NOT_FOUND
            return None
        derived = len(readable) - len(set(named))
        copies = [copy for id in doomed for copy in self.elsewhere.get(id, ())]
        counted = {"count": len(doomed), "held": len(released), "derived": derived}
        counted |= {"elsewhere": len(copies), "revived": len(again), UNREADABLE: len(lost)}
        reasons = tuple(f"{what}:{n}" for what, n in counted.items() if n or what == "count")
        if self.doom.dry_run:
            self.outcome = Outcome(OutcomeKind.DROPPED, None, ("dry_run", *reasons))
            return None
        self.copies = copies
        if again:
            ids = tuple(memory.id for memory in again)
            scribe.record(EventType.UNDONE, self.doom.place, subjects=ids, reasons=(REVIVED,))
        scribe.record(EventType.FORGOTTEN, self.doom.place, subjects=doomed, reasons=reasons)
        self.outcome = Outcome(OutcomeKind.FORGOTTEN, None, reasons, scribe.events)
        overtaken = [each for each in self.work if _carries(each, doomed)]
        self.withdrawn = tuple(each.item.id for each in overtaken)
        return Change(
            known_at=scribe.moment.known_at,
            restated=(*again, *renumbered(versions, went, scribe.moment)),
            forgotten=doomed,
            tombstones=buried,
            released=tuple(held.id for held in released),
            events=scribe.events,
            blanked=self._blanked(gone, released),
            unjournaled=(DIGEST, ECHO),
            outbox=told_to_others(scribe.moment.new_id, overtaken, copies),
        )

    def _read(self, rows: Iterable[StoredRow]) -> tuple[dict[str, Memory], frozenset[str]]:
        """Return versions by id, and the ids of those that go though they cannot be read.

        Raises:
            StoreCorrupt: If one cannot be read that may stay.
        """
        read = {row.id: salvage(row) if row.id in self.going else decode(row) for row in rows}
        versions = {id: memory for id, memory in read.items() if memory is not None}
        return versions, frozenset(read.keys() - versions.keys())

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
        """Whether a candidate that waits says what is forgotten, or is to go anyhow (LT-10)."""
        candidate = decode_candidate(held.body)
        said = not set(buried).isdisjoint(marks_of(candidate))
        return said or self.doom.takes(candidate)


def _carries(pending: PendingOutbox, gone: Collection[str]) -> bool:
    """Whether work on its way is a copy of something that goes."""
    carried = unpacked(pending.item)
    return isinstance(carried, Promotion) and not set(gone).isdisjoint(carried.candidate.parents)
