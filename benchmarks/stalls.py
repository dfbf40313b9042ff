"""How long a call stalls others: ``python benchmarks/stalls.py [target]``.

Prints milliseconds and ratios, each beside the same figure of the idle store:

* another user's write while one call stores 8,000 items (``atomic=False``), in threads;
* how late the event loop wakes from a sleep of a millisecond meanwhile, with the async store;
* the shares of 50 threads of 50 users that write without pause for three seconds.
"""

from __future__ import annotations

import asyncio
import statistics
import sys
import tempfile
import threading
import time
from collections.abc import Sequence
from pathlib import Path

import simonides
from simonides.api import aio

ITEMS, THREADS, SECONDS = 8_000, 50, 3.0


def drafts() -> list[simonides.Draft]:
    return [simonides.Draft(f"Note {n}: the order of customer {n * 7919}") for n in range(ITEMS)]


def shown(name: str, idle: Sequence[float], busy: Sequence[float]) -> None:
    """Print p50 and p99 of two series of seconds, and their ratios."""
    before, after = ([1000 * statistics.quantiles(each, n=100)[q] for q in (49, 98)]
                     for each in (idle, busy))  # fmt: skip
    print(
        f"{name}: p50 {after[0]:.2f} ms, p99 {after[1]:.2f} ms ({len(busy)} samples); idle "
        f"{before[0]:.2f} and {before[1]:.2f} ms; ratios {after[0] / before[0]:.1f} and "
        f"{after[1] / before[1]:.1f}"
    )


def writes(store: simonides.Store, user: str, until: threading.Event, most: int) -> list[float]:
    took: list[float] = []
    memory = store.memory(user=user)
    while len(took) < most and not until.is_set():
        begun = time.perf_counter()
        memory.remember(f"Fact {len(took)} of {user}: nothing like the others")
        took.append(time.perf_counter() - begun)
    return took


def another_user(target: str) -> None:
    with simonides.open(target) as store:
        done = threading.Event()
        store.memory(user="warm").remember("The first fact")
        idle = writes(store, "ben", done, 300)

        def bulk() -> None:
            store.memory(user="ana").remember_many(drafts(), atomic=False)
            done.set()

        thread = threading.Thread(target=bulk)
        thread.start()
        busy = writes(store, "cai", done, 10**9)
        thread.join()
    shown("another user's write", idle, busy)


async def lags(until: asyncio.Event, most: int) -> list[float]:
    took: list[float] = []
    while len(took) < most and not until.is_set():
        begun = time.perf_counter()
        await asyncio.sleep(0.001)
        took.append(time.perf_counter() - begun - 0.001)
    return took


async def event_loop(target: str) -> None:
    done = asyncio.Event()
    async with aio.aopen(target) as store:
        await store.memory(user="warm").remember("The first fact")
        idle = await lags(done, 1_000)

        async def bulk() -> None:
            await store.memory(user="dora").remember_many(drafts(), atomic=False)
            done.set()

        task = asyncio.create_task(bulk())
        busy = await lags(done, 10**9)
        await task
    shown("lag of the event loop", idle, busy)


def fairness(target: str) -> None:
    with simonides.open(target, embedder="none") as store:
        counts, slowest = [0] * THREADS, [0.0] * THREADS
        store.memory(user="warm").remember("The first fact")
        end = time.perf_counter() + SECONDS

        def work(number: int) -> None:
            memory = store.memory(user=f"user{number}")
            while (begun := time.perf_counter()) < end:
                memory.remember(f"Fact {counts[number]}")
                counts[number] += 1
                slowest[number] = max(slowest[number], time.perf_counter() - begun)

        threads = [threading.Thread(target=work, args=(number,)) for number in range(THREADS)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    print(
        f"{THREADS} threads: {sum(counts) / SECONDS:,.0f} writes a second; the luckiest wrote "
        f"{max(counts) / max(min(counts), 1):.2f} times as much as the unluckiest; longest write "
        f"{1000 * max(slowest):.0f} ms"
    )


def main(given: Sequence[str]) -> None:
    with tempfile.TemporaryDirectory() as folder:
        for n, part in enumerate((another_user, lambda at: asyncio.run(event_loop(at)), fairness)):
            part(given[0] if given else str(Path(folder) / f"memory{n}.db"))


if __name__ == "__main__":
    main(sys.argv[1:])
