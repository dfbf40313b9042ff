"""Backups put back in 200 ways: the store is as the backup was, or a typed error says why not.

    python -m benchmarks.restoring [--trials 200] [--seed 0]

Each trial writes, makes a backup, writes and forgets more, and leaves the store in some state:
closed, killed with a small or a large log, still running, overwritten by hand, or under another
key. Then it restores, by hand or with the call. What can be read afterwards must be what the
backup had without what was forgotten since, or all that the store had; never a mixture.
"""

from __future__ import annotations

import argparse
import random
import shutil
import signal
import subprocess
import sys
import tempfile
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path
from unittest.mock import patch

import simonides
from simonides.storage import migrate

KEY = "correct horse battery staple"
STATES = ("closed", "killed with a small log", "killed with a large log", "running")
WAYS = (
    "restore",
    "restore, accept the loss",
    "copied by hand",
    "copied by hand, then restored",
    "a wrong key",
    "another version",
    "half of the backup",
)
WRITER = """
import signal, sys
import simonides
path, key, count, gone, is_killed = sys.argv[1:]
store = simonides.open(path, key=key or None, embedder="none")
ana = store.memory(user="ana")
if gone:
    ana.forget(gone)
for first in range(0, int(count), 50):
    ana.remember_many([
        simonides.Draft(f"The later fact {n} is in shelf {n * 7}", key=f"later{n}")
        for n in range(first, min(first + 50, int(count)))
    ])
print("ready", flush=True)
if is_killed:
    signal.raise_signal(signal.SIGKILL)
sys.stdin.readline()
"""


@dataclass
class Trial:
    """One store, its backup, and what each of them holds."""

    folder: Path
    rng: random.Random
    said: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.key = self.rng.choice((None, KEY))
        self.state, self.way = self.rng.choice(STATES), self.rng.choice(WAYS)
        self.path, self.backup = self.folder / "memory.db", self.folder / "backup.db"

    def opened(self, *, key: str | None = None) -> simonides.Store:
        return simonides.open(self.path, key=key or self.key, embedder="none", create=False)

    def run(self) -> str:
        """Return what happened, or raise AssertionError."""
        first = {f"early{n}": f"The early fact {n} is in drawer {n * 3}" for n in range(6)}
        with simonides.open(self.path, key=self.key, embedder="none") as store:
            drafts = [simonides.Draft(text, key=key) for key, text in first.items()]
            store.memory(user="ana").remember_many(drafts)
            store.admin("root").backup(self.backup)
        gone = self.rng.choice(["", *first])
        self.later = 1 if self.state.endswith("small log") else self.rng.randrange(60, 300)
        self.had, self.has = set(first.values()), {t for k, t in first.items() if k != gone}
        self.all = self.has | {f"The later fact {n} is in shelf {n * 7}" for n in range(self.later)}
        writer = self.written(gone)
        try:
            return self.put_back()
        finally:
            if writer.poll() is None:
                writer.communicate("\n", timeout=60)

    def written(self, gone: str) -> subprocess.Popen[str]:
        """Write and forget in a process, which is killed, goes on running, or has ended."""
        killed = "yes" if self.state.startswith("killed") else ""
        arguments = [str(self.path), self.key or "", str(self.later), gone, killed]
        writer = subprocess.Popen(
            [sys.executable, "-c", WRITER, *arguments],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
        )  # fmt: skip
        assert writer.stdout is not None
        assert writer.stdout.readline() == "ready\n"
        if self.state == "closed":
            writer.communicate("\n", timeout=60)
            assert writer.returncode == 0
        elif killed:
            assert writer.wait(60) == -signal.SIGKILL
        return writer

    def put_back(self) -> str:
        """Put the backup back in this trial's way, and check what can be read then."""
        if self.way.startswith("copied"):
            shutil.copyfile(self.backup, self.path)
        if self.way == "copied by hand":
            return self.read(may_be=(self.had, self.all))
        if self.way == "half of the backup":
            content = self.backup.read_bytes()
            self.backup.write_bytes(content[: len(content) // 2])
        key = "another key" if self.way == "a wrong key" else self.key
        accepts = "accept" in self.way or self.way.endswith("then restored")
        versions = {} if self.way == "another version" else migrate.migrations()
        try:
            with patch.object(migrate, "migrations", lambda: versions):
                simonides.restore(self.backup, self.path, key=key, accept_loss=accepts)
        except simonides.SimonidesError as error:
            may_be = (self.had, self.all) if self.way.startswith("copied") else (self.all,)
            return f"{type(error).__name__}; {self.read(may_be=may_be)}"
        assert self.way not in WAYS[4:], "what is no backup of this version was restored"
        # A copy by hand takes away what the store knew of what was forgotten.
        may_be = (self.has, self.had) if self.way.startswith("copied") else (self.has,)
        return f"restored; {self.read(may_be=may_be)}"

    def read(self, may_be: tuple[set[str], ...]) -> str:
        """Return whose content can be read, or the type of the error that says why none can."""
        try:
            with self.opened() as store:
                ana = store.memory(user="ana")
                found = {record.content for record in ana.list(limit=1000)}
                assert store.admin("root").verify_audit(), "the trail does not fit"
        except simonides.StoreError as error:
            if not self.way.startswith("copied"):
                raise AssertionError(f"does not open: {error}") from error
            return f"open: {type(error).__name__}"
        assert found in may_be, f"a mixture of {len(found)} facts"
        return "as the store was" if found == self.all else "as the backup was"


def main() -> None:
    """Run all trials, and print how often each way ended how."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--trials", type=int, default=200)
    parser.add_argument("--seed", type=int, default=0)
    given, counts, failures = parser.parse_args(), Counter[tuple[str, str, str]](), []
    for number in range(given.trials):
        with tempfile.TemporaryDirectory() as folder:
            trial = Trial(Path(folder), random.Random(given.seed * 10_000 + number))
            try:
                counts[trial.way, trial.state, trial.run()] += 1
            except AssertionError as error:
                failures.append(f"trial {number} ({trial.way}, {trial.state}): {error}")
    for (way, state, outcome), count in sorted(counts.items()):
        print(f"{count:4} {way:30} {state:25} {outcome}")
    print(*failures, sep="\n")
    sys.exit(f"{len(failures)} of {given.trials} failed" if failures else 0)


if __name__ == "__main__":
    main()
