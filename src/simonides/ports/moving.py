"""A store whose owners can be carried to another, row by row."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from simonides.domain.moving import OwnerFacts, Part, Row, StoreKeys
from simonides.ports.stores import MemoryStore


class MovableStore(MemoryStore, Protocol):
    """A store whose owners can be carried to another, row by row (``simonides migrate``).

    Owners are named by their 16-byte digests, for the keys that make them move too. Rows are
    those of :data:`~simonides.domain.moving.PARTS`. A store that takes owners in is closed to
    everybody else from :meth:`begin_arrivals` to :meth:`end_arrivals`, over the end of the
    process too: opening it as usual raises ``StoreUnavailable``. At most one owner is on its way
    at a time, and until :meth:`end_arrival` it is in neither :meth:`facts` nor ``owners()``.

    Errors are those of :class:`MemoryStore`; what is written is durable as its commits are.
    """

    async def keys(self) -> StoreKeys:
        """Return what the store's digests are made with."""

    async def inhabitants(self) -> tuple[bytes, ...]:
        """Return the digest of everybody who has :meth:`facts` or any row that moves; sorted."""

    async def facts(self, owner: bytes) -> OwnerFacts | None:
        """Return where an owner stands; None for one never written, or not whole yet."""

    async def page(
        self, owner: bytes, part: Part, *, after: Row | None = None, limit: int = 500
    ) -> tuple[Row, ...]:
        """Return an owner's rows of one part by key, from the first key greater than ``after``."""

    async def last_key(self, owner: bytes, part: Part) -> Row | None:
        """Return the greatest key of an owner's rows of one part; None if there are none."""

    async def begin_arrivals(self, keys: StoreKeys) -> None:
        """Close the store to everybody else; if it has no rows at all, adopt these keys.

        Begun twice it goes on: whoever was on the way still is.

        Raises:
            MoveRefused: ``other_store``, if it has rows made with other keys.
            StoreUnavailable: If anybody else has it open.
        """

    async def begin_arrival(self, owner: bytes, mark: bytes) -> None:
        """Let an owner come; rows of whoever was on the way and not whole are removed first.

        Begun again with the same ``mark`` the rows that have arrived stay.

        Raises:
            MoveRefused: ``exists``, if the owner has facts or rows that did not come this way.
        """

    async def arrive(self, owner: bytes, rows: Sequence[tuple[Part, Sequence[Row]]]) -> None:
        """Add rows to the owner on its way, all of them or none.

        Raises:
            ValueError: If no such owner is on its way, or a row of this key is there.
        """

    async def end_arrival(self, owner: bytes, facts: OwnerFacts | None) -> None:
        """Make the owner on its way whole: write its facts last (None: it has only rows).

        Raises:
            ValueError: If no such owner is on its way.
        """

    async def end_arrivals(self) -> None:
        """Open the store to everybody; who is still on the way is removed. Twice does no harm."""
