"""Whether calls stay fast beside many conversations and many open tasks of one user.

    python -m benchmarks.conversations               # 10 and 10,000; 10 and 5,000
    python -m benchmarks.conversations --part 0.1    # a tenth of these

Two stores hold as many turns, in few conversations and in many; two others as many notes, in few
open tasks and in many. All are filled through the public API, with the small embedder for tests.
The same calls are timed in both by turns. It prints medians and their ratio, and ends with an error
if a ratio is above 1.3 or closing takes more than 2 s.
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

from benchmarks.sentences import sentence

import simonides
from simonides.testing import ManualClock, SmallEmbedder

MOST_RATIO, MOST_CLOSE_S = 1.3, 2.0
FEW, TALKS, TASKS, ROUNDS = 10, 10_000, 5_000, 30
QUESTION = "What did our vendor order for the launch?"

Calls = dict[str, Callable[[int], object]]


def opened(path: Path) -> simonides.Store:
    settings = simonides.Settings(synchronous="normal")
    return simonides.open(path, settings=settings, embedder=SmallEmbedder(), clock=ManualClock())


def fill_talks(path: Path, talks: int, turns: int) -> float:
    """Say as many turns in so many conversations; return how long closing takes."""
    rng, store = random.Random(1), opened(path)
    memory = store.memory(user="ana")
    for talk in range(talks):
        for _ in range(max(turns // talks // 50, 1)):
            said = [sentence(rng) for _ in range(min(turns // talks, 50))]
            memory.session(f"talk {talk}".replace(" ", "-")).add(
                [{"role": "user", "content": each} for each in said]
            )
    memory.session("told").add([{"role": "user", "content": "I live in Lund. " * 10}] * 2)
    memory.session("told").end()
    begun = time.perf_counter()
    store.close()
    return time.perf_counter() - begun


def fill_tasks(path: Path, tasks: int, notes: int) -> float:
    """Take as many notes in so many open tasks; return how long closing takes."""
    rng, store = random.Random(1), opened(path)
    memory = store.memory(user="ana")
    for number in range(tasks):
        task = memory.task("Launch the shop", name=f"task{number}")
        for _ in range(notes // tasks):
            task.note(sentence(rng))
    begun = time.perf_counter()
    store.close()
    return time.perf_counter() - begun


def calls_on_talks(store: simonides.Store) -> Calls:
    memory, rng = store.memory(user="ana"), random.Random(2)
    return {
        "digest()": lambda n: memory.session(f"new{n}").digest(),
        "digest(question)": lambda n: memory.session(f"new{n}").digest(QUESTION),
        "add, a new conversation": lambda n: memory.session(f"new{n}").add(sentence(rng)),
        "add, one that goes on": lambda _: memory.session("goes-on").add(sentence(rng)),
        "sessions(limit=10)": lambda _: memory.sessions(limit=10),
        "session.messages()": lambda _: memory.session("goes-on").messages(limit=10),
    }


def calls_on_tasks(store: simonides.Store) -> Calls:
    memory = store.memory(user="ana")
    task = memory.task("Launch the shop", name="task3")
    return {
        "task.prompt()": lambda _: task.prompt(),
        "digest() beside tasks": lambda _: memory.digest(),
        "digest(question) beside tasks": lambda _: memory.digest(QUESTION),
        "opening a task": lambda n: memory.task("Paint the shop", name=f"new{n}"),
        "resuming a task": lambda _: memory.task(None, name="task5"),
    }


def compared(few: Calls, many: Calls) -> bool:
    """Time the calls in both stores by turns, print the medians, and say whether all are flat."""
    flat = True
    for name in few:
        times: tuple[list[float], list[float]] = ([], [])
        for n in range(ROUNDS + 3):
            for taken, calls in zip(times, (few, many), strict=True):
                begun = time.perf_counter()
                calls[name](n)
                taken.append(1000 * (time.perf_counter() - begun))
        low, high = (statistics.median(taken[3:]) for taken in times)
        flat &= high <= MOST_RATIO * low
        print(f"{name:32}{low:8.2f} ms {high:8.2f} ms {high / low:6.2f}")
    return flat


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--part", type=float, default=1.0)
    part = parser.parse_args().part
    flat = True
    with tempfile.TemporaryDirectory() as folder:
        kinds = (
            ("conversations", round(TALKS * part), fill_talks, calls_on_talks),
            ("open tasks", round(TASKS * part), fill_tasks, calls_on_tasks),
        )
        for name, most, fill, calls in kinds:
            paths = [Path(folder) / f"{name} {count}.db" for count in (FEW, most)]
            closing = [fill(path, n, most) for path, n in zip(paths, (FEW, most), strict=True)]
            print(f"{name}: {FEW} and {most:,}")
            print(f"{'close()':32}{closing[0]:8.2f} s  {closing[1]:8.2f} s")
            with opened(paths[0]) as few, opened(paths[1]) as many:
                flat &= compared(calls(few), calls(many)) and closing[1] <= MOST_CLOSE_S
    sys.exit(not flat)


if __name__ == "__main__":
    main()
