"""Whether what must be in every prompt is there, and nothing else is.

    python -m benchmarks.always [-v] [COUNT] [FILE.yaml] [SECTION ...]

`always.yaml` holds statements that were written before any pattern was read. Each entry has a store
of its own, and a day later its core block, the digest's lines under "Always:", is judged. Three
sections draw from the file with fixed seeds. ``mixes``: of up to 30 rules every danger, the last
name and the last language are in the core block and in a task's prompt, and a line says how many
others are not. ``order``: dated statements tell the same in whichever order they come. ``crash``:
no read raises. Printed: how many are right, with ``-v`` each failure. COUNT limits a section.
"""

from __future__ import annotations

import re
import sys
import time
import unicodedata
from collections import Counter
from contextlib import closing, suppress
from datetime import timedelta
from pathlib import Path
from random import Random
from typing import Any

import yaml

import simonides.testing
from simonides.core.errors import SimonidesError
from simonides.testing import ManualClock, SmallEmbedder

Data = dict[str, Any]
Notes = Counter[str]


class User:
    """A user with a store and a clock; an entry is told at once."""

    def __init__(self, entry: Data) -> None:
        self.clock = ManualClock()
        store = simonides.testing.open(clock=self.clock, embedder=SmallEmbedder())
        self.memory, self.close = store.memory(user="ana", session="later"), store.close
        self.tell(entry)

    def tell(self, entry: Data, hours: float = 1) -> None:
        """Say and tell texts, each some hours after the other."""
        for way in ("before", "said", "told"):
            texts = entry.get(way, [])
            for text in [texts] if isinstance(texts, str) else texts:
                keyed = {name: entry[name] for name in ("key", "pinned") if name in entry}
                talk = self.memory.session(way)
                talk.remember(text, **keyed) if way == "told" else talk.add(text)
                self.clock.advance(hours=48 if way == "before" else hours)

    def core(self) -> list[str]:
        return [item.line for item in self.memory.digest("hello").items if item.part == "core"]

    def facts(self) -> list[str]:
        """What is in force beside the turns."""
        every = self.memory.list(filter={"category": {"$ne": "turn"}}, limit=1000)
        return sorted(f"{each.key}: {each.content}" for each in every)

    def ended(self, item: Any, word: str) -> bool:
        """Whether a line says that its memory, or the clause with a word, has ended."""
        clauses = [self.memory.get(item.ids[0]).content[slice(*each)] for each in item.earlier]
        return bool(holding(word, clauses)) if clauses else "earlier" in item.marks


def found(pattern: str, text: str) -> bool:
    """Whether a line shows a pattern, without invisible characters and its id and date."""
    text = re.sub(r"^- \[[^]]*\] ", "", text)
    seen = "".join(each for each in text if unicodedata.category(each) != "Cf")
    return re.search(pattern, " ".join(seen.split()), re.IGNORECASE) is not None


def holding(pattern: str, lines: list[str]) -> list[str]:
    return [line for line in lines if found(pattern, line)]


def shown(user: User, entry: Data, notes: Notes) -> str:
    return "" if holding(entry["core"], user.core()) else f"{user.core()} of {user.facts()}"


def several(user: User, entry: Data, notes: Notes) -> str:
    items, wrong = user.memory.digest(entry["ask"]).items, []
    for word in entry["words"]:
        wrong += [i.line for i in items if found(word, i.line) and user.ended(i, word)]
        if entry.get("danger") and not holding(word, user.core()):
            wrong.append(f"core lacks {word}: {user.core()}")
    return "; ".join(wrong)


def ends(user: User, entry: Data, notes: Notes) -> str:
    items = user.memory.digest(entry["ask"]).items
    old = [i for i in items if found(entry["old"], i.line) and not found(entry["new"], i.line)]
    return "; ".join(f"{i.part} {i.line}" for i in old if not user.ended(i, entry["old"]))


def taken_back(user: User, entry: Data, notes: Notes) -> str:
    lines = holding(entry["word"], user.core())
    notes["core says that it is over"] += bool(holding(entry["denial"], lines))
    return "; ".join(line for line in lines if not found(entry["denial"], line))


