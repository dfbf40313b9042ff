"""What a write costs beside that of another source tree: single `remember` of texts that are new.

    python benchmarks/writing.py --against OTHER/src [--texts FILE] [--memories 100 1000]

Both trees write the same texts into SQLite files of their own (`synchronous=FULL`), in two
processes that take turns in blocks of fifty. Without ``--texts`` (one a line) the sentences are
those of `peers/workload.py`, which are cut from one pattern.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

BLOCK = 50
HERE = Path(__file__).resolve()


def worker(place: str) -> None:
    """Write the blocks that come in as lines of JSON; tell the seconds of each write."""
    import simonides

    with simonides.open(place) as store:
        for line in sys.stdin:
            block = json.loads(line)
            memory = store.memory(user=block["user"])
            if block["fill"]:
                memory.remember_many([simonides.Draft(text) for text in block["texts"]])
                print("[]", flush=True)
                continue
            spent = []
            for text in block["texts"]:
                begin, busy = time.perf_counter(), time.process_time()
                memory.remember(text)
                spent.append((time.perf_counter() - begin, time.process_time() - busy))
            print(json.dumps(spent), flush=True)


def side(source: Path, place: Path) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, str(HERE), "--worker", str(place)],
        env={**os.environ, "PYTHONPATH": str(source)},
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )


def ask(process: subprocess.Popen[str], **block: object) -> list[list[float]]:
    assert process.stdin
    assert process.stdout
    process.stdin.write(json.dumps(block) + "\n")
    process.stdin.flush()
    found: list[list[float]] = json.loads(process.stdout.readline())
    return found


def texts_of(file: Path | None, count: int, seed: int) -> list[str]:
    rng = random.Random(seed)
    if file is None:
        sys.path.insert(0, str(HERE.parent / "peers"))
        from workload import sentence

        return [sentence(rng) for _ in range(count)]
    lines = list(dict.fromkeys(file.read_text(encoding="utf-8").splitlines()))
    rng.shuffle(lines)
    assert len(lines) >= count, f"{len(lines)} different lines; {count} are needed"
    return lines[:count]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--against", type=Path, required=True)
    parser.add_argument("--texts", type=Path)
    parser.add_argument("--memories", type=int, nargs="+", default=[100, 1000])
    parser.add_argument("--rounds", type=int, default=10)
    given = parser.parse_args()
    sources = {"this": HERE.parents[1] / "src", "other": given.against}
    with tempfile.TemporaryDirectory() as place:
        sides = {name: side(at, Path(place) / f"{name}.db") for name, at in sources.items()}
        for memories in given.memories:
            texts = texts_of(given.texts, memories + given.rounds * BLOCK, memories)
            spent: dict[str, list[list[float]]] = {name: [] for name in sides}
            for process in sides.values():
                ask(process, user=f"u{memories}", fill=True, texts=texts[:memories])
            for number in range(given.rounds):
                start = memories + number * BLOCK
                block = texts[start : start + BLOCK]
                for name in sorted(sides, reverse=bool(number % 2)):
                    spent[name] += ask(sides[name], user=f"u{memories}", fill=False, texts=block)
            for what, at in (("wall", 0), ("processor", 1)):
                mid = {n: statistics.median(s[at] for s in all_) for n, all_ in spent.items()}
                print(
                    f"{memories:>6} memories, {what:<9} this {mid['this'] * 1e3:.3f} ms  "
                    f"other {mid['other'] * 1e3:.3f} ms  ratio {mid['this'] / mid['other']:.3f}"
                )
        for process in sides.values():
            assert process.stdin
            process.stdin.close()
            process.wait()


if __name__ == "__main__":
    if sys.argv[1:2] == ["--worker"]:
        worker(sys.argv[2])
    else:
        main()
