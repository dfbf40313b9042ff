"""What collecting costs: a run over one owner, beside reading the owner's rows.

    python benchmarks/collecting.py [--rows 10000] [--rounds 5] [--url postgresql://…]

Each round reads all rows of an owner through the store, page by page, and then collects it, so that
both meet the same machine; the medians are told. Time is the script's own.

nothing due     every memory is a fact that the user stated a week ago
one in a hundred    1 % of them have expired since; in each round as many others
all             every memory has expired; once, on a store of its own
"""

from __future__ import annotations

import argparse
import random
import statistics
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

sys.path.append(str(Path(__file__).parent / "peers"))

from workload import sentence

from memstrata import Draft, Settings
from memstrata.blocking import Strata
from memstrata.domain.scope import Scope
from memstrata.manager.collecting import PAGE_ROWS
from memstrata.testing import ManualClock
from memstrata.wiring import assemble

BATCH = 1_000
DAY_S = 86_400


def spent(call: Callable[[], object]) -> float:
    begin = time.perf_counter()
    call()
    return 1000 * (time.perf_counter() - begin)


def opened(target: str, clock: ManualClock) -> Strata:
    return Strata(assemble(target, inline=True, settings=Settings(), clock=clock))


def fill(strata: Strata, user: str, rows: int, ends: Callable[[int], float | None]) -> None:
    rng, manager = random.Random(7), strata.manager(user=user)
    for first in range(0, rows, BATCH):
        manager.remember_many(
            [
                Draft(f"{sentence(rng)} {n}", category="entity_fact", ttl_days=ends(n))
                for n in range(first, min(first + BATCH, rows))
            ]
        )


def read(strata: Strata, user: str) -> int:
    store, after, count = strata.services.store, "", 0
    while True:
        owner = Scope.of_user("default", user)
        rows = strata._driver.run(store.rows(owner, after=after, limit=PAGE_ROWS))
        count += len(rows)
        if len(rows) < PAGE_ROWS:
            return count
        after = rows[-1].id


def told(name: str, reading: list[float], collecting: list[float], writing: float = 0) -> None:
    one, other = statistics.median(reading), statistics.median(collecting)
    extra = f"   {1000 * writing:5.0f} µs a memory written" if writing else ""
    print(f"  {name:<18} read {one:7.1f} ms   gc {other:7.1f} ms   × {other / one:5.2f}{extra}")


def some_due(strata: Strata, clock: ManualClock, user: str, rounds: int, wanted: int) -> None:
    """Time both in turns, a day apart; so many memories are due in each."""
    reading, collecting = [], []
    manager = strata.manager(user=user)
    for _ in range(rounds):
        clock.advance(days=1)
        reading.append(spent(lambda: read(strata, user)))
        begin = time.perf_counter()
        report = manager.gc()
        collecting.append(1000 * (time.perf_counter() - begin))
        if sum(report.counts.values()) != wanted:
            sys.exit(f"{report.counts} were due instead of {wanted}: nothing is measured")
    name = "nothing due" if wanted == 0 else "one in a hundred"
    told(name, reading, collecting)


def main() -> None:
    asked = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    asked.add_argument("--rows", type=int, default=10_000)
    asked.add_argument("--rounds", type=int, default=5)
    asked.add_argument("--url", help="a PostgreSQL database that was prepared and is empty")
    given = asked.parse_args()
    with tempfile.TemporaryDirectory() as place:
        clock = ManualClock()
        with opened(given.url or str(Path(place) / "m.db"), clock) as strata:
            print(f"{given.rows:,} memories in {strata.services.store.location}")
            fill(strata, "ana", given.rows, lambda n: None)
            some_due(strata, clock, "ana", given.rounds, 0)
            share = given.rows // 100
            # Those of a round expire within its day.
            ends = {n: (n // share) + 0.5 for n in range(share * given.rounds)}
            fill(strata, "ben", given.rows, ends.get)
            some_due(strata, clock, "ben", given.rounds, share)
            fill(strata, "cem", given.rows, lambda n: 0.5)
            clock.advance(days=1)
            reading = [spent(lambda: read(strata, "cem"))]
            collecting = [spent(lambda: strata.manager(user="cem").gc())]
            told("all", reading, collecting, collecting[0] / given.rows)


if __name__ == "__main__":
    main()
