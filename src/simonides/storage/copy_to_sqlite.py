"""A store of any kind as a file: its rows go to an embedded store as they would in a move."""

from __future__ import annotations

import os
from collections.abc import AsyncIterator, Mapping, Sequence
from typing import Protocol

from simonides.domain.codecs.parts import (
    OwnerFacts,
    Part,
    Row,
    StoreKeys,
)
from simonides.ports.store_extras import Pages
from simonides.storage.sqlite.file.connection import Opening
from simonides.storage.sqlite.store import SqliteStore

Rows = Sequence[tuple[Part, Sequence[Row]]]


class Leaving(Protocol):
    """One owner on the way into a copy."""

    @property
    def digest(self) -> bytes:
        """Of the owner."""

    @property
    def facts(self) -> OwnerFacts | None:
        """Where it stood; None if it has only a journal."""

    def rows(self) -> AsyncIterator[Rows]:
        """Return all of its rows, some hundreds at a time."""


async def copy_owners(
    path: str,
    keys: StoreKeys,
    owners: AsyncIterator[tuple[Leaving, int]],
    tell: Pages,
    *,
    inline: bool,
    opening: Opening | None = None,
) -> Mapping[bytes, OwnerFacts]:
    """Write owners to a new embedded store; return where those stood that have facts.

    Args:
        path: Where nothing is.
        keys: That their digests are made with.
        owners: Each with how many there are.
        tell: As for :meth:`simonides.ports.BackupStore.copy_to`.
        inline: Whether the calling thread may be kept waiting.
        opening: Makes it one that is encrypted; None for one in plain.

    Raises:
        OSError: If the file cannot be made.
        StoreError: If it cannot be written.
    """
    # Made first: what is there is not come over.
    os.close(os.open(path, os.O_RDWR | os.O_CREAT | os.O_EXCL, 0o600))
    copy = SqliteStore.open(path, filling=True, inline=inline, opening=opening)
    stood = {}
    behind = of = 0
    try:
        await copy.begin_arrivals(keys)
        async for owner, of in owners:
            await copy.begin_arrival(owner.digest, b"")
            async for rows in owner.rows():
                await copy.arrive(owner.digest, rows)
            await copy.end_arrival(owner.digest, owner.facts)
            if owner.facts is not None:
                stood[owner.digest] = owner.facts
            behind += 1
            tell(behind, of)
        await copy.end_arrivals()
    finally:
        await copy.close()
    tell(of, of)
    return stood
