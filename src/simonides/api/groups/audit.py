"""The audit trail of a principal, safety records and feedback."""

from __future__ import annotations

from datetime import datetime

from simonides.api.arguments import Which, named
from simonides.api.groups.group import AsyncGroup
from simonides.domain.event import Event, EventType
from simonides.domain.governance.safety_record import FeedbackRecord, SafetyRecord
from simonides.domain.memory import is_id
from simonides.domain.reading.page import Page
from simonides.domain.value import enum_member, moment
from simonides.engine.operations import AuditFilter, Recorder, list_events
from simonides.engine.recall import MAX_LISTED, between
from simonides.text import check_text

MAX_ACTOR_BYTES = 1_024


class AsyncAudit(AsyncGroup):
    """Who did what to which memory; ``memory.audit``."""

    @property
    def _recorder(self) -> Recorder:
        return Recorder(self._bound.runtime, self._bound.principal)

    async def list(
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
        wanted = AuditFilter(
            subjects=None if which is None else await self._versions(which),
            type=None if type is None else enum_member(EventType, "type", type),
            actor=None if actor is None else check_text("actor", actor, MAX_ACTOR_BYTES),
            since=moment("since", since),
            until=moment("until", until),
        )
        most = between("limit", limit, 1, MAX_LISTED)
        home = self._bound.principal.home
        return await list_events(self._bound.runtime, home, wanted, most, cursor)

    async def _versions(self, which: Which) -> frozenset[str]:
        name = named(which)
        readable = await self._bound.asker.readable(None, "history")
        found = await self._bound.lookup.history(name, readable, readable)
        if not found and not is_id(name):
            raise await self._bound.not_found(name)
        return frozenset({name, *(record.id for record in found)})

    async def record_safety(
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

    async def record_feedback(
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
        return await self._recorder.feedback(
            label, source=source, score=score, comment=comment, at=at
        )
