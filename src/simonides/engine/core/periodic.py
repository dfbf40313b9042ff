"""Who is woken by an alarm to do something that nobody waits for, in a process that goes on.

On a thread of the alarm's or on the event loop of whoever opened the store; not in a forked child,
and no longer once it is closed. What is done, how often, and what is tried again is for those who
derive from it.
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
"""Runs a coroutine to its end for who has no event loop."""


class PeriodicTask(ABC):
    """One process's part in some work that comes round; safe to share between threads."""

    def __init__(self, alarm: Alarm | None = None) -> None:
        """Build it.

        Args:
            alarm: Tells when it is time; None: nothing is done of itself.
        """
        self._alarm = alarm
        self._drive: Drive | None = None
        # What works on an event loop at the moment, where that is to be stopped by closing.
        self._task: asyncio.Task[Any] | None = None
        # Held by who works without an event loop, so that closing can wait for it.
        self._working = threading.RLock()
        self._is_closed = False
        # What went wrong when last tried, by its name; no content, no scope.
        self._problem: str | None = None
        self._process = os.getpid()

    def driven_by(self, drive: Drive) -> None:
        """Say how to work where no event loop is running."""
        self._drive = drive

    async def close(self) -> None:
        """Stop: what is under way ends with its turn or before it, and nothing begins any more."""
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
        """Do what it is time for, and have the alarm set again."""

    def _wake_in(self, seconds: float, first: Callable[[], None] | None = None) -> None:
        """Have the alarm set; ``first`` is called when it rings, whoever works then."""
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
                asyncio.run_coroutine_threadsafe(work, loop).add_done_callback(_loudly)
            else:
                work.close()
        except (StoreError, RuntimeError) as error:
            # Closed meanwhile; the next process does what is left.
            work.close()
            self._problem = type(error).__name__

    def _note_task(self) -> None:
        """Have closing stop what runs now, if it runs on an event loop."""
        self._task = None if running_loop() is None else asyncio.current_task()


def running_loop() -> asyncio.AbstractEventLoop | None:
    """Return the event loop that runs on this thread, or None."""
    try:
        return asyncio.get_running_loop()
    except RuntimeError:
        return None


def _loudly(work: Future[None]) -> None:
    """Raise what nobody waits for: it is logged, as faults of threads are."""
    if not work.cancelled():
        work.result()


class Closing(Exception):
    """The store is about to be closed: what is under way ends with its turn."""


class PeriodicJob(PeriodicTask):
    """One kind of such work."""

    def __init__(
        self, alarm: Alarm | None = None, *, name: str, first_s: float, every_s: float
    ) -> None:
        """Build it.

        Args:
            alarm: Tells when it is time; None: nothing is done of itself.
            name: Of the work, as ``status`` calls it.
            first_s: From the opening to the first round.
            every_s: From the end of one round to the next.
        """
        super().__init__(alarm)
        self._name = name
        self._first_s, self._every_s = first_s, every_s
        self._work: Callable[[], Awaitable[None]] | None = None
        self._is_armed = False

    @property
    def problems(self) -> tuple[str, ...]:
        """What went wrong when last tried, for ``status``; no content, no scope."""
        return () if self._problem is None else (f"{self._name}:{self._problem}",)

    def doing(self, work: Callable[[], Awaitable[None]]) -> None:
        """Say what is done in a round; it calls :meth:`go_on` between its turns."""
        self._work = work

    def driven_by(self, drive: Drive) -> None:
        """Begin, in a process that has no event loop."""
        super().driven_by(drive)
        self.begin()

    def begin(self) -> None:
        """Have the alarm set, once; returns at once."""
        if not self._is_armed:
            self._is_armed = True
            self._wake_in(self._first_s)

    def go_on(self) -> None:
        """Return, unless the store is about to be closed.

        Raises:
            Closing: If it is.
        """
        if self._is_closed:
            raise Closing

    async def _woken(self) -> None:
        """Do the work once, then have the alarm set again."""
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
