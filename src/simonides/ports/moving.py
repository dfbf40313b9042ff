"""Stores whose owners can be moved to another store, row by row."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from simonides.domain.moving import OwnerFacts, Part, Row, StoreKeys
from simonides.ports.stores import MemoryStore


class MovableStore(MemoryStore, Protocol):
    """A store whose owners can be moved to another, row by row (``simonides migrate``).

    Owners are named by their 16-byte digests, since the keys that make them move too. Rows are
    those of :data:`~simonides.domain.moving.PARTS`. A receiving store is closed to all others from
    :meth:`begin_arrivals` to :meth:`end_arrivals`, even after the process ends: opening it as usual
    raises ``StoreUnavailable``. At most one owner is in transfer at a time. Until
    :meth:`end_arrival` it is in neither :meth:`facts` nor ``owners()``.

    Errors are those of :class:`MemoryStore`; writes are as durable as its commits.
    """

    async def keys(self) -> StoreKeys:
        """Return the keys of the store's digests."""

    async def inhabitants(self) -> tuple[bytes, ...]:
        """Return the digests of all owners with :meth:`facts` or any row that moves; sorted."""

    async def facts(self, owner: bytes) -> OwnerFacts | None:
        """Return an owner's facts; None if never written, or not fully received."""

    async def page(
        self, owner: bytes, part: Part, *, after: Row | None = None, limit: int = 500
    ) -> tuple[Row, ...]:
        """Return an owner's rows of one part by key, from the first key greater than ``after``."""

    async def last_key(self, owner: bytes, part: Part) -> Row | None:
        """Return the greatest key of an owner's rows of one part; None if there are none."""

    async def begin_arrivals(self, keys: StoreKeys) -> None:
        """Close the store to all others; if it has no rows at all, adopt these keys.

        Called again after an interruption it resumes; the owner in transfer stays.

        Raises:
            MoveRefused: ``other_store``, if it has rows made with other keys.
            StoreUnavailable: If another process has it open.
        """

    async def begin_arrival(self, owner: bytes, mark: bytes) -> None:
        """Begin to receive an owner; rows of another, partly received one are removed first.

        Called again with the same ``mark``, the rows already received stay.

        Raises:
            MoveRefused: ``exists``, if the owner has facts or rows that did not come this way.
        """

    async def arrive(self, owner: bytes, rows: Sequence[tuple[Part, Sequence[Row]]]) -> None:
        """Add rows to the owner in transfer, all of them or none.

        Raises:
            ValueError: If no such owner is in transfer, or a row of this key exists.
        """

    async def end_arrival(self, owner: bytes, facts: OwnerFacts | None) -> None:
        """Complete the owner in transfer: write its facts last (None: it has only rows).

        Raises:
            ValueError: If no such owner is in transfer.
        """

    async def end_arrivals(self) -> None:
        """Open the store to all; a partly received owner is removed. Twice does no harm."""
