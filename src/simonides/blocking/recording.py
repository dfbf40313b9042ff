"""The verbs about safety records and feedback without an event loop; no logic lives here."""

from __future__ import annotations

from datetime import datetime

from simonides.blocking.driver import Driver
from simonides.domain.records import FeedbackRecord, RecordsPurged, SafetyRecord
from simonides.domain.scope import DEFAULT_ORG
from simonides.manager.recording_verbs import AsyncAdminRecords, AsyncRecordingVerbs


class RecordingVerbs:
    """What is recorded about a principal's conversations; see :class:`simonides.MemoryManager`."""

    _recording: AsyncRecordingVerbs
    _driver: Driver

    def safety_event(
        self,
        kind: str,
        *,
        severity: str = "high",
        done: str = "",
        note: str = "",
        at: datetime | str | None = None,
    ) -> SafetyRecord:
        """See :meth:`simonides.AsyncMemoryManager.safety_event`."""
        work = self._recording.safety_event(kind, severity=severity, done=done, note=note, at=at)
        return self._driver.run(work)

    def feedback(
        self,
        label: str,
        *,
        source: str = "user",
        score: float | None = None,
        comment: str = "",
        at: datetime | str | None = None,
    ) -> FeedbackRecord:
        """See :meth:`simonides.AsyncMemoryManager.feedback`."""
        work = self._recording.feedback(label, source=source, score=score, comment=comment, at=at)
        return self._driver.run(work)


class AdminRecords:
    """How an administrator sees and removes records; see :class:`simonides.AsyncAdmin`."""

    _admin: AsyncAdminRecords
    _driver: Driver

    def safety_events(
        self,
        *,
        user: str | None = None,
        org: str = DEFAULT_ORG,
        kind: str | None = None,
        since: datetime | str | None = None,
        limit: int = 100,
    ) -> tuple[SafetyRecord, ...]:
        """See :meth:`simonides.AsyncAdmin.safety_events`."""
        work = self._admin.safety_events(user=user, org=org, kind=kind, since=since, limit=limit)
        return self._driver.run(work)

    def feedback(
        self,
        *,
        user: str | None = None,
        org: str = DEFAULT_ORG,
        label: str | None = None,
        since: datetime | str | None = None,
        limit: int = 100,
    ) -> tuple[FeedbackRecord, ...]:
        """See :meth:`simonides.AsyncAdmin.feedback`."""
        work = self._admin.feedback(user=user, org=org, label=label, since=since, limit=limit)
        return self._driver.run(work)

    def purge_safety(self, *, everything: bool = False) -> RecordsPurged:
        """See :meth:`simonides.AsyncAdmin.purge_safety`."""
        return self._driver.run(self._admin.purge_safety(everything=everything))

    def purge_feedback(self, *, everything: bool = False) -> RecordsPurged:
        """See :meth:`simonides.AsyncAdmin.purge_feedback`."""
        return self._driver.run(self._admin.purge_feedback(everything=everything))
