"""A call that is begun now and waited for later, with something to do in between."""

from __future__ import annotations

from collections.abc import Coroutine, Generator
from contextlib import suppress
from typing import Any, Generic, TypeVar

from memstrata.domain.errors import StoreError

T = TypeVar("T")


class Begun(Generic[T]):
    """A call of a store that runs up to where it has to wait. Await it once, whatever happens.

    A store in this process has ended its call by then. One over a network has sent its question
    and pauses for whoever asked it so.
    """

    def __init__(self, call: Coroutine[Any, Any, T]) -> None:
        """Begin a call."""
        self._steps = call.__await__()
        self._waits_for: Any = None
        self._result: T
        self._error: Exception | None = None
        self._has_ended = False
        try:
            self._waits_for = next(self._steps)
        except StopIteration as stop:
            self._result, self._has_ended = stop.value, True
        except Exception as error:  # noqa: BLE001 - raised when it is awaited
            self._error, self._has_ended = error, True

    def __await__(self) -> Generator[Any, Any, T]:
        """Go on with the call and return its result, or raise what it raises."""
        if self._error is not None:
            raise self._error
        if self._has_ended:
            return self._result
        waits_for = self._waits_for
        while waits_for is not None:
            try:
                yield waits_for
            except BaseException as thrown:  # noqa: BLE001 - handed on to the call
                try:
                    waits_for = self._steps.throw(thrown)
                except StopIteration as stop:
                    result: T = stop.value
                    return result
            else:
                break
        return (yield from self._steps)

    async def dismiss(self) -> None:
        """Wait for the call's end and let go of what it comes to."""
        # Whoever dismisses a call has an error of his own to tell.
        with suppress(StoreError):
            await self
