"""How old memories are: which are stale, and which are never collected for their age alone."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import datetime
from math import ceil
from typing import NamedTuple

from simonides.core.clock import to_datetime
from simonides.core.engine import Engine
from simonides.core.policy import Policy, Rank
from simonides.core.record import Record, Source
from simonides.recall.lookup import with_reads
from simonides.storage import statements
from simonides.storage.rows import id_bytes, memories, record_of
from simonides.write import pending

STALE_FROM, VERY_STALE_OVER = 0.7, 0.9
"""Staleness from which a memory counts half, and over which it is evicted."""

SLICE = 64
"""Memories that are read at once."""

_STATED = frozenset({Source.USER_STATED, Source.USER_CORRECTION, Source.IN_SESSION_CORRECTION})


def is_spared(policy: Policy, source: str, category: str, pinned: object) -> bool:
    """Whether the user stated a memory or pinned it, or it stands in every prompt."""
    return bool(pinned) or source in _STATED or policy.rank(category) is not Rank.NONE


class Aged(NamedTuple):
    """A memory in force, and how old it is.

    Attributes:
        record: The memory, with its reads.
        staleness: 0 to 1.
        is_spared: See `is_spared`.
    """

    record: Record
    staleness: float
    is_spared: bool

    @property
    def id(self) -> bytes:
        """The id of its version."""
        return id_bytes(self.record.id)


def aged(engine: Engine, owner: str, policy: Policy, sql: str, **params: int) -> Iterator[Aged]:
    """Yield the memories of an owner that a statement selects, by id, as old as they are now."""
    now, after = engine.clock.now_ms(), b""
    with engine.db.read(owner) as connection:
        entries = list(pending.entries(connection, owner))
    asked = [each for each in entries if each.kind == "contradiction"]
    against = {root for each in asked for root in pending.sides(each)}
    while True:
        with engine.db.read(owner) as connection:
            page = {"now": now, "after": after, "limit": SLICE, **params}
            rows = memories(connection, sql, owner=owner, **page)
            records = with_reads(connection, [record_of(row) for row in rows])
        for record in records:
            yield _aged(
                record, to_datetime(now), policy, is_contradicted=id_bytes(record.root) in against
            )
        if len(rows) < SLICE:
            return
        after = rows[-1]["id"]


def quantile(ages: Sequence[float], share: float) -> float:
    """Return the value that a share of all do not exceed; 0 of none."""
    return sorted(ages)[ceil(share * len(ages)) - 1] if ages else 0.0


def _aged(record: Record, now: datetime, policy: Policy, *, is_contradicted: bool) -> Aged:
    staleness = record.staleness_at(now, is_contradicted=is_contradicted)
    spared = is_spared(policy, record.source, record.category, record.pinned)
    return Aged(record, staleness, spared)


def very_stale(engine: Engine, owner: str, policy: Policy) -> list[bytes]:
    """Return the ids of what was marked stale and is to be evicted."""
    found = aged(engine, owner, policy, statements.STALE)
    return [each.id for each in found if each.staleness > VERY_STALE_OVER and not each.is_spared]
