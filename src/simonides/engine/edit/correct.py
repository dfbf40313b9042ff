"""Corrects and confirms stored memories."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any

from simonides.domain.codecs.memory import decode
from simonides.domain.event import EventType
from simonides.domain.memory import Draft, Record
from simonides.domain.scope import Principal
from simonides.domain.trust import Source
from simonides.domain.writing.change import Change, Snapshot, TurnRequest
from simonides.domain.writing.decision import Outcome, OutcomeKind
from simonides.engine.core import EventRecorder, Runtime
from simonides.engine.recall import Lookup
from simonides.engine.write import Writer, confirmed
from simonides.retrieval.index import OwnerIndex
from simonides.text import check_text

NOT_FOUND = Outcome(OutcomeKind.DROPPED, reasons=("not_found",))


class Changer:
    """Changes memories in one principal's own scope."""

    def __init__(
        self, runtime: Runtime, principal: Principal, writer: Writer | None = None
    ) -> None:
        self._runtime = runtime
        self._principal = principal
        self._lookup = Lookup(runtime, principal)
        self._writer = writer or Writer(runtime, principal)

    async def standing(self, which: str) -> Record | None:
        """Return the live memory under a key or an id in the principal's own scope."""
        home = self._principal.home
        name = check_text("which", which, 512)
        rows = (
            *await self._runtime.store.keyed(home.owner, home, name),
            *await self._runtime.store.get(home.owner, [name]),
        )
        found = [memory for memory in map(decode, rows) if memory.status.is_live]
        mine = [m for m in found if m.scope == home and self._lookup.admits(m)]
        agreed = await self._lookup.agreed(mine[-1:])
        return agreed[0] if agreed else None

    async def correct(self, which: str, content: str, *, quote: str | None) -> Outcome:
        """See :meth:`simonides.api.AsyncMemory.correct`."""
        # The correction copies fields of the stored memory; it must not survive an erasure.
        writer = await self._writer.bound_to_incarnation()
        standing = await self.standing(which)
        if standing is None:
            # The answer must not show whether the id is unknown or in another scope.
            return NOT_FOUND
        draft = Draft(
            content,
            source=Source.USER_CORRECTION,
            confidence=1.0,
            quote=quote,
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
            writer.candidate(draft), replaces=standing.id, replaces_root=standing.root
        )
        (outcome,) = await writer.write([candidate])
        return outcome

    async def confirm(self, which: str) -> Outcome:
        """See :meth:`simonides.api.AsyncMemory.confirm`."""
        return await self._restate(which, _Confirmation)

    async def adjust(self, which: str, **fields: Any) -> Outcome:
        """Change state fields of a memory, ``pinned``, ``importance`` or ``hard_expires_at``."""
        return await self._restate(which, partial(_Adjustment, fields=fields))

    async def _restate(self, which: str, turn_of: Callable[..., _Restatement]) -> Outcome:
        known = await self.standing(which)
        if known is None:
            return NOT_FOUND
        index = self._runtime.indexes.of(self._principal.home.owner)
        turn = turn_of(self._runtime, self._principal, index, known.id)
        request = TurnRequest(since=index.head)
        committed = await self._runtime.store.commit(
            self._principal.home.owner, request, turn.decide
        )
        index.follow(committed)
        return turn.outcome


@dataclass(slots=True)
class _Restatement:
    """Gives one memory a new state under the turn, if it is still live."""

    runtime: Runtime
    principal: Principal
    index: OwnerIndex
    id: str
    outcome: Outcome = NOT_FOUND

    def decide(self, snapshot: Snapshot) -> Change | None:
        self.index.refresh(snapshot)
        recorder = EventRecorder(self.runtime, self.principal, snapshot)
        standing = self.index.at(recorder.moment.now).by_id(self.id)
        if standing is None:
            return None
        memory = self.restated(standing, recorder)
        self.outcome = replace(self.outcome, record=memory, events=recorder.events)
        return Change(known_at=recorder.moment.known_at, restated=(memory,), events=recorder.events)

    def restated(self, standing: Record, recorder: EventRecorder) -> Record:
        """Return the new state; record its event and set the outcome."""
        raise NotImplementedError


class _Confirmation(_Restatement):
    """Marks a memory as verified now."""

    def restated(self, standing: Record, recorder: EventRecorder) -> Record:
        policy = self.runtime.policies.policy_for(self.principal.home.org)
        memory = confirmed(standing, recorder.moment, policy.ttl_for(standing.category)[0])
        recorder.record(EventType.CONFIRMED, memory.scope, subjects=(memory.id,))
        self.outcome = Outcome(OutcomeKind.BUMPED, memory, ("confirmed",))
        return memory


@dataclass(slots=True)
class _Adjustment(_Restatement):
    """Changes state fields that the user may set."""

    fields: Mapping[str, Any] = field(default_factory=dict)

    def restated(self, standing: Record, recorder: EventRecorder) -> Record:
        now = recorder.moment.now
        memory = replace(standing, **self.fields, updated_at=now, known_from=now)
        details = {"changed": sorted(self.fields)}
        recorder.record(EventType.REFRESHED, memory.scope, subjects=(memory.id,), details=details)
        reasons = tuple(f"changed:{name}" for name in sorted(self.fields))
        self.outcome = Outcome(OutcomeKind.REFRESHED, memory, reasons)
        return memory
