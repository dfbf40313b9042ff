"""Follows sessions while nobody waits: what was logged is looked at soon after it was (CO-1).

An append says whose log has grown, and that is all it does. A moment later an alarm wakes this, and
one session after the other is brought up to date, each by one pair of hands in a process. What
fails is told in ``status`` and tried again; what a process leaves behind is done at the session's
end, by whoever ends it.
"""

from __future__ import annotations

import asyncio
import os
import threading
from collections.abc import Awaitable, Callable, Coroutine
from concurrent.futures import Future
from functools import partial
from typing import Any, TypeAlias

from memstrata.domain.errors import ModelError, StoreError
from memstrata.domain.scope import Principal
from memstrata.ports import Alarm

START_S = 1.0
"""From an append to the first look: the answer to what was said comes before it, and what is said
in one go is looked at together. Chosen."""

RETRY_S = 10.0
"""After a failure; doubled each time, up to :data:`LONGEST_RETRY_S`. Chosen."""

LONGEST_RETRY_S = 600.0

CatchUp: TypeAlias = Callable[[Principal, str], Awaitable[object]]
"""Looks at what nobody has looked at yet of a principal's session."""

Drive: TypeAlias = Callable[[Coroutine[Any, Any, None]], None]
"""Runs a coroutine to its end for who has no event loop."""

Log: TypeAlias = tuple[Principal, str]


class Following:
    """One process's care for the logs that it appends to; safe to share between threads."""

    def __init__(self, alarm: Alarm | None = None) -> None:
        """Build it.

        Args:
            alarm: Tells when it is time; None: nothing is done of itself.
        """
        self._alarm = alarm
        self._drive: Drive | None = None
        self._catch_up: CatchUp | None = None
        self._lock = threading.Lock()
        # Held by who works without an event loop, so that others wait for it.
        self._working = threading.RLock()
        self._waiting: dict[Log, None] = {}
        self._failed: dict[Log, str] = {}
        self._task: asyncio.Task[Any] | None = None
        self._is_looking = False
        self._is_armed = False
        self._is_closed = False
        self._retry_s = RETRY_S
        self._process = os.getpid()

    @property
    def problems(self) -> tuple[str, ...]:
        """What went wrong when last tried, for ``status``; no content, no scope."""
        return tuple(sorted({f"session_extraction:{name}" for name in self._failed.values()}))

    def serve(self, catch_up: CatchUp) -> None:
        """Say how a session is brought up to date."""
        self._catch_up = catch_up

    def driven_by(self, drive: Drive) -> None:
        """Say how to work where no event loop is running."""
        self._drive = drive

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

    async def close(self) -> None:
        """Stop: what is under way ends before it, or is left to the next process."""
        if self._process != os.getpid():
            return  # a forked child has not inherited the threads
        self._is_closed = True
        running, task = _running_loop(), self._task
        if running is None:
            with self._working:
                pass
        elif task is not None and task.get_loop() is running:
            task.cancel()
            await asyncio.wait([task])

    def _arm(self, seconds: float) -> None:
        with self._lock:
            arm, self._is_armed = not self._is_armed, True
        if arm and self._alarm is not None and not self._is_closed:
            self._alarm.after(seconds, partial(self._due, _running_loop()))

    def _due(self, loop: asyncio.AbstractEventLoop | None) -> None:
        self._is_armed = False
        if self._is_closed or self._process != os.getpid():
            return
        work = self._look()
        try:
            if self._drive is not None:
                with self._working:
                    self._drive(work)
            elif loop is not None and not loop.is_closed():
                asyncio.run_coroutine_threadsafe(work, loop).add_done_callback(_loudly)
            else:
                work.close()
        except (StoreError, RuntimeError):
            # The store or the loop was closed meanwhile; whoever ends the sessions does it.
            work.close()

    async def _look(self) -> None:
        """Bring every session that waits up to date; those that fail wait on for longer."""
        if self._is_looking:
            self._arm(START_S)  # Something was said meanwhile; no log is looked at twice at once.
            return
        self._is_looking = True
        self._task = None if _running_loop() is None else asyncio.current_task()
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


def _loudly(look: Future[None]) -> None:
    """Raise what a look raised and nobody waits for: it is logged, as faults of threads are."""
    if not look.cancelled():
        look.result()


def _running_loop() -> asyncio.AbstractEventLoop | None:
    try:
        return asyncio.get_running_loop()
    except RuntimeError:
        return None
