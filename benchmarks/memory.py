"""Whether memory stays flat: 50 users of one process write and recall without pause.

    python -m benchmarks.memory                # ten minutes
    python -m benchmarks.memory --minutes 5

Each user overwrites 40 keys, so the memories in force stay the same, while versions and audit
events grow in the file. It prints the resident memory each minute, and ends with an error if the
second half grew by 5 % or more. Linux only.
"""

from __future__ import annotations

import argparse
import os
import random
import sys
import tempfile
import threading
import time
from pathlib import Path

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

from benchmarks.sentences import sentence

import simonides

USERS, KEYS, FLAT = 50, 40, 0.05


def resident_mib() -> float:
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE") / 2**20


def work(memory: simonides.Memory, number: int, stop: threading.Event, calls: list[int]) -> None:
    rng = random.Random(number)
    while not stop.is_set():
        memory.remember(sentence(rng), key=f"key{rng.randrange(KEYS)}")
        memory.recall(sentence(rng))
        calls[number] += 1


def measured(store: simonides.Store, minutes: int) -> tuple[float, float]:
    """Return the resident memory at half time and at the end."""
    stop, calls = threading.Event(), [0] * USERS
    threads = [
        threading.Thread(target=work, args=(store.memory(user=f"user{n}"), n, stop, calls))
        for n in range(USERS)
    ]
    for thread in threads:
        thread.start()
    begun, sizes = time.monotonic(), []
    try:
        for half in range(1, 2 * minutes + 1):
            time.sleep(max(0.0, begun + 30 * half - time.monotonic()))
            sizes.append(resident_mib())
            if half % 2 == 0:
                print(f"minute {half // 2}: {sizes[-1]:.1f} MiB, {sum(calls):,} writes and recalls")
    finally:
        stop.set()
        for thread in threads:
            thread.join()
    return sizes[minutes - 1], sizes[-1]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--minutes", type=int, default=10)
    minutes = parser.parse_args().minutes
    with (
        tempfile.TemporaryDirectory(dir=".") as folder,
        simonides.open(Path(folder) / "m.db") as store,
    ):
        half, end = measured(store, minutes)
    growth = end / half - 1
    flat = growth < FLAT
    print(f"second half: {half:.1f} to {end:.1f} MiB, {growth:+.1%}: {'flat' if flat else 'grows'}")
    sys.exit(not flat)


if __name__ == "__main__":
    main()
