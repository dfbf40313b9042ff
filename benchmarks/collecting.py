"""What collecting costs: a run over one owner, beside reading the owner's rows.

    python benchmarks/collecting.py [--rows 10000] [--rounds 5] [--postgres]

Each round reads all rows of an owner through the store, page by page, and then collects it, so that
both meet the same machine; the medians are told. Time is the script's own.

nothing due     every memory is a fact that the user stated a week ago
one in a hundred    1 % of them have expired since; in each round as many others
all evicted     every memory has expired; once, of an owner of its own
all purged      the same, once they were evicted longer ago than time travel reaches

In parentheses is the processor's time of this process for each memory, which other work on the
machine changes less. ``--postgres`` starts a server (see postgres.py).
"""

from __future__ import annotations

import argparse
import random
import shutil
import statistics
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

sys.path.append(str(Path(__file__).parent / "peers"))

import apsw
from workload import sentence

from simonides import Draft, Settings
from simonides.api.open.assemble import assemble
from simonides.api.sync import Store
from simonides.domain.scope import Scope
from simonides.engine.maintenance.gc import PAGE_ROWS, TURN_ROWS
from simonides.testing import ManualClock
from simonides.types import GcReport

BATCH = 1_000
DAY_S = 86_400


def spent(call: Callable[[], object]) -> float:
    begin = time.perf_counter()
    call()
    return 1000 * (time.perf_counter() - begin)


@contextmanager
def target(*, postgres: bool) -> Iterator[str]:
    """Yield where a store is to be."""
    if not postgres:
        with tempfile.TemporaryDirectory() as place:
            yield str(Path(place) / "m.db")
        return
    from postgres import APP, served

    with served() as (server, database):
        yield server.url(APP, database)


def opened(target: str, clock: ManualClock) -> Store:
    return Store(assemble(target, inline=True, settings=Settings(), clock=clock))


def fill(store: Store, user: str, rows: int, ends: Callable[[int], float | None]) -> None:
    rng, memory = random.Random(7), store.memory(user=user)
    for first in range(0, rows, BATCH):
        memory.remember_many(
            [
                Draft(f"{sentence(rng)} {n}", category="entity_fact", ttl_days=ends(n))
                for n in range(first, min(first + BATCH, rows))
            ]
        )


def read(opened: Store, user: str) -> int:
    store, after, count = opened.runtime.store, "", 0
    while True:
        owner = Scope.of_user("default", user)
        rows = opened._driver.run(store.rows(owner, after=after, limit=PAGE_ROWS))
        count += len(rows)
        if len(rows) < PAGE_ROWS:
            return count
        after = rows[-1].id


def told(name: str, reading: list[float], collecting: list[float], extra: str = "") -> None:
    one, other = statistics.median(reading), statistics.median(collecting)
    print(f"  {name:<18} read {one:7.1f} ms   gc {other:7.1f} ms   × {other / one:5.2f}{extra}")


def all_due(store: Store, user: str, rows: int, name: str) -> None:
    """Time both, once: every memory is due."""
    own, reading = store.memory(user=user), [spent(lambda: read(store, user))]
    busy = time.process_time()
    collecting = spent(lambda: check(own.maintenance.gc(), rows))
    busy = 1e6 * (time.process_time() - busy) / rows
    told(name, reading, [collecting], f"   {1000 * collecting / rows:.0f} µs a memory ({busy:.0f})")


BARE = (
    "UPDATE states SET known_to = ? WHERE owner = ? AND revision = ? AND id = ?",
    "UPDATE memories SET revision = ?, known_from = ?, state = ? WHERE owner = ? AND id = ?",
    """INSERT INTO states (owner, revision, id, previous, status, known_from, state)
    VALUES (?, ?, ?, ?, ?, ?, ?)""",
)


def floor(path: Path, owner: bytes) -> float:
    """Return ms for what evicting all of an owner writes at the least, into a file as it stood."""
    connection = apsw.Connection(str(path))
    for name, value in (("synchronous", 2), ("secure_delete", 1), ("wal_autocheckpoint", 500)):
        connection.pragma(name, value)
    connection.pragma("cache_size", -16 * 1024)
    asked = "SELECT id, revision, state FROM memories WHERE owner = ? ORDER BY id"
    rows = connection.execute(asked, (owner,)).fetchall()

    def write() -> None:
        for first in range(0, len(rows), TURN_ROWS):
            turn, at = rows[first : first + TURN_ROWS], 2**50 + first
            connection.execute("BEGIN IMMEDIATE")
            end, restate, begin = BARE
            connection.executemany(end, ((at, owner, r, id) for id, r, _ in turn))
            connection.executemany(restate, ((at, at, state, owner, id) for id, _, state in turn))
            connection.executemany(
                begin, ((owner, at, id, r, 4, at, state) for id, r, state in turn)
            )
            connection.execute("COMMIT")

    taken = spent(write)
    connection.close()
    return taken


def copied(opened: Store, user: str, place: str) -> tuple[Path, bytes]:
    """Copy the file of a store, and return the copy and what the owner is called there."""
    store, copy = opened.runtime.store, Path(f"{place}.copy")
    head = opened._driver.run(store.chain_head(Scope.of_user("default", user)))
    with apsw.Connection(place) as connection:
        connection.wal_checkpoint(mode=apsw.SQLITE_CHECKPOINT_TRUNCATE)
    shutil.copy(place, copy)
    return copy, head[0]


def check(report: GcReport, wanted: int) -> None:
    if sum(report.counts.values()) != wanted:
        sys.exit(f"{report.counts} were due instead of {wanted}: nothing is measured")


def some_due(store: Store, clock: ManualClock, user: str, rounds: int, wanted: int) -> None:
    """Time both in turns, a day apart; so many memories are due in each."""
    reading, collecting = [], []
    memory = store.memory(user=user)
    for _ in range(rounds):
        clock.advance(days=1)
        reading.append(spent(lambda: read(store, user)))
        collecting.append(spent(lambda: check(memory.maintenance.gc(), wanted)))
    name = "nothing due" if wanted == 0 else "one in a hundred"
    told(name, reading, collecting)


def main() -> None:
    asked = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    asked.add_argument("--rows", type=int, default=10_000)
    asked.add_argument("--rounds", type=int, default=5)
    asked.add_argument("--postgres", action="store_true")
    given = asked.parse_args()
    with target(postgres=given.postgres) as place:
        clock = ManualClock()
        with opened(place, clock) as opened_store:
            print(f"{given.rows:,} memories in {opened_store.runtime.store.location}")
            fill(opened_store, "ana", given.rows, lambda n: None)
            some_due(opened_store, clock, "ana", given.rounds, 0)
            share = given.rows // 100
            # Those of a round expire within its day.
            ends = {n: (n // share) + 0.5 for n in range(share * given.rounds)}
            fill(opened_store, "ben", given.rows, ends.get)
            some_due(opened_store, clock, "ben", given.rounds, share)
            fill(opened_store, "cem", given.rows, lambda n: 0.5)
            clock.advance(days=1)
            bare = None if given.postgres else floor(*copied(opened_store, "cem", place))
            all_due(opened_store, "cem", given.rows, "all evicted")
            if bare is not None:
                print(f"  {'floor':<18} bare {bare:7.1f} ms")
            clock.advance(days=91)
            all_due(opened_store, "cem", given.rows, "all purged")


if __name__ == "__main__":
    main()
