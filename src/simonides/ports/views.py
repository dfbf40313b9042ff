"""The queries of gates and hygiene over one owner's memories."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from simonides.domain.memory import (
    Kind,
    Place,
    Record,
    Triple,
)
from simonides.domain.policy.gates import Need, Shape


class OwnerView(Protocol):
    """One owner's live memories, as gates and hygiene query them under the turn. Hard-expired rows
    are found by key alone, so that a new version follows them.
    """

    def by_key(self, place: Place, key: str) -> Record | None:
        """Return the one active memory of a key in exactly this place."""

    def by_hash(self, place: Place, content_hash: str) -> tuple[Record, ...]:
        """Return the unkeyed memories of equal normalised text in this place, by id. Verbatim turns
        are left out.
        """

    def by_turn(self, place: Place, session: str, turn: int) -> Record | None:
        """Return the verbatim turn with this number in a session."""

    def by_id(self, id: str) -> Record | None:
        """Return a live memory."""

    def by_root(self, root: str) -> Record | None:
        """Return the live version of a chain, named by the id of its first version."""

    def by_slot(self, place: Place, slot: Triple) -> tuple[Record, ...]:
        """Return the memories in this place with this triple's normalised subject and predicate. By
        id; keyed ones are included, verbatim turns are not.
        """

    def near_text(self, place: Place, kind: Kind, shape: Shape) -> tuple[Record, ...]:
        """Return unkeyed memories of a kind in this place with exactly the firm terms of a text. A
        few, by id. Verbatim turns are left out; a text without firm terms has no matches.
        """

    def nearest(
        self, place: Place, kind: Kind, shape: Shape, above: float
    ) -> tuple[tuple[Record, float], ...]:
        """Return the :meth:`near_text` memories with a cosine to the text over ``above``, with it.
        A few, the greatest first, then by id; those without an embedding are left out.
        """

    def containing(self, place: Place, kind: Kind, shape: Shape) -> tuple[Record, ...]:
        """Return unkeyed memories of a kind in this place that contain every term of a text. Idle
        words do not count. A few, by id; verbatim turns are left out.
        """

    def about(
        self, place: Place, kind: Kind, shape: Shape, needs: Sequence[Need]
    ) -> tuple[Record, ...]:
        """Return unkeyed memories in this place, of any kind but events, that meet a need. Five at
        most: those embedded nearest to the text first, then the newest. For a need met by very
        many, the oldest may be left out.
        """

    def from_outside(self, text: str) -> Record | None:
        """Return a memory with the trust ``external`` whose text this text repeats, whole or in
        passages. It may be anywhere in the owner, of any kind and key; verbatim turns are included.
        See :mod:`simonides.text.similarity.passages`.
        """


class NearTexts(Protocol):
    """Finds ids of near texts, ordered as by :class:`OwnerView`."""

    def add(self, id: str, shape: Shape) -> None:
        """Add a text."""

    def near_text(self, shape: Shape) -> list[str]:
        """See :meth:`OwnerView.near_text`."""

    def nearest(self, shape: Shape, above: float) -> list[tuple[str, float]]:
        """See :meth:`OwnerView.nearest`."""

    def containing(self, shape: Shape) -> list[str]:
        """See :meth:`OwnerView.containing`."""

    def about(self, kind: Kind, shape: Shape, needs: Sequence[Need]) -> list[str]:
        """See :meth:`OwnerView.about`; the kind is that of the text."""
