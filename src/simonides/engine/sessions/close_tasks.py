"""Ends a task: promotes the chosen memories to its user and removes the rest.

The removal sets no tombstones, because the user did not ask to forget anything. The next task of
this name starts empty and may learn the same again.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from simonides.domain.codecs.candidate import decode_candidate
from simonides.domain.codecs.memory import decode
from simonides.domain.conversation.session import SessionStep
from simonides.domain.conversation.task import held_by, holder_of, place_of
from simonides.domain.errors import InvalidScope, ScopeDenied
from simonides.domain.event import Event, EventType
from simonides.domain.scope import Principal, Scope
from simonides.domain.value import Value
from simonides.domain.writing.change import Change, Head, HeldCandidate, Snapshot, TurnRequest
from simonides.domain.writing.decision import Outcome
from simonides.engine.core import EventRecorder, Runtime
from simonides.engine.edit import Promoter

TASK_ENDED = "task_ended"


@dataclass(frozen=True, slots=True)
class TaskEnd(Value):
    """Result of ending a task.

    Attributes:
        promoted: Outcome of each memory to promote, in order.
        removed: Number of versions removed.
        released: Number of held candidates released.
        ended: False if a memory could not be promoted; then nothing was removed.
        events: The audit events of the removal.
    """

    promoted: tuple[Outcome, ...]
    removed: int = 0
    released: int = 0
    ended: bool = True
    events: tuple[Event, ...] = ()


class TaskEnder:
    """Ends tasks of one principal's user."""

    def __init__(self, runtime: Runtime, principal: Principal) -> None:
        self._runtime = runtime
        self._principal = principal

    async def end(
        self,
        task: str,
        promote: Sequence[str],
        *,
        session: str | None = None,
        left: SessionStep | None = None,
    ) -> TaskEnd:
        """End a task; see :meth:`simonides.AsyncMemory.end_task`.

        Args:
            task: Its name.
            promote: Ids of the memories to promote first.
            session: Session whose run ends. The name is then free, and if another session holds it
                nothing is removed. None ends the whole task, whatever session holds the name.
            left: Row of an abandoned session that holds the name. Its run ends as with ``session``,
                if the row is unchanged.
        """
        scope = self._scope(task)
        acting = replace(self._principal, home=scope)
        promoter = Promoter(self._runtime, acting)
        promoted = tuple([await promoter.promote(id, "user") for id in promote])
        if any(outcome.record is None for outcome in promoted):
            return TaskEnd(promoted, ended=False)
        while (removal := await self._removed(scope, session, left)).has_raced:
            continue
        return TaskEnd(promoted, removal.removed, removal.released, events=removal.events)

    def _scope(self, task: str) -> Scope:
        home = self._principal.home
        if home.user is None or home.org is None:
            raise InvalidScope("task", "a task belongs to a user; name the user too")
        scope = Scope.of_task(home.org, home.user, task)
        if home not in (scope, scope.owner):
            raise ScopeDenied(scope.path, "write", "a task is ended by itself or by its user")
        return scope

    async def _removed(
        self, scope: Scope, session: str | None, left: SessionStep | None
    ) -> _RemovalTurn:
        owner, store = scope.owner, self._runtime.store
        (head,) = await store.heads([owner])
        ids, after = set[str](), ""
        while page := await store.rows(owner, after=after):
            ids |= {row.id for row in page if decode(row).scope == scope}
            after = page[-1].id
        held = await store.held(owner)
        session = holder_of(left, store.location) if session is None else session
        removal = _RemovalTurn(
            self._runtime, self._principal, scope, session, left, head, ids, held
        )
        await store.commit(owner, removal.request, removal.decide)
        self._runtime.indexes.of(owner).refresh(await store.snapshot(owner))
        return removal


@dataclass(slots=True)
class _RemovalTurn:
    """Removes a task's whole scope under the turn, including rows written meanwhile."""

    runtime: Runtime
    principal: Principal
    scope: Scope
    session: str | None
    left: SessionStep | None
    head: Head | None
    ids: set[str]
    held: Sequence[HeldCandidate]
    has_raced: bool = False
    removed: int = 0
    released: int = 0
    events: tuple[Event, ...] = ()

    @property
    def request(self) -> TurnRequest:
        """The rows to read under the turn."""
        return TurnRequest(since=self.head, session=place_of(str(self.scope.task)))

    def decide(self, snapshot: Snapshot) -> Change | None:
        self.has_raced = snapshot.complete and self.head is not None
        if self.has_raced:
            return None  # rows that were read are gone: read again
        if self.left is not None and snapshot.session_step != self.left:
            return None  # the session that held the name has renewed or released it
        holder = holder_of(snapshot.session_step, self.runtime.store.location)
        is_its = self.session is not None and holder == self.session
        if self.session is not None and holder is not None and not is_its:
            return None  # another session has begun a run and owns the scope
        new = (decode(row) for row in snapshot.rows)
        ids = self.ids | {memory.id for memory in new if memory.scope == self.scope}
        waiting = [h for h in self.held if decode_candidate(h.body).scope == self.scope]
        if not ids and not waiting and not is_its:
            return None
        self.removed, self.released = len(ids), len(waiting)
        recorder = EventRecorder(self.runtime, self.principal, snapshot)
        if ids or waiting:
            reasons = (TASK_ENDED, f"count:{len(ids)}", f"held:{len(waiting)}")
            recorder.record(EventType.FORGOTTEN, self.scope, reasons=reasons)
        self.events = recorder.events
        now = self.runtime.clock.now_us()
        free = (held_by(str(self.scope.task), None, now),) if is_its else ()
        return Change(
            known_at=recorder.moment.known_at,
            forgotten=tuple(sorted(ids)),
            released=tuple(candidate.id for candidate in waiting),
            events=recorder.events,
            session_steps=free,
        )
