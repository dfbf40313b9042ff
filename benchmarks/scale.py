"""What size costs: one large owner, many others in the same file, and memory held.

    python benchmarks/scale.py large --sizes 1000,10000,100000
    python benchmarks/scale.py foreign --others 1000
    python benchmarks/scale.py rss

large    Warm recall of one owner beside a plain scan of the same vectors: one dot product of every
         float32 row with a query, by the same numpy call, in turns. What recall does besides (the
         embedding of the query, keywords, evidence, hits) is in it.
foreign  First recall and single write of an owner of 1,000 memories, in a file of its own and in
         one with other owners of 1,000 memories each, in turns; both read once before, so that the
         page cache is warm. And a first recall beside a bare SELECT of the columns that it reads.
rss      Resident memory of a fresh process: the library, a store of 100 owners of 1,000 memories,
         and after ten of them were asked.
"""

from __future__ import annotations

import argparse
import random
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from contextlib import ExitStack
from functools import partial
from pathlib import Path

import apsw
import numpy as np

sys.path.append(str(Path(__file__).parent / "peers"))

from workload import sentence

import simonides
from simonides import Settings

BATCH = 1000
OWN = 1000
COLUMNS = (
    "SELECT m.id, m.revision, m.body, m.state, i.entry, m.known_from FROM memories AS m"
    " JOIN index_rows AS i ON i.owner = m.owner AND i.id = m.id WHERE m.owner = ?"
)


def fill(memory: simonides.Memory, count: int, rng: random.Random) -> None:
    for start in range(0, count, BATCH):
        drafts = [simonides.Draft(sentence(rng)) for _ in range(min(BATCH, count - start))]
        memory.remember_many(drafts)


def spent(call: Callable[[], object]) -> float:
    begin = time.perf_counter()
    call()
    return 1000 * (time.perf_counter() - begin)


def p50(times: list[float]) -> float:
    return statistics.median(times)


def large(sizes: list[int], rounds: int) -> None:
    rng = random.Random(7)
    with tempfile.TemporaryDirectory() as folder:
        # More than a scope may hold by default.
        policy = Path(folder) / "policy.yaml"
        policy.write_text("quotas: {memories: null}")
        settings = Settings(policy=policy)
        for size in sizes:
            with simonides.open(Path(folder) / f"{size}.db", settings=settings) as store:
                memory = store.memory(user="ana")
                fill(memory, size, rng)
                indexer = store.runtime.indexes.indexer
                vectors = np.ones((size, indexer.dimensions), np.float32)
                query = np.ones(indexer.dimensions, np.float32)
                memory.recall(sentence(rng))
                ours, scan = [], []
                for _ in range(rounds):
                    ours.append(spent(partial(memory.recall, sentence(rng))))
                    scan.append(spent(partial(np.vecdot, vectors, query)))
            print(
                f"{size:>7} memories  recall p50 {p50(ours):8.3f} ms  "
                f"scan of {vectors.nbytes >> 10:,} KiB {p50(scan):8.3f} ms  "
                f"ratio {p50(ours) / p50(scan):.2f}",
                flush=True,
            )


def foreign(others: int, rounds: int) -> None:
    rng = random.Random(7)
    with tempfile.TemporaryDirectory() as folder, ExitStack() as stack:
        paths = {"own": Path(folder) / "own.db", "shared": Path(folder) / "shared.db"}
        for name, path in paths.items():
            with simonides.open(path) as store:
                for number in range(others if name == "shared" else 0):
                    fill(store.memory(user=f"other{number}"), OWN, rng)
                fill(store.memory(user="ana"), OWN, random.Random(1))
        owner = _owner(paths["own"])
        first, bare = {name: [] for name in paths}, []
        for _ in range(rounds):
            for name in rng.sample(sorted(paths), len(paths)):
                with simonides.open(paths[name]) as store:
                    memory = store.memory(user="ana")
                    # Another user's recall first: what a process loads once is no part of this.
                    store.memory(user="nobody").recall("tea")
                    first[name].append(spent(partial(memory.recall, sentence(rng))))
            reader = apsw.Connection(str(paths["own"]), flags=apsw.SQLITE_OPEN_READONLY)
            reader.execute("SELECT count(*) FROM owners").fetchall()
            bare.append(spent(lambda r=reader: r.execute(COLUMNS, (owner,)).fetchall()))
            reader.close()
        open_ = {n: stack.enter_context(simonides.open(path)) for n, path in paths.items()}
        managers = {name: store.memory(user="ana") for name, store in open_.items()}
        writes = {name: [] for name in paths}
        for _ in range(10 * rounds):
            for name in rng.sample(sorted(paths), len(paths)):
                text = sentence(rng)
                writes[name].append(spent(partial(managers[name].remember, text)))
        print(f"{others * OWN:,} foreign memories in the shared file")
        for what, times in (("first recall", first), ("single write", writes)):
            own, shared = p50(times["own"]), p50(times["shared"])
            print(f"{what}  own {own:.3f} ms  shared {shared:.3f} ms  ratio {shared / own:.2f}")
        print(f"first recall {p50(first['own']):.3f} ms  bare SELECT {p50(bare):.3f} ms  "
              f"ratio {p50(first['own']) / p50(bare):.2f}")  # fmt: skip


def _owner(path: Path) -> bytes:
    reader = apsw.Connection(str(path), flags=apsw.SQLITE_OPEN_READONLY)
    (owner,) = reader.execute("SELECT owner FROM owners WHERE name LIKE '%/ana/'").fetchall()
    reader.close()
    return owner[0]


WATCHED = """
import sys, resource
import simonides
def held(what):
    with open("/proc/self/status") as status:
        kib = next(int(line.split()[1]) for line in status if line.startswith("VmRSS"))
    print(f"{what:<28} {kib / 1024:7.1f} MiB", flush=True)
held("import simonides")
with simonides.open(sys.argv[1]) as opened_store:
    held("opened")
    for number in range(10):
        manager = opened_store.memory(user=f"u{number}")
        for _ in range(20):
            manager.recall("who ordered green tea near the lake?")
    held("ten owners warm")
"""


def rss() -> None:
    rng = random.Random(7)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "many.db"
        with simonides.open(path) as store:
            for number in range(100):
                fill(store.memory(user=f"u{number}"), OWN, rng)
        subprocess.run([sys.executable, "-c", WATCHED, str(path)], check=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("what", choices=("large", "foreign", "rss"))
    parser.add_argument("--sizes", default="1000,10000,100000")
    parser.add_argument("--others", type=int, default=1000)
    parser.add_argument("--rounds", type=int, default=30)
    chosen = parser.parse_args()
    if chosen.what == "large":
        large([int(size) for size in chosen.sizes.split(",")], chosen.rounds)
    elif chosen.what == "foreign":
        foreign(chosen.others, chosen.rounds)
    else:
        rss()


if __name__ == "__main__":
    main()
