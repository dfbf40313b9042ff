"""Vectors that are created after their memories: a read creates missing ones before it ranks.

A slow embedder runs neither in an owner's turn nor in the refresh of an index. Its failure must not
lose a write. Such entries are stored without vectors. A read creates them first, in batches off the
event loop, for a limited time. Entries without a vector are ranked by their words, and the result
says so.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import partial

from simonides.domain.codecs.memory import decode
from simonides.domain.errors import ModelError
from simonides.domain.reading.cue import Cue
from simonides.domain.writing.change import StoredRow
from simonides.engine.core import Runtime, ails, may_embed
from simonides.ports import Capability
from simonides.retrieval.index import FAILURES, OwnerIndex
from simonides.retrieval.ranking import Ranked, reranked, texts_of

EMBEDDER = "embedder"
RERANKER = "reranker"

VECTOR = "vector"
"""Name in ``degraded`` if the query, or any memory that was read, has no vector."""

BATCH = 64
"""Texts in one batch; chosen: half a second of a model on one core."""
LONGEST_S = 2.0
"""Seconds that a read spends on vectors after its first batch; chosen: the time people wait for an
answer.
"""


class VectorBackfill:
    """Creates missing vectors for the reads of one open simonides."""

    def __init__(self, runtime: Runtime) -> None:
        self._runtime = runtime
        self._indexer = runtime.indexes.indexer

    async def indexes(self, indexes: Iterable[OwnerIndex]) -> bool:
        """Create missing vectors of indexes; return whether none is missing any more.

        A model that failed just before, usually on this read's query, is not called again.
        """
        ends_at: float | None = None
        for index in indexes:
            while waiting := index.awaiting(BATCH):
                if EMBEDDER in self._runtime.models.ailing:
                    return False
                now = self._runtime.clock.monotonic()
                ends_at = now + LONGEST_S if ends_at is None else ends_at
                entries = await self._entries(waiting) if now <= ends_at else None
                if entries is None:
                    return False
                index.complete(waiting, entries)
        return True

    async def rows(self, rows: Sequence[StoredRow]) -> tuple[Sequence[StoredRow], bool]:
        """Return rows with their vectors created, and whether none is missing any more."""
        current = self._indexer.recipe.to_bytes(8, "little")
        done = {row.id: row for row in rows if row.entry.startswith(current)}
        waiting = [row for row in rows if row.id not in done]
        ends_at = self._runtime.clock.monotonic() + LONGEST_S
        for start in range(0, len(waiting), BATCH):
            batch = waiting[start : start + BATCH]
            is_late = start and self._runtime.clock.monotonic() > ends_at
            entries = None if is_late else await self._entries(batch)
            if entries is None:
                return [done.get(row.id, row) for row in rows], False
            made = zip(batch, entries, strict=True)
            done |= {row.id: row._replace(entry=entry) for row, entry in made}
        return [done[row.id] for row in rows], True

    async def _entries(self, rows: Sequence[StoredRow]) -> list[bytes] | None:
        owner = decode(rows[0]).scope.owner
        if await may_embed(self._runtime, owner, len(rows)) is not None:
            return None
        make = partial(self._indexer.renewed, rows)
        try:
            made = await self._runtime.aside(make)
        except FAILURES as error:
            ails(self._runtime, EMBEDDER, error)
            return None
        ails(self._runtime, EMBEDDER, None)
        return [each.entry for each in made]


def candidates(runtime: Runtime) -> int:
    """Return how many of the best memories are reranked; 0 without a reranker."""
    return 0 if runtime.models.reranker is None else runtime.models.rerank_candidates


def has_slow_model(runtime: Runtime) -> bool:
    """Whether a read may wait for a model, and so must not block the event loop."""
    reranker = runtime.models.reranker
    able = getattr(reranker, "capabilities", ())
    waits = reranker is not None and Capability.INLINE not in able
    return waits or runtime.indexes.indexer.is_slow


def rerank_best(
    runtime: Runtime,
    ranked: Ranked,
    cue: Cue,
    lost: Sequence[str],
    missing: Sequence[str],
) -> tuple[Ranked, Sequence[str]]:
    """Return a ranking reordered by the reranker, and the parts that failed.

    If the reranker fails, the order stays and its name is returned. It is not called without a
    query, nor if there is nothing to order.

    Args:
        runtime: The open simonides.
        ranked: The ranking.
        cue: The query.
        lost: Parts that failed already.
        missing: Parts to leave out: a replay leaves out what its read had to do without.
    """
    reranker = runtime.models.reranker
    if reranker is None or RERANKER in missing or not cue.query.strip():
        return ranked, lost
    texts = texts_of(ranked, runtime.models.rerank_candidates)
    if len(texts) < 2:
        return ranked, lost
    try:
        again = reranked(ranked, len(texts), reranker.score(cue.query, texts))
    except ModelError as error:
        ails(runtime, RERANKER, error)
        return ranked, (*lost, RERANKER)
    ails(runtime, RERANKER, None)
    return again, lost
