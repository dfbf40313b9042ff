"""What was said in sessions, until they are finalised."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from simonides.domain.scope import Scope
from simonides.domain.session import Observation, SessionEntry, SessionRecord
from simonides.ports.capability import Capability


class SessionStore(Protocol):
    """What was observed in sessions, until they are finalised (SE-1, SE-2).

    It holds entries only; held candidates and the steps of a session's end live in the memory
    store (SE-5). Every call but the operator's names the owner it is about, and no call returns or
    changes anything of another's. Errors are those of :class:`MemoryStore`. Names of sessions may
    be any text that has a UTF-8; a call with another, or with a scope that is no owner, raises
    ``ValueError``.
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

        Numbers go on from the last without gaps, whoever else appends. When the call returns they
        are as durable as the store promises. The first append opens the session.

        Args:
            owner: Whose session.
            session: Its name.
            observations: In order; may be empty, to open the session or to move ``due_at``.
            now: The clock, µs; when a new session started.
            due_at: When the session counts as left from now on, µs; None for never.
            first: The number that the first must get, for a caller that tries again after an
                error: what stands there already is not written a second time.

        Raises:
            ValueError: If ``first`` would leave a gap, or something else stands there; nothing was
                written.
        """

    async def entries(
        self, owner: Scope, session: str, *, after: int = -1, limit: int = 1000
    ) -> tuple[SessionEntry, ...]:
        """Return entries by number rising, from ``after + 1`` on; empty for an unknown session."""

    async def sessions(self, owner: Scope) -> tuple[SessionRecord, ...]:
        """Return an owner's sessions; order: started, then id."""

    async def due(self, now: int, *, limit: int = 100) -> tuple[tuple[Scope, SessionRecord], ...]:
        """For the operator: sessions with ``due_at <= now``, of all owners, the longest due first;
        those due at the same moment in no promised order.
        """

    async def drop(self, owner: Scope, session: str, *, entries: int | None = None) -> bool:
        """Remove a session that is finalised with all its entries; an unknown one is ignored.

        With ``entries`` only if it has no more than so many: somebody may have gone on with it.
        Returns whether nothing of it is left.
        """
