"""Where safety records and feedback lie: apart from memories (OB-2)."""

from __future__ import annotations

from typing import NamedTuple, Protocol

from simonides.domain.erasure import Purged
from simonides.domain.records import KeptRecord, Shelf


class After(NamedTuple):
    """The last record of a page, behind which the next begins.

    Attributes:
        at: Its time, µs.
        id: Its id.
    """

    at: int
    id: str


class RecordStore(Protocol):
    """Records on shelves, by time; no memory is among them and no recall asks here.

    Calls block for as long as one small transaction takes; whoever has an event loop makes them
    beside it (:class:`~simonides.ports.Aside`). Any thread may call. Errors are
    :class:`~simonides.domain.errors.StoreError`.

    Attributes:
        location: Where they lie, for people; no password.
    """

    @property
    def location(self) -> str:
        """See above."""

    def add(self, shelf: Shelf, record: KeptRecord, *, before: int) -> None:
        """Keep a record, and let those of the shelf from before a moment (µs) go, in one
        transaction. When it returns the record is durable, if anything here is. An id that is
        there already is kept once.
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
        """Return records of a shelf, newest first, of one time by id falling.

        Args:
            shelf: Which.
            since: None from before this moment, µs.
            subject: Of one subject only.
            after: Only those behind this one.
            limit: At most so many.

        Raises:
            KeyUnavailable: If one is sealed by a key that the ring lacks.
            StoreCorrupt: If one is not as it was written.
        """

    def purge(self, shelf: Shelf, *, before: int | None) -> int:
        """Remove records of a shelf from before a moment (µs), or all; return how many went. No
        key is needed for it.
        """

    def forget(self, subject: bytes) -> Purged:
        """Remove every record of a subject, on all shelves, and look for its bytes in what files
        there are (FX-3). Twice does no harm. No key is needed for it.

        Returns:
            The files that were looked at; ``waits`` with ``records_residue`` if something is left
            in one, and what is out of reach.
        """

    def rewrap(self) -> int:
        """Seal anew, by the ring's current key, what is sealed by another, all or none; return how
        many records that were. Where nothing is sealed there is nothing to do.

        Raises:
            KeyUnavailable: If the ring lacks the key of one.
            StoreCorrupt: If one is not as it was sealed.
        """

    def close(self) -> None:
        """Release every resource; twice does no harm."""
