"""Extracts from session logs in the background, shortly after entries were appended.

An append only registers that a log has grown. A moment later an alarm starts the extraction.
Sessions are processed one after the other, by one worker per process, in batches with a pause
between them. Failures appear in ``status`` and are retried. Entries left when a process stops are
extracted when the session is ended.
"""

from __future__ import annotations

import threading
from collections.abc import Awaitable, Callable
from typing import TypeAlias

from simonides.domain.errors import ModelError, StoreError
from simonides.domain.scope import Principal
from simonides.engine.core import PeriodicTask
from simonides.ports import Alarm

START_S = 1.0
"""Delay from an append to the extraction: the reply comes first, and entries appended together are
extracted together. Chosen."""

PAUSE_S = 0.2
"""Pause between batches of entries, because a busy or imported conversation needs the interpreter
too. Fifty long texts take a tenth of a second (measured): at most about a third of one core is
busy. Chosen."""

RETRY_S = 10.0
"""Delay after a failure; doubled each time, up to :data:`LONGEST_RETRY_S`. Chosen."""

LONGEST_RETRY_S = 600.0

CatchUp: TypeAlias = Callable[[Principal, str], Awaitable[object]]
"""Extracts some of the pending entries of a principal's session; returns true if more are left."""

Log: TypeAlias = tuple[Principal, str]


class BackgroundExtraction(PeriodicTask):
    """Background extraction queue of one process; safe to share between threads."""

    def __init__(self, alarm: Alarm | None = None) -> None:
        """Build it.

        Args:
            alarm: Timer for the extraction; None disables the background work.
        """
        super().__init__(alarm)
        self._catch_up: CatchUp | None = None
        self._lock = threading.Lock()
        self._waiting: dict[Log, None] = {}
        self._failed: dict[Log, str] = {}
        self._current: Log | None = None
        self._is_running = False
        self._has_backlog = False
        self._is_armed = False
        self._is_retry_set = False
        self._retry_s = RETRY_S

    @property
    def problems(self) -> tuple[str, ...]:
        """Errors of the last attempts, for ``status``; without content or scope."""
        return tuple(sorted({f"session_extraction:{name}" for name in self._failed.values()}))

    def serve(self, catch_up: CatchUp) -> None:
        """Set the function that extracts from a session."""
        self._catch_up = catch_up

    def noticed(self, principal: Principal, session: str) -> None:
        """Queue a log that has grown, and set the alarm; returns at once."""
        if self._alarm is None or self._catch_up is None:
            return
        with self._lock:
            log = principal, session
            if log in self._failed and log != self._current:
                return  # It is retried together with the other failed logs.
            self._waiting[log] = None
            if self._is_running:
                return  # The running extraction sets the alarm when it ends.
        self._arm(START_S)

    def forget(self, principal: Principal, session: str) -> None:
        """Remove a session from the queue: the end of the session extracts all of it."""
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
        """Schedule a retry of the failed logs on a separate alarm. Other logs neither wait for it
        nor trigger it.
        """
        with self._lock:
            retries, self._is_retry_set = not self._is_retry_set, True
            seconds = self._retry_s
            if retries:
                self._retry_s = min(2 * seconds, LONGEST_RETRY_S)
        if retries:
            self._wake_in(seconds, self._retry)

    def _retry(self) -> None:
        with self._lock:
            self._is_retry_set = False
            self._waiting.update(dict.fromkeys(self._failed))

    async def _woken(self) -> None:
        """Extract from every waiting session; failed sessions wait for the retry."""
        with self._lock:
            if self._is_running:
                return  # Only one extraction runs at a time.
            self._is_running, self._has_backlog = True, False
            logs = tuple(self._waiting)
        self._note_task()
        try:
            for log in logs:
                if not self._is_closed and self._dequeue(log):
                    await self._extract_from(log)
        finally:
            with self._lock:
                self._task, self._is_running, self._current = None, False, None
                has_more = bool(self._waiting)
            if has_more:
                self._arm(PAUSE_S if self._has_backlog else START_S)
            if self._failed:
                self._retry_later()
            else:
                self._retry_s = RETRY_S

    def _dequeue(self, log: Log) -> bool:
        """Take a log off the queue; False if it was removed meanwhile."""
        with self._lock:
            if log not in self._waiting:
                return False
            del self._waiting[log]
            self._current = log
            return True

    async def _extract_from(self, log: Log) -> None:
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
                self._has_backlog = True
                self._waiting[log] = None
