"""Processes that share a store and not a model, and what they answer."""

from pathlib import Path

from embedders import HashedEmbedder
from simonides import Draft
from simonides.api.open.assemble import assemble
from simonides.api.open.store import IN_MEMORY
from simonides.api.sync import Store
from simonides.domain.scope import Scope
from simonides.domain.writing.change import StoredRow
from simonides.engine.maintenance.reindex_worker import BATCH_ROWS, PAUSE_S, START_S
from simonides.settings import Settings
from simonides.testing import CountingIds, ManualClock

ANA = Scope.of_user("acme", "ana")
QUERIES = ("where is the boat?", "who sails to the harbour", "red paint", "boat 7")


class Shared:
    """One store, opened by several processes with one clock; their alarms go by it."""

    def __init__(self, target: str | Path, clock: ManualClock | None = None) -> None:
        self.target = target
        self.clock = clock or ManualClock()
        self.ids = CountingIds()
        self.opened: list[Store] = []

    def open(self, embedder=None, *, settings: Settings | None = None, **more) -> Store:
        made = assemble(
            self.target,
            inline=True,
            clock=self.clock,
            ids=self.ids,
            alarm=self.clock,
            embedder=embedder,
            settings=settings or Settings(**more),
        )
        self.opened.append(Store(made))
        return self.opened[-1]

    def close(self) -> None:
        for store in self.opened:
            store.close()

    def run_background(self, batches: int = 1) -> None:
        """Let the time pass in which a process begins, and then makes so many batches anew."""
        self.clock.advance(seconds=START_S)
        for _ in range(batches - 1):
            self.clock.advance(seconds=PAUSE_S)


def fill(store: Store, count: int = BATCH_ROWS * 2 + 10) -> None:
    colours = ("red", "green", "blue")
    drafts = [
        Draft(
            f"boat {n} in {colours[n % 3]} paint sails to the harbour of place {n % 11}",
            key=f"boat_{n}",
            tags=("ship",) if n % 5 == 0 else (),
        )
        for n in range(count)
    ]
    store.memory(user="ana", org="acme").remember_many(drafts)


def fresh(embedder, *, then=None, count: int = BATCH_ROWS * 2 + 10) -> Store:
    """A store in memory that has never known another recipe."""
    store = Shared(IN_MEMORY).open(embedder)
    fill(store, count)
    if then is not None:
        then(store)
    return store


def answers(store: Store, user: str = "ana", **asked):
    """What is recalled, with scores and reasons; ids are a store's own."""
    memory = store.memory(user=user, org="acme")
    return [
        [(h.record.content, h.record.version, h.score, dict(h.why)) for h in found]
        for found in (memory.recall(query, limit=8, **asked) for query in QUERIES)
    ]


def rows_of(opened: Store, owner: Scope = ANA) -> tuple[StoredRow, ...]:
    store = opened.runtime.store
    return opened._driver.run(store.rows(owner, limit=10_000))


def made_by(store: Store, by: Store) -> int:
    """How many stored entries are of a process's recipe."""
    return sum(by.runtime.indexes.indexer.is_current(row.entry) for row in rows_of(store))


def hashed(dimensions: int = 32) -> HashedEmbedder:
    return HashedEmbedder(f"hashed-{dimensions}", dimensions)
