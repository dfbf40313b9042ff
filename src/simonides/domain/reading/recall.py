"""What a recall returns: hits with their reasons, and why another memory is none of them (RE)."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from types import MappingProxyType
from typing import Any, overload

from simonides.domain.memory import Memory
from simonides.domain.reading.receipt import Made, Receipt
from simonides.domain.value import EPOCH, Value, plain


@dataclass(frozen=True, slots=True)
class Hit(Value):
    """One recalled memory.

    Attributes:
        memory: The record.
        score: Calibrated to 0–1; orders hits of one query.
        why: Each named component with its contribution, in the order they were applied.
        at: The clock at which it was read; the default lies before every memory, when none was
            stale.
    """

    memory: Memory
    score: float
    why: Mapping[str, float]
    at: datetime = EPOCH

    @property
    def warnings(self) -> tuple[str, ...]:
        """What to know before relying on it, ``stale?`` for one: see
        :meth:`simonides.Memory.warnings`.
        """
        return self.memory.warnings(self.at)

    def to_dict(self) -> dict[str, Any]:
        """Return memory, score, reasons and warnings as JSON-ready data; the receipt of the read
        has its clock.
        """
        return {
            "memory": self.memory.to_dict(),
            "score": self.score,
            "why": plain(self.why),
            "warnings": plain(self.warnings),
        }


@dataclass(frozen=True, slots=True)
class Recall(Value, Sequence[Hit]):
    """The hits of one query, best first; behaves as a sequence of :class:`Hit`.

    Attributes:
        hits: Best first; ties by newest ``updated_at``, then id.
        degraded: Names of sources that failed and were left out, for example ``vector``.
        given: The receipt, or what makes it out of values that do not change any more: most
            recalls are never asked for theirs, and it costs a twentieth of a recall.
        made: How it came about.
    """

    hits: tuple[Hit, ...]
    degraded: tuple[str, ...]
    given: Receipt | Callable[[], Receipt] = field(repr=False, compare=False)
    made: Made = Made.LIVE

    @property
    def receipt(self) -> Receipt:
        """What was returned and why; the same whenever it is asked for."""
        given = self.given
        if not isinstance(given, Receipt):
            given = given()
            object.__setattr__(self, "given", given)
        return given

    def to_dict(self) -> dict[str, Any]:
        """Return hits, degraded sources, receipt and how it was made as JSON-ready data."""
        return {
            "hits": plain(self.hits),
            "degraded": plain(self.degraded),
            "receipt": plain(self.receipt),
            "made": plain(self.made),
        }

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
    """Why one memory was or was not recalled for a query.

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
