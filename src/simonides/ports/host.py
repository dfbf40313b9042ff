"""What the machine supplies: time, identity and randomness, as inputs (DESIGN D5)."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import Future
from typing import Protocol, TypeVar

T = TypeVar("T")


class Clock(Protocol):
    """Time as an input (D5)."""

    def now_us(self) -> int:
        """Return the wall time in µs since 1970 UTC."""

    def monotonic(self) -> float:
        """Return seconds that never go back, for budgets."""


class Ids(Protocol):
    """Identity and randomness as inputs (D5)."""

    def new(self, at_us: int) -> str:
        """Return a new UUIDv7 text for a moment; rising within one process."""

    def salt(self) -> bytes:
        """Return 16 random bytes."""


class Aside(Protocol):
    """Where work is done that takes longer than others on the caller's event loop should wait."""

    async def __call__(self, work: Callable[[], T]) -> T:
        """Return what the work returns, or raise what it raises."""


class Beside(Protocol):
    """Where work is begun that nobody may come to wait for to its end."""

    def __call__(self, work: Callable[[], T]) -> Future[T]:
        """Begin a piece of work on a thread of its own, and return at once; what it raises is told
        by the future. A process that ends does not wait for it.
        """


class Alarm(Protocol):
    """Time that comes round, as an input (D5)."""

    def after(self, seconds: float, call: Callable[[], None]) -> None:
        """Call once, not before so many seconds have passed; returns at once.

        On which thread is the alarm's business. A process that ends does not wait for it.
        """
