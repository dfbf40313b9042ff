"""A store for tests of programs that use simonides: in memory, with a clock that you move."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from simonides.testing.clock import ManualClock

if TYPE_CHECKING:
    from pydantic_ai.models import Model

    from simonides.api.store import Store
    from simonides.core.settings import Settings
    from simonides.models.embedder import Embedder
    from simonides.testing.embedder import SmallEmbedder
    from simonides.testing.models import ScriptedModel

__all__ = ["ManualClock", "ScriptedModel", "SmallEmbedder", "open"]

_MODULES = {"ScriptedModel": "models", "SmallEmbedder": "embedder"}
"""Where the names are that need the extra `llm`, or numpy."""


def __getattr__(name: str) -> Any:
    if name in _MODULES:
        return getattr(import_module(f"simonides.testing.{_MODULES[name]}"), name)
    raise AttributeError(f"module 'simonides.testing' has no {name!r}")


def open(
    *,
    clock: ManualClock | None = None,
    settings: Settings | None = None,
    model: Model | str | None = None,
    embedder: Embedder | None = None,
) -> Store:
    """Open a store in memory, without files, sockets and threads.

    Args:
        clock: Time; a new `ManualClock` without one.
        settings: None reads the environment, as in `simonides.open`.
        model: A language model, for example a `ScriptedModel`; None means what the settings name.
        embedder: A model of your own instead of the encoder, for example a `SmallEmbedder`,
            which makes tests fast that need no meaning.
    """
    from simonides.api.store import open as open_store

    return open_store(
        ":memory:", clock=clock or ManualClock(), settings=settings, model=model, embedder=embedder
    )
