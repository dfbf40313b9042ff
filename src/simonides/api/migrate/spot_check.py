"""A sample of recalls: the same queries to a store and to its copy, compared byte by byte."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TypeVar

from simonides.api.memory import AsyncMemory
from simonides.api.migrate.migrate import Recalls
from simonides.api.store import AsyncStore
from simonides.domain.canonical_json import canonical_json
from simonides.domain.codecs.memory import decode
from simonides.domain.errors import MoveRefused
from simonides.domain.scope import Scope
from simonides.engine.recall import ReadJournal
from simonides.ports import Clock, MemoryStore

OWNERS = 20
"""Owners compared, spread evenly over all. Chosen: a second or two in all, at 10,000 memories each.
The move compares every row already; this checks the recalls over them."""

QUERIES = 3
"""Memories of each owner whose content becomes a query."""

QUERY_CHARS = 200
"""Characters of a content in a query: about the longest question of users."""

ASKER = "simonides-migrate"
"""User who recalls the memories of an organisation, and global ones."""

T = TypeVar("T")


def recalls(source: AsyncStore, target: AsyncStore) -> Recalls:
    """Return a comparison of recalls of two stores at one fixed time.

    Args:
        source: Over the store that is moved.
        target: Over the store that it was moved to.
    """
    clock = _FixedClock(source.runtime.clock.now_us())
    one, other = (_at_fixed_time(store, clock) for store in (source, target))

    async def compare(owners: Sequence[Scope]) -> int:
        compared = 0
        for owner in _spread(owners, OWNERS):
            for query in await _queries(one.runtime.store, owner):
                wanted, got = [await _answer(store, owner, query) for store in (one, other)]
                if wanted != got:
                    raise MoveRefused(
                        "differs",
                        other.runtime.store.location,
                        f"{owner.path}: a recall gives another answer here; keep the source, "
                        "and report this",
                        owner.path,
                    )
                compared += 1
        return compared

    return compare


def _at_fixed_time(store: AsyncStore, clock: Clock) -> AsyncStore:
    """Return a simonides over the same store at a fixed time, without a read journal."""
    runtime = store.runtime
    journal = ReadJournal(runtime.store)
    journal.mute()
    return AsyncStore(
        replace(runtime, clock=clock, parts=runtime.parts.replacing(ReadJournal, journal))
    )


@dataclass(frozen=True, slots=True)
class _FixedClock:
    """A clock that stands still, because answers depend on the time."""

    at_us: int

    def now_us(self) -> int:
        return self.at_us

    def monotonic(self) -> float:
        return 0.0


async def _queries(store: MemoryStore, owner: Scope) -> list[str]:
    rows = (await store.snapshot(owner)).rows
    return [decode(row).content[:QUERY_CHARS] for row in _spread(rows, QUERIES)]


async def _answer(store: AsyncStore, owner: Scope, query: str) -> bytes:
    found = await _reader(store, owner).recall(query, limit=10)
    return canonical_json(found.to_dict())


def _reader(store: AsyncStore, owner: Scope) -> AsyncMemory:
    if owner.session is not None:
        return store.visitor(owner.session, org=owner.org)
    return store.memory(org=owner.org, user=owner.user or ASKER)


def _spread(values: Sequence[T], wanted: int) -> list[T]:
    """Return up to ``wanted`` of the values, evenly spaced, the first among them."""
    step = max(1, -(-len(values) // wanted))
    return list(values[::step])
