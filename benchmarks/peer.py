"""simonides beside LangGraph's SqliteStore: the same embedder, turn by turn in one process.

    python -m benchmarks.peer            # their default journal
    python -m benchmarks.peer --wal      # their store in WAL mode

It needs `pip install langgraph-checkpoint-sqlite` and a Python whose sqlite3 loads extensions, such
as Debian's. Both stores commit with synchronous=FULL. Printed are medians and their ratio; below 1
is faster than the other store. simonides judges, screens, compares, versions and audits each write.
"""

from __future__ import annotations

import argparse
import os
import random
import sqlite3
import statistics
import tempfile
import time
from collections.abc import Callable, Sequence
from pathlib import Path

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

from benchmarks.sentences import sentence
from langgraph.store.base import PutOp
from langgraph.store.sqlite import SqliteStore

import simonides
from simonides.models import Encoder


def compare(
    name: str, rounds: Sequence[tuple[str, object]], ours: Callable, theirs: Callable
) -> None:
    """Time both by turns, the first to go alternating, and print the ratio of the medians."""
    spent: dict[Callable, list[float]] = {ours: [], theirs: []}
    for number, (user, given) in enumerate(rounds):
        for call in (ours, theirs) if number % 2 else (theirs, ours):
            begun = time.perf_counter()
            call(user, given)
            spent[call].append((time.perf_counter() - begun) * 1e3)
    mine, other = (statistics.median(spent[each]) for each in (ours, theirs))
    print(f"{name:<34} ours {mine:9.3f} ms   theirs {other:9.3f} ms   ratio {mine / other:.2f}")


def measure(users: int, memories: int, *, wal: bool, rounds: int = 400) -> None:
    rng, embedder = random.Random(7), Encoder()
    embedder.encode(["warm"])
    with tempfile.TemporaryDirectory(dir=".") as folder:
        connection = sqlite3.connect(
            f"{folder}/theirs.db", check_same_thread=False, isolation_level=None
        )
        index = {
            "dims": embedder.dimensions,
            "embed": lambda texts: [list(map(float, row)) for row in embedder.encode(texts)],
            "fields": ["text"],
        }
        other = SqliteStore(connection, index=index)
        other.setup()
        if wal:
            connection.execute("PRAGMA journal_mode=WAL")
        connection.execute("PRAGMA synchronous=FULL")
        [journal] = connection.execute("PRAGMA journal_mode").fetchone()
        print(f"\n{users} owners with {memories} memories each; their journal: {journal}, FULL")
        with simonides.open(Path(folder) / "ours.db", embedder=embedder) as store:
            names = [f"u{number}" for number in range(users)]
            ours = {name: store.memory(user=name) for name in names}
            count = iter(range(10**9))

            def put(user: str, texts: Sequence[str]) -> None:
                space = ("users", user)
                other.batch([PutOp(space, f"m{next(count)}", {"text": text}) for text in texts])

            def keep(user: str, texts: Sequence[str]) -> None:
                drafts = [simonides.Draft(text) for text in texts]
                ours[user].remember_many(drafts, atomic=len(drafts) <= 500)

            for name in names:
                texts = [sentence(rng) for _ in range(memories)]
                keep(name, texts)
                put(name, texts)

            def some(size: int | None) -> tuple[str, object]:
                texts = [sentence(rng) for _ in range(size or 1)]
                return rng.choice(names), texts if size else texts[0]

            compare(
                "remember", [some(None) for _ in range(rounds)],
                lambda user, text: ours[user].remember(text), lambda user, text: put(user, [text]),
            )  # fmt: skip
            compare(
                "recall (5 hits)", [some(None) for _ in range(rounds)],
                lambda user, text: ours[user].recall(text, limit=5),
                lambda user, text: other.search(("users", user), query=text, limit=5),
            )  # fmt: skip
            if memories <= 1_000:
                compare("batch of 1,000", [some(1_000) for _ in range(4)], keep, put)
            size = (Path(folder) / "ours.db").stat().st_size
            print(
                f"bytes a memory on disk, before the log is joined: {size / users / memories:.0f}"
            )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--wal", action="store_true")
    parser.add_argument("--quick", action="store_true", help="leave out 10,000 memories")
    given = parser.parse_args()
    measure(100, 100, wal=given.wal)
    measure(1, 1_000, wal=given.wal, rounds=200)
    if not given.quick:
        measure(1, 10_000, wal=given.wal, rounds=60)


if __name__ == "__main__":
    main()
