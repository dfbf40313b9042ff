"""Verbs that look before they write: capture, correct, confirm, forget."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from memstrata.capture.drafts import MAX_NAME_BYTES
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
from memstrata.domain.decision import Outcome, OutcomeKind
from memstrata.domain.errors import InvalidInput
from memstrata.domain.event import EventType
from memstrata.domain.memory import Draft, Memory, Place, is_id
from memstrata.domain.scope import Principal
from memstrata.domain.trust import Source
from memstrata.language.normalise import check_text, content_hash
from memstrata.longterm.forgetting import tombstones
from memstrata.longterm.versions import confirmed
from memstrata.manager.outbox import unpacked
from memstrata.manager.reading import Reader
from memstrata.manager.scribe import Scribe
from memstrata.manager.services import Services
from memstrata.manager.turn import marks_of
from memstrata.manager.writing import Writer
from memstrata.retrieval.owner_index import OwnerIndex
from memstrata.retrieval.pool import matches

MAX_OUTBOX = 10_000
"""Undelivered promotions of one owner that forgetting looks at; far above any that can wait."""

NOT_FOUND = Outcome(OutcomeKind.DROPPED, reasons=("not_found",))


class Changer:
    """Changes what stands in one principal's own scope."""

    def __init__(self, services: Services, principal: Principal) -> None:
        self._services = services
        self._principal = principal
        self._reader = Reader(services, principal)
        self._writer = Writer(services, principal)

    async def standing(self, which: str) -> Memory | None:
        """Return the live memory under a key or an id in the principal's own scope."""
        home = self._principal.home
        name = check_text("which", which, 512)
        rows = (
            *await self._services.store.keyed(home.owner, home, name),
            *await self._services.store.get(home.owner, [name]),
        )
        found = [memory for memory in map(decode, rows) if memory.status.is_live]
        mine = [m for m in found if m.scope == home and self._reader.admits(m)]
        return mine[-1] if mine else None

    async def correct(self, which: str, content: str, *, quote: str | None) -> Outcome:
        """See :meth:`memstrata.manager.AsyncMemoryManager.correct`."""
        standing = await self.standing(which)
        draft = Draft(content, source=Source.USER_CORRECTION, confidence=1.0, quote=quote)
        if standing is None:
            if is_id(which):
                # Whether it stands elsewhere or nowhere is not this principal's to know.
                return NOT_FOUND
            draft = replace(draft, key=which)
            (outcome,) = await self._writer.write([self._writer.candidate(draft)])
            return outcome
        draft = replace(
            draft,
            key=standing.key,
            category=standing.category,
            kind=standing.kind,
            importance=standing.importance,
            sensitivity=standing.sensitivity,
            tags=standing.tags,
            metadata=dict(standing.metadata),
            session=standing.origin.session,
            turn=standing.origin.turn,
            speaker=standing.speaker,
            purpose=standing.purpose,
            audience=None if standing.audience is None else tuple(sorted(standing.audience)),
        )
        candidate = replace(
            self._writer.candidate(draft), replaces=standing.id, replaces_root=standing.root
        )
        (outcome,) = await self._writer.write([candidate])
        return outcome

    async def confirm(self, id: str) -> Outcome:
        """See :meth:`memstrata.manager.AsyncMemoryManager.confirm`."""
        known = await self.standing(id)
        if known is None:
            return NOT_FOUND
        index = self._services.indexes.of(self._principal.home.owner)
        turn = _Confirmation(self._services, self._principal, index, known.id)
        request = TurnRequest(since=index.head)
        committed = await self._services.store.commit(
            self._principal.home.owner, request, turn.decide
        )
        index.follow(committed)
        return turn.outcome

    async def forget(
        self, *, id: str | None, key: str | None, wanted: Mapping[str, Any]
    ) -> Outcome:
        """See :meth:`memstrata.manager.AsyncMemoryManager.forget`."""
        if id is None and key is None and not wanted:
            raise InvalidInput("forget", "name an id, a key, a filter or a source")
        if id is not None and key is not None:
            raise InvalidInput("forget", "name an id or a key, not both")
        targets = await self._targets(id=id, key=key, wanted=wanted)
        if not targets:
            return NOT_FOUND
        roots = frozenset(memory.root for memory in targets)
        while (outcome := await self._forget_chains(roots, by_key=key is not None)) is None:
            continue
        return outcome

    async def retract(self, what: str) -> Outcome:
        """Forget what a user asked to have forgotten: a key, or else a statement as it was
        said.
        """
        if len(what.encode()) <= MAX_NAME_BYTES:
            outcome = await self.forget(id=None, key=what, wanted={})
            if outcome is not NOT_FOUND:
                return outcome
        index = self._services.indexes.of(self._principal.home.owner)
        home = self._principal.home
        index.refresh(await self._services.store.snapshot(home.owner, since=index.head))
        alike = index.by_hash(Place(home), content_hash(what), self._reader.now)
        if not alike:
            return NOT_FOUND
        return await self.forget(id=alike[0].id, key=None, wanted={})

    async def _forget_chains(self, roots: frozenset[str], *, by_key: bool) -> Outcome | None:
        """Forget chains as they stand; None if rows went away between reading and the turn."""
        owner, store = self._principal.home.owner, self._services.store
        (head,) = await store.heads([owner])
        chains: dict[str, StoredRow] = {}
        for root in sorted(roots):
            chains |= {row.id: row for row in await store.history(owner, root)}
        held = await store.held(owner)
        turn = _Forgetting(self._services, self._principal, roots, by_key, chains, held, head)
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
        self, *, id: str | None, key: str | None, wanted: Mapping[str, Any]
    ) -> list[Memory]:
        home, store = self._principal.home, self._services.store
        rows: Sequence[StoredRow]
        if id is not None:
            rows = await store.get(home.owner, [check_text("id", id, 512)])
        elif key is not None:
            rows = await store.keyed(home.owner, home, check_text("key", key, 512))
        else:
            rows = await self._all_rows()
        mine = [memory for memory in map(decode, rows) if memory.scope == home]
        # Expired ones and those for another purpose go too; another agent's are not ours to remove.
        return [m for m in mine if self._reader.hears(m) and matches(m, wanted)]

    async def _all_rows(self) -> list[StoredRow]:
        owner, rows = self._principal.home.owner, list[StoredRow]()
        while page := await self._services.store.rows(owner, after=rows[-1].id if rows else ""):
            rows += page
        return rows


