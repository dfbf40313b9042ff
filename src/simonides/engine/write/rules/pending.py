"""An overlay of a turn's own changes over the memories stored before it.

One batch may repeat or correct its own statements, so later ones must see the earlier ones.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from simonides.domain.governance.review import Review
from simonides.domain.memory import (
    Kind,
    Place,
    Record,
    Triple,
)
from simonides.domain.policy.gates import Need, Shape
from simonides.domain.trust import Trust
from simonides.domain.writing.decision import TURN_CATEGORY
from simonides.engine.write.rules.results import Resolution
from simonides.ports import NearTexts, OwnerView
from simonides.text import normalise
from simonides.text.similarity import Passages


class Pending:
    """An :class:`~simonides.ports.OwnerView` that also includes this turn's own resolutions.

    Attributes:
        shapes: Id to terms and vector of each free text that the turn adds.
    """

    def __init__(self, standing: OwnerView, own_texts: NearTexts | None = None) -> None:
        """Start an empty overlay.

        Args:
            standing: The memories stored before the turn.
            own_texts: Index of the turn's own texts for the near gates; None for a turn of one
                candidate, which has no earlier texts.
        """
        self._standing = standing
        self._own_texts = own_texts
        self._reviews: list[Review] = []
        self.shapes: dict[str, Shape] = {}
        self._added: dict[str, Record] = {}
        self._restated: dict[str, Record] = {}
        self._keys: dict[tuple[Place, str], str] = {}
        self._hashes: dict[tuple[Place, str], dict[str, None]] = {}
        self._turns: dict[tuple[Place, str, int], str] = {}
        self._slots: dict[tuple[Place, str, str], dict[str, None]] = {}
        self._roots: dict[str, str] = {}
        self._from_outside: list[Record] = []
        self._passages = Passages()

    @property
    def added(self) -> tuple[Record, ...]:
        """New versions in order, each with the last state that the turn gave it."""
        return tuple(self._added.values())

    @property
    def restated(self) -> tuple[Record, ...]:
        """Stored memories, each with the last state that the turn gave it."""
        return tuple(self._restated.values())

    @property
    def retagged(self) -> tuple[Record, ...]:
        """The restated memories with changed tags, whose index entries change with them."""
        before = ((memory, self._standing.by_id(memory.id)) for memory in self.restated)
        return tuple(now for now, old in before if old is not None and old.tags != now.tags)

    @property
    def reviews(self) -> tuple[Review, ...]:
        """New reviews, in order."""
        return tuple(self._reviews)

    def take(self, resolution: Resolution, shape: Shape | None = None) -> None:
        """Add the resolution of one candidate, with the terms and vector of its text."""
        if resolution.review is not None:
            self._reviews.append(resolution.review)
        for memory in resolution.added:
            self._added[memory.id] = memory
            self._file(memory)
            if memory.trust is Trust.EXTERNAL:
                self._from_outside.append(memory)
            if shape is not None and memory.key is None and memory.status.is_live:
                self.shapes[memory.id] = shape
                if self._own_texts is not None:
                    self._own_texts.add(memory.id, shape)
        for memory in resolution.restated:
            # A memory that this turn added is written once, with its last state.
            known = self._added if memory.id in self._added else self._restated
            known[memory.id] = memory

    def restate(self, memory: Record) -> None:
        """Add a state change that is not the resolution of a candidate."""
        known = self._added if memory.id in self._added else self._restated
        known[memory.id] = memory

    def touched(self, id: str) -> bool:
        """Whether the turn has changed the state of a stored memory."""
        return id in self._restated

    def has_added_live(self, id: str) -> bool:
        """Whether the turn added a memory, and it is still live."""
        added = self._added.get(id)
        return added is not None and added.status.is_live

    def final(self, memory: Record) -> Record:
        """Return a memory with the last state that the turn gave it."""
        return self._added.get(memory.id) or self._restated.get(memory.id) or memory

    def _file(self, memory: Record) -> None:
        if not memory.status.is_live:
            return
        self._roots[memory.root] = memory.id
        origin = memory.origin
        is_turn = memory.kind is Kind.EPISODIC and memory.category == TURN_CATEGORY
        if is_turn and origin.session is not None and origin.turn is not None:
            self._turns[memory.place, origin.session, origin.turn] = memory.id
            return
        if memory.triple is not None:
            self._slots.setdefault(_slot(memory.place, memory.triple), {})[memory.id] = None
        if memory.key is not None:
            self._keys[memory.place, memory.key] = memory.id
        else:
            alike = self._hashes.setdefault((memory.place, memory.content_hash), {})
            alike[memory.id] = None

    def by_key(self, place: Place, key: str) -> Record | None:
        """See :class:`~simonides.ports.OwnerView`."""
        own = self._keys.get((place, key))
        return self._live(self._added[own] if own else self._standing.by_key(place, key))

    def by_hash(self, place: Place, content_hash: str) -> tuple[Record, ...]:
        """See :class:`~simonides.ports.OwnerView`."""
        own = self._hashes.get((place, content_hash), ())
        return self._both(self._standing.by_hash(place, content_hash), own)

    def by_turn(self, place: Place, session: str, turn: int) -> Record | None:
        """See :class:`~simonides.ports.OwnerView`."""
        own = self._turns.get((place, session, turn))
        if own:
            return self._added[own]
        return self._live(self._standing.by_turn(place, session, turn))

    def by_id(self, id: str) -> Record | None:
        """See :class:`~simonides.ports.OwnerView`."""
        return self._live(self._added.get(id) or self._standing.by_id(id))

    def by_root(self, root: str) -> Record | None:
        """See :class:`~simonides.ports.OwnerView`."""
        own = self._roots.get(root)
        return self._live(self._added[own] if own else self._standing.by_root(root))

    def by_slot(self, place: Place, slot: Triple) -> tuple[Record, ...]:
        """See :class:`~simonides.ports.OwnerView`."""
        own = self._slots.get(_slot(place, slot), ())
        return self._both(self._standing.by_slot(place, slot), own)

    def near_text(self, place: Place, kind: Kind, shape: Shape) -> tuple[Record, ...]:
        """See :class:`~simonides.ports.OwnerView`."""
        found = self._standing.near_text(place, kind, shape)
        own = () if self._own_texts is None else self._own_texts.near_text(shape)
        return self._both(found, own) if found or own else ()

    def containing(self, place: Place, kind: Kind, shape: Shape) -> tuple[Record, ...]:
        """See :class:`~simonides.ports.OwnerView`."""
        found = self._standing.containing(place, kind, shape)
        own = () if self._own_texts is None else self._own_texts.containing(shape)
        return self._both(found, own) if found or own else ()

    def about(
        self, place: Place, kind: Kind, shape: Shape, needs: Sequence[Need]
    ) -> tuple[Record, ...]:
        """See :class:`~simonides.ports.OwnerView`."""
        found = self._standing.about(place, kind, shape, needs)
        own = () if self._own_texts is None else self._own_texts.about(kind, shape, needs)
        return self._both(found, own) if found or own else ()

    def nearest(
        self, place: Place, kind: Kind, shape: Shape, above: float
    ) -> tuple[tuple[Record, float], ...]:
        """See :class:`~simonides.ports.OwnerView`."""
        found = list(self._standing.nearest(place, kind, shape, above))
        if self._own_texts is not None:
            own = self._own_texts.nearest(shape, above)
            found += [(self._added[id], cosine) for id, cosine in own]
        latest = ((self._live(memory), cosine) for memory, cosine in found)
        return tuple((memory, cosine) for memory, cosine in latest if memory is not None)

    def from_outside(self, text: str) -> Record | None:
        """See :class:`~simonides.ports.OwnerView`."""
        standing = self._standing.from_outside(text)
        if standing is not None:
            return standing
        while self._from_outside:
            memory = self._from_outside.pop()
            self._passages.add(memory.id, memory.content)
        own = self._passages.find(text) if len(self._passages) else None
        return None if own is None else self._live(self._added[own])

    def _both(self, standing: Iterable[Record], own: Iterable[str]) -> tuple[Record, ...]:
        stood = map(self._live, standing)
        added = (self._added[id] for id in own)
        return tuple(memory for memory in (*stood, *added) if memory and memory.status.is_live)

    def _live(self, memory: Record | None) -> Record | None:
        if memory is None:
            return None
        latest = self.final(memory)
        return latest if latest.status.is_live else None


def _slot(place: Place, triple: Triple) -> tuple[Place, str, str]:
    return place, normalise(triple.subject), normalise(triple.predicate)
