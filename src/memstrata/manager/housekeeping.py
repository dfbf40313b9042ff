"""Collects once a day, by itself, what has aged out of the memories that a process reads (LT-6).

Only in a process that lives long, never while somebody waits for it, and of each owner in one
process: who has done it leaves a lease until the day is over. An operator who wants all owners
collected runs ``memstrata gc`` from cron.
"""

from __future__ import annotations

import asyncio
import os
import threading
from collections.abc import Awaitable, Callable, Coroutine, Sequence
from functools import partial
from typing import Any, TypeAlias

from memstrata.domain.ageing import DAY_US
from memstrata.domain.collecting import GcReport
from memstrata.domain.errors import StoreError
from memstrata.domain.scope import Scope
from memstrata.ports import Alarm, Clock, Ids, MemoryStore

FIRST_S = 600.0
"""From the opening to the first look. Chosen: what ends before that is a command, not a service."""

EVERY_S = 3_600.0
"""From one look to the next: owners come and go, and a day is over for each at its own time."""

TODAY = "gc of the day"
"""Name of the lease that whoever has collected an owner leaves behind."""

Collect: TypeAlias = Callable[[Scope, Callable[[GcReport], None]], Awaitable[GcReport]]
"""Collects one owner and tells how far it has come."""

Tidy: TypeAlias = Callable[[int], Awaitable[None]]
"""Removes, as of a clock (µs), records whose retention is over."""

Drive: TypeAlias = Callable[[Coroutine[Any, Any, None]], None]
"""Runs a coroutine to its end for who has no event loop."""


class _Closing(Exception):
    """The store is about to be closed: what is under way ends with its turn."""


class Housekeeping:
    """One process's daily care for the owners that are warm in it."""

    def __init__(self, alarm: Alarm | None = None) -> None:
        """Build it.

        Args:
            alarm: Tells when it is time; None: nothing is done of itself.
        """
        self._alarm = alarm
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
        return () if self._problem is None else (f"gc:{self._problem}",)

    def serve(
        self,
        collect: Collect,
        owners: Callable[[], Sequence[Scope]],
        store: MemoryStore,
        clock: Clock,
        ids: Ids,
        tidy: Tidy,
    ) -> None:
        """Say what is to be done, for whom, and by what it is remembered that it was; ``tidy`` is
        for what is of no owner.
        """
        self._work = partial(self._look, collect, owners, store, clock, ids, tidy)

    def driven_by(self, drive: Drive) -> None:
        """Begin, in a process that has no event loop."""
        self._drive = drive
        self.begin()

    def begin(self) -> None:
        """Have the alarm set, once; returns at once."""
        if not self._is_armed:
            self._is_armed = True
            self._wake_in(FIRST_S)

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

    async def _look(
        self,
        collect: Collect,
        owners: Callable[[], Sequence[Scope]],
        store: MemoryStore,
        clock: Clock,
        ids: Ids,
        tidy: Tidy,
    ) -> None:
        """Collect those owners whose day is over, then have the alarm set again."""
        self._task = None if _running_loop() is None else asyncio.current_task()
        try:
            for owner in owners():
                self._go_on(GcReport())
                now = clock.now_us()
                lasts = {"now": now, "until": now + DAY_US}
                if await store.lease(owner, TODAY, ids.new(now), **lasts):
                    await collect(owner, self._go_on)
            self._go_on(GcReport())
            await tidy(clock.now_us())
            self._problem = None
        except _Closing:
            return
        except StoreError as error:
            self._problem = type(error).__name__
        finally:
            self._task = None
        self._wake_in(EVERY_S)

    def _go_on(self, report: GcReport) -> None:
        del report
        if self._is_closed:
            raise _Closing


def _running_loop() -> asyncio.AbstractEventLoop | None:
    try:
        return asyncio.get_running_loop()
    except RuntimeError:
        return None
