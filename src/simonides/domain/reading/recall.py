"""Results of a recall: hits with reasons, and the explanation for a single memory."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from types import MappingProxyType
from typing import Any, overload

from simonides.domain.memory import Record
from simonides.domain.reading.receipt import Made, Receipt
from simonides.domain.value import EPOCH, Value, plain


@dataclass(frozen=True, slots=True, repr=False)
class Hit(Value):
    """One recalled memory.

    Attributes:
        record: The record.
        score: Calibrated to 0–1; orders hits of one query.
        why: Each named component with its contribution, in the order they were applied.
        at: Clock of the read; at the default no memory is stale.
    """

    record: Record
    score: float
    why: Mapping[str, float]
    at: datetime = EPOCH

    @property
    def id(self) -> str:
        """Id of the record."""
        return self.record.id

    @property
    def key(self) -> str | None:
        """Key of the record, or None."""
        return self.record.key

    @property
    def content(self) -> str:
        """Text of the record."""
        return self.record.content

    @property
    def relevance(self) -> float:
        """Calibrated relevance, 0 to 1; ``min_relevance`` compares with it."""
        return self.score

    @property
    def warnings(self) -> tuple[str, ...]:
        """Warnings such as ``stale?``; see :meth:`simonides.Record.warnings`."""
        return self.record.warnings(self.at)

    def __repr__(self) -> str:
        return f"<Hit {self.score:.3f} {self.id} {self.content[:60]!r}>"

    def to_dict(self) -> dict[str, Any]:
        """Return record, score, reasons and warnings as JSON-ready data.

        The clock is omitted; the receipt of the read has it.
        """
        return {
            "record": self.record.to_dict(),
            "score": self.score,
            "relevance": self.relevance,
            "why": plain(self.why),
            "warnings": plain(self.warnings),
        }


@dataclass(frozen=True, slots=True)
class Recall(Value, Sequence[Hit]):
    """The hits of one query, best first; behaves as a sequence of :class:`Hit`.

    Attributes:
        hits: Best first; ties by newest ``updated_at``, then id.
        degraded: Names of sources that failed and were left out, for example ``vector``.
        given: The receipt, or a function that builds it from immutable values. It is built on
            demand, because it costs a twentieth of a recall and most callers never read it.
        made: How it was produced.
    """

    hits: tuple[Hit, ...]
    degraded: tuple[str, ...]
    given: Receipt | Callable[[], Receipt] = field(repr=False, compare=False)
    made: Made = Made.LIVE

    @property
    def receipt(self) -> Receipt:
        """What was returned and why; built once."""
        given = self.given
        if not isinstance(given, Receipt):
            given = given()
            object.__setattr__(self, "given", given)
        return given

    def to_dict(self) -> dict[str, Any]:
        """Return hits, degraded sources, receipt and ``made`` as JSON-ready data."""
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
        memory_id: The explained memory.
        recalled: Whether a recall without limit would return it.
        rank: Its rank from 1, or None.
        score: Its calibrated score, or None.
        why: Components, as in :class:`Hit`.
        excluded: Why it is never returned, for example ``expired``; empty if it can be.
        matched_terms: Query terms in the memory.
    """

    memory_id: str
    recalled: bool = False
    rank: int | None = None
    score: float | None = None
    why: Mapping[str, float] = field(default_factory=lambda: MappingProxyType({}))
    excluded: tuple[str, ...] = ()
    matched_terms: tuple[str, ...] = ()
