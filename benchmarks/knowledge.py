"""How long a folder of documents takes: the first look, one without a change, one after one.

    python benchmarks/knowledge.py --files 2000

Each file is a Markdown page of 20 sections of a few made-up sentences, some 3 kB.
"""

from __future__ import annotations

import argparse
import random
import statistics
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import simonides

WORDS = (
    "harbour tide pilot crane quay cable gauge buoy ledger invoice permit customs berth tug"
    " winch hull anchor chart signal depth channel dredge pontoon bollard fender hatch cargo"
).split()


def page(rng: random.Random, number: int) -> str:
    """Return a page with words of its own."""
    parts = [f"# Page {number}"]
    for section in range(20):
        parts.append(f"## Section {section} of {rng.choice(WORDS)}")
        said = (" ".join(rng.choices(WORDS, k=9)).capitalize() + "." for _ in range(2))
        parts.append(" ".join(said))
    return "\n\n".join(parts)


def timed(work: Callable[[], object]) -> float:
    """Return seconds."""
    began = time.perf_counter()
    work()
    return time.perf_counter() - began


def main() -> None:
    """Measure, and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--files", type=int, default=2_000)
    files = parser.parse_args().files
    rng = random.Random(7)
    with tempfile.TemporaryDirectory() as folder, simonides.open(":memory:") as store:
        for number in range(files):
            (Path(folder) / f"{number:05}.md").write_text(page(rng, number))
        time.sleep(2.1)  # until the files have come to rest, as those of a wiki have
        store.add_source(simonides.FolderSource(folder, name="docs", fresh_s=0))
        memory = store.memory(user="ana")
        first = timed(lambda: memory.maintenance.sources(within_s=3_600))
        (source,) = memory.maintenance.sources()
        same = timed(lambda: memory.maintenance.sources(within_s=3_600))
        (Path(folder) / "00000.md").write_text(page(rng, files))
        changed = timed(lambda: memory.maintenance.sources(within_s=3_600))
        queries = [" ".join(rng.choices(WORDS, k=4)) for _ in range(50)]
        asked = [timed(lambda q=query: memory.recall(q, layer="l3")) for query in queries]
    print(f"{source.documents} files, {source.passages} passages")
    print(f"first look         {first:8.2f} s  ({1e3 * first / source.passages:.2f} ms a passage)")
    print(f"without a change   {1e3 * same:8.1f} ms")
    print(f"after one change   {1e3 * changed:8.1f} ms")
    print(f"recall, median     {1e3 * statistics.median(asked):8.1f} ms, looking included")


if __name__ == "__main__":
    main()
