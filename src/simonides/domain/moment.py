"""The time and the ids of one change."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Protocol

from simonides.domain.value import from_us


class NewIds(Protocol):
    """A source of ids."""

    def new(self, at_us: int, /) -> str:
        """Return a new id for a time."""


@dataclass(frozen=True, slots=True)
class Moment:
    """System time and id source of a write turn.

    Attributes:
        known_at: System time of the change, µs; every new state begins at it.
        ids: Source of ids.
        embedder: Model that embeds new content, or None.
    """

    known_at: int
    ids: NewIds
    embedder: str | None = None

    @property
    def now(self) -> datetime:
        """The system time as a datetime."""
        return from_us(self.known_at)

    def new_id(self) -> str:
        """Return an id for this moment."""
        return self.ids.new(self.known_at)
