"""What is asked of memory, parsed and bounded (RE)."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from simonides.domain.filters import Filter
from simonides.domain.layer import MEMORY, Layer
from simonides.domain.memory import Kind
from simonides.domain.scope import Scope
from simonides.domain.value import Value


@dataclass(frozen=True, slots=True)
class Cue(Value):
    """What is asked, parsed and bounded.

    Attributes:
        query: Text; may be empty (RE-8).
        limit: At most this many hits.
        scopes: Scopes to read, nearest first.
        kinds: Kinds to read; empty means all.
        filter: What must hold of a memory, or None.
        floor: Least calibrated score, or None for no floor.
        bias_keys: Keys that get the preference bonus of PO-5.
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
