"""Companion writes: rows of a session or a task that commit together with a batch.

A companion is an optimistic lock. The batch commits only if the companion's row is unchanged since
this worker read it. So exactly one of several workers writes.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple, Protocol

from simonides.domain.conversation.session import SessionStep
from simonides.domain.writing.change import HeldCandidate, Snapshot
from simonides.domain.writing.decision import Outcome, OutcomeKind
from simonides.engine.core import EventRecorder

GONE = Outcome(OutcomeKind.DROPPED, reasons=("not_found",))
"""Outcome of storing a held candidate that is no longer held."""


class ExtraChanges(NamedTuple):
    """Changes that a companion adds to a batch.

    Attributes:
        steps: New rows of sessions and task names.
        held: Held candidates, with the support that was found for them.
        released: Ids of candidates to remove from the held ones.
    """

    steps: tuple[SessionStep, ...] = ()
    held: tuple[HeldCandidate, ...] = ()
    released: tuple[str, ...] = ()


class Decided(NamedTuple):
    """Result of a batch under the write turn.

    Attributes:
        outcomes: One for each judgement, in the order of the batch.
        held_before: The owner's held candidates when the turn began.
        held: Held candidates that this batch adds.
        recorder: Records the companion's own events.
    """

    outcomes: Sequence[Outcome]
    held_before: Sequence[HeldCandidate]
    held: Sequence[HeldCandidate]
    recorder: EventRecorder


class CompanionWrite(Protocol):
    """A write that commits together with a batch.

    Both methods run under the turn and must not block. The store may decide a turn twice, so both
    may be called again.
    """

    @property
    def session(self) -> str:
        """Name of the row that is read under the turn."""

    def is_current(self, snapshot: Snapshot) -> bool:
        """Whether the row is unchanged since it was read; otherwise nothing is written."""

    def changes(self, decided: Decided) -> ExtraChanges:
        """Return the changes to commit with the batch."""


def is_unchanged(snapshot: Snapshot, step: SessionStep | None, incarnation: bytes | None) -> bool:
    """Whether a row is unchanged since it was read before the turn.

    Args:
        snapshot: The owner's state under the turn.
        step: The row that was read; None if there was none.
        incarnation: The owner's incarnation at that time. It decides if there was no row: an
            erasure deletes all rows and creates a new incarnation.
    """
    now = None if snapshot.head is None else snapshot.head.incarnation
    is_erased = step is None and now != incarnation
    return not is_erased and snapshot.session_step == step
