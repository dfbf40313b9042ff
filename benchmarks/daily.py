"""What the daily work costs, and how long another user's write waits meanwhile.

    python -m benchmarks.daily                    # 1,000 owners; one of 10,000; one of 50,000
    python -m benchmarks.daily --part 0.1         # a tenth of these
    python -m benchmarks.daily --target URL       # an empty PostgreSQL store instead of files

Each store is filled through the public API on days of a manual clock: what has expired, what nobody
read, old versions, doubtful inferences, facts and turns. A new process then does the daily jobs of
all owners in one thread, while another user writes every 10 ms in another thread. It does so once
with work to do and once a day later, with none. It ends with an error if the write of another user
waits more than 50 ms (p99).
"""

from __future__ import annotations

import argparse
import random
import resource
import statistics
import sys
import tempfile
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from concurrent.futures import ProcessPoolExecutor
from contextlib import AbstractContextManager, contextmanager
from datetime import timedelta
from multiprocessing import get_context
from pathlib import Path
from typing import Any

from benchmarks.sentences import sentence

import simonides
from simonides import Draft
from simonides.life import jobs
from simonides.testing import ManualClock, SmallEmbedder

MOST_WAIT_MS, EVERY_S, IDLE_WRITES = 50, 0.01, 200
SIZES = ((1_000, 100), (1, 10_000), (1, 50_000))
"""Owners, and memories and turns of each."""

START, LAST_SAID, DAY = ManualClock().now, 100, 120
"""The first day of a store, the day of the last statement, and that of the daily work."""

SYLLABLES = "ba de fi go hu ka le mi no pu ra se ti vo zu".split()

STAGES = ("collect", "look_through", "reflect_if_due")


def opened(target: str, day: int) -> simonides.Store:
    settings = simonides.Settings(synchronous="normal")
    clock = ManualClock(START + timedelta(days=day))
    return simonides.open(target, settings=settings, embedder=SmallEmbedder(), clock=clock)


# -- filling ---------------------------------------------------------------------------------------


