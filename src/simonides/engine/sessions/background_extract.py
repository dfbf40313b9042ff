"""Follows sessions while nobody waits: what was logged is looked at soon after it was.

An append says whose log has grown, and that is all it does. A moment later an alarm wakes this, and
one session after the other is brought up to date, each by one pair of hands in a process, some
entries at a time and with a pause before the next. What fails is told in ``status`` and tried
again; what a process leaves behind is done at the session's end, by whoever ends it.
"""

from __future__ import annotations

import threading
from collections.abc import Awaitable, Callable
from typing import TypeAlias

from simonides.domain.errors import ModelError, StoreError
from simonides.domain.scope import Principal
from simonides.engine.core.periodic import PeriodicTask
from simonides.ports import Alarm

START_S = 1.0
"""From an append to the first look: the answer to what was said comes before it, and what is said
in one go is looked at together. Chosen."""

PAUSE_S = 0.2
"""From some entries to the next where there are more: who goes on talking, or brings a long talk,
waits for the interpreter meanwhile. Fifty long texts are read in a tenth of a second (measured), so
that at most about a third of one core is busy with it. Chosen."""

RETRY_S = 10.0
"""After a failure; doubled each time, up to :data:`LONGEST_RETRY_S`. Chosen."""

LONGEST_RETRY_S = 600.0

CatchUp: TypeAlias = Callable[[Principal, str], Awaitable[object]]
"""Looks at some of what nobody has looked at yet of a principal's session; true if more is left."""

Log: TypeAlias = tuple[Principal, str]


class Following(PeriodicTask):
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
        self._looked_at: Log | None = None
        self._is_looking = False
        self._is_behind = False
        self._is_armed = False
        self._is_to_retry = False
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
            log = principal, session
            if log in self._failed and log != self._looked_at:
                return  # It is tried again when all that failed is.
            self._waiting[log] = None
            if self._is_looking:
                return  # Whoever looks has the alarm set behind it.
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

    def _retry_later(self) -> None:
        """Have what failed tried again, by an alarm of its own: nothing else waits for it, nor is
        it tried whenever something else is looked at.
        """
        with self._lock:
            retries, self._is_to_retry = not self._is_to_retry, True
            seconds = self._retry_s
            if retries:
                self._retry_s = min(2 * seconds, LONGEST_RETRY_S)
        if retries:
            self._wake_in(seconds, self._retry)

    def _retry(self) -> None:
        with self._lock:
            self._is_to_retry = False
            self._waiting.update(dict.fromkeys(self._failed))

    async def _woken(self) -> None:
        """Look at every session that waits; those that fail wait on for longer."""
        with self._lock:
            if self._is_looking:
                return  # No log is looked at twice at once.
            self._is_looking, self._is_behind = True, False
            logs = tuple(self._waiting)
        self._note_task()
        try:
            for log in logs:
                if not self._is_closed and self._taken(log):
                    await self._follow(log)
        finally:
            with self._lock:
                self._task, self._is_looking, self._looked_at = None, False, None
                has_more = bool(self._waiting)
            if has_more:
                self._arm(PAUSE_S if self._is_behind else START_S)
            if self._failed:
                self._retry_later()
            else:
                self._retry_s = RETRY_S

    def _taken(self, log: Log) -> bool:
        """Take a log out of those that wait; False if it was forgotten meanwhile."""
        with self._lock:
            if log not in self._waiting:
                return False
            del self._waiting[log]
            self._looked_at = log
            return True

    async def _follow(self, log: Log) -> None:
        if self._catch_up is None:
            return
        try:
            has_more = await self._catch_up(*log)
        except (StoreError, ModelError) as error:
            with self._lock:
                self._failed[log] = type(error).__name__
                self._waiting.pop(log, None)
            return
        with self._lock:
            self._failed.pop(log, None)
            if has_more:
                self._is_behind = True
                self._waiting[log] = None
