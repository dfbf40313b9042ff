"""Companion writes: what a session or a task writes in the same transaction as a batch.

A companion is an optimistic lock. The batch is committed only if the companion's row is unchanged
since this worker read it, so exactly one of several workers writes.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple, Protocol

from simonides.domain.conversation.session import SessionStep
from simonides.domain.writing.change import HeldCandidate, Snapshot
from simonides.domain.writing.decision import Outcome, OutcomeKind
from simonides.engine.core.event_recorder import EventRecorder

GONE = Outcome(OutcomeKind.DROPPED, reasons=("not_found",))
"""Outcome of storing a held candidate that is no longer held."""


class ExtraChanges(NamedTuple):
    """What a companion adds to the change of a batch.

    Attributes:
        steps: The new rows of sessions and task names.
        held: Held candidates, with the support that was found for them.
        released: Ids of candidates that are no longer held.
    """

    steps: tuple[SessionStep, ...] = ()
    held: tuple[HeldCandidate, ...] = ()
    released: tuple[str, ...] = ()


class Decided(NamedTuple):
    """What the batch came to under the turn.

    Attributes:
        outcomes: One for each judgement, in the order of the batch.
        held_before: What was held for the owner when the turn began.
        held: What this batch adds to it.
        scribe: Records the companion's own events.
    """

    outcomes: Sequence[Outcome]
    held_before: Sequence[HeldCandidate]
    held: Sequence[HeldCandidate]
    recorder: EventRecorder


class CompanionWrite(Protocol):
    """A write that a batch is committed together with.

    Both methods run under the turn and wait for nothing. The store may decide a turn twice, so
    they may be called again.
    """

    @property
    def session(self) -> str:
        """Name of the row that is read under the turn."""

    def is_current(self, snapshot: Snapshot) -> bool:
        """Whether the row is as it was read; otherwise nothing is written."""

    def changes(self, decided: Decided) -> ExtraChanges:
        """Return what is written with the batch."""


def is_unchanged(snapshot: Snapshot, step: SessionStep | None, incarnation: bytes | None) -> bool:
    """Whether a row stands under the turn as it was read before.

    Args:
        snapshot: What stands under the turn.
        step: The row that was read; None if there was none.
        incarnation: The owner's at that time. It decides where there was no row: an erasure
            deletes the row with everything else, and draws a new incarnation.
    """
    now = None if snapshot.head is None else snapshot.head.incarnation
    is_erased = step is None and now != incarnation
    return not is_erased and snapshot.session_step == step
