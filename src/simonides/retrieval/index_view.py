"""An owner's index at one moment, as gates and hygiene ask it."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime

from simonides.domain.gates import Need, Shape
from simonides.domain.memory import Kind, Memory, Place, Triple
from simonides.retrieval.owner_index import OwnerIndex


class IndexView:
    """An :class:`OwnerIndex` at one moment, as the :class:`~simonides.ports.OwnerView` it is."""

    def __init__(self, index: OwnerIndex, now: datetime) -> None:
        self._index = index
        self._now = now

    def by_key(self, place: Place, key: str) -> Memory | None:
        """See :class:`~simonides.ports.OwnerView`."""
        return self._index.by_key(place, key)

    def by_hash(self, place: Place, content_hash: str) -> tuple[Memory, ...]:
        """See :class:`~simonides.ports.OwnerView`."""
        return self._index.by_hash(place, content_hash, self._now)

    def by_turn(self, place: Place, session: str, turn: int) -> Memory | None:
        """See :class:`~simonides.ports.OwnerView`."""
        return self._index.by_turn(place, session, turn, self._now)

    def by_id(self, id: str) -> Memory | None:
        """See :class:`~simonides.ports.OwnerView`."""
        return self._index.by_id(id, self._now)

    def by_root(self, root: str) -> Memory | None:
        """See :class:`~simonides.ports.OwnerView`."""
        return self._index.by_root(root, self._now)

    def by_slot(self, place: Place, slot: Triple) -> tuple[Memory, ...]:
        """See :class:`~simonides.ports.OwnerView`."""
        return self._index.by_slot(place, slot, self._now)

    def near_text(self, place: Place, kind: Kind, shape: Shape) -> tuple[Memory, ...]:
        """See :class:`~simonides.ports.OwnerView`."""
        return self._index.near_text(place, kind, shape, self._now)

    def containing(self, place: Place, kind: Kind, shape: Shape) -> tuple[Memory, ...]:
        """See :class:`~simonides.ports.OwnerView`."""
        return self._index.containing(place, kind, shape, self._now)

    def about(
        self, place: Place, kind: Kind, shape: Shape, needs: Sequence[Need]
    ) -> tuple[Memory, ...]:
        """See :class:`~simonides.ports.OwnerView`."""
        return self._index.about(place, kind, shape, needs, self._now)

    def nearest(
        self, place: Place, kind: Kind, shape: Shape, above: float
    ) -> tuple[tuple[Memory, float], ...]:
        """See :class:`~simonides.ports.OwnerView`."""
        return self._index.nearest(place, kind, shape, above, self._now)

    def from_outside(self, text: str) -> Memory | None:
        """See :class:`~simonides.ports.OwnerView`."""
        return self._index.from_outside(text)
