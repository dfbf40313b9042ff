"""What waits for a person: candidates that are held back, and contradictions."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeAlias

from simonides.api.groups.group import AsyncGroup
from simonides.api.sync_markers import waits_for_model
from simonides.domain.errors import InvalidInput, NotFound
from simonides.domain.governance.held import Held
from simonides.domain.governance.review import Keep, Review, ReviewStatus
from simonides.domain.memory import Record, is_id
from simonides.domain.reading.page import Page, paged
from simonides.domain.value import shown
from simonides.domain.writing.decision import Candidate, Outcome, Outcomes
from simonides.engine.capture import carry_out
from simonides.engine.governance import Holder, Reviewer
from simonides.engine.recall import MAX_LISTED, between, sequence

PendingItem: TypeAlias = Held | Review
"""A held candidate, or a contradiction that a person is asked about; ``kind`` tells which."""

_KEEP = {"new": Keep.B, "old": Keep.A, "both": Keep.BOTH, "neither": Keep.NEITHER}


class AsyncPending(AsyncGroup):
    """What waits for a decision; ``memory.pending``."""

    @property
    def _holder(self) -> Holder:
        return Holder(self._bound.runtime, self._bound.principal)

    @property
    def _reviewer(self) -> Reviewer:
        return Reviewer(self._bound.runtime, self._bound.principal)

    async def list(
        self,
        *,
        kind: str | None = None,
        status: str = ReviewStatus.OPEN,
        scope: str | None = None,
        limit: int = 100,
        cursor: str | None = None,
    ) -> Page[PendingItem]:
        """Return what waits in this principal's own scope, oldest first.

        ``held``: a candidate that is kept back. Nobody recalls it, and it is stored only once it is
        approved. What has waited longer than the policy's ``review_days`` or
        ``consolidation.held_days`` is left out; the next hygiene cycle removes it.

        ``review``: two memories that contradict each other, in ``sides``. Both are recalled, marked
        ``in review``, until one of them is kept. A side that was forgotten or has expired is None.

        Args:
            kind: ``held`` or ``review``; None for both.
            status: Of reviews: ``open``, ``decided`` or ``expired``.
            scope: Of held candidates, as for :meth:`simonides.AsyncMemory.remember`.
            limit: At most this many.
            cursor: The ``next_cursor`` of the page before; None begins.

        Raises:
            InvalidInput: If an argument is unknown or out of range.
            ScopeDenied: If the scope is not this principal's to write.
        """
        if kind not in (None, "held", "review"):
            raise InvalidInput("kind", f"must be 'held' or 'review', not {shown(kind)}")
        most = between("limit", limit, 1, MAX_LISTED)
        held = () if kind == "review" else await self._holder.held(scope)
        reviews = () if kind == "held" else await self._reviewer.reviews(status)
        waiting: list[PendingItem] = sorted((*held, *reviews), key=_since)
        if cursor is not None:
            if not is_id(str(cursor)):
                raise InvalidInput("cursor", "is not of this list; begin anew without it")
            waiting = [item for item in waiting if item.id > cursor]
        return paged(waiting, most, lambda item: item.id)

    async def approve(self, id: str, *, reason: str = "", scope: str | None = None) -> Outcome:
        """Decide that a held candidate is to be stored.

        It is looked through and judged again by the policy of now, all guards bind, and its label
        stays: what came from outside is still ``external``, and what hygiene found ``sensitive``.

        Args:
            id: Of a held candidate.
            reason: Why, in a person's words; for the audit trail.
            scope: As for :meth:`list`.

        Returns:
            As of a write; ``blocked`` or ``dropped`` with the reason where policy or a guard is
            against it, and what policy blocks by now is removed. Or ``blocked`` with
            ``own_proposal``: who brought it leaves it to somebody else, but for the user, who
            decides about all memories of his own; or with ``promoted_from_elsewhere``: a copy that
            waits in an org would not be found when its original is forgotten.

        Raises:
            NotFound: If nothing is held back under this id.
            InvalidInput: If the reason is too long.
            ScopeDenied: If the scope is not this principal's to write.
            StoreError: If the store could not; then it waits on.
        """
        return _found(id, await self._holder.release(id, reason, scope))

    async def reject(self, id: str, *, reason: str = "", scope: str | None = None) -> Outcome:
        """Decide that a held candidate is not to be stored; whoever may write there may.

        Args:
            id: Of a held candidate.
            reason: Why, in a person's words; for the audit trail.
            scope: As for :meth:`list`.

        Returns:
            ``dropped``, with ``discarded``.

        Raises:
            NotFound: If nothing is held back under this id.
            InvalidInput: If the reason is too long.
            ScopeDenied: If the scope is not this principal's to write.
            StoreError: If the store could not; then it waits on.
        """
        return _found(id, await self._holder.discard(id, reason, scope))

    async def resolve(self, id: str, keep: str, *, reason: str = "") -> Outcome:
        """Decide a review: what is kept is verified by it, the other side gives way.

        What nobody has decided after the policy's ``review_days`` is ``expired``: both sides stay
        and keep their mark, and it may be decided all the same.

        Args:
            id: Of a review.
            keep: ``old``, the memory that stood, ``new``, the one that came, ``both``, or
                ``neither``.
            reason: Why, in a person's words; it goes into the audit trail and is forgotten with
                the memories.

        Returns:
            ``superseded`` where a side gave way, ``coexists`` where both stay; or ``dropped``
            with ``already_decided``, ``side_gone`` (what was to be kept does not stand any more)
            or ``side_changed`` (what would go was corrected since the review was opened: correct
            or forget it instead); or ``blocked`` with ``own_proposal``: an agent, or who
            administers, does not decide about what it has brought itself.

        Raises:
            NotFound: If there is no such review.
            InvalidInput: If ``keep`` is unknown or the reason too long.
        """
        if keep not in _KEEP:
            raise InvalidInput("keep", f"must be one of {', '.join(_KEEP)}, not {shown(keep)}")
        return _found(id, await self._reviewer.decide(id, _KEEP[keep].value, reason))

    async def to_verify(self) -> Page[Record]:
        """Return the memories that somebody should be asked to confirm, newest first.

        Unverified ones stay flagged until they are confirmed; they are asked about for an hour
        after they were recorded.
        """
        lookup = self._bound.lookup
        found = await lookup.list(await self._bound.asker.cue("", verb="list"))
        return Page(record for record in found if record.asks_to_be_verified(lookup.now))

    @waits_for_model
    async def propose(self, candidates: Sequence[Candidate]) -> Outcomes:
        """Take candidates of your own extractor through policy, in their order.

        What policy holds back waits here. A candidate that retracts something has it forgotten
        instead of stored. What stands between two retractions is one transaction. A candidate for
        a scope that is not this principal's to write is blocked.

        Raises:
            InvalidInput: If a value is not storable; nothing was written.
            ScopeDenied: If a caller's candidate is for such a scope; nothing was written.
            StoreError: If the store could not; what stands before it in the order is done.
        """
        bound = self._bound
        checked = [bound.writer.checked(c) for c in sequence("candidates", candidates)]
        writer = await bound.writer.bound_to_incarnation()
        _, outcomes = await carry_out(writer, bound.forgetter, checked)
        return Outcomes(outcomes)


def _since(item: PendingItem) -> str:
    return item.id  # UUIDv7: its order is that of time


def _found(id: str, outcome: Outcome) -> Outcome:
    if "not_found" in outcome.reasons:
        raise NotFound(str(id))
    return outcome
