"""What was said in sessions, until they are finalised."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple, Protocol

from simonides.domain.conversation.session import Observation, SessionEntry, SessionRecord
from simonides.domain.governance.erasure import Purged
from simonides.domain.governance.safety_record import KeptRecord, Shelf
from simonides.domain.scope import Scope
from simonides.ports.stores import Capability


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


class After(NamedTuple):
    """The last record of a page; the next page begins after it.

    Attributes:
        at: Its time, µs.
        id: Its id.
    """

    at: int
    id: str


class RecordStore(Protocol):
    """Records on shelves, ordered by time; recall never reads them.

    Calls block for one small transaction; callers on an event loop use
    :class:`~simonides.ports.Aside`. Any thread may call. Errors are
    :class:`~simonides.domain.errors.StoreError`.

    Attributes:
        location: Where the records are stored, for people; no password.
    """

    @property
    def location(self) -> str:
        """Where the records are stored, for people; no password."""

    def add(self, shelf: Shelf, record: KeptRecord, *, before: int) -> None:
        """Keep a record, and remove those of the shelf from before a moment (µs), in one
        transaction. On return the record is as durable as the store allows. An id that exists is
        kept once.
        """

    def page(
        self,
        shelf: Shelf,
        *,
        since: int,
        subject: bytes | None = None,
        after: After | None = None,
        limit: int = 1000,
    ) -> tuple[KeptRecord, ...]:
        """Return records of a shelf, newest first; of one time by id falling.

        Args:
            shelf: Which.
            since: None from before this moment, µs.
            subject: Of one subject only.
            after: Only those after this one.
            limit: At most so many.

        Raises:
            KeyUnavailable: If one is encrypted by a key that the ring lacks.
            StoreCorrupt: If one was changed.
        """

    def purge(self, shelf: Shelf, *, before: int | None) -> int:
        """Remove records of a shelf from before a moment (µs), or all; return how many. Needs no
        key.
        """

    def forget(self, subject: bytes) -> Purged:
        """Remove every record of a subject, on all shelves, and search the store's files for its
        bytes.

        Twice does no harm. Needs no key.

        Returns:
            The files searched; ``waits`` with ``records_residue`` if something is left in one, and
                what is out of reach.
        """

    def rewrap(self) -> int:
        """Encrypt with the ring's current key what another key encrypts, all or none.

        Returns how many records changed; 0 where nothing is encrypted.

        Raises:
            KeyUnavailable: If the ring lacks the key of one.
            StoreCorrupt: If one was changed.
        """

    def close(self) -> None:
        """Release every resource; twice does no harm."""
