"""Follows sessions while nobody waits: what was logged is looked at soon after it was (CO-1).

An append says whose log has grown, and that is all it does. A moment later an alarm wakes this, and
one session after the other is brought up to date, each by one pair of hands in a process. What
fails is told in ``status`` and tried again; what a process leaves behind is done at the session's
end, by whoever ends it.
"""

from __future__ import annotations

import threading
from collections.abc import Awaitable, Callable
from typing import TypeAlias

from memstrata.domain.errors import ModelError, StoreError
from memstrata.domain.scope import Principal
from memstrata.manager.alarmed import Alarmed
from memstrata.ports import Alarm

START_S = 1.0
"""From an append to the first look: the answer to what was said comes before it, and what is said
in one go is looked at together. Chosen."""

RETRY_S = 10.0
"""After a failure; doubled each time, up to :data:`LONGEST_RETRY_S`. Chosen."""

LONGEST_RETRY_S = 600.0

CatchUp: TypeAlias = Callable[[Principal, str], Awaitable[object]]
"""Looks at what nobody has looked at yet of a principal's session."""

Log: TypeAlias = tuple[Principal, str]


class Following(Alarmed):
    """One process's care for the logs that it appends to; safe to share between threads."""

    def __init__(self, alarm: Alarm | None = None) -> None:
        """Build it.

        Args:
            alarm: Tells when it is time; None: nothing is done of itself.
        """
        super().__init__(alarm)
        self._catch_up: CatchUp | None = None
        self._lock = threading.Lock()
        self._waiting: dict[Log, None] = {}
        self._failed: dict[Log, str] = {}
        self._is_looking = False
        self._is_armed = False
        self._retry_s = RETRY_S

    @property
    def problems(self) -> tuple[str, ...]:
        """What went wrong when last tried, for ``status``; no content, no scope."""
        return tuple(sorted({f"session_extraction:{name}" for name in self._failed.values()}))

    def serve(self, catch_up: CatchUp) -> None:
        """Say how a session is brought up to date."""
        self._catch_up = catch_up

    def noticed(self, principal: Principal, session: str) -> None:
        """Remember that a log has grown, and have the alarm set; returns at once."""
        if self._alarm is None or self._catch_up is None:
            return
        with self._lock:
            self._waiting[principal, session] = None
        self._arm(START_S)

    def forget(self, principal: Principal, session: str) -> None:
        """Let go of a session: whoever ends it looks at all of it."""
        with self._lock:
            self._waiting.pop((principal, session), None)
            self._failed.pop((principal, session), None)

    def _arm(self, seconds: float) -> None:
        with self._lock:
            arm, self._is_armed = not self._is_armed, True
        if arm:
            self._wake_in(seconds, self._disarm)

    def _disarm(self) -> None:
        self._is_armed = False

    async def _woken(self) -> None:
        """Bring every session that waits up to date; those that fail wait on for longer."""
        if self._is_looking:
            self._arm(START_S)  # Something was said meanwhile; no log is looked at twice at once.
            return
        self._is_looking = True
        self._note_task()
        try:
            while (log := self._next()) is not None and not self._is_closed:
                await self._follow(log)
        finally:
            self._task, self._is_looking = None, False
        if self._failed:
            with self._lock:
                self._waiting.update(dict.fromkeys(self._failed))
            self._arm(self._retry_s)
            self._retry_s = min(2 * self._retry_s, LONGEST_RETRY_S)
        else:
            self._retry_s = RETRY_S

    def _next(self) -> Log | None:
        with self._lock:
            log = next(iter(self._waiting), None)
            if log is not None:
                del self._waiting[log]
            return log

    async def _follow(self, log: Log) -> None:
        if self._catch_up is None:
            return
        try:
            await self._catch_up(*log)
        except (StoreError, ModelError) as error:
            self._failed[log] = type(error).__name__
        else:
            self._failed.pop(log, None)
