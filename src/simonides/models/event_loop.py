"""One event loop in a thread of the store, for the coroutines of models."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Coroutine
from contextlib import AbstractAsyncContextManager
from typing import Any, TypeVar

T = TypeVar("T")

START_S = 5.0
"""Time to open or close the connections of a model. Set by judgement."""


class EventLoop:
    """Runs coroutines for callers in any thread, also inside a running loop. Thread-safe.

    The thread begins with the first coroutine.
    """

    def __init__(self, context: AbstractAsyncContextManager[Any] | None = None) -> None:
        """Begin without a thread.

        Args:
            context: Entered before the first coroutine, and left in `close`.
        """
        self._context = context
        self.after_fork()

    def after_fork(self) -> None:
        """Begin anew in a child process: the thread is the parent's."""
        self._lock = threading.Lock()
        self._loop: asyncio.AbstractEventLoop | None = None
        self._thread: threading.Thread | None = None

    def run(self, coroutine: Coroutine[Any, Any, T], seconds: float) -> T:
        """Return the result of a coroutine.

        Raises:
            TimeoutError: If it takes longer; it is cancelled.
        """
        with self._lock:
            loop = self._loop or self._begun()
            future = asyncio.run_coroutine_threadsafe(coroutine, loop)
        try:
            return future.result(seconds)
        except TimeoutError:
            future.cancel()
            raise

    def close(self) -> None:
        """End the thread."""
        with self._lock:
            loop, thread, self._loop = self._loop, self._thread, None
        if loop is None or thread is None:
            return
        if self._context is not None:
            left = self._context.__aexit__(None, None, None)
            asyncio.run_coroutine_threadsafe(left, loop).result(START_S)
        loop.call_soon_threadsafe(loop.stop)
        thread.join(START_S)
        loop.close()

    def _begun(self) -> asyncio.AbstractEventLoop:
        self._loop = loop = asyncio.new_event_loop()
        self._thread = threading.Thread(
            target=loop.run_forever, name="simonides-models", daemon=True
        )
        self._thread.start()
        if self._context is not None:
            entered = self._context.__aenter__()
            asyncio.run_coroutine_threadsafe(entered, loop).result(START_S)
        return loop
