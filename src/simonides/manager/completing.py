"""Vectors that come after their memories: what waits for one gets it before it is ranked (LT-11).

An embedder that takes its time is asked neither under an owner's turn nor where an index follows
its store, and one that fails must not lose what was said. Such entries are held without vectors;
a read has them made first, in batches off the event loop, for a moment at most. What still waits
then is ranked by its words, and the answer says so.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import partial

from simonides.domain.change import StoredRow
from simonides.domain.codec import decode
from simonides.manager.services import Services, ails, may_embed
from simonides.retrieval.indexer import FAILURES
from simonides.retrieval.owner_index import OwnerIndex

EMBEDDER = "embedder"
RERANKER = "reranker"

VECTOR = "vector"
"""What is degraded where the query, or any memory that was read, is without its vector."""

BATCH = 64
"""Texts that are embedded in one go; chosen: half a second of a model on one core."""
LONGEST_S = 2.0
"""How long a read lets vectors be made, after its first batch; chosen: as long as people wait."""


class Completer:
    """Has vectors made for the reads of one open simonides."""

    def __init__(self, services: Services) -> None:
        self._services = services
        self._indexer = services.indexes.indexer

    async def indexes(self, indexes: Iterable[OwnerIndex]) -> bool:
        """Let entries of indexes have their vectors; return whether none waits any more.

        A model that has just failed, at this read's question most likely, is not asked again.
        """
        ends_at: float | None = None
        for index in indexes:
            while waiting := index.awaiting(BATCH):
                if EMBEDDER in self._services.models.ailing:
                    return False
                now = self._services.clock.monotonic()
                ends_at = now + LONGEST_S if ends_at is None else ends_at
                entries = await self._entries(waiting) if now <= ends_at else None
                if entries is None:
                    return False
                index.complete(waiting, entries)
        return True

    async def rows(self, rows: Sequence[StoredRow]) -> tuple[Sequence[StoredRow], bool]:
        """Return rows with entries that have their vectors, and whether none waits any more."""
        current = self._indexer.recipe.to_bytes(8, "little")
        done = {row.id: row for row in rows if row.entry.startswith(current)}
        waiting = [row for row in rows if row.id not in done]
        ends_at = self._services.clock.monotonic() + LONGEST_S
        for start in range(0, len(waiting), BATCH):
            batch = waiting[start : start + BATCH]
            is_late = start and self._services.clock.monotonic() > ends_at
            entries = None if is_late else await self._entries(batch)
            if entries is None:
                return [done.get(row.id, row) for row in rows], False
            made = zip(batch, entries, strict=True)
            done |= {row.id: row._replace(entry=entry) for row, entry in made}
        return [done[row.id] for row in rows], True

    async def _entries(self, rows: Sequence[StoredRow]) -> list[bytes] | None:
        owner = decode(rows[0]).scope.owner
        if await may_embed(self._services, owner, len(rows)) is not None:
            return None
        make = partial(self._indexer.renewed, rows)
        try:
            made = await self._services.aside(make)
        except FAILURES as error:
            ails(self._services, EMBEDDER, error)
            return None
        ails(self._services, EMBEDDER, None)
        return [each.entry for each in made]
