"""Base class for periodic background work in a long-running process.

The work runs on the alarm's thread or on the event loop that opened the store. It does not run in a
forked child or after closing. Subclasses define the work, the interval and the retries.
"""

from __future__ import annotations

import asyncio
import os
import threading
from abc import ABC, abstractmethod
from collections.abc import Awaitable, Callable, Coroutine
from concurrent.futures import Future
from functools import partial
from typing import Any, TypeAlias

from simonides.domain.errors import StoreError
from simonides.ports import Alarm

Drive: TypeAlias = Callable[[Coroutine[Any, Any, None]], None]
"""Runs a coroutine to its end where there is no event loop."""


class PeriodicTask(ABC):
    """Periodic background work of one process; safe to share between threads."""

    def __init__(self, alarm: Alarm | None = None) -> None:
        """Create the task.

        Args:
            alarm: Starts the work; None: it never starts by itself.
        """
        self._alarm = alarm
        self._drive: Drive | None = None
        # The running task on an event loop, which closing cancels.
        self._task: asyncio.Task[Any] | None = None
        # Held while work runs without an event loop, so that closing can wait for it.
        self._working = threading.RLock()
        self._is_closed = False
        # Name of the last attempt's error, if any; no content, no scope.
        self._problem: str | None = None
        self._process = os.getpid()

    def driven_by(self, drive: Drive) -> None:
        """Set the function that runs the work where no event loop is running."""
        self._drive = drive

    async def close(self) -> None:
        """Stop: running work ends with its turn or before it, and no more work starts."""
        if self._process != os.getpid():
            return  # a forked child has not inherited the threads
        self._is_closed = True
        running, task = running_loop(), self._task
        if running is None:
            with self._working:
                pass
        elif task is not None and task.get_loop() is running:
            task.cancel()
            await asyncio.wait([task])

    @abstractmethod
    async def _woken(self) -> None:
        """Do the due work and set the alarm again."""

    def _wake_in(self, seconds: float, first: Callable[[], None] | None = None) -> None:
        """Set the alarm; ``first`` is called when it rings, even if no work starts."""
        if self._alarm is not None and not self._is_closed:
            self._alarm.after(seconds, partial(self._due, first, running_loop()))

    def _due(
        self, first: Callable[[], None] | None, loop: asyncio.AbstractEventLoop | None
    ) -> None:
        if first is not None:
            first()
        if self._is_closed or self._process != os.getpid():
            return
        work = self._woken()
        try:
            if self._drive is not None:
                with self._working:
                    self._drive(work)
            elif loop is not None and not loop.is_closed():
                asyncio.run_coroutine_threadsafe(work, loop).add_done_callback(_raise_error)
            else:
                work.close()
        except (StoreError, RuntimeError) as error:
            # Closed meanwhile; the next process does the remaining work.
            work.close()
            self._problem = type(error).__name__

    def _note_task(self) -> None:
        """Register the current task for cancellation by closing, if it runs on an event loop."""
        self._task = None if running_loop() is None else asyncio.current_task()


def running_loop() -> asyncio.AbstractEventLoop | None:
    """Return the event loop that runs on this thread, or None."""
    try:
        return asyncio.get_running_loop()
    except RuntimeError:
        return None


def _raise_error(work: Future[None]) -> None:
    """Raise the error of background work, so that it is logged as faults of threads are."""
    if not work.cancelled():
        work.result()


class Closing(Exception):
    """Raised inside a job when the store is closing: the job ends with its turn."""


class PeriodicJob(PeriodicTask):
    """A job with one function that runs at a fixed interval."""

    def __init__(
        self, alarm: Alarm | None = None, *, name: str, first_s: float, every_s: float
    ) -> None:
        """Create the job.

        Args:
            alarm: Starts the work; None: it never starts by itself.
            name: Of the job, as ``status`` shows it.
            first_s: Seconds from the opening to the first run.
            every_s: Seconds from the end of one run to the next.
        """
        super().__init__(alarm)
        self._name = name
        self._first_s, self._every_s = first_s, every_s
        self._work: Callable[[], Awaitable[None]] | None = None
        self._is_armed = False

    @property
    def problems(self) -> tuple[str, ...]:
        """Error of the last run, for ``status``; no content, no scope."""
        return () if self._problem is None else (f"{self._name}:{self._problem}",)

    def doing(self, work: Callable[[], Awaitable[None]]) -> None:
        """Set the function of the job; it calls :meth:`go_on` between its turns."""
        self._work = work

    def driven_by(self, drive: Drive) -> None:
        """Start the job, in a process that has no event loop."""
        super().driven_by(drive)
        self.begin()

    def begin(self) -> None:
        """Set the alarm for the first run, once; does not block."""
        if not self._is_armed:
            self._is_armed = True
            self._wake_in(self._first_s)

    def go_on(self) -> None:
        """Return, unless the store is closing.

        Raises:
            Closing: If it is closing.
        """
        if self._is_closed:
            raise Closing

    async def _woken(self) -> None:
        if self._work is None:
            return
        self._note_task()
        try:
            self.go_on()
            await self._work()
            self._problem = None
        except Closing:
            return
        except StoreError as error:
            self._problem = type(error).__name__
        finally:
            self._task = None
        self._wake_in(self._every_s)
