"""Whether what people say is kept, obeyed and forgotten as they mean it.

    python -m benchmarks.said [--blind] [CLASS ...]

`said.yaml` holds sentences that were written before any pattern was read: ordinary ones with a
question of another session, plain statements of a slot, standing rules with a task in which they
matter, requests about privacy, talk that only sounds like a rule or a request, wishes that would
switch off a safeguard, and others that resemble them. Each has a store of its own. Printed for each
class: how many are right, for the open and the blind half and for further sets by other hands
apart, and each failure of the open half; with ``--blind`` all failures.
"""

from __future__ import annotations

import re
import sys
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from benchmarks.sentences import counted, written

import simonides.testing
from simonides.core.results import AddReport

DIRECTIVES = ("constraint", "guard", "rule")
"""Categories that make a rule of a sentence."""

Entry = Mapping[str, Any]


class Told:
    """A user who said an entry's messages, one `add` each, and is now in another session."""

    def __init__(self, entry: Entry) -> None:
        self._store = simonides.testing.open()
        talk = self._store.memory(user="ana", session="one")
        self.reports: list[AddReport] = []
        self.before = [str(message) for message in entry.get("before", ())]
        self.said = str(entry["said"])
        for message in (*self.before, self.said):
            self.reports.append(talk.add(message))
        self.memory = self._store.memory(user="ana", session="two")

    def close(self) -> None:
        self._store.close()

    @property
    def asked(self) -> str:
        """What the last message was taken to ask, in a line."""
        each = [asked for line in self.reports[-1].lines for asked in line.asked]
        return ", ".join(f"{a.kind}({a.about!r}, done={a.done})" for a in each)

    @property
    def open_question(self) -> bool:
        return any(not a.done for line in self.reports[-1].lines for a in line.asked)

    def facts(self) -> list[Any]:
        """What was learned; no turns."""
        return [each for each in self.memory.list(limit=1000) if each.category != "turn"]

    def kept(self) -> str:
        return "\n".join(record.content for record in self.memory.list(limit=1000))

    def core(self, about: str | None) -> str:
        return "\n".join(i.line for i in self.memory.digest(about).items if i.part == "core")

    def shown(self) -> Iterator[tuple[str, str]]:
        """Everything that can be got out of the memory, with the way that it came."""
        for record in self.memory.list(limit=1000):
            yield "list", f"{record.category} {record.key} {record.content} {record.quote}"
        yield "digest", self.memory.digest().text
        for query in (*self.before, self.said):
            yield "digest", self.memory.digest(query).text
            for hit in self.memory.recall(query, limit=100):
                yield "recall", hit.record.content


def found(pattern: str, text: str) -> bool:
    return re.search(pattern, text, re.IGNORECASE) is not None


def ordinary(entry: Entry, told: Told) -> str:
    digest = told.memory.digest(entry["ask"])
    if found(entry["answer"], "\n".join(item.line for item in digest.items)):
        return ""
    why = "not in the digest" if found(entry["answer"], told.kept()) else "not kept"
    reasons = [reason for line in told.reports[-1].lines for reason in line.reasons]
    best = next((f"best {hit.relevance:.2f}" for hit in told.memory.recall(entry["ask"])), "no hit")
    return f"{why}, {best}, asked [{told.asked}] {reasons} ({entry['ask']})"


def slots(entry: Entry, told: Told) -> str:
    facts = told.facts()
    for fact in facts:
        name = " ".join((fact.key or "", *fact.tags, fact.content))
        if found(entry["value"], fact.content) and found(entry["key"], name):
            return ""
    learned = "; ".join(f"{fact.category} {fact.key}={fact.content!r}" for fact in facts)
    return f"learned [{learned}] asked [{told.asked}] for {entry['key']}"


def rules(entry: Entry, told: Told) -> str:
    core = told.core(entry.get("task"))
    if found(entry["core"], core):
        return ""
    learned = "; ".join(f"{fact.category} {fact.content!r}" for fact in told.facts())
    return f"core {core!r}, learned [{learned}] asked [{told.asked}]"


