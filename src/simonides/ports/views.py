"""What gates and hygiene ask of one owner's memories (D1)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from simonides.domain.gates import Need, Shape
from simonides.domain.memory import Kind, Memory, Place, Triple


class OwnerView(Protocol):
    """What gates and hygiene may ask of one owner's standing memories under the turn (D1).

    Only live rows are seen; hard-expired ones by key alone, so that a new version follows them.
    """

    def by_key(self, place: Place, key: str) -> Memory | None:
        """Return the one active memory of a key in exactly this place."""

    def by_hash(self, place: Place, content_hash: str) -> tuple[Memory, ...]:
        """Return the unkeyed memories of equal normalised text in this place, by id; verbatim
        turns are not among them.
        """

    def by_turn(self, place: Place, session: str, turn: int) -> Memory | None:
        """Return the verbatim turn with this number in a session."""

    def by_id(self, id: str) -> Memory | None:
        """Return a live memory."""

    def by_root(self, root: str) -> Memory | None:
        """Return the live version of a chain, named by the id of its first version."""

    def by_slot(self, place: Place, slot: Triple) -> tuple[Memory, ...]:
        """Return the memories in this place whose triple has this one's subject and predicate in
        normal form, by id; keyed ones are among them, verbatim turns are not.
        """

    def near_text(self, place: Place, kind: Kind, shape: Shape) -> tuple[Memory, ...]:
        """Return unkeyed memories of a kind in this place that have the firm terms of a text and no
        others; a few, by id. Verbatim turns are not among them, and nothing is near a text that has
        no firm term.
        """

    def nearest(
        self, place: Place, kind: Kind, shape: Shape, above: float
    ) -> tuple[tuple[Memory, float], ...]:
        """Return those of them whose embedding has a cosine above some value to the text's, with
        it; a few, the greatest first, then by id. What has no embedding is not among them.
        """

    def containing(self, place: Place, kind: Kind, shape: Shape) -> tuple[Memory, ...]:
        """Return unkeyed memories of a kind in this place that have every term of a text but those
        of idle words, and perhaps others; a few, by id. Verbatim turns are not among them.
        """

    def about(
        self, place: Place, kind: Kind, shape: Shape, needs: Sequence[Need]
    ) -> tuple[Memory, ...]:
        """Return unkeyed memories in this place, of any kind but what happened, that meet one of
        some needs: five at most, those embedded nearest to a text first, then the newest. Where a
        need is met by very many, the oldest of them may be left out.
        """

    def from_outside(self, text: str) -> Memory | None:
        """Return a memory with the trust ``external``, wherever in the owner it stands and whatever
        its kind and key, that a text says again whole or in passages; verbatim turns are among
        them. See :mod:`simonides.language.passages`.
        """


class NearTexts(Protocol):
    """Ids of texts by what they are near to; as :class:`OwnerView` orders them."""

    def add(self, id: str, shape: Shape) -> None:
        """Take in one more text."""

    def near_text(self, shape: Shape) -> list[str]:
        """See :meth:`OwnerView.near_text`."""

    def nearest(self, shape: Shape, above: float) -> list[tuple[str, float]]:
        """See :meth:`OwnerView.nearest`."""

    def containing(self, shape: Shape) -> list[str]:
        """See :meth:`OwnerView.containing`."""

    def about(self, kind: Kind, shape: Shape, needs: Sequence[Need]) -> list[str]:
        """See :meth:`OwnerView.about`; the kind is that of the text."""
