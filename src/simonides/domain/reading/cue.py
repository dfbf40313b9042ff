"""The layers that a read may look in: what is remembered, and documents beside it."""

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
    """A storage stratum that is searched: ``l1`` is the log of a session, ``l2`` long-term memory,
    ``l3`` external knowledge.
    """

    L1 = "l1"
    L2 = "l2"
    L3 = "l3"


EVERY = "all"
"""What a caller says who means memory and documents; what a session said is asked by itself."""

MEMORY: tuple[Layer, ...] = (Layer.L2,)
"""What is read where nobody asks for more."""


def layers_of(field: str, raw: object) -> tuple[Layer, ...]:
    """Return the layers that a caller names, in their order, each once.

    Args:
        field: How errors name the argument.
        raw: ``l1``, ``l2``, ``l3`` or ``all``, or several names but ``l1``.

    Raises:
        InvalidInput: If a name is none, there is no name, or ``l1`` is one of several.
    """
    if raw == EVERY:
        return (Layer.L2, Layer.L3)
    names = [raw] if isinstance(raw, str) or not isinstance(raw, Sequence) else [*raw]
    strange = [name for name in names if name not in [*Layer]]
    if strange or not names:
        named = shown(strange[0]) if strange else "nothing"
        known = "'l1', 'l2', 'l3', 'all' or several of them"
        raise InvalidInput(field, f"must be {known}, not {named}")
    if Layer.L1 in names and len(names) > 1:
        raise InvalidInput(field, "'l1' is searched by itself: ask once more for the others")
    return tuple(layer for layer in Layer if layer in names)


@dataclass(frozen=True, slots=True)
class Cue(Value):
    """What is asked, parsed and bounded.

    Attributes:
        query: Text; may be empty.
        limit: At most this many hits.
        scopes: Scopes to read, nearest first.
        kinds: Kinds to read; empty means all.
        filter: What must hold of a memory, or None.
        floor: Least calibrated score, or None for no floor.
        bias_keys: Keys that get the preference bonus.
        bias_categories: Categories whose keyed memories get it.
        known_at: System time to read as of, or None for now.
        valid_at: World time at which a fact must hold, or None for the clock's now.
        agent: Who reads, for audiences.
        purpose: What for, for purposes.
        layers: Where to look.
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