@dataclass(slots=True)
class _Confirmation:
    """Confirms one memory under the turn, if it still stands."""

    services: Services
    principal: Principal
    index: OwnerIndex
    id: str
    outcome: Outcome = NOT_FOUND

    def decide(self, snapshot: Snapshot) -> Change | None:
        self.index.refresh(snapshot)
        scribe = Scribe(self.services, self.principal, snapshot)
        standing = self.index.by_id(self.id, scribe.moment.now)
        if standing is None:
            return None
        memory = confirmed(standing, scribe.moment)
        scribe.record(EventType.CONFIRMED, memory.scope, subjects=(memory.id,))
        self.outcome = Outcome(OutcomeKind.BUMPED, memory, ("confirmed",), scribe.events)
        return Change(known_at=scribe.moment.known_at, restated=(memory,), events=scribe.events)


@dataclass(slots=True)
class _Forgetting:
    """Removes whole chains under the turn, versions that came meanwhile included."""

    services: Services
    principal: Principal
    roots: frozenset[str]
    by_key: bool
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
        doomed = {memory.id: memory for memory in versions if memory.root in self.roots}
        if not doomed:
            self.outcome = NOT_FOUND
            return None
        reasons = (f"count:{len(doomed)}",)
        scribe.record(EventType.FORGOTTEN, self.principal.home, reasons=reasons)
        self.outcome = Outcome(OutcomeKind.FORGOTTEN, None, reasons, scribe.events)
        self.gone = frozenset(doomed)
        buried = tombstones(doomed.values(), keys=self.by_key)
        return Change(
            known_at=scribe.moment.known_at,
            forgotten=tuple(sorted(doomed)),
            tombstones=buried,
            released=tuple(held.id for held in self.held if self._is_copy(held, buried)),
            events=scribe.events,
        )

    @staticmethod
    def _is_copy(held: HeldCandidate, buried: Sequence[bytes]) -> bool:
        """Whether a candidate that waits says what is forgotten (LT-10)."""
        return not set(buried).isdisjoint(marks_of(decode_candidate(held.body)))
