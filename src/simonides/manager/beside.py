"""What a turn of a session writes beside its outcomes, if the session stands where it stood."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple, TypeAlias

from simonides.domain.change import HeldCandidate, Snapshot
from simonides.domain.decision import Outcome, OutcomeKind
from simonides.domain.session_end import SessionStep
from simonides.manager.scribe import Scribe

GONE = Outcome(OutcomeKind.DROPPED, reasons=("not_found",))
"""What comes of storing what waits no more."""


class Also(NamedTuple):
    """What is written with a batch.

    Attributes:
        steps: Where sessions stand after it.
        held: What waits on, with what bears it out.
        released: Ids of what waits no more.
    """

    steps: tuple[SessionStep, ...] = ()
    held: tuple[HeldCandidate, ...] = ()
    released: tuple[str, ...] = ()


Finish: TypeAlias = Callable[
    [Mapping[int, Outcome], Sequence[HeldCandidate], Snapshot, Scribe], Also
]
"""From the outcomes by their places, what the batch itself holds back, and what stood under the
turn, to what is written too."""


@dataclass(slots=True)
class Beside:
    """The step of a session that a batch is committed with.

    Several workers may be at one session, and one may have died in the middle: what is written is
    written by the one of them whom the session still stands as he read it.

    Attributes:
        session: Its name.
        before: Where it stood; None for one never looked at.
        finish_with: Says what is written with the batch.
        waiting: By place in the batch: the id of what was held back and is stored by it.
        incarnation: Of the owner when a session was read that nobody had looked at; what was read
            before an erasure is not written after it (FX-3).
        is_limited: Whether it counts among the writes of a minute. What a session says does not: it
            was let in when it was said.
        raced: Whether somebody else was there first; then nothing was written.
    """

    session: str
    before: SessionStep | None
    finish_with: Finish
    waiting: Mapping[int, str] = field(default_factory=dict)
    incarnation: bytes | None = None
    is_limited: bool = False
    raced: bool = False
    _places: Sequence[int] | None = None

    def moved_to(self, places: Sequence[int]) -> None:
        """Say which places of the batch are written, in order; the others were refused before."""
        self._places = places

    def has_raced(self, snapshot: Snapshot) -> bool:
        """Whether somebody else went on with the session, or its owner was erased."""
        incarnation = None if snapshot.head is None else snapshot.head.incarnation
        is_other = self.before is None and incarnation != self.incarnation
        self.raced = is_other or snapshot.session_step != self.before
        return self.raced

    def is_gone(self, place: int, snapshot: Snapshot) -> bool:
        """Whether what is to be stored waits no more: somebody has decided about it meanwhile."""
        id = self.waiting.get(self._place(place))
        return id is not None and all(held.id != id for held in snapshot.held)

    def finish(
        self,
        outcomes: Sequence[Outcome],
        held: Sequence[HeldCandidate],
        snapshot: Snapshot,
        scribe: Scribe,
    ) -> Also:
        """Return what is written with the batch."""
        by_place = {self._place(place): outcome for place, outcome in enumerate(outcomes)}
        return self.finish_with(by_place, held, snapshot, scribe)

    def _place(self, place: int) -> int:
        return place if self._places is None else self._places[place]