def manner(user: User, entry: Data, notes: Notes) -> str:
    old, new = holding(entry["old"], user.core()), holding(entry["new"], user.core())
    return "" if new and not old else f"new {new}, old {old} of {user.facts()}"


def for_now(user: User, entry: Data, notes: Notes) -> str:
    core = user.core()
    wrong = holding(entry["now"], user.facts() + core)
    if "before" in entry and not holding(entry["core"], core):
        wrong.append(f"core lacks {entry['core']}: {core}")
    return "; ".join(wrong)


def bad(user: User, entry: Data, notes: Notes) -> str:
    return "; ".join(holding(entry.get("bad", ""), user.core()))


def mixes(rng: Random, data: Data, notes: Notes, trace: list[Any]) -> str:
    mix = rng.sample(data["pooled"], rng.randint(5, 30))
    last = {each["pool"]: each for each in mix}
    given = [e for e in mix if e["pool"] not in ("names", "languages") or e is last[e["pool"]]]
    must = [e["core"] for e in given if e["pool"] in ("dangers", "names", "languages")]
    trace += [each.get("said") or each["told"] for each in mix]
    with closing(User({})) as user:
        for each in mix:
            user.tell(each, rng.choice((0.1, 3, 50)) * rng.uniform(0.2, 2))
        digest, lines = user.memory.digest("hello"), user.core()
        prompt = user.memory.task("Plan the week").prompt().splitlines()
    missing = sum(not holding(each["core"], lines) for each in given)
    more = re.findall(r"^\W*\(.*\bmore\b.*", digest.text, re.MULTILINE)
    said = sum(int(figure) for line in more for figure in re.findall(r"\d+", line))
    notes.update({"statements given": len(given), "of these missing": missing})
    notes["mixes whose lines say how many are missing"] += said == missing
    hidden = sum(digest.receipt.hidden.values())
    notes["mixes whose receipt says how many are missing"] += hidden == missing
    wrong = [f"core lacks {each}" for each in must if not holding(each, lines)]
    return "; ".join(wrong + [f"task lacks {e}" for e in must if not holding(e, prompt)])


def order(rng: Random, data: Data, notes: Notes, trace: list[Any]) -> str:
    groups = [[(key, text) for text in texts] for key, texts in data["order"]["keyed"].items()]
    groups += [[("", text) for text in texts] for texts in data["order"]["said"].values()]
    pool = [each for group in rng.sample(groups, 4) for each in group]
    drawn = rng.sample(pool, rng.randint(3, min(8, len(pool))))
    first = [(*each, rng.randrange(60, 400 * 24 * 60)) for each in drawn]
    questions, wrong = rng.sample(data["order"]["questions"], 3), []
    trace += [*first, questions]
    one = learned(first, questions, 0)
    for name, sequence, hours in (("order", first[::-1], 0), ("wall clock", first, 20)):
        other = learned(sequence, questions, hours)
        differing = [what for what in one if one[what] != other[what]]
        notes.update({f"differ by {name}: {what.partition(':')[0]}" for what in differing})
        wrong += [f"{name}, {w}\n      {one[w]}\n      {other[w]}" for w in differing]
    return "\n    ".join(wrong)


def learned(sequence: list[Any], questions: list[str], hours: float) -> dict[str, list[str]]:
    """Return what a store shows that took statements in this order, some hours apart."""
    with closing(User({})) as user:
        now = user.clock.now
        for key, text, ago in sequence:
            at = now - timedelta(minutes=ago)
            talk = user.memory.session(f"of {at}")
            talk.remember(text, key=key, at=at) if key else talk.add(text, at=at)
            user.clock.advance(hours=hours)
        user.clock.set(now + timedelta(days=10))
        seen = {"profile": user.memory.profile(), "facts": "\n".join(user.facts())}
        seen |= {f"digest: {each}": user.memory.digest(each) for each in questions}
        return {name: re.sub(r"\b[0-9a-f]{8}\b", "", str(seen[name])).splitlines() for name in seen}


