"""Work that comes round in a long-lived process: when it is due, and how it ends.

Never while somebody waits for it: an alarm wakes it, on a thread of its own or on the event loop of
whoever opened the store.
"""

from __future__ import annotations

import asyncio
import os
import threading
from collections.abc import Callable, Coroutine
from functools import partial
from typing import Any, TypeAlias

from memstrata.domain.errors import StoreError
from memstrata.ports import Alarm

Drive: TypeAlias = Callable[[Coroutine[Any, Any, None]], None]
"""Runs a coroutine to its end for who has no event loop."""


class Closing(Exception):
    """The store is about to be closed: what is under way ends with its turn."""


class Rounds:
    """One kind of work of one process, done again and again until it is closed."""

    name = "rounds"
    """What problems are told under, for ``status``."""

    def __init__(self, alarm: Alarm | None, first_s: float, every_s: float) -> None:
        """Build it.

        Args:
            alarm: Tells when it is time; None: nothing is done of itself.
            first_s: From the opening to the first time, in seconds.
            every_s: From the end of one time to the next, in seconds.
        """
        self._alarm, self._first_s, self._every_s = alarm, first_s, every_s
        self._drive: Drive | None = None
        self._task: asyncio.Task[Any] | None = None
        # Held by who works without an event loop, so that closing can wait for it.
        self._working = threading.RLock()
        self._is_armed = False
        self._is_closed = False
        self._process = os.getpid()
        self._problem: str | None = None

    @property
    def problems(self) -> tuple[str, ...]:
        """What went wrong when last tried, for ``status``; no content, no scope."""
        return () if self._problem is None else (f"{self.name}:{self._problem}",)

    def driven_by(self, drive: Drive) -> None:
        """Begin, in a process that has no event loop."""
        self._drive = drive
        self.begin()

    def begin(self) -> None:
        """Have the alarm set, once; returns at once."""
        if not self._is_armed:
            self._is_armed = True
            self._wake_in(self._first_s)

    async def close(self) -> None:
        """Stop: what is under way ends with its turn or before it."""
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

    async def work(self) -> None:
        """Do it once; what is worth stopping for calls :meth:`go_on`."""
        raise NotImplementedError

    def go_on(self) -> None:
        """Return if there is time for more.

        Raises:
            Closing: If the store is about to be closed.
        """
        if self._is_closed:
            raise Closing

    def _wake_in(self, seconds: float) -> None:
        if self._alarm is not None and not self._is_closed:
            self._alarm.after(seconds, partial(self._due, _running_loop()))

    def _due(self, loop: asyncio.AbstractEventLoop | None) -> None:
        if self._is_closed or self._process != os.getpid():
            return
        work = self._round()
        try:
            if self._drive is not None:
                with self._working:
                    self._drive(work)
            elif loop is not None:
                asyncio.run_coroutine_threadsafe(work, loop)
            else:
                work.close()
        except (StoreError, RuntimeError) as error:
            # The store or the loop was closed meanwhile; the next process does it.
            work.close()
            self._problem = type(error).__name__

    async def _round(self) -> None:
        """Do it once, then have the alarm set again."""
        self._task = None if _running_loop() is None else asyncio.current_task()
        try:
            await self.work()
            self._problem = None
        except Closing:
            return
        except StoreError as error:
            self._problem = type(error).__name__
        finally:
            self._task = None
        self._wake_in(self._every_s)


def _running_loop() -> asyncio.AbstractEventLoop | None:
    try:
        return asyncio.get_running_loop()
    except RuntimeError:
        return None
