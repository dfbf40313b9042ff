"""What the comparisons with peers have in common: texts, questions, and fair timing.

Each round asks both sides the same, one after the other and in turns of who is first, so that a
slow moment of the machine hits both; ratios are of the medians, and of the means beside them.
Writes are also taken in blocks of fifty, as many per second as each side does when it is not
interrupted: alternating by one, each pays for what the other left in the processor's caches.
"""

from __future__ import annotations

import argparse
import random
import statistics
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

import simonides

SUBJECTS = "the team|my sister|our vendor|a neighbour|the office|Ana|Dr. Lee|the band".split("|")
VERBS = "prefers|visited|ordered|fixed|recommended|sold|painted|cancelled".split("|")
THINGS = "green tea|a blue bicycle|the payment service|an old piano|two tickets".split("|")
PLACES = "in Lisbon|near the lake|on Tuesday|for the launch|after the outage".split("|")

BLOCK = 50
MANY = 100
"""Texts of a batch."""

Ask = Callable[[str, str], object]
"""From a user and a text to anything."""

AskMany = Callable[[str, list[str]], object]
"""From a user and texts to anything."""

T = TypeVar("T")


def sentence(rng: random.Random) -> str:
    said = " ".join(rng.choice(part) for part in (SUBJECTS, VERBS, THINGS, PLACES))
    return f"{said}, ticket {rng.randrange(10**6)}"


def arguments(about: str | None, *, queries: int = 500, writes: int = 300) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=about)
    parser.add_argument("--users", type=int, default=100)
    parser.add_argument("--memories", type=int, default=100)
    parser.add_argument("--queries", type=int, default=queries)
    parser.add_argument("--writes", type=int, default=writes)
    return parser.parse_args()


def conversations(users: int, memories: int, rng: random.Random) -> dict[str, list[str]]:
    return {f"u{user}": [sentence(rng) for _ in range(memories)] for user in range(users)}


def interleaved(
    rounds: list[tuple[str, T]],
    ours: Callable[[str, T], object],
    theirs: Callable[[str, T], object],
    *,
    block: int = 1,
) -> tuple[list[float], list[float]]:
    """Return the seconds that each side took for each round of user and what is asked or written.

    Args:
        rounds: What is asked.
        ours: Asks simonides.
        theirs: Asks the peer.
        block: Rounds that one side answers before it is the other's turn.
    """
    spent: dict[Callable[[str, T], object], list[float]] = {ours: [], theirs: []}
    for number, start in enumerate(range(0, len(rounds), block)):
        for ask in (ours, theirs) if number % 2 else (theirs, ours):
            for user, text in rounds[start : start + block]:
                begin = time.perf_counter()
                ask(user, text)
                spent[ask].append(time.perf_counter() - begin)
    return spent[ours], spent[theirs]


def report(name: str, peer: str, ours: list[float], theirs: list[float]) -> None:
    a, b = statistics.median(ours), statistics.median(theirs)
    p95 = [sorted(spent)[int(0.95 * len(spent))] for spent in (ours, theirs)]
    means = statistics.fmean(ours) / statistics.fmean(theirs)
    print(
        f"{name:<32} simonides p50 {a * 1e3:8.3f} ms p95 {p95[0] * 1e3:8.3f}   "
        f"{peer} p50 {b * 1e3:8.3f} ms p95 {p95[1] * 1e3:8.3f}   "
        f"ratio {a / b:.3f}, of means {means:.3f}"
    )


def compare(
    peer: str,
    chosen: argparse.Namespace,
    search: Ask,
    put: Ask,
    put_many: AskMany,
) -> None:
    """Fill both sides with the same, then ask for first and warm recalls, for writes and batches.

    Args:
        peer: Its name.
        chosen: From :func:`arguments`.
        search: Asks the peer for five.
        put: Writes one to the peer.
        put_many: Writes several to the peer, as it is meant to be given them.
    """
    rng = random.Random(7)
    said = conversations(chosen.users, chosen.memories, rng)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "simonides.db"
        with simonides.open(path) as store:
            for user, lines in said.items():
                drafts = [simonides.Draft(line) for line in lines]
                store.memory(user=user).remember_many(drafts)
        for user, lines in said.items():
            put_many(user, lines)
        # Opened anew: nothing of ours is warm.
        with simonides.open(path) as store:
            managers = {user: store.memory(user=user) for user in said}
            ours = lambda user, text: managers[user].recall(text, limit=5)  # noqa: E731
            first = [(user, sentence(rng)) for user in said]
            report("first recall of an owner", peer, *interleaved(first, ours, search))
            users = list(said)
            for what, block in (("by turns", 1), ("in blocks", BLOCK)):
                warm = [(rng.choice(users), sentence(rng)) for _ in range(chosen.queries)]
                spent = interleaved(warm, ours, search, block=block)
                report(f"recall, warm, {what}", peer, *spent)
            keep = lambda user, text: managers[user].remember(text)  # noqa: E731
            for what, block in (("write, by turns", 1), ("writes, in blocks", BLOCK)):
                written = [(rng.choice(users), sentence(rng)) for _ in range(chosen.writes)]
                spent = interleaved(written, keep, put, block=block)
                report(f"single durable {what}", peer, *spent)
            batches = [(rng.choice(users), lines) for lines in _batches(rng)]
            keep_all = lambda user, lines: managers[user].remember_many(  # noqa: E731
                [simonides.Draft(line) for line in lines]
            )
            spent = interleaved(batches, keep_all, put_many)
            report(f"batch of {MANY} durable writes", peer, *spent)


def _batches(rng: random.Random) -> list[list[str]]:
    return [[sentence(rng) for _ in range(MANY)] for _ in range(30)]
