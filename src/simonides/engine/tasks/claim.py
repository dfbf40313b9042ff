"""Locks a task's name for one session, from the start of a run to the removal of its scope.

The lock is a row read and written under the owner's turn
(:mod:`simonides.domain.conversation.task`). If two sessions start the same name at once, one gets
it. The removal of the scope checks the holder in the same turn. The lock has no expiry. When
another session wants the name, it checks whether the holder still runs.
"""

from __future__ import annotations

from dataclasses import replace
from typing import NamedTuple

from simonides.domain.conversation.session import SessionStep
from simonides.domain.conversation.task import held_by, holder_of, left_open, place_of
from simonides.domain.errors import TaskUnderWay
from simonides.domain.scope import Principal
from simonides.domain.writing.change import Change, Snapshot, TurnRequest
from simonides.engine.core import EventRecorder, Runtime
from simonides.engine.sessions import TaskEnder
from simonides.engine.tasks.log import OWN, TaskLog
from simonides.engine.write import Decided, ExtraChanges, is_unchanged

BEGINS_US = 60_000_000
"""How long a new holder may take to log the start of its run; chosen. The two are one write to each
store, so only a process that died between them exceeds it."""


class Fence(NamedTuple):
    """A companion write that adds nothing, but guards a batch built from a run's log. The batch is
    committed only if the holder of the task's name is unchanged since the log was read.

    Attributes:
        session: Name of the row with the task's name.
        row: The row as read; None for a name that was never taken.
        incarnation: Incarnation of the owner, which an erasure replaces; None if nothing is stored
            for the owner.
    """

    session: str
    row: SessionStep | None
    incarnation: bytes | None

    def is_current(self, snapshot: Snapshot) -> bool:
        """Whether the holder of the name is unchanged since the log was read."""
        return is_unchanged(snapshot, self.row, self.incarnation)

    def changes(self, decided: Decided) -> ExtraChanges:
        """Return no additional changes."""
        del decided
        return ExtraChanges()


class TaskLock:
    """The lock on one task's name, for one session."""

    def __init__(self, runtime: Runtime, principal: Principal, log: TaskLog) -> None:
        """Build it.

        Args:
            runtime: The open simonides.
            principal: The task, or its user.
            log: Log of the task, in the session that takes the name.
        """
        self._runtime = runtime
        self._user = replace(principal, home=log.home, session=log.session)
        self._log = log
        self._place = place_of(log.task)

    async def take(self) -> None:
        """Acquire the name, or renew it.

        An abandoned or ended session loses the name, and its scope is removed as at its end. A
        renewal changes the row. A session that saw the old row as abandoned then fails to clean the
        scope.

        Raises:
            TaskUnderWay: If another session holds it.
            StoreError: If the store failed.
        """
        while (other := await self._try_acquire()) is not None:
            if (refused := await self._refusal(other)) is not None:
                raise refused
            await TaskEnder(self._runtime, self._user).end(self._log.task, (), left=other)

    async def elsewhere(self) -> TaskUnderWay | None:
        """Return an error that names the other session with a run under way, or None.

        Raises:
            StoreError: If the store failed.
        """
        row = (await self.fence()).row
        return await self._refusal(row)

    async def fence(self) -> Fence:
        """Return a fence for a batch built from the run's log.

        Raises:
            StoreError: If the store failed.
        """
        store, home = self._runtime.store, self._log.home
        (head,) = await store.heads([home])
        rows = await store.session_steps(home, session=self._place)
        incarnation = None if head is None else head.incarnation
        return Fence(self._place, rows[0] if rows else None, incarnation)

    async def _try_acquire(self) -> SessionStep | None:
        """Acquire or renew the name; return the row of another holder, or None on success."""
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
        """Return an error if another session holds the name and still runs, else None."""
        task, session = self._log.task, holder_of(row, self._runtime.store.location)
        if row is None or session is None or session == self._log.session:
            return None
        if not await self._is_running(session, row):
            return None
        return TaskUnderWay(task, session, elsewhere=True, has_own=session == OWN + task)

    async def _is_running(self, session: str, row: SessionStep) -> bool:
        """Whether the session that holds the name may still have a run of it."""
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
