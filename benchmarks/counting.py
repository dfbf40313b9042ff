"""What reads and writes pay for being counted: the same ones with counters and with mute ones.

    python benchmarks/counting.py [--memories 100] [--rounds 60]

Rounds alternate in one process, so that both see the same machine. Writes go to a SQLite file.
"""

import argparse
import tempfile
import time
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from pathlib import Path

import simonides
from simonides import AsyncStore, Draft, Store
from simonides.engine.core.counters import Counters
from simonides.settings import Settings

CALLS = {"recall": 300, "remember": 30}
"""Of each round."""

QUESTION = "who visited the harbour of town 42?"


class Mute(Counters):
    """Counts nothing and looks at no clock."""

    def now(self):
        return 0.0

    def wrote(self, outcomes, candidates):
        pass

    def read(self, verb, began, *, found, off=False):
        pass

    def took(self, verb, began):
        pass

    def embedded(self, texts):
        pass


def muted(store: Store) -> Store:
    """Return the same store and caches with counters that count nothing."""
    runtime = store.runtime
    parts = runtime.parts.replacing(Counters, Mute(runtime.clock))
    return Store(AsyncStore(replace(runtime, parts=parts)))


def main() -> None:
    asked = argparse.ArgumentParser(description=__doc__)
    asked.add_argument("--memories", type=int, default=100)
    asked.add_argument("--rounds", type=int, default=60)
    given = asked.parse_args()
    with (
        tempfile.TemporaryDirectory() as place,
        simonides.open(Path(place) / "m.db", settings=Settings()) as store,
    ):
        said = [f"Ana visited the harbour of town {n} in {n % 70}" for n in range(given.memories)]
        store.memory(user="ana").remember_many([Draft(text) for text in said])
        numbers = iter(range(10**9))
        verbs: dict[str, Callable[[Store], Callable[[], object]]] = {
            "recall": lambda opened: partial(opened.memory(user="ana").recall, QUESTION),
            "remember": lambda opened: (
                lambda: opened.memory(user=f"u{next(numbers)}").remember(said[0])
            ),
        }
        kinds = {"mute": muted(store), "counting": store}
        for verb, of in verbs.items():
            taken: dict[str, list[float]] = {name: [] for name in kinds}
            for _ in range(given.rounds):
                for name, opened in kinds.items():
                    call = of(opened)
                    start = time.perf_counter()
                    for _ in range(CALLS[verb]):
                        call()
                    taken[name].append((time.perf_counter() - start) / CALLS[verb] * 1e6)
            for name, times in taken.items():
                ordered = sorted(times)
                print(f"{verb:<9} {name:<9} p10 {ordered[len(times) // 10]:7.1f} µs", end="")
                print(f"  p50 {ordered[len(times) // 2]:7.1f} µs")


if __name__ == "__main__":
    main()
