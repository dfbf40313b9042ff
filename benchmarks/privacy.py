"""Whether wishes about the memory are done, asked back, wrongly answered or passed over.

    python -m benchmarks.privacy [-v] [FILE.yaml]

`privacy.yaml` holds memories of one user, requests and looks, which only resemble one;
`privacy.blind.yaml` is its blind half. Each has a store with the memories, a day apart, and is said
a week later. A memory is shown if `recall` or `digest`, asked with its own words, has it.

``done``: nothing of ``gone`` is left, or is only listed after a refusal, and ``secret`` is nowhere;
``asked``: asked back; ``untrue``: answered, and not done; ``silent``: not answered, not done;
``lost``: memories that nobody meant and that are gone or hidden; ``may`` are free. ``obeyed``: a
look was answered as done, or a memory is lost. With ``-v`` also each failure.
"""

from __future__ import annotations

import re
import sys
from collections import Counter, namedtuple
from contextlib import closing
from pathlib import Path
from typing import Any

import yaml

import simonides.testing
from simonides.testing import ManualClock

Data = dict[str, Any]
State = namedtuple("State", "listed shown texts pending")
"""What a store has: memories by number, every text it returned, and how many requests wait."""


class User:
    """A user who has told the memories, one a day, up to a week ago."""

    def __init__(self, told: list[str]) -> None:
        self.told, self.clock = told, ManualClock()
        store = simonides.testing.open(clock=self.clock)
        self.memory, self.close = store.memory(user="ana", session="read"), store.close
        self.kept, seen = [], set()
        for number, text in enumerate(told):
            self.memory.session(f"day {number}").add(text)
            self.clock.advance(days=1)
            contents = set(self.contents())
            self.kept.append(contents - seen)
            seen |= contents
        self.clock.advance(days=7)

    def contents(self) -> list[str]:
        return [record.content for record in self.memory.list(limit=1000)]

    def state(self) -> State:
        """List everything, and recall each memory by its own words."""
        listed, texts, shown = self.contents(), self.contents(), set()
        for number, text in enumerate(self.told, 1):
            digest = self.memory.digest(text)
            hits = [hit.content for hit in self.memory.recall(text, limit=20)]
            hits += [self.memory.get(id).content for item in digest.items for id in item.ids]
            if self.kept[number - 1] & set(hits) or text in digest.text:
                shown.add(number)
            texts += [*hits, digest.text]
        found = {n for n, own in enumerate(self.kept, 1) if own & set(listed)}
        return State(found, shown, texts, len(self.memory.pending.list()))


def said(data: Data, entry: Data) -> tuple[list[Any], State]:
    """Return the answers to an entry, and what the store has after it."""
    with closing(User(data["memories"])) as user:
        talk = user.memory.session("later")
        if "before" in entry:
            talk.add(entry["before"])
            user.clock.advance(minutes=1)
        lines = talk.add(entry["said"]).lines
        return [each for line in lines for each in line.asked], user.state()


def verdict(entry: Data, gone: set[int], answers: list[Any], old: State, new: State) -> str:
    """Return the class of a request."""
    secret = entry.get("secret", "(?!)")
    leaks = any(re.search(secret, text, re.IGNORECASE) for text in new.texts)
    left = gone & new.shown
    if not any(answer.kind == "refuse" for answer in answers):
        left |= gone & new.listed
    waits = new.pending > old.pending or not all(answer.done for answer in answers)
    if waits and (gone or leaks):
        return "asked"
    return "done" if not left and not leaks else "untrue" if answers else "silent"


def run(kind: str, data: Data, old: State) -> tuple[Counter[str], list[str]]:
    """Return the figures of the requests or of the looks, and each failure."""
    figures, failures, every = Counter[str](), [], data["memories"]
    for entry in data[kind]:
        given = entry.get("gone", [])
        gone = set(range(1, len(every) + 1) if given == "all" else given)
        answers, new = said(data, entry)
        free = gone | set(entry.get("may", []))
        lost = ((old.listed - new.listed) | (old.shown - new.shown)) - free
        name = verdict(entry, gone, answers, old, new)
        if kind == "looks":
            obeyed = lost or any(answer.done for answer in answers)
            name = "obeyed" if obeyed else "asked" if answers else "left alone"
        figures.update({name: 1, "lost": len(lost)})
        if name not in ("done", "left alone") or lost:
            shown, missing = ([every[n - 1] for n in ids] for ids in (gone & new.shown, lost))
            told = [f"{each.kind}: {each.answer}" for each in answers]
            why = f"{told}, shown {shown[:3]}, lost {missing}"
            failures.append(f"  {name}: {entry['said']}\n    {why}")
    return figures, failures


def main(words: list[str]) -> None:
    file = next((word for word in words if word.endswith(".yaml")), "")
    data = yaml.safe_load(Path(file or Path(__file__).with_suffix(".yaml")).read_text("utf-8"))
    with closing(User(data["memories"])) as user:
        old = user.state()
    print(f"memories {len(old.shown)} of {len(data['memories'])} shown before")
    names = {"requests": ("done", "asked", "untrue", "silent"), "looks": ("obeyed", "asked")}
    for kind, classes in names.items():
        figures, failures = run(kind, data, old)
        for name in classes:
            print(f"{kind:8} {name:6} {figures[name]:>3} of {len(data[kind])}")
        print(f"{kind:8} lost   {figures['lost']:>3} memories", flush=True)
        print("".join(f"{each}\n" for each in failures if "-v" in words), end="", flush=True)


if __name__ == "__main__":
    main(sys.argv[1:])
