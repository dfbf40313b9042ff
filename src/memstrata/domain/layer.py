"""The layers that a read may look in: what is remembered, and documents beside it (KN-1)."""

from __future__ import annotations

from collections.abc import Sequence
from enum import StrEnum

from memstrata.domain.errors import InvalidInput
from memstrata.domain.value import shown


class Layer(StrEnum):
    """A storage stratum that is searched: ``l2`` is long-term memory, ``l3`` external knowledge."""

    L2 = "l2"
    L3 = "l3"


EVERY = "all"
"""What a caller says who means every layer."""

MEMORY: tuple[Layer, ...] = (Layer.L2,)
"""What is read where nobody asks for more."""


def layers_of(field: str, raw: object) -> tuple[Layer, ...]:
    """Return the layers that a caller names, in their order, each once.

    Args:
        field: How errors name the argument.
        raw: ``l2``, ``l3`` or ``all``, or several names.

    Raises:
        InvalidInput: If a name is none, or there is no name.
    """
    if raw == EVERY:
        return tuple(Layer)
    names = [raw] if isinstance(raw, str) or not isinstance(raw, Sequence) else [*raw]
    strange = [name for name in names if name not in [*Layer]]
    if strange or not names:
        named = shown(strange[0]) if strange else "nothing"
        raise InvalidInput(field, f"must be 'l2', 'l3', 'all' or several of them, not {named}")
    return tuple(layer for layer in Layer if layer in names)
