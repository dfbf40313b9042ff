"""Quotas of a scope: what gives way where it is full."""

from __future__ import annotations

from collections.abc import Callable
from operator import itemgetter
from typing import Any

from simonides.core.clock import DAY_MS, FOREVER
from simonides.core.errors import QuotaExceeded
from simonides.core.outcome import Event, EventType
from simonides.core.policy import Eviction
from simonides.core.record import TURN, Importance
from simonides.recall.index import OwnerIndex
from simonides.storage import statements
from simonides.storage.transaction import Transaction
from simonides.write.candidate import Candidate

SPARED = ("constraint", "guard")
"""Categories that give way only when nothing else does, like what is pinned."""

Row = tuple[Any, ...]


def make_room(tx: Transaction, index: OwnerIndex, candidate: Candidate) -> list[Event]:
    """Evict what is least useful where a candidate's scope is full.

    Returns:
        The audit events; none where there is room.

    Raises:
        QuotaExceeded: If everything there is pinned or a constraint, or the quota is 0.
    """
    turns, quotas = candidate.is_turn, candidate.policy.quotas
    limit = quotas.turns if turns else quotas.memories
    task = candidate.scope.task
    if limit is None or len(index) < limit:
        return []
    count = index.count(task, turns=turns, without=tx.ended)
    if count < limit:
        return []
    name = "turns" if turns else "memories"
    params = {"owner": tx.owner, "task": task or ""}
    # What this turn inserts does not give way to what it inserts next.
    stored = [
        row
        for row in tx.connection.rows(statements.EVICTION, params)
        if row[0] not in tx.ended and (row[8] == TURN and row[9] is not None) == turns
    ]
    may_go = [r for r in stored if _expired(r, tx.now) or not (r[7] or r[8] in SPARED)]
    spare = count - limit + 1
    if limit == 0 or len(may_go) < spare:
        raise QuotaExceeded(name, limit)
    events = []
    may_go.sort(key=_order(quotas.eviction, tx.now))
    may_go.sort(key=lambda row: not _expired(row, tx.now))
    for row in may_go[:spare]:
        events.append(tx.end(tx.known(row[0]), "evicted", EventType.EVICTED, f"quota:{name}"))
    return events


def _order(eviction: Eviction, now: int) -> Callable[[Row], Any]:
    """Return the key by which the first to go comes first."""
    match eviction:
        case Eviction.FIFO:
            return itemgetter(4)
        case Eviction.LRU:
            return lambda row: max(row[10], row[3])
        case Eviction.TTL:
            return lambda row: min(_end(row[5]), _end(row[6]))
        case Eviction.VALUE:
            return lambda row: _retention_value(row, now)


def _expired(row: Row, now: int) -> bool:
    return row[5] is not None and int(row[5]) <= now


def _end(moment: int | None) -> int:
    return FOREVER if moment is None else moment


def _retention_value(row: Row, now: int) -> float:
    """Return how useful a memory is, 0 to 1: importance, confidence, freshness and use alike."""
    _, importance, confidence, updated_at, *_, read_at = row
    freshness: float = 0.5 ** ((now - updated_at) / (90 * DAY_MS))
    use: float = 0.5 ** ((now - read_at) / (30 * DAY_MS)) if read_at else 0.0
    return (Importance(importance).weight + float(confidence) + freshness + use) / 4
