"""The verbs that keep safety records and feedback, and those that show and remove them."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import Any

from simonides.api.sync_markers import waits_for_model
from simonides.capture import flag
from simonides.domain.governance.consent import Consent, ConsentChange
from simonides.domain.governance.held import Held
from simonides.domain.governance.review import Review, ReviewStatus
from simonides.domain.governance.safety_record import (
    FeedbackRecord,
    RecordsPurged,
    SafetyRecord,
    Shelf,
)
from simonides.domain.operations.hygiene_scan import HygieneReport
from simonides.domain.reading.cue import Cue
from simonides.domain.scope import DEFAULT_ORG, Principal, Scope
from simonides.domain.writing.decision import Outcome
from simonides.engine.core.runtime import Runtime
from simonides.engine.edit.undo import Undoer
from simonides.engine.governance.consents import Consenter
from simonides.engine.governance.held import Holder
from simonides.engine.governance.reviews import Reviewer
from simonides.engine.hygiene_scan.scan import Cycle
from simonides.engine.operations.metrics import metrics_of
from simonides.engine.operations.safety_records import Recorder, RecordKeeper
from simonides.engine.recall.lookup import Lookup
from simonides.engine.recall.query import MAX_LISTED, between, sequence
from simonides.engine.sessions.close_tasks import TaskEnd, TaskEnder


class AsyncRecordingVerbs:
    """What is recorded about a principal's conversations; see
    :class:`simonides.AsyncMemory`, which has these verbs.
    """

    _runtime: Runtime
    _principal: Principal

    async def safety_event(
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
        return await self._recorder.safety_event(
            kind, severity=severity, done=done, note=note, at=at
        )

    async def feedback(
        self,
        label: str,
        *,
        source: str = "user",
        score: float | None = None,
        comment: str = "",
        at: datetime | str | None = None,
    ) -> FeedbackRecord:
        """Record what somebody thought of what an agent did in this session.

        It is no memory either; see :meth:`safety_event`.

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
        return await self._recorder.feedback(
            label, source=source, score=score, comment=comment, at=at
        )

    @property
    def _recorder(self) -> Recorder:
        return Recorder(self._runtime, self._principal)


class AsyncAdminRecords:
    """How an administrator sees and removes records; see :class:`simonides.AsyncAdmin`."""

    _runtime: Runtime
    _principal: Principal

    async def safety_events(
        self,
        *,
        user: str | None = None,
        org: str = DEFAULT_ORG,
        kind: str | None = None,
        since: datetime | str | None = None,
        limit: int = 100,
    ) -> tuple[SafetyRecord, ...]:
        """Return safety records, newest first; the trail says that they were read.

        Args:
            user: Only those about this user; None means all, of every org.
            org: The user's.
            kind: Only those of this kind.
            since: None from before.
            limit: At most this many.

        Raises:
            InvalidInput: If an argument is out of range.
            InvalidScope: If an id is malformed.
            KeyUnavailable: If one is encrypted by a key that the ring lacks.
            StoreError: If they cannot be read.
        """
        most = between("limit", limit, 1, MAX_LISTED)
        return await self._verifier.safety_events(_owner(user, org), kind, since, most)

    async def feedback(
        self,
        *,
        user: str | None = None,
        org: str = DEFAULT_ORG,
        label: str | None = None,
        since: datetime | str | None = None,
        limit: int = 100,
    ) -> tuple[FeedbackRecord, ...]:
        """Return feedback, newest first; as for :meth:`safety_events`.

        Args:
            user: Only that of this user's sessions; None means all, of every org.
            org: The user's.
            label: Only with this label.
            since: None from before.
            limit: At most this much.
        """
        most = between("limit", limit, 1, MAX_LISTED)
        return await self._verifier.feedback(_owner(user, org), label, since, most)

    async def purge_safety(self, *, everything: bool = False) -> RecordsPurged:
        """Remove safety records whose retention is over (setting ``safety_days``), or all.

        A long-lived process does the former by itself, and whatever records something does. The
        trail says it before the first record goes.

        Args:
            everything: Whether all go, however new.

        Raises:
            StoreError: If the store could not.
        """
        return await self._verifier.purge(Shelf.SAFETY, everything=flag("everything", everything))

    async def purge_feedback(self, *, everything: bool = False) -> RecordsPurged:
        """Remove feedback whose retention is over (setting ``feedback_days``), or all; as for
        :meth:`purge_safety`.

        Args:
            everything: Whether all goes, however new.
        """
        return await self._verifier.purge(Shelf.FEEDBACK, everything=flag("everything", everything))

    @property
    def _verifier(self) -> RecordKeeper:
        return RecordKeeper(self._runtime, self._principal)


