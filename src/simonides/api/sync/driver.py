"""Runs coroutines for callers without an event loop.

Embedded adapters never suspend, so over them a coroutine runs on the caller's own thread. An
adapter that needs the network runs on an event loop of the driver
(:mod:`simonides.api.event_loop`).
"""

from __future__ import annotations

import contextlib
import os
import threading
from collections.abc import AsyncGenerator, AsyncIterator, Coroutine, Iterator
from concurrent.futures import CancelledError
from typing import Any, Protocol, TypeVar
from weakref import WeakSet

from simonides.api.event_loop import SharedLoop
from simonides.domain.errors import StoreUnavailable
from simonides.engine.core import Runtime
from simonides.ports import Capability
from simonides.transfer.sync.replica import Replica

T = TypeVar("T")


class Flushable(Protocol):
    """A background worker that must finish its work before the store closes."""

    def flush(self, timeout_s: float | None = None) -> bool:
        """Wait until the worker has finished the work it has; returns whether it has."""


class Driver:
    """Runs coroutines to their end for callers without an event loop.

    A forked child gets a loop of its own. The thread that runs the parent's loop does not exist in
    the child, and the file descriptor that wakes that loop is shared with the parent.

    Attributes:
        closing: The lock of the thread that closes the store.
        is_closing: Whether a thread is closing the store.
        flushed: The background workers to flush before the store closes.
    """

    def __init__(self, runtime: Runtime) -> None:
        models, replica = runtime.models, runtime.parts.get(Replica)
        model = models.meter
        # An erasure also reaches the remote of a replica, so any method may wait for the network.
        waits = replica is not None and not replica.is_inline
        # Any write may ask for a second opinion on its text.
        by_model = model if models.second_look is not None else None
        looks_twice = models.classifier or by_model
        waits |= looks_twice is not None and Capability.INLINE not in looks_twice.capabilities
        self._store_inline = Capability.INLINE in runtime.store.capabilities and not waits
        self._model_inline = model is None or Capability.INLINE in model.capabilities
        self._location = runtime.store.location
        self._begin()
        self._is_stopped = False
        self.flushed: WeakSet[Flushable] = WeakSet()
        _DRIVERS.add(self)

    def _begin(self) -> None:
        self._lock = threading.Lock()
        self.closing = threading.RLock()
        self.is_closing = False
        self._loop: SharedLoop | None = None

    def begin_in_child(self) -> None:
        """Replace what belongs to the parent; runs first in a forked child."""
        if self._loop is not None:
            _INHERITED.append(self._loop)
        self._begin()

    def flush(self) -> None:
        """Wait for the background workers."""
        for worker in list(self.flushed):
            worker.flush()

    def run(self, work: Coroutine[Any, Any, T], *, asks_model: bool = False) -> T:
        """Return the result of a coroutine.

        Args:
            work: The coroutine.
            asks_model: Whether it may wait for a language model.
        """
        if self._store_inline and (self._model_inline or not asks_model):
            return _step(work)
        loop = self._shared_loop()
        try:
            if loop is not None:
                return loop.run(work)
            # A closed store refuses the call, and its adapter may need a loop even for that.
            with contextlib.closing(SharedLoop()) as last:
                return last.run(work)
        except CancelledError as error:
            raise StoreUnavailable(self._location, "closed while the call was waiting") from error

    def iterate(self, items: AsyncIterator[T], *, asks_model: bool = False) -> Iterator[T]:
        """Yield what an async iterator yields; each step is a call of its own.

        Args:
            items: The iterator. It is closed when the caller stops early.
            asks_model: Whether a step may wait for a language model.
        """
        try:
            while (item := self.run(_next(items), asks_model=asks_model)) is not None:
                yield item[0]
        finally:
            if isinstance(items, AsyncGenerator):
                self.run(_close(items), asks_model=asks_model)

    def stop(self) -> None:
        """Close the loop, if there is one; calls that wait for it end with an error."""
        with self._lock:
            loop, self._loop = self._loop, None
            self._is_stopped = True
        if loop is not None:
            loop.close()

    def _shared_loop(self) -> SharedLoop | None:
        with self._lock:
            if self._loop is None and not self._is_stopped:
                self._loop = SharedLoop()
            return self._loop


_DRIVERS: WeakSet[Driver] = WeakSet()
"""The drivers of this process."""

_INHERITED: list[SharedLoop] = []
"""Loops of the parent, kept while the child lives. Only the parent may end their calls, and asyncio
reports each pending call of a loop that is garbage-collected."""


def _begin_in_child() -> None:
    for driver in list(_DRIVERS):
        driver.begin_in_child()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_begin_in_child)


async def _next(items: AsyncIterator[T]) -> tuple[T] | None:
    async for item in items:
        return (item,)
    return None


async def _close(items: AsyncGenerator[T, None]) -> None:
    await items.aclose()


def _step(work: Coroutine[Any, Any, T]) -> T:
    try:
        work.send(None)
    except StopIteration as finished:
        result: T = finished.value
        return result
    work.close()
    raise RuntimeError("an adapter that declares INLINE suspended; this is a fault in it")
