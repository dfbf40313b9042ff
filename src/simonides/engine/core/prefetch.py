"""Starts a store call now and awaits its result later, with other work in between."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine, Generator
from contextlib import suppress
from typing import Any, Generic, TypeVar

from simonides.domain.errors import StoreError

T = TypeVar("T")


class Prefetch(Generic[T]):
    """A store call that has started. The caller must await or dismiss it; awaiting again returns
    the same result.

    The call runs up to its first pause. An in-process store has finished by then; a networked store
    has sent its request.

    Pass ``goes_on=True`` if the caller awaits anything else first. The call may hold a connection
    or a place in a queue that the other work needs, and would block it. It is then a task from its
    first step, because a time-out set before would cancel the caller's task.

    Args:
        call: Coroutine to start; a store error is raised when it is awaited.
        goes_on: Whether it runs on as a task; that takes a running event loop.

    Attributes:
        has_ended: Whether the call finished without a pause.
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
        """Finish the call and return its result, or raise its error."""
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
        """Wait for the call's end and discard its result, unless it was awaited."""
        if not self._is_awaited:
            # The caller dismisses the call because of another error, which must not be masked.
            with suppress(StoreError):
                await self


class _Rest(Generator[Any, Any, T]):
    """The steps of a coroutine after its first, which may have returned an awaitable.

    An error thrown in during that wait, such as a cancellation, goes to the coroutine.
    """

    def __init__(self, call: Coroutine[Any, Any, T], waits_for: Any) -> None:
        self._call = call
        self.waits_for = waits_for

    def send(self, value: Any) -> Any:
        """Take the next step; the first one returns the awaitable of the started step."""
        waits_for, self.waits_for = self.waits_for, None
        return self._call.send(value) if waits_for is None else waits_for

    def throw(self, *error: Any) -> Any:
        """Throw an error into the coroutine."""
        return self._call.throw(*error)

    def close(self) -> None:
        """End the coroutine."""
        self._call.close()