def _owner(user: str | None, org: str) -> Scope | None:
    return None if user is None else Scope.of_user(org, user)


class AsyncChangingVerbs:
    """What a manager decides and takes back; see :class:`simonides.AsyncMemory`, which has
    these verbs.
    """

    _runtime: Runtime
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
        return await Reviewer(self._runtime, self._principal).reviews(status)

    async def decide(self, review_id: str, keep: str, *, reason: str = "") -> Outcome:
        """Decide a review: what is kept is verified by it, the other side gives way.

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
        return await Reviewer(self._runtime, self._principal).decide(review_id, keep, reason)

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
                otherwise the least useful does.
            UndoRefused: If it is no event of this principal's own scope, replaced nothing, was
                undone before, or something has come of its result since; the message says what to
                do instead.
        """
        return await Undoer(self._runtime, self._principal).undo(event_id)

    async def get_metrics(self) -> dict[str, Any]:
        """Return what this process has counted since it opened the store, over all principals, and
        how this one's memories stand; see docs/operations.md.

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
        index = self._runtime.indexes.of(owner)
        return metrics_of(self._runtime, {owner: index}, view.frozen)


class AsyncConsentVerbs:
    """What a person refuses and allows; see :class:`simonides.AsyncMemory`, which has these
    verbs.
    """

    _runtime: Runtime
    _principal: Principal

    async def refuse(
        self, key: str | None = None, *, category: str | None = None, remove: bool = False
    ) -> ConsentChange:
        """Have nothing remembered under a key or in a category.

        From then on every write of it is blocked (``consent_refused:key`` or ``:category``), and
        every read hides it, for all callers. Held candidates of it are dropped.
        It holds for the whole owner: of a user in all tasks and sessions and for every agent. What
        an org or all share under such a name is not the user's and is still seen; the user writes
        nothing there under it.

        Args:
            key: A key; exactly it, in every scope of the owner.
            category: A category; a key that was allowed by name is spared.
            remove: Also forget what there is, as :meth:`forget` does, with all versions and every
                agent's. Otherwise it is only hidden, and seen again once it is allowed.

        Raises:
            InvalidInput: If not exactly one of the two is named, the policy has no such category,
                or the owner has too many.
            StoreError: If the store could not. If only part of it was done, asking again does the
                rest: the refusal itself comes first.
        """
        return await self._consenter.refuse(key, category, remove=remove)

    async def allow(self, key: str | None = None, *, category: str | None = None) -> ConsentChange:
        """Take a refusal back, or spare a key though its category is refused.

        Raises:
            InvalidInput: If not exactly one of the two is named, or the owner has too many.
            StoreError: If the store could not; nothing was changed.
        """
        return await self._consenter.allow(key, category)

    async def set_recall(self, on: bool) -> ConsentChange:  # noqa: FBT001 - the one thing it says
        """Switch recall of everything that this principal's owner has off, or on again.

        While it is off, :meth:`recall`, :meth:`digest`, :meth:`push`, :meth:`search_memory`,
        triggers and agents answer nothing and say ``recall_off`` in ``degraded``; that is no error.
        Nor does anything of this owner go into what others recall. It is durable, holds for the
        whole owner (of a user in all tasks and sessions, for every agent and in every process),
        travels with an export, and is in the trail. What it leaves alone: writes, safety records
        and feedback, and the owner's own looks at what there is (:meth:`list`, :meth:`get`,
        :meth:`history`, :meth:`export`). What was shown before is not given again
        (:class:`~simonides.NotReplayable`) until it is on.

        Args:
            on: Whether memories may be recalled.

        Raises:
            InvalidInput: If it is neither True nor False.
            StoreError: If the store could not; nothing was changed.
        """
        return await self._consenter.set_recall(on=flag("on", on))

    async def consents(self) -> tuple[Consent, ...]:
        """Return what was refused and allowed, categories first, then keys, then recall, by name.

        Only the owner's own are returned. Administrators of the org and users with a grant to read
        the memories do not learn what was refused; such memories are just missing.
        """
        return await self._consenter.seen()

    async def end_task(self, task: str, *, promote: Sequence[str] = ()) -> TaskEnd:
        """End a task: copy what was worth it to its user, then remove the rest.

        Every agent's memories of the task go, and candidates that are held back for it. Nothing is
        blocked by that: unlike what was forgotten, it may be learned again.
        A run of it that is under way (:meth:`task`) goes on; it loses what it had there.

        Args:
            task: Name of a task of this user.
            promote: Ids of memories of the task that go up first, as by :meth:`promote`. If one
                cannot, nothing is removed and ``ended`` is false.

        Raises:
            InvalidScope: If the name is malformed, or this principal has no user.
            ScopeDenied: If this principal is at home in another task.
        """
        return await TaskEnder(self._runtime, self._principal).end(
            task, sequence("promote", promote)
        )

    @property
    def _consenter(self) -> Consenter:
        return Consenter(self._runtime, self._principal)


class AsyncCycleVerbs:
    """Looking through what is stored; see :class:`simonides.AsyncMemory`, which has this
    verb.
    """

    _runtime: Runtime
    _principal: Principal

    @waits_for_model
    async def hygiene(self, *, dry_run: bool = False) -> HygieneReport:
        """Look through this principal's memories, its tasks' too, for what writes did not find.

        What was said twice is merged; what a later statement updates gives way to it; of what
        contradicts itself a clear gap of confidence decides, else a person is asked
        (:meth:`reviews`); reviews that nobody has decided in time expire, and what waited as
        long because of what hygiene found in it is let go. What is stale is counted, and in what
        policy, as it is today, would do something about what hygiene finds. Everything that is done
        is an event, and what gave way stays in history. Run again at once it finds nothing to do.

        Where there is a language model it is asked, once, about statements that are near to each
        other in meaning and of which the rules say nothing. That it fails, or what it answers
        amiss, is among the report's ``diagnostics``; the rules' answer stands then.

        Args:
            dry_run: Only say what would be done; the model is asked for that too.

        Raises:
            StoreError: If the store could not; what was done until then stays.
        """
        cycle = Cycle(self._runtime, self._principal)
        return await cycle.run(self._principal.home.owner, dry_run=dry_run)


class AsyncHoldingVerbs:
    """What a manager decides about what waits; see :class:`simonides.AsyncMemory`, which has
    these verbs.
    """

    _runtime: Runtime
    _principal: Principal

    async def held(self, *, scope: str | None = None) -> tuple[Held, ...]:
        """Return what is kept back in a scope, oldest first: recalled by nobody, and stored only
        once it is released.

        What waits because of what hygiene found, and nobody has decided about after the policy's
        ``review_days``, is left out, and so is what nothing has borne out for its
        ``consolidation.held_days``; the next hygiene cycle lets it go.

        Args:
            scope: Of this principal, as for :meth:`remember`; None for its own.

        Raises:
            InvalidScope: If the scope is unknown.
            ScopeDenied: If the scope is not this principal's to write.
        """
        return await Holder(self._runtime, self._principal).held(scope)

    async def release(self, held_id: str, *, reason: str = "", scope: str | None = None) -> Outcome:
        """Decide that what is kept back is to be stored.

        It is looked through and judged again by the policy of now, all guards bind, and its label
        stays: what came from outside is still ``external``, and what hygiene found ``sensitive``.

        Args:
            held_id: Of what waits.
            reason: Why, in a person's words; for the audit trail.
            scope: As for :meth:`held`.

        Returns:
            As of a write; ``blocked`` or ``dropped`` with the reason where policy or a guard is
            against it, and what policy blocks by now is let go. Or ``dropped`` with ``not_found``;
            or ``blocked`` with ``own_proposal``: who brought it leaves it to somebody else, but for
            the user, who decides about all memories of his own; or with
            ``promoted_from_elsewhere``: a copy that waits in an org would not be found when its
            original is forgotten.

        Raises:
            InvalidInput: If the reason is too long.
            ScopeDenied: If the scope is not this principal's to write.
            StoreError: If the store could not; then it waits on.
        """
        return await Holder(self._runtime, self._principal).release(held_id, reason, scope)

    async def discard(self, held_id: str, *, reason: str = "", scope: str | None = None) -> Outcome:
        """Decide that what is kept back is not to be stored; whoever may write there may.

        Args:
            held_id: Of what waits.
            reason: Why, in a person's words; for the audit trail.
            scope: As for :meth:`held`.

        Returns:
            ``dropped``, with ``discarded`` or ``not_found``.

        Raises:
            InvalidInput: If the reason is too long.
            ScopeDenied: If the scope is not this principal's to write.
            StoreError: If the store could not; then it waits on.
        """
        return await Holder(self._runtime, self._principal).discard(held_id, reason, scope)