def drafts(rng: random.Random, size: int) -> Iterator[Draft]:
    """Yield what an owner is told on the first day: three quarters of all its memories."""
    for n in range(size * 3 // 4):
        said, inferred = sentence(rng), f"She may like colour {n} of {rng.randrange(10**6)}"
        match n % 15:
            case 0 | 1 | 2:
                yield Draft(said, ttl_days=60)
            case 3 | 4 | 5:
                yield Draft(said, source="tool_verified")
            case 6 | 7:
                yield Draft(said, key=f"slot{n}")
            case 8 | 9 | 10 | 11:
                yield Draft(
                    inferred, source="agent_inferred", confidence=0.5, category="entity_fact"
                )
            case _:
                yield Draft(said)


def fill(target: str, owners: int, size: int) -> None:
    """Fill a store; one process does it, so that its memory is not that of the daily work."""
    rng = random.Random(1)
    for day in (0, 1, LAST_SAID):
        with opened(target, day) as store:
            for number in range(owners):
                memory = store.memory(user=f"user{number}")
                if day == 0:
                    memory.remember_many(list(drafts(rng, size)), atomic=False)
                    turns = [
                        {"role": "user" if n % 2 else "assistant", "content": sentence(rng)}
                        for n in range(size * 15 // 100)
                    ]
                    for first in range(0, len(turns), 50):
                        memory.session(f"talk{first}").add(turns[first : first + 50])
                elif day == 1:
                    slots = [n for n in range(size * 3 // 4) if n % 15 in (6, 7)]
                    changed = [Draft(sentence(rng), key=f"slot{n}") for n in slots]
                    memory.remember_many(changed, atomic=False)
                else:
                    memory.remember(sentence(rng))


# -- the daily work --------------------------------------------------------------------------------


def resident_mb() -> float:
    """Return the memory that this process has now, in MiB."""
    lines = Path("/proc/self/status").read_text().splitlines()
    return next(int(each.split()[1]) for each in lines if each.startswith("VmRSS")) / 1024


class Watch:
    """Times the stages of the daily work, and counts transactions.

    Attributes:
        seconds: By stage.
        counts: Reads, writes and checkpoints of the thread that does the daily work.
    """

    def __init__(self, store: simonides.Store) -> None:
        self.seconds, self.counts = Counter[str](), Counter[str]()
        self._thread, db = threading.get_ident(), store._engine.db
        for name in ("read", "write", "checkpoint"):
            setattr(db, name, self._counted(name, getattr(db, name)))
        for module, name in zip((jobs.gc, jobs.hygiene, jobs), STAGES, strict=True):
            setattr(module, name, self._timed(name, getattr(module, name)))

    def _counted(self, name: str, does: Callable[..., Any]) -> Callable[..., Any]:
        def counted(*given: Any, **named: Any) -> AbstractContextManager[Any]:
            if threading.get_ident() == self._thread:
                self.counts[name] += 1
            return does(*given, **named)

        return counted

    def _timed(self, name: str, does: Callable[..., Any]) -> Callable[..., Any]:
        def timed(*given: Any, **named: Any) -> Any:
            begun = time.perf_counter()
            try:
                return does(*given, **named)
            finally:
                self.seconds[name] += time.perf_counter() - begun

        return timed


def unlike_others(number: int) -> str:
    """Return a statement of made-up words, so that a write compares it with none before it."""
    rng = random.Random(number)
    words = ("".join(rng.choice(SYLLABLES) for _ in range(4)) for _ in range(5))
    return f"{' '.join(words).capitalize()}."


def wait_to_write(memory: simonides.Memory, number: int) -> float:
    """Write as another user does; return how long it took, in milliseconds."""
    time.sleep(EVERY_S)
    begun = time.perf_counter()
    memory.remember(unlike_others(number))
    return 1000 * (time.perf_counter() - begun)


@contextmanager
def another_user(store: simonides.Store, waits: list[float], day: int) -> Iterator[None]:
    """Let another user, who has nothing yet, write every 10 ms while the block runs."""
    done, memory = threading.Event(), store.memory(user=f"another{day}")

    def write() -> None:
        while not done.is_set():
            waits.append(wait_to_write(memory, len(waits)))

    thread = threading.Thread(target=write)
    thread.start()
    try:
        yield
    finally:
        done.set()
        thread.join()


def percentiles(waits: list[float]) -> tuple[float, float, float]:
    """Return the median, the 99th percentile and the longest."""
    cuts = statistics.quantiles(waits, n=100, method="inclusive")
    return cuts[49], cuts[98], max(waits)


def day_of(target: str, day: int, owners: int) -> float:
    """Do the daily work of one day, print what it cost, and return the p99 of the waits."""
    with opened(target, day) as store:
        quiet, waits = store.memory(user="quiet"), list[float]()
        idle = percentiles([wait_to_write(quiet, n) for n in range(IDLE_WRITES)])
        watch, before = Watch(store), resident_mb()
        begun = time.perf_counter()
        with another_user(store, waits, day):
            store.flush()
            took = time.perf_counter() - begun
        after, peak = resident_mb(), resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    stages = {name: watch.seconds[name] for name in STAGES}
    stages["the rest"] = took - sum(stages.values())
    middle, worst, longest = percentiles(waits)
    print(
        f"day {day}: {took:.1f} s ({', '.join(f'{n} {s:.1f} s' for n, s in stages.items())})\n"
        f"  wait p50 {middle:.1f} ms, p99 {worst:.1f} ms, longest {longest:.1f} ms "
        f"({len(waits)} writes); idle {idle[0]:.1f}, {idle[1]:.1f}, {idle[2]:.1f} ms\n"
        f"  memory before {before:.0f} MiB, after {after:.0f}, peak {peak:.0f}; an owner "
        f"{', '.join(f'{n} {c / owners:.1f}' for n, c in sorted(watch.counts.items()))}",
        flush=True,
    )
    return worst


def in_its_own_process(work: Callable[..., Any], *given: object) -> Any:
    with ProcessPoolExecutor(1, mp_context=get_context("spawn")) as pool:
        return pool.submit(work, *given).result()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--part", type=float, default=1.0)
    parser.add_argument("--target")
    given, is_late = parser.parse_args(), False
    with tempfile.TemporaryDirectory() as folder:
        for owners, size in SIZES[: 1 if given.target else None]:
            owners, size = (max(round(owners * given.part), 1), size) if owners > 1 else (
                1, round(size * given.part)
            )  # fmt: skip
            target = given.target or str(Path(folder) / f"{owners}-{size}.db")
            in_its_own_process(fill, target, owners, size)
            print(f"{owners:,} owners of {size:,} memories")
            for day in (DAY, DAY + 1):
                is_late |= in_its_own_process(day_of, target, day, owners) > MOST_WAIT_MS
    sys.exit(is_late)


if __name__ == "__main__":
    main()