STEPS = {
    "add": lambda talk, key, value, text, at, hit: talk.add(text, at=at),
    "remember": lambda talk, key, value, text, at, hit: talk.remember(text, at=at),
    "keyed": lambda talk, key, value, text, at, hit: talk.remember(value, key=key, at=at),
    "correct": lambda talk, key, value, text, at, hit: talk.correct(hit, value),
    "forget": lambda talk, key, value, text, at, hit: talk.forget(hit),
    "end": lambda talk, key, value, text, at, hit: talk.end(),
    "task": lambda talk, key, value, text, at, hit: talk.task("Pack").observe("search", text),
    "complete": lambda talk, key, value, text, at, hit: talk.task("Pack").complete(text),
}


def crash(rng: Random, data: Data, notes: Notes, trace: list[Any]) -> str:
    keyed = [(key, value) for key, values in data["order"]["keyed"].items() for value in values]
    texts = [each.get("said") or each["told"] for each in data["pooled"]] + data["crash"]["said"]
    others = rng.sample(texts, 5) + rng.sample(data["crash"]["privacy"], 3)
    own = rng.choice(list(data["order"]["said"].values()))[:]
    rng.shuffle(own)
    queries = [*data["crash"]["queries"], *others, *own]
    with closing(User({})) as user:
        for _ in range(rng.randint(4, 12)):
            user.clock.advance(minutes=rng.uniform(0, 60), days=rng.choice((0, 0, 3)))
            at = user.clock.now + timedelta(days=rng.uniform(-400, 400))
            name, query = rng.choice([*STEPS, *["add"] * 12]), rng.choice(queries)
            text = own.pop() if own and name == "add" else rng.choice(others)
            given = (*rng.choice(keyed), text, rng.choice((at, at, at, None)))
            trace.append(f"{name} {given}, asked {query!r}")
            hit = rng.choice([*user.memory.recall(query, limit=3), given[0]])
            with suppress(SimonidesError):  # a write may be refused, a read not
                STEPS[name](user.memory.session(rng.choice("ab")), *given, hit)
            user.memory.digest(query)
            user.memory.task("Plan the week").prompt()
        user.memory.profile()
        [user.memory.digest(question) for question in data["order"]["questions"]]
    return ""


JUDGES = {
    "told": shown, "told_other": bad, "several": several, "ends": ends, "taken_back": taken_back,
    "manner": manner, "for_now": for_now, "standing": shown, "signs": shown, "fragments": bad,
}  # fmt: skip
DRAWN = {"mixes": (mixes, 200), "order": (order, 500), "crash": (crash, 500)}


def judged(name: str, number: int, data: Data, notes: Notes) -> tuple[Any, str]:
    """Return a case, and what is wrong with it."""
    trace: list[Any] = [] if name in DRAWN else [data[name][number]]
    try:
        if name in DRAWN:
            return trace, DRAWN[name][0](Random(f"{name} {number}"), data, notes, trace)
        with closing(User(trace[0])) as user:
            user.clock.advance(days=1)
            return trace, JUDGES[name](user, trace[0], notes)
    except Exception as error:  # noqa: BLE001 - a crash is a finding
        return trace, f"CRASH {type(error).__name__}: {error}"


def main(words: list[str]) -> None:
    count = next((int(word) for word in words if word.isdecimal()), 500)
    file = next((word for word in words if word.endswith(".yaml")), "")
    data = yaml.safe_load(Path(file or Path(__file__).with_suffix(".yaml")).read_text("utf-8"))
    data["pooled"] = [each | {"pool": p} for p, every in data["pools"].items() for each in every]
    names = [*JUDGES, *DRAWN]
    for name in [word for word in words if word in names] or names:
        began, notes = time.monotonic(), Notes()
        total = min(count, DRAWN[name][1] if name in DRAWN else len(data[name]))
        cases = [judged(name, number, data, notes) for number in range(total)]
        wrong = [f"  {case}\n    {why}" for case, why in cases if why]
        print(f"{name:10} {total - len(wrong)} of {total}, {time.monotonic() - began:.0f} s")
        noted = [f"      {figure:>5} {note}" for note, figure in sorted(notes.items())]
        print("".join(f"{line}\n" for line in noted + wrong * ("-v" in words)), end="", flush=True)


if __name__ == "__main__":
    main(sys.argv[1:])
