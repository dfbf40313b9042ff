"""Whether dangers stand in every prompt, and what only sounds like one does not.

    python -m benchmarks.dangers [-v] [FILE.yaml]

`dangers.yaml` holds what users say and what programs tell (``told``); `dangers.blind.yaml` is its
blind half. Each entry has a store of its own. A day later, in another session, the core block of a
digest is read: of ``dangers`` a line must match ``core``, of ``harmless`` none may match ``bad``.
Printed: how many are right; with ``-v`` also each failure.
"""

from __future__ import annotations

import re
import sys
from contextlib import closing
from pathlib import Path
from typing import Any

import yaml

import simonides.testing
from simonides.testing import ManualClock, SmallEmbedder


def core(entry: dict[str, Any]) -> list[str]:
    """Return the core block a day after an entry was said or told, without ids and dates."""
    clock = ManualClock()
    with closing(simonides.testing.open(clock=clock, embedder=SmallEmbedder())) as store:
        talk = store.memory(user="ana", session="first")
        talk.remember(entry["said"]) if entry.get("told") else talk.add(entry["said"])
        clock.advance(days=1)
        items = store.memory(user="ana", session="later").digest("hello").items
        return [re.sub(r"^- \[[^]]*\] ", "", item.line) for item in items if item.part == "core"]


def wrong(kind: str, entry: dict[str, Any]) -> str:
    """Return what is wrong with an entry, or nothing."""
    lines, pattern = core(entry), entry["core" if kind == "dangers" else "bad"]
    matching = [line for line in lines if re.search(pattern, line, re.IGNORECASE)]
    if kind == "dangers":
        return "" if matching else f"not in {lines}"
    return f"in {matching}" if matching else ""


def main(words: list[str]) -> None:
    file = next((word for word in words if word.endswith(".yaml")), "")
    data = yaml.safe_load(Path(file or Path(__file__).with_suffix(".yaml")).read_text("utf-8"))
    for kind in ("dangers", "harmless"):
        failures, told = [], [entry for entry in data[kind] if entry.get("told")]
        for entry in data[kind]:
            if why := wrong(kind, entry):
                failures.append((entry, why))
        missed = sum(bool(entry.get("told")) for entry, _ in failures)
        total = len(data[kind])
        print(
            f"{kind:8} {total - len(failures)} of {total} right, "
            f"of these told {len(told) - missed} of {len(told)}"
        )
        if "-v" in words:
            print("".join(f"  {entry['said']}\n    {why}\n" for entry, why in failures), end="")


if __name__ == "__main__":
    main(sys.argv[1:])
