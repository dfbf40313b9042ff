"""Whether export, restore and erasure of one user stay flat in memory, however much is stored.

    python -m benchmarks.moving                     # about two minutes
    python -m benchmarks.moving --turns 1000 10000

Each step runs in a process of its own. It prints how far the peak of its resident memory lies above
what it was with the store open, and ends with an error if a peak grows by more than `MOST_MIB`
from the least number of turns to the greatest. Linux only.
"""

from __future__ import annotations

import argparse
import os
import random
import re
import subprocess
import sys
import tempfile
import time
from pathlib import Path

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

from benchmarks.sentences import sentence

import simonides
from simonides.capture.messages import Message
from simonides.core.scope import in_session, principal_of
from simonides.sessions.imported import keep_turns

MOST_MIB = 10.0
STEPS = ("export", "restore", "verify", "erase")


def make(path: Path, turns: int) -> None:
    """Make a store with conversations of 100 turns each, which nobody has read yet."""
    rng = random.Random(turns)
    with simonides.open(path, embedder="none") as store:
        home = principal_of(user="ana")
        for first in range(0, turns, 100):
            who = in_session(home, f"talk {first // 100}")
            said = [Message("user", sentence(rng), id=str(n)) for n in range(first, first + 100)]
            keep_turns(store._engine, {who: said})


def peak_mib() -> float:
    """Return the peak of this process's resident memory since `forget_peak`."""
    status = Path("/proc/self/status").read_text()
    return int(re.findall(r"VmHWM:\s+(\d+) kB", status)[0]) / 1024


def forget_peak() -> None:
    Path("/proc/self/clear_refs").write_text("5")


def take_step(step: str, path: Path) -> None:
    """Take a step, and print by how many MiB the peak rose and how many seconds it took."""
    target, exported = path, path.with_suffix(".jsonl")
    if step == "restore":
        target = path.with_suffix(".restored")
    with simonides.open(target, embedder="none") as store:
        memory = store.memory(user="ana")
        forget_peak()
        before, begun = peak_mib(), time.monotonic()
        if step == "export":
            memory.data.export(exported)
        elif step == "restore":
            memory.data.restore(exported)
        elif step == "verify":
            assert memory.audit.verify()
        else:
            memory.data.erase(confirm="ana")
        print(peak_mib() - before, time.monotonic() - begun)


def measured(path: Path, step: str) -> float:
    command = [sys.executable, "-m", "benchmarks.moving", "--step", step, "--store", str(path)]
    done = subprocess.run(command, check=True, capture_output=True, text=True)
    rise, seconds = map(float, done.stdout.split())
    print(f"  {step}: {rise:.1f} MiB, {seconds:.1f} s", flush=True)
    return rise


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--turns", type=int, nargs="+", default=[10_000, 96_000])
    parser.add_argument("--step", choices=STEPS)
    parser.add_argument("--store", type=Path)
    given = parser.parse_args()
    if given.step:
        take_step(given.step, given.store)
        return
    rises: dict[str, list[float]] = {step: [] for step in STEPS}
    with tempfile.TemporaryDirectory(dir=".") as folder:
        for turns in sorted(given.turns):
            path = Path(folder) / f"{turns}.db"
            make(path, turns)
            print(f"{turns:,} turns", flush=True)
            for step in STEPS:
                rises[step].append(measured(path, step))
    grown = {step: each[-1] - each[0] for step, each in rises.items()}
    for step, more in grown.items():
        print(f"{step}: {more:+.1f} MiB: {'flat' if more <= MOST_MIB else 'grows'}")
    sys.exit(any(more > MOST_MIB for more in grown.values()))


if __name__ == "__main__":
    main()
