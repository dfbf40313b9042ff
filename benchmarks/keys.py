"""What a store under a key ring, and one that is encrypted, cost beside the same store without.

    python benchmarks/keys.py [--memories 1000] [--rounds 30] [--postgres]

Rounds alternate in one process, so that all see the same machine. ``--postgres`` starts a server
with a database for each (see postgres.py); the keys of owners are in a file.
"""

import argparse
import statistics
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import simonides
from simonides import Draft
from simonides.settings import Settings
from simonides.storage.encryption.key_ring import HeldKeys

QUESTION = "who visited the harbour of town 42?"
RECALLS, WRITES, BATCH = 200, 20, 100
"""Of each round."""


def spent(work: Callable[[], object], times: int = 1) -> float:
    """Return µs for one of some calls."""
    start = time.perf_counter()
    for _ in range(times):
        work()
    return (time.perf_counter() - start) / times * 1e6


class Subject:
    """One store and what its calls took."""

    def __init__(
        self, target: str, memories: int, settings: Settings | None = None, **keys: object
    ) -> None:
        self._open = lambda: simonides.open(target, settings=settings or Settings(), **keys)
        self.times: dict[str, list[float]] = {}
        self._opened = self._open()
        self._count = memories
        self._ana.remember_many([Draft(self._fact(n)) for n in range(memories)])

    @property
    def _ana(self):
        return self._opened.memory(user="ana")

    @staticmethod
    def _fact(n: int) -> str:
        return f"Ana visited the harbour of town {n} in {1900 + n % 70}"

    def round(self, user: str) -> None:
        ana = self._ana
        other = self._opened.memory(user=user)
        ana.recall(QUESTION)
        self._note("warm recall", spent(lambda: ana.recall(QUESTION), RECALLS))
        other.remember("A first fact")
        facts = iter(range(10**9))
        write = lambda: other.remember(self._fact(next(facts)))  # noqa: E731
        self._note("write", spent(write, WRITES))
        drafts = [Draft(self._fact(n)) for n in range(1000, 1000 + BATCH)]
        self._note(f"batch of {BATCH}", spent(lambda: other.remember_many(drafts)))
        self._opened.runtime.indexes.clear()
        self._note("cold index", spent(lambda: ana.recall(QUESTION)))
        self._opened.close()
        self._opened = self._open()
        self._opened.memory(user="nobody").recall(QUESTION)
        self._note("cold process", spent(lambda: self._ana.recall(QUESTION)))

    def _note(self, what: str, us: float) -> None:
        self.times.setdefault(what, []).append(us)

    def close(self) -> None:
        self._opened.close()


@contextmanager
def targets(place: Path, *, postgres: bool) -> Iterator[list[str]]:
    """Yield where three stores are to be."""
    if not postgres:
        yield [str(place / f"{n}.db") for n in range(3)]
        return
    from postgres import APP, served

    with served() as (server, first):
        names = [first, server.new_database(), server.new_database()]
        yield [server.url(APP, name) for name in names]


def main() -> None:
    asked = argparse.ArgumentParser(description=__doc__)
    asked.add_argument("--memories", type=int, default=1000)
    asked.add_argument("--rounds", type=int, default=30)
    asked.add_argument("--postgres", action="store_true")
    given = asked.parse_args()
    ring = HeldKeys({"bench": bytes(range(32))})
    with (
        tempfile.TemporaryDirectory() as place,
        targets(Path(place), postgres=given.postgres) as (plain, coded, sealed),
    ):
        vault = str(Path(place) / "vault") if given.postgres else None
        encrypted = Settings(encrypt=True, key_vault=vault)
        subjects = {
            "without": Subject(plain, given.memories),
            "key ring": Subject(coded, given.memories, key_ring=ring),
            "encrypted": Subject(sealed, given.memories, encrypted, key_ring=ring),
        }
        for n in range(given.rounds):
            for subject in subjects.values():
                subject.round(f"user-{n}")
        base = subjects["without"].times
        for name, subject in subjects.items():
            for what, times in subject.times.items():
                median = statistics.median(times)
                ratio = median / statistics.median(base[what])
                print(f"{name:<10} {what:<14} {median:10.1f} µs  x {ratio:.2f}")
            subject.close()


if __name__ == "__main__":
    main()
