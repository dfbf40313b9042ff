"""Groups of verbs on a memory."""

from __future__ import annotations

from datetime import datetime

from simonides.api.call import Bound
from simonides.core.errors import InvalidInput
from simonides.core.outcome import Event
from simonides.core.record import FULL_ID
from simonides.core.results import AuditReport, Page
from simonides.govern import audit


class Audit(Bound):
    """The audit trail of one owner: who did what to which memory, and when."""

    def list(
        self,
        *,
        type: str | None = None,
        actor: str | None = None,
        memory: str | None = None,
        since: datetime | str | None = None,
        until: datetime | str | None = None,
        limit: int = 100,
        cursor: str | None = None,
    ) -> Page[Event]:
        """Return audit events, newest first.

        Args:
            type: Only events of this type, for example ``superseded``.
            actor: Only events of this actor.
            memory: Only events of the memory with this root id; it may be forgotten since.
            since: Only events from this moment on.
            until: Only events before this moment.
            limit: Most events, 1 to 1,000.
            cursor: The ``next_cursor`` of the page before.

        Raises:
            InvalidInput: If an argument is out of range, or the cursor is none of this list.
        """
        if memory is not None and not FULL_ID.fullmatch(str(memory)):
            raise InvalidInput("memory", "must be a root id (record.root), not a key")
        return self._call(
            audit.list_events, type=type, actor=actor, memory=memory, since=since, until=until,
            limit=limit, cursor=cursor,
        )  # fmt: skip

    def verify(self) -> AuditReport:
        """Check that no row or event was edited, removed, re-ordered or rolled back.

        Returns:
            A report; true if everything fits.
        """
        return self._call(audit.verify)
