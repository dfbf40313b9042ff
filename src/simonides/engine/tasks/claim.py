"""The name of a task, for one session: taken before a run begins, given back with its scope.

It is a row that is read and written under the owner's turn
(:mod:`simonides.domain.conversation.task`), so
of two sessions that begin a name at once one gets it, and what cleans the scope looks under the
same turn whose it is. Nothing of it runs out by itself: whether who has it goes on with it is asked
of that session, once somebody else wants the name.
"""

from __future__ import annotations

from dataclasses import replace
from typing import NamedTuple

from simonides.domain.conversation.session import SessionStep
from simonides.domain.conversation.task import held_by, holder_of, left_open, place_of
from simonides.domain.errors import TaskUnderWay
from simonides.domain.scope import Principal
from simonides.domain.writing.change import Change, Snapshot, TurnRequest
from simonides.engine.core.event_recorder import EventRecorder
from simonides.engine.core.runtime import Runtime
from simonides.engine.sessions.close_tasks import TaskEnder
from simonides.engine.tasks.log import OWN, TaskLog
from simonides.engine.write.companion_writes import Decided, ExtraChanges, is_unchanged

BEGINS_US = 60_000_000
"""So long who took a name is waited for to log that it began; chosen. The two are a write of each
store, and only a process that died between them is waited for in vain."""


class Fence(NamedTuple):
    """A companion write that adds nothing: a batch made of a run's log is committed only if the
    task's name is held as it was when the log was read.

    Attributes:
        session: Name of the row of the task's name.
        row: The row that was read; None for a name that was never taken.
        incarnation: Of the owner, which an erasure draws anew; None for an owner of whom nothing
            is stored.
    """

    session: str
    row: SessionStep | None
    incarnation: bytes | None

    def is_current(self, snapshot: Snapshot) -> bool:
        """See :class:`~simonides.engine.write.companion_writes.CompanionWrite`."""
        return is_unchanged(snapshot, self.row, self.incarnation)

    def changes(self, decided: Decided) -> ExtraChanges:
        """See :class:`~simonides.engine.write.companion_writes.CompanionWrite`."""
        del decided
        return ExtraChanges()


class TaskHold:
    """The name of one task, for one session."""

    def __init__(self, runtime: Runtime, principal: Principal, log: TaskLog) -> None:
        """Build it.

        Args:
            runtime: The open simonides.
            principal: The task, or its user.
            log: Of the task, in the session that is to have its name.
        """
        self._runtime = runtime
        self._user = replace(principal, home=log.home, session=log.session)
        self._log = log
        self._place = place_of(log.task)

    async def take(self) -> None:
        """Take the name, or go on having it.

        A session that has it and is left, or has ended without giving it back, does not keep it:
        what is in the scope goes as with its end. Who goes on having it says so in the row, so
        whoever found that session left and comes later to clean finds another row.

        Raises:
            TaskUnderWay: If another session has it.
            StoreError: If the store could not.
        """
        while (other := await self._taken()) is not None:
            if (refused := await self._refusal(other)) is not None:
                raise refused
            await TaskEnder(self._runtime, self._user).end(self._log.task, (), left=other)

    async def elsewhere(self) -> TaskUnderWay | None:
        """Return what says which other session has a run of the name under way, or None.

        Raises:
            StoreError: If the store could not.
        """
        row = (await self.fence()).row
        return await self._refusal(row)

    async def fence(self) -> Fence:
        """Return what is to stand still while something is made of the run's log.

        Raises:
            StoreError: If the store could not.
        """
        store, home = self._runtime.store, self._log.home
        (head,) = await store.heads([home])
        rows = await store.session_steps(home, session=self._place)
        incarnation = None if head is None else head.incarnation
        return Fence(self._place, rows[0] if rows else None, incarnation)

    async def _taken(self) -> SessionStep | None:
        """Take it anew if no other session has it; return the row of one that does, or None."""
        owner, runtime = self._log.home, self._runtime
        other: SessionStep | None = None

        def decide(snapshot: Snapshot) -> Change | None:
            nonlocal other
            row = snapshot.session_step
            holder = holder_of(row, runtime.store.location)
            other = None if holder in (None, self._log.session) else row
            if other is not None:
                return None
            moment = EventRecorder(runtime, self._user, snapshot).moment
            step = held_by(self._log.task, self._log.session, runtime.clock.now_us())
            return Change(known_at=moment.known_at, session_steps=(step,))

        head = runtime.indexes.of(owner).head
        await runtime.store.commit(owner, TurnRequest(since=head, session=self._place), decide)
        return other

    async def _refusal(self, row: SessionStep | None) -> TaskUnderWay | None:
        """Return what tells of another session that has the name and goes on, or None."""
        task, session = self._log.task, holder_of(row, self._runtime.store.location)
        if row is None or session is None or session == self._log.session:
            return None
        if not await self._goes_on(session, row):
            return None
        return TaskUnderWay(task, session, elsewhere=True, has_own=session == OWN + task)

    async def _goes_on(self, session: str, row: SessionStep) -> bool:
        """Whether a session that has the name may go on with a run of it."""
        now = self._runtime.clock.now_us()
        if now < row.at + BEGINS_US:
            return True
        sessions = await self._runtime.sessions.sessions(self._log.home)
        record = next((each for each in sessions if each.id == session), None)
        if record is None or (record.due_at is not None and record.due_at <= now):
            return False
        there = TaskLog(self._runtime, replace(self._user, session=session), self._log.task)
        entries, _ = await there.entries()
        return self._log.task in left_open(entries)
