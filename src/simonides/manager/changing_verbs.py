"""The verbs about what stands in conflict, what was done by mistake, and what was counted."""

from __future__ import annotations

from typing import Any

from simonides.domain.cue import Cue
from simonides.domain.decision import Outcome
from simonides.domain.review import Review, ReviewStatus
from simonides.domain.scope import Principal
from simonides.manager.lookup import Lookup
from simonides.manager.measuring import metrics_of
from simonides.manager.reviewing import Reviewer
from simonides.manager.services import Services
from simonides.manager.undoing import Undoer


class AsyncChangingVerbs:
    """What a manager decides and takes back; see :class:`simonides.AsyncMemoryManager`, which has
    these verbs.
    """

    _services: Services
    _principal: Principal
    _lookup: Lookup

    async def reviews(self, *, status: str = ReviewStatus.OPEN) -> tuple[Review, ...]:
        """Return what a person is asked to decide in this principal's own scope, oldest first.

        Each has two ``sides``, the memory that stood and the one that contradicts it: both are
        recalled, marked ``in review``, until one of them is kept. A side that was forgotten or has
        expired since is None; a review of which nothing stands any more is left out.

        What nobody has decided after the policy's ``review_days`` is ``expired``: nobody is asked
        any more, both sides stay and keep their mark, and it may be decided all the same.

        Args:
            status: ``open``, ``decided`` or ``expired``.

        Raises:
            InvalidInput: If the status is unknown.
        """
        return await Reviewer(self._services, self._principal).reviews(status)

    async def decide(self, review_id: str, keep: str, *, reason: str = "") -> Outcome:
        """Decide a review: what is kept is verified by it, the other side gives way (LT-3).

        Args:
            review_id: Of the review.
            keep: ``a``, the memory that stood, ``b``, the one that came, ``both``, or ``neither``.
            reason: Why, in a person's words; it goes into the audit trail and is forgotten with
                the memories.

        Returns:
            ``superseded`` where a side gave way, ``coexists`` where both stay; or ``dropped``
            with ``not_found``, ``already_decided``, ``side_gone`` (what was to be kept does not
            stand any more) or ``side_changed`` (what would go was corrected since the review was
            opened: correct or forget it instead); or ``blocked`` with ``own_proposal``: an agent,
            or who administers, does not decide about what it has brought itself. The user whose
            memories these are decides about all of them.

        Raises:
            InvalidInput: If ``keep`` is unknown or the reason too long.
        """
        return await Reviewer(self._services, self._principal).decide(review_id, keep, reason)

    async def undo(self, event_id: str) -> Outcome:
        """Take back what a write did: a correction, a replacement under a key or in a slot, a
        repetition that was held to be one, a decision.

        What it displaced stands again as it did, what it put in its place gives way; both are new
        states, under an event of their own, and the past stays what it was.

        Args:
            event_id: Of an event in :attr:`Outcome.events`, or in the audit trail.

        Returns:
            ``undone``, with the memory that stands again.

        Raises:
            QuotaExceeded: If what would stand again is one too many, and nothing gives way to it;
                otherwise the least useful does (LT-8).
            UndoRefused: If it is no event of this principal's own scope, replaced nothing, was
                undone before, or something has come of its result since; the message says what to
                do instead.
        """
        return await Undoer(self._services, self._principal).undo(event_id)

    async def get_metrics(self) -> dict[str, Any]:
        """Return what this process has counted since it opened the store, over all principals, and
        how this one's memories stand (MM-3, OB-3; docs/metrics.md).

        ``writes`` by outcome, ``dedups`` by the gate that found a repetition, ``reads`` that went
        for a prompt and ``hits`` that returned something, ``turns`` kept verbatim and
        ``captured_turns``, ``contradictions``, ``pii_blocks``, ``evictions``, ``hygiene`` by
        decision, ``phase`` (tasks in each), ``sessions``, ``model``, ``latency`` (histograms,
        seconds), ``rates``, and ``alerts``: each figure that has a threshold, and whether it is
        crossed. Of this principal alone are ``scopes`` and ``staleness``.

        Raises:
            StoreError: If the store cannot be read and nothing is warm.
        """
        owner = self._principal.home.owner
        view = await self._lookup.fresh.stored(Cue("", 1, (owner,)))
        index = self._services.indexes.of(owner)
        return metrics_of(self._services, {owner: index}, view.frozen)
