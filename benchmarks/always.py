"""Whether what must be in every prompt is there, and nothing else is.

    python -m benchmarks.always [-v] [-n COUNT] [FILE] [SECTION ...]

`always.yaml` holds statements that were written before any pattern was read. Each entry has a store
of its own, and a day later its core block, the digest's lines under "Always:", is judged. Three
sections draw from the pools of the file with fixed seeds. ``mixes``: of up to 30 rules, minutes to
days apart, every danger, the last name and the last language are in the core block and in a task's
prompt, and a line says how many others are not. ``order``: dated statements tell the same, in
whichever order they come. ``crash``: no read raises, whatever was said and forgotten before.

Printed for each section: how many of all are right, and with ``-v`` each failure. ``-n`` is the
number of cases that are drawn.
"""

from __future__ import annotations

import argparse
import random
import re
import time
import unicodedata
from collections import Counter
from collections.abc import Callable, Iterator
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import yaml

import simonides.testing
from simonides.core.errors import SimonidesError
from simonides.testing import ManualClock, SmallEmbedder

Data = dict[str, Any]
Notes = Counter[str]
HELLO = "hello"
LAST = ("names", "languages")
MUST = ("dangers", *LAST)


class User:
    """A user with a store and a clock; an entry is told at once."""

    def __init__(self, **entry: Any) -> None:
        self.clock = ManualClock()
        self.store = simonides.testing.open(clock=self.clock, embedder=SmallEmbedder())
        self.memory = self.store.memory(user="ana", session="later")
        self.tell(**entry)

    def __enter__(self) -> User:
        return self

    def __exit__(self, *error: object) -> None:
        self.store.close()

    def tell(
        self, before: str = "", said: Any = (), told: Any = (), hours: float = 1, **keyed: Any
    ) -> None:
        """Say and tell texts, each some hours after the other."""
        if before:
            self.memory.session("before").add(before)
            self.clock.advance(days=2)
        for text in [said] if isinstance(said, str) else said:
            self.memory.session("one").add(text)
            self.clock.advance(hours=hours)
        for text in [told] if isinstance(told, str) else told:
            named = {name: keyed[name] for name in ("key", "pinned") if name in keyed}
            self.memory.remember(text, **named)
            self.clock.advance(hours=hours)

    def core(self) -> list[str]:
        return [item.line for item in self.memory.digest(HELLO).items if item.part == "core"]

    def facts(self) -> list[str]:
        """What is in force beside the turns and their summaries."""
        every = self.memory.list(limit=1000)
        facts = [each for each in every if each.category not in ("turn", "summary")]
        return sorted(f"{each.key}: {each.content}" for each in facts)

    def ended(self, item: Any, word: str) -> bool:
        """Whether a line says that its memory, or the clause with a word, has ended."""
        if not item.earlier:
            return "earlier" in item.marks
        text = self.memory.get(item.ids[0]).content
        return any(found(word, text[start:end]) for start, end in item.earlier)


def found(pattern: str, text: str) -> bool:
    """Whether a line shows a pattern, without invisible characters and its id and date."""
    seen = "".join(c for c in text if unicodedata.category(c) != "Cf")
    seen = re.sub(r"^- \[[^]]*\] ", "", seen)
    return re.search(pattern, " ".join(seen.split()), re.IGNORECASE) is not None


def holding(pattern: str, lines: list[str]) -> list[str]:
    return [line for line in lines if found(pattern, line)]


def shown(user: User, entry: Data, notes: Notes) -> str:
    return "" if holding(entry["core"], user.core()) else f"{user.core()} of {user.facts()}"


def empty(user: User, entry: Data, notes: Notes) -> str:
    return "; ".join(user.core())


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
    lines = user.core()
    wrong = [] if holding(entry["new"], lines) else ["lacks the new"]
    wrong += ["shows the old"] if holding(entry["old"], lines) else []
    return f"{' and '.join(wrong)}: {lines} of {user.facts()}" if wrong else ""


def for_now(user: User, entry: Data, notes: Notes) -> str:
    wrong = holding(entry["now"], user.facts()) + holding(entry["now"], user.core())
    if "before" in entry and not holding(entry["core"], user.core()):
        wrong.append(f"core lacks {entry['core']}: {user.core()}")
    return "; ".join(wrong)


def fragments(user: User, entry: Data, notes: Notes) -> str:
    return "; ".join(holding(entry["bad"], user.core()))


