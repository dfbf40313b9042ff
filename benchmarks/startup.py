"""How long a command takes to start: ``python benchmarks/startup.py [src …]``.

Prints the time of commands beside that of ``python -c pass``, as medians of nine rounds in which
all take turns: by the clock, and of the processor, which other programs disturb less. With several
folders of sources, each takes its turn in every round. A + marks commands on a store that another
program has open and runs them on, see docs/resident.md; of that program the processor is not
counted.
"""

from __future__ import annotations

import os
import resource
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path

ROUNDS = 9
START_S = 20
COMMANDS = {
    "pass": ["-c", "pass"],
    "--help": ["-m", "simonides", "--help"],
    "list": ["-m", "simonides", "list"],
    "digest": ["-m", "simonides", "digest", "What tea do I like?"],
    "list+": ["-m", "simonides", "list"],
    "digest+": ["-m", "simonides", "digest", "What tea do I like?"],
}
Taken = tuple[float, float]


@contextmanager
def prepared(source: str, folder: str) -> Iterator[tuple[dict[str, str], dict[str, str]]]:
    """Give the environments of a tree of sources: its own store, and one that is open elsewhere."""
    name = abs(hash(source))
    alone, shared = filled(source, f"{folder}/{name}.db"), filled(source, f"{folder}/{name}+.db")
    command = [sys.executable, "-m", "simonides", "mcp"]
    with subprocess.Popen(
        command, env=shared, stdin=subprocess.PIPE, stdout=subprocess.DEVNULL
    ) as resident:
        latest = time.monotonic() + START_S
        while not Path(f"{shared['SIMONIDES_STORE']}.sock").exists():
            if time.monotonic() > latest:
                print(f"{source}: has no resident; + is the same as without", file=sys.stderr)
                break
            time.sleep(0.01)
        yield alone, shared
        resident.stdin.close()


def filled(source: str, store: str) -> dict[str, str]:
    """Return an environment with a store of three memories."""
    environment = {
        **os.environ, "PYTHONPATH": source, "SIMONIDES_USER": "ana",
        "SIMONIDES_STORE": store,
    }  # fmt: skip
    environment.pop("PYTHONDONTWRITEBYTECODE", None)  # else every command compiles the sources
    for number in range(3):
        text = f"I like tea number {number} best"
        taken(["-m", "simonides", "remember", text], environment)
    return environment


def taken(arguments: Sequence[str], environment: Mapping[str, str]) -> Taken:
    """Run Python; return its seconds by the clock and of the processor."""
    before, begun = resource.getrusage(resource.RUSAGE_CHILDREN), time.perf_counter()
    subprocess.run(
        [sys.executable, *arguments], env=environment, stdout=subprocess.DEVNULL, check=True
    )
    clock, after = time.perf_counter() - begun, resource.getrusage(resource.RUSAGE_CHILDREN)
    return clock, after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def main() -> None:
    sources = sys.argv[1:] or [str(Path(__file__).parents[1] / "src")]
    with tempfile.TemporaryDirectory() as folder, ExitStack() as stack:
        places = {source: stack.enter_context(prepared(source, folder)) for source in sources}
        rounds: dict[tuple[str, str], list[Taken]] = {}
        for number in range(ROUNDS + 1):
            for name, arguments in COMMANDS.items():
                for source, environments in places.items():
                    found = taken(arguments, environments[name.endswith("+")])
                    if number:  # the first round warms up
                        rounds.setdefault((source, name), []).append(found)
    for source in sources:
        print(source)
        one = [statistics.median(each) for each in zip(*rounds[source, "pass"], strict=True)]
        for name in COMMANDS:
            own = [statistics.median(each) for each in zip(*rounds[source, name], strict=True)]
            ratios = [mine / base for mine, base in zip(own, one, strict=True)]
            print(
                f"  {name:<7} {1000 * own[0]:>6.0f} ms, {ratios[0]:>4.1f} x;"
                f" processor {1000 * own[1]:>5.0f} ms, {ratios[1]:>4.1f} x"
            )


if __name__ == "__main__":
    main()
