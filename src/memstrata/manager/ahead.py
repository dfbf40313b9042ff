"""A call that is begun now and waited for later, with something to do in between."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine, Generator
from contextlib import suppress
from typing import Any, Generic, TypeVar

from memstrata.domain.errors import StoreError

T = TypeVar("T")


class Begun(Generic[T]):
    """A call of a store that runs up to where it has to wait. Await it, whatever happens; who does
    so again is told the same.

    A store in this process has ended its call by then. One over a network has sent its question
    and pauses for whoever asked it so; what stands in a line before it could ask goes on by itself,
    for everybody behind it waits too.

    Attributes:
        has_ended: Whether there was nothing to wait for.
    """

    def __init__(self, call: Coroutine[Any, Any, T]) -> None:
        """Begin a call; an error of the store is raised when it is awaited."""
        self._rest: _Rest[T]
        self._task: asyncio.Task[T] | None = None
        self._result: T
        self._error: StoreError | None = None
        self.has_ended, self._is_known, self._is_awaited = False, True, False
        try:
            self._rest = _Rest(call, call.send(None))
            self._is_known = False
        except StopIteration as stop:
            self._result, self.has_ended = stop.value, True
        except StoreError as error:
            self._error = error
        else:
            if self._rest.waits_for is not None:
                self.go_on()

    def go_on(self) -> None:
        """Let it go on by itself. Whoever waits for anything else before he awaits it says so: it
        holds a connection, and what he waits for may need one.
        """
        if not self._is_known and self._task is None:
            self._task = asyncio.get_running_loop().create_task(self._rest)

    def __await__(self) -> Generator[Any, Any, T]:
        """Go on with the call and return its result, or raise what it raises."""
        self._is_awaited = True
        if not self._is_known:
            rest = self._rest if self._task is None else self._task
            try:
                self._result = yield from rest.__await__()
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


class _Rest(Coroutine[Any, Any, T]):
    """The steps of a coroutine after its first, which may have brought something to wait for.

    Whatever is thrown in while that is waited for is the coroutine's: a cancellation, say, also
    of a task that has not taken a step yet.
    """

    def __init__(self, call: Coroutine[Any, Any, T], waits_for: Any) -> None:
        self._call = call
        self.waits_for = waits_for

    def __await__(self) -> Generator[Any, Any, T]:
        result: T = yield from self
        return result

    def __iter__(self) -> _Rest[T]:
        return self

    def __next__(self) -> Any:
        return self.send(None)

    def send(self, value: Any) -> Any:
        """Take the next step. A pause at the first has been long enough."""
        waits_for, self.waits_for = self.waits_for, None
        return self._call.send(value) if waits_for is None else waits_for

    def throw(self, *error: Any) -> Any:
        """Take the next step, with an error: what was waited for is waited for no more."""
        self.waits_for = None
        return self._call.throw(*error)

    def close(self) -> None:
        """End the coroutine."""
        self._call.close()
