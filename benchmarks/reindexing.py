"""What a change of model costs: recalls before, during and after, and making entries anew.

    python benchmarks/reindexing.py [--rows 10000] [--url postgresql://app@host/database]

One owner's memories are written without an embedder and then read with the embedded one, so that
every entry is stale and each text is embedded anew. Cold is the first recall of an owner whose
index is not loaded (the page cache is warm), warm are 200 recalls after it.

before      all entries stale: a cold recall makes them anew in memory
command     ``opened_store.reindex()``
after       no entry is stale
background  another owner with stale entries, left to itself from a first recall on: how long until
            none is stale (the five seconds before it begins included), and what recalls and single
            writes take meanwhile; beside it the same on the store where nothing is to be done
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

sys.path.append(str(Path(__file__).parent / "peers"))

from workload import sentence

import simonides
from simonides import Settings, Store
from simonides.domain.scope import Scope
from simonides.engine.maintenance.reindex_worker import START_S

BATCH = 1000
RECALLS = 200
WRITES = 50
QUERY = "where do we meet on Friday?"
RESTS_S = 0.02


def spent(call: Callable[[], object]) -> float:
    begin = time.perf_counter()
    call()
    return 1000 * (time.perf_counter() - begin)


def told(name: str, times: list[float]) -> None:
    ordered = sorted(times)
    p95 = ordered[int(0.95 * (len(ordered) - 1))]
    print(f"  {name:<34} p50 {statistics.median(ordered):8.2f} ms   p95 {p95:8.2f} ms")


def fill(target: str, user: str, rows: int) -> None:
    rng = random.Random(7)
    with simonides.open(target, settings=Settings(embedder="none")) as store:
        memory = store.memory(user=user)
        for start in range(0, rows, BATCH):
            count = min(BATCH, rows - start)
            memory.remember_many([simonides.Draft(sentence(rng)) for _ in range(count)])


def cold_and_warm(target: str, user: str, name: str) -> None:
    print(name)
    cold, warm = [], []
    for _ in range(5):
        with simonides.open(target, settings=Settings(reindex="manual")) as store:
            memory = store.memory(user=user)
            memory.recall("a word")  # the model's own loading is no part of it
            memory = store.memory(user=user)
            store.runtime.indexes.clear()
            cold.append(spent(lambda m=memory: m.recall(QUERY)))
            warm += [spent(lambda m=memory: m.recall(QUERY)) for _ in range(RECALLS // 5)]
    told("cold recall", cold)
    told("warm recall", warm)


def by_command(target: str, path: str) -> None:
    print("command")
    with simonides.open(target, settings=Settings(reindex="manual")) as store:
        begin = time.perf_counter()
        report = store.admin(actor="root").reindex(scopes=[path])
        took = time.perf_counter() - begin
    print(f"  {report.remade:,} entries in {took:.1f} s: {report.remade / took:,.0f} a second")


def beside(store: Store, user: str, *, until: Callable[[int], bool]) -> None:
    memory, rng = store.memory(user=user), random.Random(8)
    recalls, writes = [], []
    while not until(len(recalls)):
        recalls.append(spent(lambda: memory.recall(QUERY)))
        if len(writes) < WRITES:
            text = sentence(rng)
            writes.append(spent(lambda t=text: memory.remember(t)))
        time.sleep(RESTS_S)
    told("warm recall", recalls)
    told("single write", writes)


def left_to_itself(target: str, user: str, name: str) -> None:
    print(name)
    with simonides.open(target) as store:
        begin = time.perf_counter()
        store.memory(user=user).recall(QUERY)
        index = store.runtime.indexes.of(Scope.of_user("default", user))
        had = len(index.stale)
        time.sleep(START_S)
        beside(store, user, until=lambda done: done >= RECALLS and not index.stale)
        took = time.perf_counter() - begin
        print(f"  {had:,} were stale; none is after {took:.1f} s" if had else "  none was stale")


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--rows", type=int, default=10_000)
    parser.add_argument("--url", help="A prepared and empty PostgreSQL database; default: SQLite.")
    asked = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        target = asked.url or str(Path(folder) / "m.db")
        print(f"{asked.rows:,} memories of one owner, {'PostgreSQL' if asked.url else 'SQLite'}")
        for user in ("ana", "bob"):
            fill(target, user, asked.rows)
        owner = Scope.of_user("default", "ana")
        cold_and_warm(target, "ana", "before")
        by_command(target, owner.path)
        cold_and_warm(target, "ana", "after")
        left_to_itself(target, "ana", "background, nothing to do")
        left_to_itself(target, "bob", "background, at work")


if __name__ == "__main__":
    main()
