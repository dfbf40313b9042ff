"""Safety records and feedback, kept apart from memories."""

from __future__ import annotations

from typing import NamedTuple, Protocol

from simonides.domain.erasure import Purged
from simonides.domain.records import KeptRecord, Shelf


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
