"""How many commands to memory are understood without a model, and what is taken for one.

    PYTHONPATH=src python benchmarks/commands.py [--data DIR] [--missed]

DIR has one file per language, as ``tests/unit/commands``: sentences with what must come of them,
and sentences of which nothing may come. Those in ``benchmarks/commands`` were written before the
rules that read them. The figures in README.md are of the first run. Two faults that this run
showed were mended afterwards, so a later run tells less.
"""

from __future__ import annotations

import argparse
import tomllib
from pathlib import Path

from simonides.capture.clauses import MEMORY_CONTROL
from simonides.capture.rules import examine
from simonides.domain.decision import Candidate
from simonides.domain.scope import Scope
from simonides.domain.turn import Role, Turn

ANA = Scope("acme", "ana")


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--data", type=Path, default=Path(__file__).parent / "commands")
    parser.add_argument("--missed", action="store_true", help="show each sentence that went wrong")
    given = parser.parse_args()
    print("| language | commands understood | of what was taken, right | others left alone |")
    print("|---|---|---|---|")
    sums = [0] * 6
    for path in sorted(given.data.glob("*.toml")):
        told = tomllib.loads(path.read_text(encoding="utf-8"))
        counts = counted(told["commands"], told["others"], missed=given.missed)
        sums = [total + count for total, count in zip(sums, counts, strict=True)]
        print(row(path.stem, counts))
    print(row("all", sums))


def row(name: str, counts: list[int]) -> str:
    understood, commands, right, taken, alone, others = counts
    return f"| {name} | {understood} of {commands} | {right} of {taken} | {alone} of {others} |"


def counted(commands: list[list[str]], others: list[str], *, missed: bool) -> list[int]:
    understood = right = taken = alone = 0
    for text, *expected in commands:
        got = said(text)
        understood += set(expected) <= set(got)
        right += len([each for each in got if each in expected])
        taken += len(got)
        if missed and got != expected:
            print("   ", text, "wanted", expected, "got", got)
    for text in others:
        got = said(text)
        alone += not got
        taken += len(got)
        if missed and got:
            print("   ", text, "got", got)
    return [understood, len(commands), right, taken, alone, len(others)]


def said(text: str) -> list[str]:
    found = examine(Turn(role=Role.USER, text=text), ANA)
    if MEMORY_CONTROL in found.diagnostics:
        return ["control"]
    return [written(one) for one in found.candidates]


def written(one: Candidate) -> str:
    """Return a candidate as the files write it."""
    if one.retracts:
        return f"-{one.retracts}"
    return f"{one.key}={one.content}" if one.key else f"{one.category}:"


if __name__ == "__main__":
    main()
