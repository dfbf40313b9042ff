"""Ending sessions that nobody goes on with, and those that end with their process."""

from __future__ import annotations

import threading
from collections.abc import Callable

from simonides.domain.conversation.session import EndedBy, SessionEndReport
from simonides.domain.errors import SimonidesError
from simonides.domain.scope import Principal
from simonides.engine.core.periodic import PeriodicJob
from simonides.engine.core.runtime import Runtime
from simonides.engine.sessions.end import SessionEnder
from simonides.ports import Alarm


class ProcessSessions:
    """Sessions that are to end with this process; safe to use from several threads."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._sessions: dict[tuple[str, str], tuple[Principal, str]] = {}

    def add(self, principal: Principal, session: str) -> None:
        """Have a session ended when simonides is closed."""
        with self._lock:
            self._sessions[principal.home.owner.path, session] = principal, session

    def discard(self, principal: Principal, session: str) -> None:
        """Leave a session alone: it has ended, or is to outlive this process."""
        with self._lock:
            self._sessions.pop((principal.home.owner.path, session), None)

    def taken(self) -> tuple[tuple[Principal, str], ...]:
        """Return them, for whoever ends them now."""
        with self._lock:
            left, self._sessions = tuple(self._sessions.values()), {}
        return left


PAGE = 100
"""Sessions that are asked for at a time."""

FIRST_S, EVERY_S = 60.0, 300.0
"""When sessions that are due are looked for. Chosen: a session counts as left after 20 minutes, and
no caller waits for its end."""


class IdleSessionEnder(PeriodicJob):
    """Ends idle sessions from time to time."""

    def __init__(self, alarm: Alarm | None = None) -> None:
        """Build it.

        Args:
            alarm: Tells when it is time; None: nothing is done of itself.
        """
        super().__init__(alarm, name="sessions", first_s=FIRST_S, every_s=EVERY_S)


async def end_due(
    runtime: Runtime, go_on: Callable[[], None] = lambda: None
) -> tuple[SessionEndReport, ...]:
    """End every session whose time is over, whoever opened it; the longest due first.

    One that cannot be ended now does not stop the others: its report says so in its diagnostics, as
    ``failed:`` and the name of the error, and it is due still.

    Args:
        runtime: The open simonides.
        go_on: Called before each; what it raises ends the round.

    Raises:
        StoreError: If it cannot be read which are due.
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


def end_when_idle(runtime: Runtime) -> None:
    """Have sessions that are due ended from time to time."""
    rounds = runtime.part(IdleSessionEnder)

    async def look() -> None:
        await end_due(runtime, rounds.go_on)

    rounds.doing(look)


async def end_departing(runtime: Runtime) -> tuple[SessionEndReport, ...]:
    """End the sessions that are to end with this process; what cannot be ended now is due later,
    for whoever looks then.
    """
    by = EndedBy.SHUTDOWN
    left = runtime.part(ProcessSessions).taken()
    return tuple([await _ended(runtime, principal, name, by) for principal, name in left])
