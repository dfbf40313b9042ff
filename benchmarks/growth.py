"""How recall and writes grow: with the memories of one owner, and with the number of owners.

    python -m benchmarks.growth            # writes benchmarks/growth.png, and a table
    python -m benchmarks.growth --quick    # up to 10,000 memories and 1,000 owners

It needs `pip install matplotlib`. Medians of one process on one machine; compare them with each
other, not with those of another machine.
"""

from __future__ import annotations

import argparse
import os
import random
import statistics
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

from benchmarks.sentences import sentence

import simonides

PICTURE = Path(__file__).with_name("growth.png")


def median_ms(call: Callable[[int], object], times: int = 60) -> float:
    spent = []
    for number in range(times):
        begun = time.perf_counter()
        call(number)
        spent.append((time.perf_counter() - begun) * 1e3)
    return statistics.median(spent)


def fill(memory: simonides.Memory, count: int, rng: random.Random) -> None:
    for first in range(0, count, 2_000):
        size = min(2_000, count - first)
        memory.remember_many([simonides.Draft(sentence(rng)) for _ in range(size)], atomic=False)


def by_memories(sizes: list[int]) -> list[tuple[int, float, float, float]]:
    """Return size, recall, write and cold first recall in ms, for one owner."""
    rows = []
    for size in sizes:
        rng = random.Random(size)
        with tempfile.TemporaryDirectory(dir=".") as folder:
            path = Path(folder) / "m.db"
            policy = Path(folder) / "policy.yaml"
            policy.write_text("quotas: {memories: null}\n")
            settings = simonides.Settings(policy=policy)
            with simonides.open(path, settings=settings) as store:
                memory = store.memory(user="ana")
                fill(memory, size, rng)
                queries = [sentence(rng) for _ in range(60)]
                recall = median_ms(lambda n, m=memory, q=queries: m.recall(q[n]))
                texts = [sentence(rng) for _ in range(60)]
                write = median_ms(lambda n, m=memory, t=texts: m.remember(t[n]))
            with simonides.open(path, settings=settings) as store:
                cold = median_ms(lambda _, s=store: s.memory(user="ana").recall("tea"), times=1)
        rows.append((size, recall, write, cold))
        print(f"{size:>7} memories: recall {recall:7.2f}  write {write:7.2f}  first {cold:8.1f} ms")
    return rows


def by_owners(counts: list[int]) -> list[tuple[int, float, float]]:
    """Return owners, recall and write in ms, for owners with 5 memories each."""
    rows = []
    for count in counts:
        rng = random.Random(count)
        folder = tempfile.TemporaryDirectory(dir=".")
        with folder, simonides.open(Path(folder.name) / "m.db") as store:
            for number in range(count):
                fill(store.memory(user=f"u{number}"), 5, rng)
            someone = [store.memory(user=f"u{rng.randrange(count)}") for _ in range(60)]
            recall = median_ms(lambda n, w=someone, r=rng: w[n].recall(sentence(r)))
            write = median_ms(lambda n, w=someone, r=rng: w[n].remember(sentence(r)))
        rows.append((count, recall, write))
        print(f"{count:>7} owners:   recall {recall:7.2f}  write {write:7.2f} ms")
    return rows


def draw(memories: list[tuple[int, float, float, float]], owners: list[tuple]) -> None:
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot

    figure, (left, right) = pyplot.subplots(1, 2, figsize=(10, 4), sharey=True)
    for axis, rows, label in ((left, memories, "memories of one owner"), (right, owners, "owners")):
        axis.loglog([r[0] for r in rows], [r[1] for r in rows], marker="o", label="recall")
        axis.loglog([r[0] for r in rows], [r[2] for r in rows], marker="s", label="remember")
        axis.set_xlabel(label)
        axis.grid(visible=True, which="both", alpha=0.3)
    left.set_ylabel("median, ms")
    left.legend()
    figure.tight_layout()
    figure.savefig(PICTURE, dpi=120)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true")
    quick = parser.parse_args().quick
    memories = by_memories([100, 1_000, 10_000] + ([] if quick else [100_000]))
    owners = by_owners([1, 10, 100, 1_000] + ([] if quick else [20_000]))
    draw(memories, owners)


if __name__ == "__main__":
    main()
