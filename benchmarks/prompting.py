"""What a prompt of a task costs: working memory and the digest in it, against the recall in it.

    python benchmarks/prompting.py --memories 1000 --rounds 300

Interleaved in one process: each round looks again at what is remembered (as after a step that is
done) and makes the prompt; recalls for the same text with as many hits as a push looks at, and with
as many as a recall gives of itself; makes the prompt once more while nothing is due; and tells the
task of one more result.
"""

from __future__ import annotations

import argparse
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import simonides

WORDS = """cluster deploy region invoice table shard backup users billing migration replica port
    schema release queue cache token latency error retry tenant alert graph index quota""".split()
PLAN = [f"Migrate shard {n}" for n in range(12)]
NAMES = ("prompt, due", "recall, 200 hits", "recall, 5 hits", "prompt, not due", "observe")


def sentence(n: int) -> str:
    """A sentence of its own, of words that others have too."""
    said = [WORDS[(n * step + place) % len(WORDS)] for place, step in enumerate((1, 3, 7, 11, 13))]
    return f"The {' '.join(said)} of host {n} is number {n * 37 % 1_009}"


def timed(work: Callable[[], object]) -> float:
    started = time.perf_counter()
    work()
    return time.perf_counter() - started


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--memories", type=int, default=1_000)
    parser.add_argument("--rounds", type=int, default=300)
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as place, simonides.open(Path(place) / "m.db") as store:
        ana = store.memory(user="ana")
        for start in range(0, given.memories, 1_000):
            drafts = [
                simonides.Draft(sentence(n), category="entity_fact")
                for n in range(start, min(start + 1_000, given.memories))
            ]
            ana.remember_many(drafts)
        ana.remember("Answer in short sentences", key="response_style", category="preference")
        taken = measured(ana, given.rounds)
    middle = {}
    for name, times in taken.items():
        ranked = sorted(times)
        middle[name], p95 = ranked[len(ranked) // 2], ranked[len(ranked) * 95 // 100]
        print(f"{name:>16}: p50 {middle[name] * 1e3:7.3f} ms  p95 {p95 * 1e3:7.3f} ms")
    for name in NAMES[1:3]:
        ratio = middle[NAMES[0]] / middle[name]
        print(f"prompt / {name}: {ratio:.2f}")


def measured(ana: simonides.Memory, rounds: int) -> dict[str, list[float]]:
    taken: dict[str, list[float]] = {name: [] for name in NAMES}
    with ana.task(
        "Migrate the users database", plan=PLAN, constraints=["Never drop the table users"]
    ) as task:
        for n in range(rounds):
            about = f"{task.goal} {PLAN[n % len(PLAN)]}"
            # What a step that is done does, without a plan that comes to its end.
            task._task._triggers.state_changed(about)
            works: list[Callable[[], object]] = [
                task.before_model,
                lambda about=about: ana.recall(about, limit=200),
                lambda about=about: ana.recall(about),
            ]
            for at in range(3):  # each comes first as often as the others
                place = (n + at) % 3
                taken[NAMES[place]].append(timed(works[place]))
            taken["prompt, not due"].append(timed(task.before_model))
            taken["observe"].append(
                timed(lambda n=n: task.observe("psql", f"{n} rows copied " + "of many " * 40))
            )
    return taken


if __name__ == "__main__":
    main()
