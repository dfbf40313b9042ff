"""The real clock, ids, threads and timers."""

from __future__ import annotations

import asyncio
import heapq
import itertools
import os
import queue
import secrets
import threading
import time
from collections.abc import Callable
from concurrent.futures import Future
from types import TracebackType
from typing import Generic, TypeVar

T = TypeVar("T")

# RFC 9562 §5.7 and §6.2, method 3: 48 bits of milliseconds, then 12 bits of the fraction of one.
_STEPS_PER_MS = 4096


async def run_inline(work: Callable[[], T]) -> T:
    """Run work inline, as :class:`~simonides.ports.Aside`: for callers without an event loop."""
    return work()


async def run_in_thread(work: Callable[[], T]) -> T:
    """Run work on another thread, as :class:`~simonides.ports.Aside`, awaited under asyncio."""
    return await asyncio.to_thread(work)


def start_in_thread(work: Callable[[], T]) -> Future[T]:
    """Start work on a thread of its own, as :class:`~simonides.ports.Beside`."""
    future: Future[T] = Future()

    def run() -> None:
        with _FutureErrors(future):
            future.set_result(work())

    threading.Thread(target=run, name="simonides-background", daemon=True).start()
    return future


class _FutureErrors(Generic[T]):
    """Passes any exception of a piece of work to its future."""

    def __init__(self, future: Future[T]) -> None:
        self._future = future

    def __enter__(self) -> None:
        return None

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> bool:
        if error is not None:
            self._future.set_exception(error)
        return error is not None


class SystemClock:
    """The machine's clock, as :class:`~simonides.ports.Clock`."""

    def now_us(self) -> int:
        """Return the wall time in µs since 1970 UTC."""
        return time.time_ns() // 1000

    def monotonic(self) -> float:
        """Return seconds that never go back."""
        return time.monotonic()


class SystemIds:
    """UUIDv7 for any given moment, as :class:`~simonides.ports.Ids`. Ids rise within the process
    even where the moment does not. Libraries for UUIDv7 read the machine's clock, and time is an
    input here.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._last = 0

    def new(self, at_us: int) -> str:
        """Return a new id for a moment, rising; 62 of its bits are random."""
        milliseconds, rest = divmod(at_us, 1000)
        with self._lock:
            step = milliseconds * _STEPS_PER_MS + rest * _STEPS_PER_MS // 1000
            # Under a clock that stops or goes back, ids run ahead of it by at most one step each:
            # 4,096 a millisecond.
            self._last = step = max(step, self._last + 1) if self._near(step) else step
        text = f"{step // _STEPS_PER_MS:012x}7{step % _STEPS_PER_MS:03x}"
        low = f"{0b10 << 62 | int.from_bytes(os.urandom(8)) >> 2:016x}"
        return f"{text[:8]}-{text[8:12]}-{text[12:]}-{low[:4]}-{low[4:]}"

    def _near(self, step: int) -> bool:
        # Ids for a moment far in the past (an import, a test) keep their own time.
        return abs(step - self._last) < _STEPS_PER_MS * 60_000

    def salt(self) -> bytes:
        """Return 16 random bytes."""
        return secrets.token_bytes(16)


class SystemAlarm:
    """A timer, as :class:`~simonides.ports.Alarm`. All timers of a process share one thread, which
    sleeps until the next is due and starts with the first. A call should be short: others wait for
    it.
    """

    def after(self, seconds: float, call: Callable[[], None]) -> None:
        """See the port; costs the caller about a microsecond once the thread is running."""
        _timer_thread().schedule(time.monotonic() + seconds, call)


class ThreadedAlarm(SystemAlarm):
    """A timer for long calls: each has a thread of its own."""

    def after(self, seconds: float, call: Callable[[], None]) -> None:
        """See the port."""

        def start() -> None:
            threading.Thread(target=call, name="simonides-reindexing", daemon=True).start()

        super().after(seconds, start)


class _TimerThread:
    """The timer thread of a process."""

    def __init__(self) -> None:
        self.pid = os.getpid()
        self._requests: queue.SimpleQueue[tuple[float, Callable[[], None]]] = queue.SimpleQueue()
        self._due: list[tuple[float, int, Callable[[], None]]] = []
        self._order = itertools.count()
        self._start()

    def schedule(self, at: float, call: Callable[[], None]) -> None:
        self._requests.put((at, call))

    def _start(self) -> None:
        threading.Thread(target=self._serve, name="simonides-alarm", daemon=True).start()

    def _serve(self) -> None:
        try:
            while True:
                self._run_next()
        finally:
            # An exception ends this thread visibly; a new one serves the other timers.
            self._start()

    def _run_next(self) -> None:
        left = max(0.0, self._due[0][0] - time.monotonic()) if self._due else None
        try:
            at, call = self._requests.get(timeout=left)
        except queue.Empty:
            heapq.heappop(self._due)[2]()
        else:
            heapq.heappush(self._due, (at, next(self._order), call))


_lock = threading.Lock()
_timers: list[_TimerThread] = []


def _timer_thread() -> _TimerThread:
    # A forked child inherits the list but not the thread.
    if not _timers or _timers[0].pid != os.getpid():
        with _lock:
            if not _timers or _timers[0].pid != os.getpid():
                _timers[:] = [_TimerThread()]
    return _timers[0]