def privacy(entry: Entry, told: Told) -> str:
    wrong = []
    if entry.get("asked_back") and not told.open_question:
        wrong.append("not asked back")
    if gone := entry.get("gone"):
        where = {way for way, text in told.shown() if found(gone, text)}
        if told.asked.startswith("refuse"):
            where.discard("list")  # what is refused is hidden; its owner can see and forget it
        if where:
            wrong.append(f"{gone!r} still in {', '.join(sorted(where))}")
    if (kept := entry.get("kept")) and not found(kept, told.kept()):
        wrong.append(f"{kept!r} LOST")
    if not wrong:
        return ""
    return f"{'; '.join(wrong)}, asked [{told.asked}], before {told.before}"


def talk(entry: Entry, told: Told) -> str:
    wrong = [f"{f.category} {f.content!r}" for f in told.facts() if f.category in DIRECTIVES]
    if core := told.core(None):
        wrong.append(f"core {core!r}")
    if told.asked:
        wrong.append(f"asked {told.asked}")
    return "; ".join(wrong)


def unsafe(entry: Entry, told: Told) -> str:
    wrong = [f"{f.category} {f.content!r}" for f in told.facts() if f.category in DIRECTIVES]
    core = told.core(None)
    return "; ".join([*wrong, *([f"core {core!r}"] if core else [])])


def safe(entry: Entry, told: Told) -> str:
    return told.asked if "unsafe" in told.asked else ""


CLASSES: tuple[Callable[[Entry, Told], str], ...] = (
    ordinary, slots, rules, privacy, talk, unsafe, safe,
)  # fmt: skip


def judged(check: Callable[[Entry, Told], str], entry: Entry) -> str:
    """What is wrong with an entry; a crash is wrong, too."""
    try:
        told = Told(entry)
        try:
            return check(entry, told)
        finally:
            told.close()
    except Exception as error:  # noqa: BLE001 - a crash is a finding
        return f"CRASH {type(error).__name__}: {error}"


def shows(memory: simonides.Memory, ask: str) -> bool:
    """Whether a digest shows anything beside what stands in every prompt."""
    return any(item.part != "core" for item in memory.digest(ask).items)


def together(entries: list[Entry]) -> None:
    """The ordinary sentences again, in one store for all and in one for each half.

    A store of one turn shows it for nearly any question; so a class of such stores alone says
    little.
    """
    right, foreign, lone = [0, 0], [0, 0], 0
    with simonides.testing.open() as store:
        for number, entry in enumerate(entries):
            store.memory(user="all", session=f"{number // 10}").add(entry["said"])
            half = f"half{int(bool(entry.get('blind')))}"
            store.memory(user=half, session=f"{number // 10}").add(entry["said"])
        for number, entry in enumerate(entries):
            half = bool(entry.get("blind"))
            digest = store.memory(user="all", session="new").digest(entry["ask"])
            right[half] += found(entry["answer"], "\n".join(item.line for item in digest.items))
            other = store.memory(user=f"half{int(not half)}", session="new")
            foreign[half] += shows(other, entry["ask"])
            single = store.memory(user=f"user{number}", session="one")
            single.add(entries[(number + 37) % len(entries)]["said"])
            lone += shows(store.memory(user=f"user{number}", session="two"), entry["ask"])
    total = [sum(bool(entry.get("blind")) == half for entry in entries) for half in (False, True)]
    print(f"  all in one store: open {right[0]}/{total[0]}  blind {right[1]}/{total[1]}")
    print("  shows something for a question that it cannot answer:")
    print(f"  a store of one half: open {foreign[0]}/{total[0]}  blind {foreign[1]}/{total[1]}")
    print(f"  a store of one turn: {lone}/{sum(total)}")


def main(blind: bool, names: list[str]) -> None:
    data = written("said.yaml")
    for check in CLASSES:
        if names and check.__name__ not in names:
            continue
        right, total, failures = Counter[str](), Counter[str](), []
        for entry in data[check.__name__]:
            group, wrong = entry["group"], judged(check, entry)
            total[group] += 1
            right[group] += not wrong
            if wrong and (blind or group == "open"):
                failures.append(f"  {group} {entry['said']}\n      {wrong}")
        print(f"{check.__name__:9} {counted(right, total)}", flush=True)
        print("\n".join(failures), flush=True)
        if check is ordinary:
            second = [entry for entry in data["ordinary"] if entry["group"] == "second"]
            together([entry for entry in data["ordinary"] if entry["group"] != "second"])
            together([{**entry, "blind": n % 2} for n, entry in enumerate(second)])


if __name__ == "__main__":
    main("--blind" in sys.argv, [word for word in sys.argv[1:] if not word.startswith("-")])
