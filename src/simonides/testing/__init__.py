"""A store for tests of programs that use simonides: in memory, with a clock that you move."""

from __future__ import annotations

from typing import TYPE_CHECKING

from simonides.testing.clock import ManualClock

if TYPE_CHECKING:
    from simonides.api.store import Store
    from simonides.core.settings import Settings
    from simonides.models.embedder import Embedder

__all__ = ["ManualClock", "open"]


def open(
    *,
    clock: ManualClock | None = None,
    settings: Settings | None = None,
    embedder: Embedder | None = None,
) -> Store:
    """Open a store in memory, without files, sockets and threads.

    Args:
        clock: Time; a new `ManualClock` without one.
        settings: None reads the environment, as in `simonides.open`.
        embedder: A model of your own instead of the embedded one.
    """
    from simonides.api.store import open as open_store

    return open_store(
        ":memory:", clock=clock or ManualClock(), settings=settings, embedder=embedder
    )
