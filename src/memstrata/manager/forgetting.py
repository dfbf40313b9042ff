"""Forgetting: what goes, what waits or is on its way with it, and what stays as a ban (LT-10)."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from memstrata.capture.drafts import MAX_NAME_BYTES, target_scope
from memstrata.domain.candidate_codec import decode_candidate
from memstrata.domain.change import (
    Change,
    Head,
    HeldCandidate,
    Snapshot,
    StoredRow,
    TurnRequest,
)
from memstrata.domain.codec import decode
from memstrata.domain.decision import Candidate, Outcome, OutcomeKind
from memstrata.domain.errors import InvalidInput, ScopeDenied
from memstrata.domain.event import EventType
from memstrata.domain.filters import Filter
from memstrata.domain.memory import Memory, Place
from memstrata.domain.scope import Principal, Scope
from memstrata.language.normalise import check_text, content_hash
from memstrata.longterm.forgetting import tombstones
from memstrata.manager.changes import NOT_FOUND
from memstrata.manager.outbox import unpacked
from memstrata.manager.reading import Reader
from memstrata.manager.scribe import Scribe
from memstrata.manager.services import Services
from memstrata.manager.turn import marks_of
from memstrata.retrieval.filtering import holds

MAX_OUTBOX = 10_000
"""Undelivered promotions of one owner that forgetting looks at; far above any that can wait."""


@dataclass(frozen=True, slots=True)
class _Doom:
    """What is to go.

    Attributes:
        place: Where.
        roots: Chains that go, whatever is added to them meanwhile.
        by_key: Whether their keys are blocked too.
        everything: Whether all of the place goes, what is added or held back there included.
        hears: Whether the principal's agent belongs to an audience: another's is not its to remove.
    """

    place: Scope
    roots: frozenset[str]
    by_key: bool
    everything: bool
    hears: Callable[[Memory | Candidate], bool]

    def takes(self, one: Memory | Candidate) -> bool:
        """Whether a version, or a candidate that waits, goes."""
        if isinstance(one, Memory) and one.root in self.roots:
            return True
        return self.everything and one.scope == self.place and self.hears(one)


class Forgetter:
    """Removes what one principal may."""

    def __init__(self, services: Services, principal: Principal) -> None:
        self._services = services
        self._principal = principal
        self._reader = Reader(services, principal)

    async def forget(
        self, *, id: str | None, key: str | None, scope: str | None, wanted: Filter | None
    ) -> Outcome:
        """See :meth:`memstrata.manager.AsyncMemoryManager.forget`."""
        if id is None and key is None and scope is None and wanted is None:
            raise InvalidInput("forget", "name an id, a key, a scope, a filter or a source")
        if id is not None and key is not None:
            raise InvalidInput("forget", "name an id or a key, not both")
        place = self._place(scope)
        targets = await self._targets(place, id=id, key=key, wanted=wanted)
        everything = id is None and key is None and wanted is None
        if not targets and not everything:
            return NOT_FOUND
        roots = frozenset(memory.root for memory in targets)
        return await self._forgotten(place, roots, by_key=key is not None, everything=everything)

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

    async def _forgotten(
        self, place: Scope, roots: frozenset[str], *, by_key: bool, everything: bool
    ) -> Outcome:
        doom = _Doom(place, roots, by_key=by_key, everything=everything, hears=self._reader.hears)
        while (outcome := await self._forget_chains(doom)) is None:
            continue
        return outcome

    async def forget_chains(self, roots: frozenset[str]) -> Outcome:
        """Forget whole chains of the principal's owner, wherever in it they lie and whoever may
        hear them; their keys are not blocked.
        """
        place = self._principal.home
        return await self._forgotten(place, roots, by_key=False, everything=False)

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

    async def _forget_chains(self, doom: _Doom) -> Outcome | None:
        """Forget chains as they stand; None if rows went away between reading and the turn."""
        owner, store = self._principal.home.owner, self._services.store
        (head,) = await store.heads([owner])
        chains: dict[str, StoredRow] = {}
        for root in sorted(doom.roots):
            chains |= {row.id: row for row in await store.history(owner, root)}
        held = await store.held(owner)
        turn = _Forgetting(self._services, self._principal, doom, chains, held, head)
        await store.commit(owner, TurnRequest(since=head), turn.decide)
        await self._withdraw(turn.gone)
        self._services.indexes.of(owner).refresh(await store.snapshot(owner))
        return turn.outcome

    async def _withdraw(self, gone: frozenset[str]) -> None:
        """Take back copies of what was forgotten that are still on their way to another owner."""
        owner, store = self._principal.home.owner, self._services.store
        on_their_way = await store.outbox(source=owner, limit=MAX_OUTBOX) if gone else ()
        doomed = [p.item.id for p in on_their_way if gone & set(unpacked(p.item)[1].parents)]
        if doomed:
            await store.settle(owner, doomed)

    async def _targets(
        self, place: Scope, *, id: str | None, key: str | None, wanted: Filter | None
    ) -> list[Memory]:
        owner, store = place.owner, self._services.store
        rows: Sequence[StoredRow]
        if id is not None:
            rows = await store.get(owner, [check_text("id", id, 512)])
        elif key is not None:
            rows = await store.keyed(owner, place, check_text("key", key, 512))
        else:
            rows = await self._all_rows()
        mine = [memory for memory in map(decode, rows) if memory.scope == place]
        # Expired ones and those for another purpose go too; another agent's are not ours to remove.
        return [m for m in mine if self._reader.hears(m) and holds(wanted, m)]

    async def _all_rows(self) -> list[StoredRow]:
        owner, rows = self._principal.home.owner, list[StoredRow]()
        while page := await self._services.store.rows(owner, after=rows[-1].id if rows else ""):
            rows += page
        return rows


@dataclass(slots=True)
class _Forgetting:
    """Removes whole chains under the turn, versions that came meanwhile included."""

    services: Services
    principal: Principal
    doom: _Doom
    chains: Mapping[str, StoredRow]
    held: Sequence[HeldCandidate]
    head: Head | None
    outcome: Outcome | None = None
    gone: frozenset[str] = frozenset()

    def decide(self, snapshot: Snapshot) -> Change | None:
        if snapshot.complete and self.head is not None:
            return None  # the epoch moved: something of what was read is gone
        scribe = Scribe(self.services, self.principal, snapshot)
        versions = [decode(row) for row in (*self.chains.values(), *snapshot.rows)]
        doomed = {memory.id: memory for memory in versions if self.doom.takes(memory)}
        buried = tombstones(doomed.values(), keys=self.doom.by_key)
        released = tuple(held.id for held in self.held if self._is_copy(held, buried))
        if not doomed and not released:
            self.outcome = NOT_FOUND
            return None
        reasons = (f"count:{len(doomed)}", *([f"held:{len(released)}"] if released else ()))
        scribe.record(EventType.FORGOTTEN, self.doom.place, reasons=reasons)
        self.outcome = Outcome(OutcomeKind.FORGOTTEN, None, reasons, scribe.events)
        self.gone = frozenset(doomed)
        return Change(
            known_at=scribe.moment.known_at,
            forgotten=tuple(sorted(doomed)),
            tombstones=buried,
            released=released,
            events=scribe.events,
        )

    def _is_copy(self, held: HeldCandidate, buried: Sequence[bytes]) -> bool:
        """Whether a candidate that waits says what is forgotten, or is to go anyhow (LT-10)."""
        candidate = decode_candidate(held.body)
        said = not set(buried).isdisjoint(marks_of(candidate))
        return said or self.doom.takes(candidate)
