"""The values of a read: cue, hits with their reasons, and the receipt (RE, FX-4)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from types import MappingProxyType
from typing import overload

from memstrata.domain.filters import Filter
from memstrata.domain.memory import Kind, Memory
from memstrata.domain.scope import Scope
from memstrata.domain.value import Value


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


@dataclass(frozen=True, slots=True)
class Hit(Value):
    """One recalled memory.

    Attributes:
        memory: The record.
        score: Calibrated to 0–1; orders hits of one query.
        why: Each named component with its contribution, in the order they were applied.
    """

    memory: Memory
    score: float
    why: Mapping[str, float]


@dataclass(frozen=True, slots=True)
class Receipt(Value):
    """What a recall returned and on what grounds, self-contained.

    Attributes:
        query: The text that was asked.
        at: Clock of the read.
        known_at: System time read as of, or None.
        scopes: Canonical paths that were read.
        fusion: Mode that ranked.
        embedder: Model id, or None where no vector took part.
        analyser: Version of the analyser.
        floor: Floor in force, or None.
        considered: Memories that were visible.
        returned: (id, version, score), best first.
        degraded: Sources that could not take part.
    """

    query: str
    at: datetime
    known_at: datetime | None
    scopes: tuple[str, ...]
    fusion: str
    embedder: str | None
    analyser: str
    floor: float | None
    considered: int
    returned: tuple[tuple[str, int, float], ...]
    degraded: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Recall(Value, Sequence[Hit]):
    """The hits of one query, best first; behaves as a sequence of :class:`Hit`.

    Attributes:
        hits: Best first; ties by newest ``updated_at``, then id (RE-7).
        degraded: Names of sources that failed and were left out, for example ``vector``.
        receipt: What was returned and why.
    """

    hits: tuple[Hit, ...]
    degraded: tuple[str, ...]
    receipt: Receipt

    @overload
    def __getitem__(self, place: int) -> Hit: ...
    @overload
    def __getitem__(self, place: slice) -> tuple[Hit, ...]: ...
    def __getitem__(self, place: int | slice) -> Hit | tuple[Hit, ...]:
        return self.hits[place]

    def __len__(self) -> int:
        return len(self.hits)

    def __iter__(self) -> Iterator[Hit]:
        return iter(self.hits)


@dataclass(frozen=True, slots=True)
class Explanation(Value):
    """Why one memory was or was not recalled for a query (RE-8).

    Attributes:
        memory_id: The memory asked about.
        recalled: Whether a recall without limit would return it.
        rank: Its place from 1, or None.
        score: Its calibrated score, or None.
        why: Components, as in :class:`Hit`.
        excluded: Why it is never returned, for example ``expired``; empty if it can be.
        matched_terms: Terms of the query that it contains.
    """

    memory_id: str
    recalled: bool = False
    rank: int | None = None
    score: float | None = None
    why: Mapping[str, float] = field(default_factory=lambda: MappingProxyType({}))
    excluded: tuple[str, ...] = ()
    matched_terms: tuple[str, ...] = ()
