"""Time, identity, randomness and threads as inputs."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import Future
from typing import Protocol, TypeVar

T = TypeVar("T")


class Clock(Protocol):
    """Time as an input."""

    def now_us(self) -> int:
        """Return the wall time in µs since 1970 UTC."""

    def monotonic(self) -> float:
        """Return seconds that never go back, for time budgets."""


class Ids(Protocol):
    """Identity and randomness as inputs."""

    def new(self, at_us: int) -> str:
        """Return a new UUIDv7 text for a moment; rising within one process."""

    def salt(self) -> bytes:
        """Return 16 random bytes."""


class Aside(Protocol):
    """Runs slow work off the caller's event loop."""

    async def __call__(self, work: Callable[[], T]) -> T:
        """Return what the work returns, or raise what it raises."""


class StartThread(Protocol):
    """Starts background work whose result the caller may never await."""

    def __call__(self, work: Callable[[], T]) -> Future[T]:
        """Start the work on a thread of its own, and return at once. The future carries its result
        or exception. A process that ends does not wait for it.
        """


class Alarm(Protocol):
    """A timer."""

    def after(self, seconds: float, call: Callable[[], None]) -> None:
        """Call once, no sooner than after so many seconds; returns at once. The alarm chooses the
        thread. A process that ends does not wait for it.
        """
