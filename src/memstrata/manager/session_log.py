"""The log of one session: what was observed, kept before all else (SE-1, SE-2)."""

from __future__ import annotations

from collections.abc import Sequence

from memstrata.domain.scope import Scope
from memstrata.domain.session import Entry, Logged
from memstrata.domain.session_codec import decode_entry, encode_entry
from memstrata.manager.services import Services

PAGE = 1_000
"""Entries read at a time; what the port gives of itself."""


class SessionLog:
    """Appends to the log of one session and reads it.

    Attributes:
        owner: Whose session it is.
        session: Its name.
    """

    def __init__(self, services: Services, owner: Scope, session: str) -> None:
        self._services = services
        self.owner = owner
        self.session = session

    async def append(
        self, entries: Sequence[Entry], *, at: int | None = None, first: int | None = None
    ) -> int:
        """Append entries, all or none; they are durable when it returns.

        Args:
            entries: In order; their texts are as they are to be kept.
            at: When they were observed, µs; None for now.
            first: As for the port.

        Returns:
            The number of the first.

        Raises:
            StoreError: If the store could not; nothing was written.
        """
        now = self._services.clock.now_us()
        written = [encode_entry(entry, now if at is None else at) for entry in entries]
        return await self._services.sessions.append(
            self.owner, self.session, written, now=now, due_at=now + self._idle_us, first=first
        )

    async def entries(self, *, after: int = -1) -> tuple[Logged, ...]:
        """Return all entries after a number, by number rising.

        Raises:
            StoreCorrupt: If one cannot be read.
            StoreError: If the store could not.
        """
        store, found = self._services.sessions, list[Logged]()
        while page := await store.entries(self.owner, self.session, after=after, limit=PAGE):
            found += [decode_entry(row, store.location) for row in page]
            after = page[-1].number
        return tuple(found)

    @property
    def _idle_us(self) -> int:
        return self._services.session_rules.idle_us