def pooled(data: Data) -> list[Data]:
    return [{**each, "pool": pool} for pool, every in data["pools"].items() for each in every]


def mixes(data: Data, notes: Notes, count: int = 200) -> Iterator[tuple[str, str]]:
    for number in range(count):
        rng = random.Random(f"mix {number}")
        mix = rng.sample(pooled(data), rng.randint(5, 30))
        last = {each["pool"]: each for each in mix}
        given = [each for each in mix if each["pool"] not in LAST or each is last[each["pool"]]]
        with User() as user:
            for each in mix:
                user.tell(**each, hours=rng.choice((0.1, 3, 50)) * rng.uniform(0.2, 2))
            digest, lines = user.memory.digest(HELLO), user.core()
            prompt = user.memory.task("Plan the week").prompt().splitlines()
        must = [each for each in given if each["pool"] in MUST]
        wrong = [f"core lacks {e['core']}" for e in must if not holding(e["core"], lines)]
        wrong += [f"task lacks {e['core']}" for e in must if not holding(e["core"], prompt)]
        missing = sum(not holding(each["core"], lines) for each in given)
        more = [line for line in digest.text.splitlines() if re.match(r"\W*\(.*\bmore\b", line)]
        said = sum(int(figure) for line in more for figure in re.findall(r"\d+", line))
        notes["statements given"] += len(given)
        notes["of these missing"] += missing
        notes["mixes whose lines say how many are missing"] += said == missing
        notes["mixes whose receipt says how many are missing"] += digest.receipt.hidden == missing
        notes[f"lines say {'more' if said > missing else 'fewer'}"] += said != missing
        yield f"mix {number} of {len(mix)}, {len(lines)} lines", "; ".join(wrong)


def order(data: Data, notes: Notes, count: int = 500) -> Iterator[tuple[str, str]]:
    keyed = [[(key, text) for text in texts] for key, texts in data["order"]["keyed"].items()]
    said = [[(None, text) for text in texts] for texts in data["order"]["said"].values()]
    for number in range(count):
        rng = random.Random(f"order {number}")
        pool = [each for group in rng.sample([*keyed, *said], 4) for each in group]
        drawn = rng.sample(pool, rng.randint(3, min(8, len(pool))))
        ages = rng.sample(range(60, 400 * 24 * 60), len(drawn))
        first = [(*each, minutes) for each, minutes in zip(drawn, ages, strict=True)]
        while (second := rng.sample(first, len(first))) == first:
            pass
        questions = rng.sample(data["order"]["questions"], 3)
        one, wrong = learned(first, questions, 0), []
        for name, other in (
            ("order", learned(second, questions, 0)),
            ("wall clock", learned(first, questions, 20)),
        ):
            differing = [what for what in one if one[what] != other[what]]
            notes.update({f"differ by {name}: {what.partition(':')[0]}" for what in differing})
            wrong += [f"{name}, {w}\n      {one[w]}\n      {other[w]}" for w in differing]
        days = [f"{key or 'said'} {text!r} {minutes / 1440:.1f} d" for key, text, minutes in first]
        yield f"order {number}: {', '.join(days)}", "\n    ".join(wrong)


def learned(sequence: list[Any], questions: list[str], hours: float) -> dict[str, list[str]]:
    """Return what a store shows that took statements in this order, some hours apart."""
    with User() as user:
        now = user.clock.now
        for key, text, minutes in sequence:
            at = now - timedelta(minutes=minutes)
            if key:
                user.memory.remember(text, key=key, at=at)
            else:
                user.memory.session(f"of {at}").add(text, at=at)
            user.clock.advance(hours=hours)
        user.clock.set(now + timedelta(days=10))
        seen = {f"digest: {each}": user.memory.digest(each).text for each in questions}
        seen["profile"] = user.memory.profile().text
        bare = {name: re.sub(r"\b[0-9a-f]{8}\b", "", text) for name, text in seen.items()}
        return {"facts": user.facts(), **{name: text.splitlines() for name, text in bare.items()}}


