"""One event loop for callers who have none: whoever calls turns it, on his own thread if he may.

Handing a call to a thread and waiting for it costs two changes of thread, more than a warm recall's
question to a database. So a caller who finds the loop at rest turns it himself until his call is
done. Who finds it turning hands his call over, and a thread of the loop's own takes its turn until
no such call is left. Between calls nobody turns it.
"""

import asyncio
import selectors
import threading
from collections.abc import Coroutine
from concurrent.futures import CancelledError, Future
from contextlib import ExitStack
from typing import Any, TypeVar

T = TypeVar("T")


class SharedLoop:
    """An event loop that any number of threads use."""

    def __init__(self) -> None:
        self._loop = _new_loop()
        self._wheel = threading.Lock()  # Held by who turns the loop.
        self._lock = threading.Lock()  # Of what follows.
        self._handed = 0
        self._is_closed = False
        self._thread: threading.Thread | None = None
        self._wanted = threading.Event()
        self._idle = asyncio.Event()
        # What the loop is turned for that is no call; it is never cancelled.
        self._serving: asyncio.Task[None] | None = None

    def run(self, work: Coroutine[Any, Any, T]) -> T:
        """Return the result of a coroutine.

        Raises:
            RuntimeError: If called from within the loop: it would wait for itself.
            CancelledError: Of ``concurrent.futures``, if the loop was closed.
        """
        running = _running_loop()
        if running is self._loop:
            work.close()
            raise RuntimeError("called from within another call, which would wait for itself")
        # Where another loop is running no second one can be turned.
        if running is None and self._wheel.acquire(blocking=False):
            try:
                return self._turn(work)
            finally:
                self._wheel.release()
        return self._hand_over(work).result()

    def close(self) -> None:
        """Cancel what is under way and close the loop; twice does no harm.

        Raises:
            RuntimeError: If called from within the loop: it would wait for itself.
        """
        running = _running_loop()
        if running is self._loop:
            raise RuntimeError("closed from within a call, which would wait for itself")
        with self._lock:
            if self._is_closed:
                return
            # From here on nothing is begun, and what was begun before is there to be cancelled.
            self._is_closed = True
            self._loop.call_soon_threadsafe(self._cancel_calls)
        if running is None:
            # By who closes: at the end of the interpreter no thread can be started.
            self._shut()
        else:
            shutting = threading.Thread(target=self._shut, name="simonides-closing")
            shutting.start()
            shutting.join()

    def _turn(self, work: Coroutine[Any, Any, T]) -> T:
        """Turn the loop until a coroutine is done; the wheel is held."""
        self._check_open(work)
        task = self._loop.create_task(work)
        try:
            return self._loop.run_until_complete(task)
        except asyncio.CancelledError:
            raise CancelledError from None
        finally:
            if not task.done():
                # Ctrl-C: the caller goes, the work comes to its end all the same.
                with self._lock:
                    self._have_thread()
                    self._expect(task)

    def _hand_over(self, work: Coroutine[Any, Any, T]) -> Future[T]:
        with self._lock:
            self._check_open(work)
            with ExitStack() as undo:
                undo.callback(work.close)
                self._have_thread()
                undo.pop_all()
            waiting = asyncio.run_coroutine_threadsafe(work, self._loop)
            self._expect(waiting)
        return waiting

    def _check_open(self, work: Coroutine[Any, Any, Any]) -> None:
        if self._is_closed:
            work.close()
            raise CancelledError

    def _expect(self, waiting: "Future[Any] | asyncio.Task[Any]") -> None:
        """Have the loop's thread turn it until something is done; the lock is held."""
        self._handed += 1
        waiting.add_done_callback(
            lambda _: self._loop.call_soon_threadsafe(self._one_less)  # Whoever tells of it.
        )
        self._wanted.set()

    def _have_thread(self) -> None:
        """Start the loop's thread, unless it was; the lock is held."""
        if self._thread is None:
            thread = threading.Thread(target=self._serve, name="simonides-loop", daemon=True)
            # One that cannot be started is nobody's to wait for.
            thread.start()
            self._thread = thread

    def _one_less(self) -> None:
        with self._lock:
            self._handed -= 1
        self._idle.set()

    def _serve(self) -> None:
        """Turn the loop for what was handed over, as often as there is any."""
        while True:
            self._wanted.wait()
            self._wanted.clear()
            with self._wheel:
                if self._is_closed:
                    return  # Who closes turns it for what is left.
                # Noted before the loop turns: what cancels calls may run first in it.
                self._serving = self._loop.create_task(self._until_idle())
                self._loop.run_until_complete(self._serving)

    async def _until_idle(self) -> None:
        while self._handed:
            self._idle.clear()
            await self._idle.wait()

    def _cancel_calls(self) -> set[asyncio.Task[Any]]:
        """Cancel what was begun by callers, and return it."""
        calls = asyncio.all_tasks(self._loop) - {self._serving}
        for task in calls:
            task.cancel()
        return calls

    def _shut(self) -> None:
        """Close the loop when whoever turns it has let go of it."""
        with self._wheel:
            self._serving = self._loop.create_task(self._cancel_all())
            self._loop.run_until_complete(self._serving)
            self._loop.close()
        self._wanted.set()
        if self._thread is not None:
            self._thread.join()

    async def _cancel_all(self) -> None:
        await asyncio.gather(*self._cancel_calls(), return_exceptions=True)


def _new_loop() -> asyncio.AbstractEventLoop:
    """Return an event loop that a forked child cannot take from its parent: what epoll and kqueue
    watch is shared with every child, and one that closes its copy, or is at its end, takes the
    parent's way of being woken with it. For the few connections of a store poll is as fast.
    """
    if hasattr(selectors, "PollSelector"):
        return asyncio.SelectorEventLoop(selectors.PollSelector())
    return asyncio.new_event_loop()  # Windows, which does not fork.


def _running_loop() -> asyncio.AbstractEventLoop | None:
    try:
        return asyncio.get_running_loop()
    except RuntimeError:
        return None
