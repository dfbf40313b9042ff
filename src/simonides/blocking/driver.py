"""Runs coroutines for callers without an event loop (DESIGN D6).

Over adapters that never suspend a coroutine runs on the caller's own thread; where an adapter needs
the network it runs on an event loop of its own (:mod:`simonides.driving`).
"""

from __future__ import annotations

import contextlib
import os
import threading
from collections.abc import Coroutine
from concurrent.futures import CancelledError
from typing import Any, Protocol, TypeVar
from weakref import WeakSet

from simonides.domain.errors import StoreUnavailable
from simonides.driving import SharedLoop
from simonides.manager.replica import Replica
from simonides.manager.services import Services
from simonides.ports import Capability

T = TypeVar("T")


class Flushable(Protocol):
    """What works beside its callers, and has to come to an end before the store does."""

    def flush(self, timeout_s: float | None = None) -> bool:
        """Wait until what was begun is done; returns whether it is."""


class Driver:
    """Runs coroutines to their end for callers without an event loop.

    A forked child has a loop of its own: whoever turned its parent's is not there, and what wakes
    that one is shared with the parent.

    Attributes:
        closing: Held by who closes what is driven; others who want to wait for him.
        is_closing: Whether somebody does.
        flushed: What works beside callers, for as long as anybody holds it.
    """

    def __init__(self, services: Services) -> None:
        models, replica = services.models, services.parts.get(Replica)
        # An erasure goes on at the remote of a replica, so any verb may have to wait for that.
        waits = replica is not None and not replica.is_inline
        # Whatever writes may ask who looks twice.
        model = models.meter
        by_model = model if models.second_look is not None else None
        looks_twice = models.classifier or by_model
        waits |= looks_twice is not None and Capability.INLINE not in looks_twice.capabilities
        self._store_inline = Capability.INLINE in services.store.capabilities and not waits
        self._model_inline = model is None or Capability.INLINE in model.capabilities
        self._location = services.store.location
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
        """Leave to the parent what is the parent's; called in a forked child, before all else."""
        if self._loop is not None:
            _INHERITED.append(self._loop)
        self._begin()

    def flush(self) -> None:
        """Wait until what was begun beside callers is done."""
        for worker in list(self.flushed):
            worker.flush()

    def run(self, work: Coroutine[Any, Any, T], *, asks_model: bool = False) -> T:
        """Return the coroutine's result; ``asks_model`` tells that it may wait for a model."""
        if self._store_inline and (self._model_inline or not asks_model):
            return _step(work)
        loop = self._shared_loop()
        try:
            if loop is not None:
                return loop.run(work)
            # Whoever says that the store is closed may need a loop for that all the same.
            with contextlib.closing(SharedLoop()) as last:
                return last.run(work)
        except CancelledError as error:
            raise StoreUnavailable(self._location, "closed while the call was waiting") from error

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
"""Of this process."""

_INHERITED: list[SharedLoop] = []
"""Loops of a parent, kept for as long as the child lives: their calls are not the child's to end,
and who drops them would hear of each as destroyed."""


def _begin_in_child() -> None:
    for driver in list(_DRIVERS):
        driver.begin_in_child()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_begin_in_child)


def _step(work: Coroutine[Any, Any, T]) -> T:
    try:
        work.send(None)
    except StopIteration as finished:
        result: T = finished.value
        return result
    work.close()
    raise RuntimeError("an adapter that declares INLINE suspended; this is a fault in it")
