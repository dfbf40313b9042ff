"""The blocking face of the async classes.

Written by ``scripts/generate_sync.py``: edit the async classes and run the script. Each method
drives the async method of the same name (:mod:`simonides.api.sync.driver`).
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime

from simonides.api.arguments import Which
from simonides.api.groups.audit import AsyncAudit
from simonides.api.groups.pending import AsyncPending, PendingItem
from simonides.api.groups.receipts import AsyncReceipts
from simonides.api.sync.driver import Driver
from simonides.domain.event import Event
from simonides.domain.governance.review import ReviewStatus
from simonides.domain.governance.safety_record import FeedbackRecord, SafetyRecord
from simonides.domain.memory import Record
from simonides.domain.reading.digest import Digest, Verification
from simonides.domain.reading.page import Page
from simonides.domain.reading.recall import Recall
from simonides.domain.reading.receipt import Receipt
from simonides.domain.writing.decision import Candidate, Outcome, Outcomes


class Pending:
    """What waits for a decision; ``memory.pending``."""

    def __init__(self, pending: AsyncPending, driver: Driver) -> None:
        self._pending = pending
        self._driver = driver

    def list(
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
            scope: Of held candidates, as for :meth:`simonides.Memory.remember`.
            limit: At most this many.
            cursor: The ``next_cursor`` of the page before; None begins.

        Raises:
            InvalidInput: If an argument is unknown or out of range.
            ScopeDenied: If the scope is not this principal's to write.
        """
        return self._driver.run(
            self._pending.list(kind=kind, status=status, scope=scope, limit=limit, cursor=cursor)
        )

    def approve(self, id: str, *, reason: str = "", scope: str | None = None) -> Outcome:
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
        return self._driver.run(self._pending.approve(id, reason=reason, scope=scope))

    def reject(self, id: str, *, reason: str = "", scope: str | None = None) -> Outcome:
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
        return self._driver.run(self._pending.reject(id, reason=reason, scope=scope))

    def resolve(self, id: str, keep: str, *, reason: str = "") -> Outcome:
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
        return self._driver.run(self._pending.resolve(id, keep, reason=reason))

    def to_verify(self) -> Page[Record]:
        """Return the memories that somebody should be asked to confirm, newest first.

        Unverified ones stay flagged until they are confirmed; they are asked about for an hour
        after they were recorded.
        """
        return self._driver.run(self._pending.to_verify())

    def propose(self, candidates: Sequence[Candidate]) -> Outcomes:
        """Take candidates of your own extractor through policy, in their order.

        What policy holds back waits here. A candidate that retracts something has it forgotten
        instead of stored. What stands between two retractions is one transaction. A candidate for
        a scope that is not this principal's to write is blocked.

        Raises:
            InvalidInput: If a value is not storable; nothing was written.
            ScopeDenied: If a caller's candidate is for such a scope; nothing was written.
            StoreError: If the store could not; what stands before it in the order is done.
        """
        return self._driver.run(self._pending.propose(candidates), asks_model=True)

    def __repr__(self) -> str:
        return self._pending.__repr__()


class Receipts:
    """What was shown, and what answers made of it; ``memory.receipts``."""

    def __init__(self, receipts: AsyncReceipts, driver: Driver) -> None:
        self._receipts = receipts
        self._driver = driver

    def list(self, *, limit: int = 100) -> Page[Receipt]:
        """Return the receipts of this principal's digests, pushes and pulls, oldest first.

        Args:
            limit: Only so many of the owner's newest are looked at; those that were given to
                another agent, for another purpose or to one of its tasks are not this reader's.
        """
        return self._driver.run(self._receipts.list(limit=limit))

    def verify(self, answer: str | Sequence[str], receipt: Receipt) -> Verification:
        """Check that what an answer cites was really shown, and that it shows in it.

        The relevance threshold learns from it: which of what was shown was used.

        Args:
            answer: A text, in which ids are looked for; or the ids and keys that were declared.
            receipt: Of the digest or recall that the answer was made from.

        Raises:
            InvalidInput: If the answer is neither, or the receipt is none.
            ScopeDenied: If a scope of the receipt may not be read.
        """
        return self._driver.run(self._receipts.verify(answer, receipt))

    def replay(self, receipt: Receipt) -> Digest | Recall:
        """Return the digest that a receipt is of, byte for byte, or the recall with the same hits.

        It is ``ranked`` again where ranker, analyser, embedder and policy are what they were, else
        ``rendered`` from the receipt; see :class:`~simonides.types.Made`.

        Raises:
            NotReplayable: If something that was shown is erased or purged.
            InvalidInput: If it is no receipt.
            ScopeDenied: If it is another reader's, or one of its scopes may not be read.
        """
        return self._driver.run(self._receipts.replay(receipt))

    def __repr__(self) -> str:
        return self._receipts.__repr__()


