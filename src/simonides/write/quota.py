"""Quotas of a scope: what gives way where it is full."""

from __future__ import annotations

from typing import Any

import numpy as np

from simonides.core.clock import DAY_MS
from simonides.core.errors import QuotaExceeded
from simonides.core.outcome import Event, EventType
from simonides.core.policy import Eviction
from simonides.recall.index import Floats, Ints, OwnerIndex
from simonides.storage import statements
from simonides.storage.transaction import Transaction
from simonides.write.candidate import Candidate

BATCH = 64
"""Memories whose reads are looked up at once; a power of two."""


def make_room(tx: Transaction, index: OwnerIndex, candidate: Candidate) -> list[Event]:
    """Evict what is least useful where a candidate's scope is full.

    Returns:
        The audit events; none where there is room.

    Raises:
        QuotaExceeded: If everything there is pinned or a constraint, or the quota is 0.
    """
    turns, quotas = candidate.is_turn, candidate.policy.quotas
    limit = quotas.turns if turns else quotas.memories
    if limit is None or len(index) < limit:
        return []
    name = "turns" if turns else "memories"
    with index.lock:
        here = index.in_scope(candidate.scope.task, turns=turns)
        here[index.rows_of(tx.ended)] = False
        spare = int(np.count_nonzero(here)) - limit + 1
        if spare <= 0:
            return []
        expired = index.column("until") <= tx.now
        here &= expired | ~index.column("spared")
        # What this turn inserts does not give way to what it inserts next.
        here[index.rows_of(tx.inserted)] = False
        rows = np.flatnonzero(here)
        if limit == 0 or len(rows) < spare:
            raise QuotaExceeded(name, limit)
        bound = np.where(expired, -np.inf, _bound(quotas.eviction, index, tx.now))
        ids = (index.column("id_low")[rows], index.column("id_high")[rows])
        order = rows[np.lexsort((*ids, bound[rows]))]
        least = _least(tx, index, order, bound, quotas.eviction, spare)
    reason = f"quota:{name}"
    return [tx.end(tx.known(id), "evicted", EventType.EVICTED, reason) for _, id in least]


def _bound(eviction: Eviction, index: OwnerIndex, now: int) -> Any:
    """Return how useful each row is at least: without the times when it was read."""
    updated = index.column("updated")
    match eviction:
        case Eviction.FIFO:
            return 0.0
        case Eviction.LRU:
            return updated
        case Eviction.TTL:
            return np.minimum(index.column("until"), index.column("soft"))
        case Eviction.VALUE:
            # Importance, confidence, freshness and use count alike.
            freshness = np.exp2((updated - now) / (90 * DAY_MS))
            return (index.column("importance") + index.column("confidence") + freshness) / 4


def _least(
    tx: Transaction, index: OwnerIndex, order: Ints, bound: Floats, eviction: Eviction, count: int
) -> list[tuple[float, bytes]]:
    """Return the least useful rows with their worth, worst first."""
    found: list[tuple[float, bytes]] = []
    for first in range(0, len(order), BATCH):
        rows = order[first : first + BATCH].tolist()
        # Reads only add to a bound, so later rows are more useful than these.
        if len(found) >= count and found[count - 1][0] <= bound[rows[0]]:
            break
        ids = [index.ids[row] for row in rows]
        padded = {f"id{n}": id for n, id in enumerate([*ids, *[ids[0]] * (BATCH - len(ids))])}
        sql = statements.last_reads(BATCH)
        params = {"owner": tx.owner, **padded}
        read: dict[Any, Any] = dict(tx.connection.rows(sql, params))
        for row, id in zip(rows, ids, strict=True):
            found.append((_with_reads(eviction, float(bound[row]), read.get(id), tx.now), id))
        found.sort()
    return found[:count]


def _with_reads(eviction: Eviction, bound: float, read_at: int | None, now: int) -> float:
    if read_at is None:
        return bound
    if eviction is Eviction.LRU:
        return max(bound, read_at)
    use: float = 0.5 ** ((now - read_at) / (30 * DAY_MS))
    return bound + use / 4 if eviction is Eviction.VALUE else bound
