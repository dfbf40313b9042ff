"""Measures how latency grows with the number of memories, with texts of the same kind."""

from __future__ import annotations

import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from importlib.util import find_spec
from itertools import cycle, islice
from pathlib import Path

import simonides
from simonides.api.sync import Memory
from simonides.domain.errors import InvalidInput, MissingExtra
from simonides.domain.memory import Draft
from simonides.domain.value import Value
from simonides.settings import Settings
from simonides.testing.bench.latency import (
    Latency,
    spent_ms,
    summary,
    timed,
)

GROWTH = (100, 300, 1_000, 3_000, 10_000, 30_000, 100_000)
"""Sizes that are measured, up to the requested one."""

FIRST = "first recall"
"""Name of the first recall of an owner in a process."""

CALLS = 50
"""Calls of each at every size, first recalls apart."""

FIRST_CALLS = 5

UNLIMITED = "quotas: {memories: null, turns: null, writes_per_minute: null, org_bytes: null}"
"""Changes to the built-in policy in the temporary store: the sizes exceed the default quotas."""

BATCH = 1_000
"""Memories of one transaction while a store is filled."""


@dataclass(frozen=True, slots=True)
class Grown(Value):
    """Latency at one size.

    Attributes:
        memories: Number of memories of the owner.
        latency: Of the first recall of a process, of later recalls, and of single writes.
    """

    memories: int
    latency: tuple[Latency, ...]


def grow(
    texts: Sequence[str],
    queries: Sequence[str],
    up_to: int,
    *,
    settings: Settings,
    timer: Callable[[], float] = time.perf_counter,
) -> Iterator[Grown]:
    """Fill a temporary store with more and more texts like the given ones, and time recalls.

    Args:
        texts: Contents to repeat, numbered so that none is a duplicate; at least one.
        queries: At least one.
        up_to: The largest size.
        settings: The settings of the user's applications, except the policy, which is the built-in
            one without quotas; the store is a temporary file.
        timer: Gives seconds.

    Raises:
        InvalidInput: If ``up_to`` is under the smallest size.
        StoreError: If the temporary store cannot be written.
    """
    if up_to < GROWTH[0]:
        raise InvalidInput("growth", f"must be at least {GROWTH[0]}, not {up_to}")
    return _grown(texts, queries, [size for size in GROWTH if size <= up_to], settings, timer)


def _grown(
    texts: Sequence[str],
    queries: Sequence[str],
    sizes: Sequence[int],
    settings: Settings,
    timer: Callable[[], float],
) -> Iterator[Grown]:
    numbered = (Draft(f"{text} ({number})") for number, text in enumerate(cycle(texts)))
    with tempfile.TemporaryDirectory(prefix="simonides-bench-") as folder:
        path, standing = Path(folder) / "growth.db", 0
        policy = Path(folder) / "policy.yaml"
        policy.write_text(UNLIMITED)
        settings = settings.model_copy(update={"policy": policy})
        for size in sizes:
            with _opened(path, settings) as memory:
                while standing < size:
                    batch = list(islice(numbered, min(BATCH, size - standing)))
                    memory.remember_many(batch)
                    standing += len(batch)
            first = []
            for query in islice(cycle(queries), FIRST_CALLS):
                with _opened(path, settings) as memory:
                    first.append(spent_ms(partial(memory.recall, query), timer))
            with _opened(path, settings) as memory:
                memory.recall(queries[0])
                recalls = [partial(memory.recall, query) for query in islice(cycle(queries), CALLS)]
                warm = timed("recall", recalls, timer)
                writes = [
                    partial(memory.remember_many, [draft]) for draft in islice(numbered, CALLS)
                ]
                written = timed("remember", writes, timer)
                standing += CALLS
            yield Grown(size, (summary(FIRST, first), warm, written))


@contextmanager
def _opened(path: Path, settings: Settings) -> Iterator[Memory]:
    with simonides.open(path, mode="local", settings=settings) as store:
        yield store.memory(user="bench")


def check_plot(file: Path) -> None:
    """Check that a plot can be drawn, before the minutes of measuring.

    Raises:
        MissingExtra: If matplotlib is not installed.
        InvalidInput: If the directory of the file does not exist.
    """
    if find_spec("matplotlib") is None:
        raise MissingExtra("bench", "a plot")
    if not file.parent.is_dir():
        raise InvalidInput(str(file), "there is no such directory; make it first")


def plot(growth: Sequence[Grown], file: Path) -> None:
    """Draw latency against size, both on logarithmic axes.

    Each measurement is a line, with a band from the median to the 95th percentile.

    Args:
        growth: At least one size.
        file: The PNG file.

    Raises:
        MissingExtra: If matplotlib is not installed.
        InvalidInput: If the file cannot be written.
    """
    check_plot(file)
    from matplotlib.figure import Figure

    figure = Figure(figsize=(7, 4.5), layout="constrained")
    axes = figure.add_subplot()
    sizes = [grown.memories for grown in growth]
    for name in [latency.name for latency in growth[0].latency]:
        of_name = [one for grown in growth for one in grown.latency if one.name == name]
        axes.plot(sizes, [one.p50 for one in of_name], marker="o", label=name)
        bounds = [one.p50 for one in of_name], [one.p95 for one in of_name]
        axes.fill_between(sizes, *bounds, alpha=0.15)
    axes.set(xscale="log", yscale="log", xlabel="memories of one owner", ylabel="ms")
    axes.set_title("Latency: median, shaded up to the 95th of 100")
    axes.grid(visible=True, which="both", alpha=0.3)
    axes.legend()
    try:
        figure.savefig(file, format="png", dpi=150)
    except OSError as error:
        raise InvalidInput(str(file), f"cannot be written: {error}") from error
