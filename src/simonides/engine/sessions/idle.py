"""Ends idle sessions, and sessions that end with their process."""

from __future__ import annotations

import threading
from collections.abc import Callable

from simonides.domain.conversation.session import EndedBy, SessionEndReport
from simonides.domain.errors import SimonidesError
from simonides.domain.scope import Principal
from simonides.engine.core import PeriodicJob, Runtime
from simonides.engine.sessions.end import SessionEnder
from simonides.ports import Alarm


class ProcessSessions:
    """Sessions that this process appended to; safe to use from several threads.

    Attributes:
        end_on_close: Whether they end with the process.
    """

    def __init__(self, *, end_on_close: bool = True) -> None:
        self.end_on_close = end_on_close
        self._lock = threading.Lock()
        self._sessions: dict[tuple[str, str], tuple[Principal, str]] = {}

    def add(self, principal: Principal, session: str) -> None:
        """End a session when simonides is closed."""
        with self._lock:
            self._sessions[principal.home.owner.path, session] = principal, session

    def discard(self, principal: Principal, session: str) -> None:
        """Remove a session that has ended or is to outlive this process."""
        with self._lock:
            self._sessions.pop((principal.home.owner.path, session), None)

    def all(self) -> tuple[tuple[Principal, str], ...]:
        """Return the sessions that this process appended to and has not ended."""
        with self._lock:
            return tuple(self._sessions.values())

    def take_all(self) -> tuple[tuple[Principal, str], ...]:
        """Return the sessions and clear the list; the caller ends them."""
        with self._lock:
            left, self._sessions = tuple(self._sessions.values()), {}
        return left


PAGE = 100
"""Sessions requested at once."""

FIRST_S, EVERY_S = 60.0, 300.0
"""Delay to the first check for due sessions, and between checks. Chosen: a session counts as
abandoned after 20 minutes, and no caller waits for its end."""


class IdleSessionEnder(PeriodicJob):
    """Ends idle sessions periodically."""

    def __init__(self, alarm: Alarm | None = None) -> None:
        """Build it.

        Args:
            alarm: Timer for the checks; None disables them.
        """
        super().__init__(alarm, name="sessions", first_s=FIRST_S, every_s=EVERY_S)


async def end_due(
    runtime: Runtime, go_on: Callable[[], None] = lambda: None
) -> tuple[SessionEndReport, ...]:
    """End every session that is due, of any principal; the longest due first.

    A session that cannot be ended does not stop the others. Its report has the diagnostic
    ``failed:`` with the error's name, and it stays due.

    Args:
        runtime: The open simonides.
        go_on: Called before each session; an exception from it stops the loop.

    Raises:
        StoreError: If the due sessions cannot be read.
    """
    reports: list[SessionEndReport] = []
    seen = set[tuple[str, str]]()
    while True:
        due = await runtime.sessions.due(runtime.clock.now_us(), limit=PAGE + len(seen))
        new = [each for each in due if (each[0].path, each[1].id) not in seen]
        if not new:
            return tuple(reports)
        for owner, record in new:
            go_on()
            seen.add((owner.path, record.id))
            principal = Principal(owner, session=record.id)
            reports.append(await _ended(runtime, principal, record.id, EndedBy.IDLE))


async def _ended(
    runtime: Runtime, principal: Principal, session: str, by: EndedBy
) -> SessionEndReport:
    try:
        return await SessionEnder(runtime, principal).end(session, ended_by=by)
    except SimonidesError as error:
        failed = (f"failed:{type(error).__name__}",)
        return SessionEndReport(session=session, ended_by=by, diagnostics=failed)


def schedule_idle_end(runtime: Runtime) -> None:
    """Schedule the periodic end of due sessions."""
    job = runtime.part(IdleSessionEnder)

    async def look() -> None:
        await end_due(runtime, job.go_on)

    job.doing(look)


async def end_process_sessions(runtime: Runtime) -> tuple[SessionEndReport, ...]:
    """End the sessions that end with this process; one that fails stays due for a later check."""
    if not runtime.part(ProcessSessions).end_on_close:
        return ()
    by = EndedBy.SHUTDOWN
    left = runtime.part(ProcessSessions).take_all()
    return tuple([await _ended(runtime, principal, name, by) for principal, name in left])
