"""Whether what ended is over, what did not end stays, and a rule reaches the task it is meant for.

    python -m benchmarks.stories [--blind] [CLASS ...]

`stories.yaml` holds sentences that were written before any pattern was read: updates (an old
statement, a newer one that replaces it, and a question), stays (the newer one replaces nothing) and
pairs (a standing rule and an unrelated task). Each has a store of its own, told once as it stands
and once with a further session of 100 turns about other things. Printed for each class: how many
are right, for the open and the blind half and for further sets by other hands apart, and each
failure of the open half; with ``--blind`` all failures.
"""

from __future__ import annotations

import re
import sys
from collections import Counter
from collections.abc import Callable, Mapping
from itertools import product
from typing import Any

from benchmarks.sentences import counted, written

import simonides.testing
from simonides.core.results import DigestItem

FILLERS = 100
OVER = ("earlier", "may be outdated")

Entry = Mapping[str, Any]


def fillers() -> list[str]:
    """100 sentences about none of the subjects of the stories, in a mixed order."""
    things = ("lighthouse", "comet", "glacier", "viaduct", "orchid", "meteorite", "volcano")
    things += ("sundial", "canyon", "windmill")
    frames = (
        "There was a lovely documentary about a {} on TV.",
        "Someone painted a {} on the wall behind the library.",
        "Did you know that the oldest {} has a plaque of its own?",
        "i saw a photo of a {} and it looked unreal",
        "The fog made the {} in that film look like a ghost.",
        "What do you think a poem about a {} would sound like?",
        "A professor on the radio talked about some {} for an hour.",
        "In the crossword, nine across was a hint at a {}.",
        "The children drew a {} with chalk, purple and green.",
        "That old postcard shows a {} in the snow, quite charming.",
    )
    pairs = list(product(frames, things))
    return [pairs[37 * n % len(pairs)][0].format(pairs[37 * n % len(pairs)][1]) for n in range(100)]


def told(entry: Entry, between: bool, ask: str) -> tuple[DigestItem, ...]:
    """Tell an entry, one day and session after the other, and return the digest of a question."""
    clock = simonides.testing.ManualClock()
    with simonides.testing.open(clock=clock) as store:

        def session(name: str, texts: list[str]) -> None:
            memory = store.memory(user="ana", session=name)
            for text in texts:
                if entry.get("by") == "remember" and name != "filler":
                    memory.remember(text, key=entry.get("key"))
                else:
                    memory.add(text)
            clock.advance(days=1)

        first = [entry["old"] if "old" in entry else entry["rule"]]
        same = "between" in entry
        session("one", [*first, *entry["between"], entry["new"]] if same else first)
        if between:
            session("filler", fillers()[:FILLERS])
        if "new" in entry and not same:
            session("two", [entry["new"]])
        return store.memory(user="ana", session="last").digest(ask).items


def found(pattern: str, text: str) -> bool:
    return re.search(pattern, text, re.IGNORECASE) is not None


def parts(item: DigestItem) -> tuple[str, str]:
    """The marks and the text of a line."""
    head, _, text = item.line.partition("] ")
    return head, text


def open_text(item: DigestItem) -> str:
    """What a line says is still so."""
    head, text = parts(item)
    if any(f", {mark}" in head for mark in OVER):
        return ""
    return re.sub(r"\[earlier: .*?\]", "", text, flags=re.DOTALL)


def shown(items: tuple[DigestItem, ...]) -> str:
    return "".join(f"\n        {item.part:8} {item.line}" for item in items[:6]) or "\n        -"


def updates(entry: Entry, between: bool) -> str:
    items = told(entry, between, entry["ask"])
    new = [n for n, item in enumerate(items) if found(entry["now"], open_text(item))]
    old = [n for n, item in enumerate(items) if found(entry["was"], parts(item)[1])]
    wrong = []
    if not new:
        marked = any(found(entry["now"], parts(item)[1]) for item in items)
        wrong.append("new MARKED" if marked else "new not found")
    elif old and min(old) < new[0]:
        wrong.append("old first")
    if any(found(entry["was"], open_text(items[n])) for n in old):
        wrong.append("old not marked")
    return f"{', '.join(wrong)} ({entry['ask']}){shown(items)}" if wrong else ""


def stays(entry: Entry, between: bool) -> str:
    items = told(entry, between, entry["ask"])
    if any(found(entry["shown"], open_text(item)) for item in items):
        return ""
    why = "MARKED" if any(found(entry["shown"], parts(i)[1]) for i in items) else "not shown"
    return f"{why} ({entry['ask']}){shown(items)}"


def pairs(entry: Entry, between: bool) -> str:
    items = told(entry, between, entry["task"])
    parts_of = {item.part for item in items if found(entry["core"], open_text(item))}
    if parts_of & {"core", "relevant"}:
        return ""
    why = "only possible" if parts_of else "not shown"
    return f"{why} ({entry['task']}){shown(items)}"


CLASSES: tuple[Callable[[Entry, bool], str], ...] = (updates, stays, pairs)


def judged(check: Callable[[Entry, bool], str], entry: Entry, between: bool) -> str:
    """What is wrong with an entry; a crash is wrong, too."""
    try:
        return check(entry, between)
    except Exception as error:  # noqa: BLE001 - a crash is a finding
        return f"CRASH {type(error).__name__}: {error}"


def main(blind: bool, names: list[str]) -> None:
    data = written("stories.yaml")
    for check, between in product(CLASSES, (False, True)):
        if names and check.__name__ not in names:
            continue
        right, total, failures = Counter[str](), Counter[str](), []
        for entry in data[check.__name__]:
            group, wrong = entry["group"], judged(check, entry, between)
            total[group] += 1
            right[group] += not wrong
            if wrong and (blind or group == "open"):
                said = " -> ".join(entry[name] for name in ("old", "new", "rule") if name in entry)
                failures.append(f"  {group} {said}\n      {wrong}")
        when = "after fillers" if between else "at once"
        print(f"{check.__name__:8} {when:13} {counted(right, total)}")
        print("\n".join(failures), flush=True)


if __name__ == "__main__":
    main("--blind" in sys.argv, [word for word in sys.argv[1:] if not word.startswith("-")])
