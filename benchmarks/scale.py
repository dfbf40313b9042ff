"""Recall and writes of an owner beside few and beside many others, by turns in one run.

    python -m benchmarks.scale                      # SQLite
    python -m benchmarks.scale FEW_URL MANY_URL     # two empty databases, after `simonides db init`

`--few` owners against `--owners`, each with 50 memories. One owner is filled through
`remember_many`; the others get copies of its rows, whose audit trail does not hold. The embedder is
a small one, so that the figures are those of the store.
"""

from __future__ import annotations

import argparse
import random
import statistics
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

from benchmarks.growth import fill
from benchmarks.sentences import sentence

import simonides
from simonides.storage import statements
from simonides.storage.rows import rows_of
from simonides.testing import SmallEmbedder

EACH, TIMES = 50, 400
COPIED = ("memories", "tokens", "events", "owners")


def filled(target: str | Path, owners: int) -> simonides.Store:
    store = simonides.open(target, embedder=SmallEmbedder())
    first, db = store.memory(user="u0"), store._engine.db
    fill(first, EACH, random.Random(1))
    owner = first._who.owner
    with db.read(owner) as connection:
        rows = {table: list(rows_of(connection, table, owner)) for table in COPIED}
    for number in range(1, owners):
        other = f"{owner[:-1]}{number}"
        with db.write(other) as connection:
            for table in COPIED:
                named = [
                    dict(zip(statements.COLUMNS[table], row, strict=True)) for row in rows[table]
                ]
                for row in named:
                    row["owner"] = other
                connection.run_many(statements.insert_row(table), named)
    return store


def by_turns(few: Callable[[int], object], many: Callable[[int], object]) -> str:
    """Return medians of both, in ms."""
    spent: tuple[list[float], list[float]] = ([], [])
    for number in range(TIMES):
        for call, times in zip((few, many), spent, strict=True):
            begun = time.perf_counter()
            call(number)
            times.append((time.perf_counter() - begun) * 1e3)
    one, other = map(statistics.median, spent)
    return f"few {one:6.2f} ms   many {other:6.2f} ms   ratio {other / one:5.2f}"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("urls", nargs="*")
    parser.add_argument("--few", type=int, default=10)
    parser.add_argument("--owners", type=int, default=2_000)
    given = parser.parse_args()
    few_owners = given.few
    with tempfile.TemporaryDirectory(dir=".") as folder:
        few, many = given.urls or (Path(folder) / "few.db", Path(folder) / "many.db")
        stores = filled(few, few_owners), filled(many, given.owners)
        print(f"{few_owners} owners, and {given.owners}; each has {EACH} memories")
        rng = random.Random(2)
        asked = [sentence(rng) for _ in range(TIMES)]
        # The many are asked in a shuffled order, all of them; the few again and again.
        order = rng.sample(range(given.owners), given.owners)
        users = range(few_owners), order[:few_owners], order
        warm = [[store.memory(user=f"u{n}") for n in users[i]] for i, store in enumerate(stores)]
        everyone = [stores[1].memory(user=f"u{n}") for n in order]
        for memories in warm:
            for memory in memories:
                memory.recall("tea")
        pair = [lambda n, m=m: m[n % few_owners].recall(asked[n]) for m in warm]
        print("recall, index in memory ", by_turns(*pair))

        def cold(store, memories):
            def call(n):
                memory = memories[n % len(memories)]
                store._engine.indexes.drop(memory._who.owner)
                memory.recall(asked[n])

            return call

        print(
            "recall, index to be read",
            by_turns(cold(stores[0], warm[0]), cold(stores[1], everyone)),
        )
        fresh = [lambda n, m=m: m[n % few_owners].remember(f"{asked[n]} again") for m in warm]
        print("remember                ", by_turns(*fresh))
        cache = stores[1]._engine.indexes
        size = sum(each.nbytes for each in cache._indexes.values())
        each = size / len(cache) / EACH
        print(f"{len(cache)} indexes in memory: {size / 1e6:.1f} MB, {each:.0f} bytes a memory")
        for store in stores:
            store.close()


if __name__ == "__main__":
    main()
