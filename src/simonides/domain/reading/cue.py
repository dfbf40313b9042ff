"""A parsed read request, and the layers that a read may search."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum

from simonides.domain.errors import InvalidInput
from simonides.domain.memory import Kind
from simonides.domain.reading.filters import Filter
from simonides.domain.scope import Scope
from simonides.domain.value import Value, shown


class Layer(StrEnum):
    """A searchable storage layer.

    ``l1`` is the session log, ``l2`` long-term memory, ``l3`` external knowledge.
    """

    L1 = "l1"
    L2 = "l2"
    L3 = "l3"


LAYER_NAMES = {"session": Layer.L1, "memory": Layer.L2, "documents": Layer.L3}
"""The layers' names for callers."""

EVERY = "all"
"""The caller's name for memory and documents; the session log is searched separately."""

MEMORY: tuple[Layer, ...] = (Layer.L2,)
"""The default layers."""


def layers_of(field: str, raw: object) -> tuple[Layer, ...]:
    """Return the named layers in the order of :class:`Layer`, each once.

    Args:
        field: Name of the argument in errors.
        raw: ``session``, ``memory``, ``documents`` or ``all``, or several names without
            ``session``; also ``l1``, ``l2`` and ``l3``.

    Raises:
        InvalidInput: If a name is unknown, there is no name, or ``session`` is one of several.
    """
    if raw == EVERY:
        return (Layer.L2, Layer.L3)
    names = [raw] if isinstance(raw, str) or not isinstance(raw, Sequence) else [*raw]
    names = [LAYER_NAMES.get(name, name) if isinstance(name, str) else name for name in names]
    strange = [name for name in names if name not in [*Layer]]
    if strange or not names:
        named = shown(strange[0]) if strange else "nothing"
        known = "'memory', 'session', 'documents', 'all' or several of them"
        raise InvalidInput(field, f"must be {known}, not {named}")
    if Layer.L1 in names and len(names) > 1:
        raise InvalidInput(field, "'session' is searched by itself: ask once more for the others")
    return tuple(layer for layer in Layer if layer in names)


@dataclass(frozen=True, slots=True)
class Cue(Value):
    """A parsed and bounded read request.

    Attributes:
        query: Text; may be empty.
        limit: At most this many hits.
        scopes: Scopes to read, nearest first.
        kinds: Kinds to read; empty means all.
        filter: Condition on memories, or None.
        floor: Least calibrated score, or None for no floor.
        bias_keys: Keys that get the preference bonus.
        bias_categories: Categories whose keyed memories get it.
        known_at: System time to read as of, or None for now.
        valid_at: World time at which a fact must hold, or None for the clock's now.
        agent: The reading agent, checked against audiences.
        purpose: Purpose of the read, checked against the memories' purposes.
        layers: Layers to search.
    """

    query: str
    limit: int
    scopes: tuple[Scope, ...]
    kinds: frozenset[Kind] = frozenset()
    filter: Filter | None = None
    floor: float | None = None
    bias_keys: frozenset[str] = frozenset()
    bias_categories: frozenset[str] = frozenset()
    known_at: datetime | None = None
    valid_at: datetime | None = None
    agent: str | None = None
    purpose: str | None = None
    layers: tuple[Layer, ...] = MEMORY
