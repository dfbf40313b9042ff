"""Models: the encoder that ships with the package, and the interfaces of those a caller brings."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from simonides.models.encoder import Encoder

__all__ = ["Encoder"]


def __getattr__(name: str) -> Any:
    if name == "Encoder":  # numpy is loaded when it is used
        return import_module("simonides.models.encoder").Encoder
    raise AttributeError(f"module 'simonides.models' has no {name!r}")