def crash(data: Data, notes: Notes, count: int = 500) -> Iterator[tuple[str, str]]:
    texts = [text for each in pooled(data) for text in (each.get("said") or each["told"],)]
    texts += [text for group in data["order"]["said"].values() for text in group]
    texts += 2 * data["crash"]["said"] + 3 * data["crash"]["privacy"]
    keyed = [(key, value) for key, values in data["order"]["keyed"].items() for value in values]
    for number in range(count):
        rng, wrong, names = random.Random(f"crash {number}"), "", []
        with User() as user:
            for _ in range(rng.randint(4, 12)):
                user.clock.advance(minutes=rng.uniform(0, 60), days=rng.choice((0, 0, 3)))
                at = user.clock.now + timedelta(days=rng.uniform(-400, 400))
                name, act = step(rng, user, rng.choice(texts), rng.choice((None, at)), keyed)
                names.append(name)
                try:
                    try:
                        act()
                    except SimonidesError as error:  # a write may be refused; no read may
                        notes[f"steps refused: {type(error).__name__}"] += 1
                    query = rng.choice([*data["crash"]["queries"], *texts])
                    for read in (user.memory.digest, user.memory.recall):
                        read(query)
                    user.memory.profile()
                    user.memory.task("Plan the week").prompt()
                except Exception as error:  # noqa: BLE001 - a crash is a finding
                    wrong = wrong or f"CRASH after {len(names)}, {query!r}: {error!r}"
        yield f"crash {number}: {'; '.join(names)}", wrong


def step(
    rng: random.Random, user: User, text: str, at: datetime | None, keyed: list[tuple[str, str]]
) -> tuple[str, Callable[[], Any]]:
    """Return one step of a conversation: its name and what carries it out."""
    talk, (key, value) = user.memory.session(rng.choice("ab")), rng.choice(keyed)
    task, pinned = user.memory.task("Prepare the week"), rng.random() < 0.2
    steps: list[tuple[str, Callable[[], Any]]] = [
        (f"remember {key}={value!r} {at}", lambda: talk.remember(value, key=key, at=at)),
        (f"remember {text!r} {at}", lambda: talk.remember(text, pinned=pinned, at=at)),
        (f"correct {key}={value!r}", lambda: talk.correct(key, value)),
        (f"correct {text!r}", lambda: [talk.correct(hit, value) for hit in talk.recall(text)[:1]]),
        (f"forget {key}", lambda: talk.forget(key)),
        (f"forget {text!r}", lambda: [talk.forget(hit) for hit in talk.recall(text)[:1]]),
        ("end", talk.end),
        (f"complete {text!r}", lambda: (task.observe("search", text), task.complete(text))),
    ]
    return rng.choice([*steps, *5 * [(f"add {text!r} {at}", lambda: talk.add(text, at=at))]])


JUDGES: dict[str, Callable[[User, Data, Notes], str]] = {
    "told": shown, "told_other": empty, "several": several, "ends": ends, "taken_back": taken_back,
    "manner": manner, "for_now": for_now, "standing": shown, "signs": shown, "fragments": fragments,
}  # fmt: skip
DRAWN = {"mixes": mixes, "order": order, "crash": crash}


def judged(entries: list[Data], name: str, notes: Notes) -> Iterator[tuple[str, str]]:
    for entry in entries:
        with User(**entry) as user:
            user.clock.advance(days=1)
            yield str(entry), JUDGES[name](user, entry, notes)


def main() -> None:
    parser = argparse.ArgumentParser(usage=__doc__)
    parser.add_argument("words", nargs="*")
    parser.add_argument("-v", action="store_true")
    parser.add_argument("-n", type=int)
    asked = parser.parse_args()
    names = [*JUDGES, *DRAWN]
    files = [word for word in asked.words if word not in names]
    path = Path(files[0]) if files else Path(__file__).with_name("always.yaml")
    data = yaml.safe_load(path.read_text("utf-8"))
    for name in [word for word in asked.words if word in names] or names:
        began, notes = time.monotonic(), Notes()
        drawn = (
            DRAWN[name](data, notes, **({"count": asked.n} if asked.n else {}))
            if name in DRAWN
            else None
        )
        cases = list(drawn or judged(data.get(name, []), name, notes))
        wrong = [(case, why) for case, why in cases if why]
        seconds = time.monotonic() - began
        print(
            f"{name:10} {len(cases) - len(wrong):>3} of {len(cases):<3} {seconds:4.0f} s",
            flush=True,
        )
        print("".join(f"      {n:>5} {note}\n" for note, n in sorted(notes.items()) if n), end="")
        print("".join(f"  {case}\n    {why}\n" for case, why in wrong) if asked.v else "", end="")


if __name__ == "__main__":
    main()
