"""How much of what people say in a language is captured without a model, and how much in vain.

    PYTHONPATH=src python benchmarks/tongues.py --data benchmarks/tongues [--missed]

DIR has a file for each language, as ``tests/unit/tongues`` has: sentences with what is to be
remembered of them, sentences of which nothing is, questions with a key that they ask for, and
questions that ask for none. Those in ``benchmarks/tongues`` were written by who had not seen the
rules. Every other row of them, the *tuned* half, was looked at afterwards, and rules were changed
for what is general in it; the others, *fresh*, were not looked at. Those of the tests were written
with the rules.
"""

from __future__ import annotations

import argparse
import tomllib
from pathlib import Path
from typing import Any

from simonides.capture.rules import examine
from simonides.domain.decision import Candidate
from simonides.domain.scope import Scope
from simonides.domain.turn import Role, Turn
from simonides.language.questions import read_question

ANA = Scope("acme", "ana")


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--data", type=Path, default=Path(__file__).parent / "tongues")
    parser.add_argument("--missed", action="store_true")
    parser.add_argument("--half", choices=("tuned", "fresh"))
    given = parser.parse_args()
    print("language: of what is to be kept, found; of what was found, right; of what is to give")
    print("nothing, quiet; of the questions for a key, understood; of the others, left alone")
    for path in sorted(given.data.glob("*.toml")):
        told = tomllib.loads(path.read_text(encoding="utf-8"))
        begin, step = {"tuned": (0, 2), "fresh": (1, 2)}.get(given.half, (0, 1))
        half = {name: rows[begin::step] for name, rows in told.items()}
        counted(path.stem, half, missed=given.missed)


def counted(name: str, told: dict[str, Any], *, missed: bool) -> None:
    wanted = found = right = 0
    for text, *expected in told["given"]:
        got = [said(one) for one in examine(Turn(role=Role.USER, text=text), ANA).candidates]
        met = [each for each in expected if each in got]
        wanted, found, right = wanted + len(expected), found + len(got), right + len(met)
        if missed and sorted(met) != sorted(got + [each for each in expected if each not in met]):
            print("   ", text, "wanted", expected, "got", got)
    loud = [t for t in told["nothing"] if examine(Turn(role=Role.USER, text=t), ANA).candidates]
    deaf = [row for row in told["asked"] if row[1] not in read_question(row[0]).keys.own]
    nosy = [text for text in told["not_asked"] if read_question(text).keys.own]
    if missed:
        for each in (*loud, *deaf, *nosy):
            print("   ", each)
    quiet = len(told["nothing"]) - len(loud)
    heard, alone = len(told["asked"]) - len(deaf), len(told["not_asked"]) - len(nosy)
    print(
        f"{name}: {right} of {wanted}; {right} of {found}; {quiet} of {len(told['nothing'])};"
        f" {heard} of {len(told['asked'])}; {alone} of {len(told['not_asked'])}"
    )


def said(one: Candidate) -> str:
    """Return a candidate as the files write it."""
    if one.retracts:
        return f"-{one.retracts}"
    return f"{one.key}={one.content}" if one.key else f"{one.category}:"


if __name__ == "__main__":
    main()
