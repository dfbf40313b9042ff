"""A call that is begun now and waited for later, with something to do in between."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine, Generator
from contextlib import suppress
from typing import Any, Generic, TypeVar

from simonides.domain.errors import StoreError

T = TypeVar("T")


class Prefetch(Generic[T]):
    """A call of a store that has begun. Await it, whatever happens; who does so again is told the
    same.

    It runs up to where it has to wait. A store in this process has ended its call by then; one over
    a network has sent its question and pauses for whoever asked it so.

    Who waits for anything else before he awaits it has it go on by itself: it holds a connection,
    or stands in a line, and what he waits for may need one. It then is a task from its first step:
    a time-out that it set before would end the task that began it.

    Args:
        call: What to begin; an error of the store is raised when it is awaited.
        goes_on: Whether it goes on by itself; that takes a running event loop.

    Attributes:
        has_ended: Whether there was nothing to wait for.
    """

    def __init__(self, call: Coroutine[Any, Any, T], *, goes_on: bool = False) -> None:
        self._rest: _Rest[T] | asyncio.Task[T]
        self._result: T
        self._error: StoreError | None = None
        self.has_ended, self._is_known, self._is_awaited = False, False, False
        if goes_on:
            self._rest = asyncio.get_running_loop().create_task(call)
            return
        try:
            self._rest = _Rest(call, call.send(None))
        except StopIteration as stop:
            self._result, self.has_ended, self._is_known = stop.value, True, True
        except StoreError as error:
            self._error, self._is_known = error, True

    def __await__(self) -> Generator[Any, Any, T]:
        """Go on with the call and return its result, or raise what it raises."""
        self._is_awaited = True
        if not self._is_known:
            try:
                self._result = yield from self._rest
            except StoreError as error:
                self._error = error
            self._is_known = True
        if self._error is not None:
            raise self._error
        return self._result

    async def dismiss(self) -> None:
        """Wait for the call's end and let go of what it comes to, unless somebody has waited."""
        if not self._is_awaited:
            # Whoever dismisses a call has an error of his own to tell.
            with suppress(StoreError):
                await self


class _Rest(Generator[Any, Any, T]):
    """The steps of a coroutine after its first, which may have brought something to wait for.

    Whatever is thrown in while that is waited for is the coroutine's: a cancellation, say.
    """

    def __init__(self, call: Coroutine[Any, Any, T], waits_for: Any) -> None:
        self._call = call
        self.waits_for = waits_for

    def send(self, value: Any) -> Any:
        """Take the next step. A pause at the first has been long enough."""
        waits_for, self.waits_for = self.waits_for, None
        return self._call.send(value) if waits_for is None else waits_for

    def throw(self, *error: Any) -> Any:
        """Take the next step, with an error."""
        return self._call.throw(*error)

    def close(self) -> None:
        """End the coroutine."""
        self._call.close()
