"""What was said in sessions, until they are finalised."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from simonides.domain.scope import Scope
from simonides.domain.session import Observation, SessionEntry, SessionRecord
from simonides.ports.capability import Capability


class SessionStore(Protocol):
    """Entries of sessions, until they are finalised.

    Held candidates and the steps of a session's end are in the memory store. Every call but the
    operator's names its owner, and no call returns or changes anything of another owner. Errors are
    those of :class:`MemoryStore`. A session's name may be any text that can be written in UTF-8;
    any other, or a scope that is no owner, raises ``ValueError``.
    """

    capabilities: frozenset[Capability]
    location: str

    async def close(self) -> None:
        """Release every resource; twice does no harm, other calls then raise."""

    async def append(
        self,
        owner: Scope,
        session: str,
        observations: Sequence[Observation],
        *,
        now: int,
        due_at: int | None = None,
        first: int | None = None,
    ) -> int:
        """Append observations, all or none, and return the number of the first.

        Numbers go on from the last without gaps, even with concurrent writers. On return they are
        as durable as the store promises. The first append opens the session.

        Args:
            owner: Whose session.
            session: Its name.
            observations: In order; may be empty, to open the session or to move ``due_at``.
            now: The clock, µs; the start of a new session.
            due_at: When the session counts as abandoned, µs; None for never.
            first: The expected number of the first, to retry safely after an error: an existing
                entry is not written twice.

        Raises:
            ValueError: If ``first`` would leave a gap, or another entry has that number; nothing
                was written.
        """

    async def entries(
        self, owner: Scope, session: str, *, after: int = -1, limit: int = 1000
    ) -> tuple[SessionEntry, ...]:
        """Return entries by number rising, from ``after + 1`` on; empty for an unknown session."""

    async def sessions(self, owner: Scope) -> tuple[SessionRecord, ...]:
        """Return an owner's sessions; order: started, then id."""

    async def due(self, now: int, *, limit: int = 100) -> tuple[tuple[Scope, SessionRecord], ...]:
        """For the operator: sessions of all owners with ``due_at <= now``, the longest due first.
        Those due at the same moment come in no promised order.
        """

    async def drop(self, owner: Scope, session: str, *, entries: int | None = None) -> bool:
        """Remove a finalised session with all its entries; an unknown one is ignored. With
        ``entries``, only if it has no more than so many: a concurrent writer may have added to it.
        Returns whether nothing of it is left.
        """
