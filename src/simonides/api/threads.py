"""How the async face runs the blocking one: on worker threads of each store's own."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import ParamSpec, TypeVar

import anyio
from anyio import CapacityLimiter, to_thread

P = ParamSpec("P")
R = TypeVar("R")

THREADS = 16
"""Calls of one store that run at once; more wait their turn. Chosen."""


class Threads:
    """Worker threads of one store."""

    def __init__(self) -> None:
        self._limiter: CapacityLimiter | None = None

    async def read(self, call: Callable[P, R], *args: P.args, **kwargs: P.kwargs) -> R:
        """Return the result of a read; cancelling abandons it."""
        bound = partial(call, *args, **kwargs)
        return await to_thread.run_sync(bound, limiter=self._limit(), abandon_on_cancel=True)

    async def write(self, call: Callable[P, R], *args: P.args, **kwargs: P.kwargs) -> R:
        """Return the result of a write; one that has begun is waited for, even if cancelled."""
        results: list[R] = []
        errors: list[BaseException] = []

        def run() -> None:
            try:
                results.append(call(*args, **kwargs))
            except BaseException as error:  # noqa: BLE001  raised again below
                errors.append(error)

        # A task that is cancelled waits for its group, and the group for the thread.
        async with anyio.create_task_group() as group:
            group.start_soon(partial(to_thread.run_sync, run, limiter=self._limit()))
        if errors:
            raise errors[0]
        return results[0]

    def _limit(self) -> CapacityLimiter:
        if self._limiter is None:  # it belongs to an event loop, so none is made before the first
            self._limiter = CapacityLimiter(THREADS)
        return self._limiter
