"""Whether the words of others stay theirs, and the user's own are learned.

    python -m benchmarks.whose [-v] [FILE.yaml] [SECTION ...]

`whose.yaml` was written before any pattern was read. ``pasted``: each text of another, in each
wrapping, is added as one message of a user with earlier facts; it is harm if its marker gets into
a memory that is not a turn or into the core block, if a request is answered as done, or if a
removal takes anything away. ``composed``: messages of several paragraphs in which the user says one
thing; a day later it is in the core block, or it waits for a decision. ``hard``: messages that
teach and end nothing. Printed: a line for each figure, with ``-v`` each failure.
"""

from __future__ import annotations

import sys
import time
from contextlib import closing
from pathlib import Path
from typing import Any

import yaml
from benchmarks.always import Data, Notes, holding

import simonides.testing
from simonides.testing import ManualClock, SmallEmbedder


class Person:
    """A user of a store, who has told facts on earlier days, and then one message."""

    def __init__(self, store: Any, clock: ManualClock, user: int, base: list[str]) -> None:
        self.memory = store.memory(user=f"user{user}", session="now")
        self.clock, self.base = clock, base
        for number, text in enumerate(base):
            earlier = self.memory.session(f"earlier {number}")
            earlier.add(text)
            earlier.end()
            clock.advance(days=1)
        self.before = self.held()

    def held(self) -> Data:
        return {each.id: each for each in self.memory.list(limit=1000)}

    def learned(self) -> list[str]:
        new = [each for key, each in self.held().items() if key not in self.before]
        return [f"{each.key}: {each.content}" for each in new if each.category != "turn"]

    def gone(self) -> list[str]:
        return [self.before[each].content for each in self.before.keys() - self.held().keys()]

    def core(self) -> list[str]:
        return [item.line for item in self.memory.digest("hello").items if item.part == "core"]

    def ended(self) -> list[str]:
        """Lines about the base facts, each asked for in its own words, that say it is over."""
        items = [i for text in self.base for i in self.memory.digest(text).items]
        over = [i for i in items if i.earlier or "earlier" in i.marks]
        return sorted({i.line for i in over if not self.before.keys().isdisjoint(i.ids)})

    def answered(self, text: str) -> list[str]:
        """Add a message, and return the requests that were done for it."""
        asked = [each for line in self.memory.add(text).lines for each in line.asked]
        return [f"{each.kind} {each.about}: {each.answer}" for each in asked if each.done]


def pasted(person: Person, case: Data, notes: Notes) -> Data:
    said = case["wrap"].replace("{t}", case["text"])
    harm: Data = {"answered requests": person.answered(said)}
    for kind, texts in (("learned", person.learned()), ("in the core block", person.core())):
        harm[kind] = [text for text in texts if case["marker"].casefold() in text.casefold()]
    if case.get("forgets"):
        harm |= {"taken away": person.gone(), "refusals": [*person.memory.privacy.list()]}
    return harm


def composed(person: Person, case: Data, notes: Notes) -> Data:
    person.memory.add(case["said"])
    person.clock.advance(days=1)
    core, waiting = person.core(), person.memory.pending.list()
    held = holding(case["teaches"], [each.said for each in waiting])
    learned = holding(case["teaches"], core)
    notes.update({"learned": bool(learned), "held": bool(held and not learned)})
    return {f"missed, {case['kind']}": [] if learned or held else [f"core: {core}"]}


def hard(person: Person, case: Data, notes: Notes) -> Data:
    harm = {"answered requests": person.answered(case["said"])}
    harm |= {"base facts gone": person.gone(), "base facts ended": person.ended()}
    return harm | {"learned": [] if case.get("adds") else person.learned()}


JUDGES = {"pasted": pasted, "composed": composed, "hard": hard}


def groups(name: str, data: Data) -> list[list[Data]]:
    """Return the cases of a section, by the store that they share."""
    if name != "pasted":
        return [data["hard"]["cases"] if name == "hard" else data[name]]
    return [[each | text for text in data["texts"]] for each in data["wrappers"]]


def judged(name: str, cases: list[Data], data: Data, notes: Notes) -> list[str]:
    """Return the failures among cases, each of which is another user's."""
    base = [] if name == "composed" else data["hard"]["base"]
    clock, failures = ManualClock(), []
    with closing(simonides.testing.open(clock=clock, embedder=SmallEmbedder())) as store:
        for number, case in enumerate(cases):
            harm = JUDGES[name](Person(store, clock, number, base), case, notes)
            kinds = {kind: lines for kind, lines in harm.items() if lines}
            notes.update(kinds.keys())
            failures += [f"  {name}, {case}\n    {kinds}"] if kinds else []
    return failures


def main(words: list[str]) -> None:
    file = next((word for word in words if word.endswith(".yaml")), "")
    data = yaml.safe_load(Path(file or Path(__file__).with_suffix(".yaml")).read_text("utf-8"))
    for name in [word for word in words if word in JUDGES] or JUDGES:
        began, notes, every = time.monotonic(), Notes(), groups(name, data)
        failures = [each for cases in every for each in judged(name, cases, data, notes)]
        total = sum(map(len, every))
        right, took = total - len(failures), time.monotonic() - began
        print(f"{name:10} {right} of {total} ({right / total:.1%}), {took:.0f} s")
        lines = [f"      {figure:>5} {note}" for note, figure in sorted(notes.items()) if figure]
        lines += failures * ("-v" in words)
        print("".join(f"{line}\n" for line in lines), end="", flush=True)


if __name__ == "__main__":
    main(sys.argv[1:])
