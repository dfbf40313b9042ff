"""Work that a long-lived process does by itself from time to time, while nobody waits for it."""

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
        self._alarm = alarm
        self._name = name
        self._first_s, self._every_s = first_s, every_s
        self._drive: Drive | None = None
        self._work: Callable[[], Coroutine[Any, Any, None]] | None = None
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
        return () if self._problem is None else (f"{self._name}:{self._problem}",)

    def doing(self, work: Callable[[], Coroutine[Any, Any, None]]) -> None:
        """Say what is done in a round; it calls :meth:`go_on` between its turns."""
        self._work = partial(self._round, work)

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

    def go_on(self) -> None:
        """Return, unless the store is about to be closed.

        Raises:
            Closing: If it is.
        """
        if self._is_closed:
            raise Closing

    def _wake_in(self, seconds: float) -> None:
        if self._alarm is not None and not self._is_closed:
            self._alarm.after(seconds, partial(self._due, _running_loop()))

    def _due(self, loop: asyncio.AbstractEventLoop | None) -> None:
        if self._is_closed or self._work is None or self._process != os.getpid():
            return
        work = self._work()
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

    async def _round(self, work: Callable[[], Coroutine[Any, Any, None]]) -> None:
        """Do the work once, then have the alarm set again."""
        self._task = None if _running_loop() is None else asyncio.current_task()
        try:
            self.go_on()
            await work()
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


IDLE_FIRST_S, IDLE_EVERY_S = 60.0, 300.0
"""When sessions that are due are looked for. Chosen: a session counts as left after 20 minutes, and
nobody waits for its end."""


def idle_rounds(alarm: Alarm | None) -> Rounds:
    """Return the rounds in which sessions are ended that nobody goes on with."""
    return Rounds(alarm, name="sessions", first_s=IDLE_FIRST_S, every_s=IDLE_EVERY_S)
