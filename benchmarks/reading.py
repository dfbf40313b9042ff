"""What a recall pays for being journaled: the same recalls with a journal and with a mute one.

    python benchmarks/reading.py [--memories 100] [--rounds 60]

Rounds alternate in one process, so that both see the same machine.
"""

import argparse
import tempfile
import time
import timeit
from pathlib import Path

import simonides
from simonides import Draft
from simonides.engine.recall.read_journal import ReadJournal
from simonides.settings import Settings

RECALLS = 300
"""Of each round."""

QUESTION = "who visited the harbour of town 42?"


def main() -> None:
    asked = argparse.ArgumentParser(description=__doc__)
    asked.add_argument("--memories", type=int, default=100)
    asked.add_argument("--rounds", type=int, default=60)
    given = asked.parse_args()
    with (
        tempfile.TemporaryDirectory() as place,
        simonides.open(Path(place) / "m.db", settings=Settings()) as store,
    ):
        ana = store.memory(user="ana")
        ana.remember_many(
            [
                Draft(f"Ana visited the harbour of town {n} in {n % 70}")
                for n in range(given.memories)
            ]
        )
        inner = ana._manager
        journaled = inner._notes
        unheard = ReadJournal(store.runtime.store)
        unheard.mute()
        mute = unheard.of(journaled.owner)
        taken: dict[str, list[float]] = {"mute": [], "journaled": []}
        for _ in range(given.rounds):
            for name, notes in (("mute", mute), ("journaled", journaled)):
                inner._notes = notes
                start = time.perf_counter()
                for _ in range(RECALLS):
                    ana.recall(QUESTION)
                taken[name].append((time.perf_counter() - start) / RECALLS * 1e6)
        for name, times in taken.items():
            ordered = sorted(times)
            print(f"{name:<10} p10 {ordered[len(times) // 10]:7.1f} µs", end="")
            print(f"  p50 {ordered[len(times) // 2]:7.1f} µs a recall")
        found = ana.recall(QUESTION)
        runs = timeit.repeat(
            lambda: journaled.read(found.hits, found.receipt.at), number=20_000, repeat=7
        )
        print(f"counting {len(found)} hits: {min(runs) / 20_000 * 1e6:.2f} µs")


if __name__ == "__main__":
    main()