class Audit:
    """Who did what to which memory; ``memory.audit``."""

    def __init__(self, audit: AsyncAudit, driver: Driver) -> None:
        self._audit = audit
        self._driver = driver

    def list(
        self,
        *,
        which: Which | None = None,
        type: str | None = None,
        actor: str | None = None,
        since: datetime | str | None = None,
        until: datetime | str | None = None,
        limit: int = 100,
        cursor: str | None = None,
    ) -> Page[Event]:
        """Return the audit events of this principal's own scope and its tasks, newest first.

        Events hold ids, reasons and times, never content. The payload of an event is erased
        with its memories; such events are left out.

        Args:
            which: Only events of one memory, all its versions included.
            type: Only this type, see :class:`~simonides.types.EventType`.
            actor: Only by this principal, as events name it.
            since: None from before.
            until: None from this time on.
            limit: At most this many.
            cursor: The ``next_cursor`` of the page before; None begins.

        Raises:
            NotFound: If ``which`` names no memory that this principal may read.
            InvalidInput: If an argument is unknown or out of range.
            StoreError: If the store cannot be read.
        """
        return self._driver.run(
            self._audit.list(
                which=which,
                type=type,
                actor=actor,
                since=since,
                until=until,
                limit=limit,
                cursor=cursor,
            )
        )

    def record_safety(
        self,
        kind: str,
        *,
        severity: str = "high",
        done: str = "",
        note: str = "",
        at: datetime | str | None = None,
    ) -> SafetyRecord:
        """Record that something happened that concerns this person's safety.

        It is no memory: nothing recalls it, no digest shows it, no export holds it, and switching
        recall off leaves it on. It names the user and the session by keyed digests only.

        Args:
            kind: Name of what it was: lower-case letters, digits, ``_ . -``, at most 64.
            severity: ``low``, ``medium``, ``high`` or ``critical``.
            done: Name of what was done about it, likewise; empty for nothing.
            note: A few words, at most 2,000 bytes. Secrets, personal data and the ids of the user,
                the session and the task are struck out.
            at: When it happened; None means now.

        Returns:
            The record, as it is kept.

        Raises:
            InvalidInput: If a value is not storable, or a name looks like a secret.
            StoreError: If it could not be kept.
        """
        return self._driver.run(
            self._audit.record_safety(kind, severity=severity, done=done, note=note, at=at)
        )

    def record_feedback(
        self,
        label: str,
        *,
        source: str = "user",
        score: float | None = None,
        comment: str = "",
        at: datetime | str | None = None,
    ) -> FeedbackRecord:
        """Record what somebody thought of what an agent did in this session.

        It is no memory either; see :meth:`record_safety`.

        Args:
            label: Name of the verdict, ``helpful`` for one; as a kind there.
            source: Name of who gave it: ``user``, ``operator``, ``model`` or another.
            score: From -1 to 1; None for none.
            comment: In words, at most 8,000 bytes; scrubbed as a note there.
            at: When it was given; None means now.

        Returns:
            The feedback, as it is kept.

        Raises:
            InvalidInput: If a value is not storable, or a name looks like a secret.
            StoreError: If it could not be kept.
        """
        return self._driver.run(
            self._audit.record_feedback(label, source=source, score=score, comment=comment, at=at)
        )

    def __repr__(self) -> str:
        return self._audit.__repr__()
