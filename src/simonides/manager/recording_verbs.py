"""The verbs that keep safety records and feedback, and those that show and remove them (OB-2)."""

from __future__ import annotations

from datetime import datetime

from simonides.capture.drafts import flag
from simonides.domain.records import FeedbackRecord, RecordsPurged, SafetyRecord, Shelf
from simonides.domain.scope import DEFAULT_ORG, Principal, Scope
from simonides.manager.asking import MAX_LISTED, between
from simonides.manager.recording import Recorder, RecordKeeper
from simonides.manager.services import Services


class AsyncRecordingVerbs:
    """What is recorded about a principal's conversations; see
    :class:`simonides.AsyncMemoryManager`, which has these verbs.
    """

    _services: Services
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
        """Record that something happened that concerns this person's safety (OB-2).

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
        """Record what somebody thought of what an agent did in this session (OB-2).

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
        return Recorder(self._services, self._principal)


class AsyncAdminRecords:
    """How an administrator sees and removes records; see :class:`simonides.AsyncAdmin`."""

    _services: Services
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
        """Return safety records, newest first; the trail says that they were read (OB-2).

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
        return await self._keeper.safety_events(_owner(user, org), kind, since, most)

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
        return await self._keeper.feedback(_owner(user, org), label, since, most)

    async def purge_safety(self, *, everything: bool = False) -> RecordsPurged:
        """Remove safety records whose retention is over (setting ``safety_days``), or all.

        A long-lived process does the former by itself, and whatever records something does. The
        trail says it before the first record goes.

        Args:
            everything: Whether all go, however new.

        Raises:
            StoreError: If the store could not.
        """
        return await self._keeper.purge(Shelf.SAFETY, everything=flag("everything", everything))

    async def purge_feedback(self, *, everything: bool = False) -> RecordsPurged:
        """Remove feedback whose retention is over (setting ``feedback_days``), or all; as for
        :meth:`purge_safety`.

        Args:
            everything: Whether all goes, however new.
        """
        return await self._keeper.purge(Shelf.FEEDBACK, everything=flag("everything", everything))

    @property
    def _keeper(self) -> RecordKeeper:
        return RecordKeeper(self._services, self._principal)


def _owner(user: str | None, org: str) -> Scope | None:
    return None if user is None else Scope.of_user(org, user)
