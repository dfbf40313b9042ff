"""What quote anchoring lets pass and what it holds, on memories made by script from real turns.

    python benchmarks/anchoring.py DATA [--half fresh] [--each 60] [--show 10]

`DATA` is the folder with `locomo`, `realtalk`, `beam_100k`, `memdaily_zh`. A sentence in which a
speaker says something of himself is paraphrased by rules (person, verbs, contractions, digits for
words and back, relative dates made absolute, words of one meaning): a *truthful* memory. A
*falsified* one is a truthful one with one thing exchanged: a number, a date, a name, a negation,
or whose it is. Each goes with its sentence as quote through `anchor` and the judge. Printed is how
many were stored and how many held, by what was falsified and by the reason.

Turns are split in two halves by a hash of their id: rules were tuned on `tuned`; `fresh` is for
reporting. Nothing of the data is kept.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import random
import re
from collections import Counter, defaultdict
from collections.abc import Iterator
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from pathlib import Path

from simonides.capture.model import anchor
from simonides.capture.rules.evidence import UNPROVEN
from simonides.capture.rules.extract import NOT_THE_USER
from simonides.domain.conversation.turn import Role, Turn
from simonides.domain.scope import Scope
from simonides.domain.writing.decision import Commit
from simonides.domain.writing.proposal import ProposedItem, ScopeName
from simonides.engine.screening.judge import judged_under
from simonides.policy.policy import Policy

SETS = ("locomo", "realtalk", "beam_100k", "memdaily_zh")
HOME = Scope.of_user("acme", "ana")

_PRESENT = """love like want need think know feel hope work live play enjoy prefer try use plan
believe remember miss spend take make get see read write run eat drink cook paint teach study own
keep find help wish walk hike swim travel listen watch support appreciate care""".split()
_PAST = """was had went got made took found saw felt thought came bought started met did gave lost
won read wrote ran taught told left kept spent built brought began ate grew decided moved""".split()
_NUMBERS = """zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen
fifteen sixteen seventeen eighteen nineteen twenty""".split()
_SAME = {"kids": "children", "mom": "mother", "dad": "father", "bike": "bicycle", "big": "large",
         "photos": "photographs", "buy": "purchase", "bought": "purchased"}  # fmt: skip
_RELATIONS = "sister brother mom mother dad father son daughter wife husband friend cousin".split()
_WHEN = r"Yesterday|Today|Last \w+|Next \w+|This \w+|In \d{4}|\w+ \w+ ago"
_WEEKDAYS = "Monday Tuesday Wednesday Thursday Friday Saturday Sunday".split()


@dataclass(frozen=True)
class Made:
    """A memory with its evidence."""

    value: str
    quote: str
    turn: Turn
    changed: tuple[str, ...]


def turns(data: Path, half: str) -> Iterator[tuple[str, Turn]]:
    """Yield the turns of one half, with the set they are from."""
    for name in SETS:
        for line in (data / name / "dev" / "corpus.jsonl").open(encoding="utf-8"):
            row = json.loads(line)
            digest = hashlib.sha256(row["item_id"].encode()).digest()[0]
            if (digest % 2 == 0) != (half == "fresh"):
                continue
            role = Role.ASSISTANT if row["speaker"] == "assistant" else Role.USER
            speaker = "Ana" if row["speaker"] == "user" else row["speaker"]
            said_at = datetime.fromisoformat(row["timestamp"])
            yield name, Turn(text=row["text"], role=role, speaker=speaker, said_at=said_at)


def sentences(text: str) -> list[str]:
    """Cut a text into sentences, roughly."""
    found = re.findall(r"[^.!?。！？\n]+(?:[.!?](?=\S)[^.!?\n]*)*", text)
    return [one.strip() for one in found if 12 < len(one.strip()) < 110]


def third_person(sentence: str, speaker: str, subject: str) -> str | None:
    """Return "I …" or "My …" said of the speaker; None where these rules do not know how."""
    if (dated := re.match(rf"({_WHEN}),? (I .*)$", sentence)) is not None:
        said = third_person(dated[2], speaker, subject)
        return None if said is None else f"{dated[1][0].lower()}{dated[1][1:]} {said}"
    match = re.match(r"(?:(?:And|But|So|Yeah|Yes|Also|Well|Wow|Oh),?\s+)?(I|I'm|I've|My)\s+(.*)$",
                     sentence.replace("’", "'"))  # fmt: skip
    if match is None or re.search(r"\b(we|us|our|you|your|I|I'm|I've|I'd|I'll)\b", match[2]):
        return None
    opening, rest = match[1], match[2]
    word = rest.split(" ", 1)[0].strip(",")
    if opening == "My":
        said = f"{subject}'s {rest}"
    elif opening == "I'm":
        said = f"{subject} is {rest}"
    elif opening == "I've":
        said = f"{subject} has {rest}"
    elif word in ("am", "have", "don't"):
        new = {"am": "is", "have": "has", "don't": "does not"}[word]
        said = f"{subject} {new}{rest[len(word) :]}"
    elif word in _PRESENT:
        ending = "es" if word.endswith(("ch", "sh", "ss")) else "s"
        said = f"{subject} {word}{ending}{rest[len(word) :]}"
        said = re.sub(r"\b(\w+[^aeiou])ys\b", r"\1ies", said) if word.endswith("y") else said
    elif word in _PAST or word.endswith("ed") or word in ("didn't", "can't", "never", "will"):
        said = f"{subject} {rest}"
    else:
        return None
    said = re.sub(r"\bmy\b", "their", re.sub(r"\b(me|myself)\b", "them", said))
    return said if len(said) <= 120 else None


def reworded(value: str, turn: Turn, chance: random.Random) -> str:
    """Apply what else can be applied: numbers, dates, contractions, words of one meaning."""
    assert turn.said_at is not None, "every row has a timestamp"
    day = turn.said_at.date()
    said = value
    for old, new in _SAME.items():
        said = re.sub(rf"\b{old}\b", new, said)
    said = re.sub(r"\bdidn't\b", "did not", re.sub(r"\bcan't\b", "cannot", said))

    def number(match: re.Match[str]) -> str:
        low = match[0].lower()
        if low.isdigit():
            return _NUMBERS[int(low)] if int(low) <= 20 and len(low) < 3 else low
        return str(_NUMBERS.index(low))

    if chance.random() < 0.7:
        said = re.sub(rf"(?<![\w$€£:.,/-])(?:{'|'.join(_NUMBERS[2:])}|\d{{1,2}})(?![\w:.,/%-])",
                      number, said)  # fmt: skip
    fixed = {"yesterday": -1, "today": 0, "tomorrow": 1, "last night": -1}
    for words, offset in fixed.items():
        date = day + timedelta(days=offset)
        said = re.sub(rf"\b{words}\b", f"on {date.day} {date:%B %Y}", said)
    said = re.sub(r"\blast year\b", f"in {day.year - 1}", said)
    said = re.sub(r"\bthis year\b", f"in {day.year}", said)
    first = day.replace(day=1) - timedelta(days=1)
    said = re.sub(r"\blast month\b", f"in {first:%B %Y}", said)
    days = "|".join(_WEEKDAYS)
    return re.sub(rf"\b(last|on) ({days})\b", lambda match: _weekday(match, day), said)


def _weekday(match: re.Match[str], day: datetime) -> str:
    back = (day.weekday() - _WEEKDAYS.index(match[2])) % 7 or 7
    date = day - timedelta(days=back)
    return f"on {date.day} {date:%B %Y}" if match[1] == "last" else match[0]


def truthful(name: str, turn: Turn, chance: random.Random) -> Iterator[Made]:
    """Yield memories that a turn bears out, reworded."""
    for sentence in sentences(turn.text):
        if name == "memdaily_zh":
            value = re.sub(r"^我(?!们)", "用户", sentence)
            value = re.sub(r"[一二三四五六七八九]千(?![一二三四五六七八九百])", _thousand, value)
            if value != sentence and len(value) <= 120:
                yield Made(value, sentence, turn, ())
            continue
        subject = chance.choice(("User", str(turn.speaker)))
        value = third_person(sentence, str(turn.speaker), subject)
        if value is not None:
            yield Made(reworded(value, turn, chance), sentence, turn, ())


def _thousand(match: re.Match[str]) -> str:
    return str("一二三四五六七八九".index(match[0][0]) * 1000 + 1000)


# What can be falsified ----------------------------------------------------------------------------

_NUMBER = rf"(?<![\w$€£:.,/-])(?:{'|'.join(_NUMBERS[2:])}|\d+)(?![\w:.,/-])"
_MONTHS = "January|February|March|April|May|June|July|August|September|October|November|December"
_DATE = rf"\b\d{{1,2}} (?:{_MONTHS}) \d{{4}}\b|\b(?:{_MONTHS}) \d{{1,2}}\b|\b(?:19|20)\d\d\b"


def falsified_number(made: Made, names: list[str], chance: random.Random) -> str | None:
    spans = [m.span() for m in re.finditer(_DATE, made.value)]
    found = [m for m in re.finditer(_NUMBER, made.value, re.I)
             if not any(a <= m.start() < b for a, b in spans)]  # fmt: skip
    if not found:
        match = re.search(r"\d+", made.value) if not made.value.isascii() else None
        if match is None or spans:
            return None
        found = [match]
    match = chance.choice(found)
    low = match[0].lower()
    value = int(low) if low.isdigit() else _NUMBERS.index(low)
    other = value + chance.choice((1, 2, 7, -1) if value > 3 else (1, 2, 3))
    new = _NUMBERS[other] if not low.isdigit() and other <= 20 else str(other)
    return made.value[: match.start()] + new + made.value[match.end() :]


def falsified_date(made: Made, names: list[str], chance: random.Random) -> str | None:
    match = re.search(_DATE, made.value)
    if match is not None:
        digits = re.search(r"\d+", match[0])
        months = _MONTHS.split("|")
        month = re.search(_MONTHS, match[0])
        if month and chance.random() < 0.5:
            new = match[0].replace(month[0], months[(months.index(month[0]) + 2) % 12])
        else:
            assert digits is not None
            shifted = int(digits[0]) % 28 + 1 if len(digits[0]) < 3 else int(digits[0]) - 2
            new = match[0].replace(digits[0], str(shifted), 1)
        return made.value[: match.start()] + new + made.value[match.end() :]
    day = re.search("|".join(_WEEKDAYS), made.value)
    if day is not None:
        other = _WEEKDAYS[(_WEEKDAYS.index(day[0]) + chance.choice((1, 2, 3))) % 7]
        return made.value.replace(day[0], other, 1)
    swaps = {"last weekend": "next weekend", "last week": "next week", "next month": "last month",
             "last summer": "last winter", "this week": "last week", "years ago": "days ago",
             "next week": "last week", "next weekend": "last weekend"}  # fmt: skip
    for old, new in swaps.items():
        if old in made.value:
            return made.value.replace(old, new, 1)
    return None


def falsified_name(made: Made, names: list[str], chance: random.Random) -> str | None:
    if not made.value.isascii():
        return None
    found = [m for m in re.finditer(r"(?<=[a-z,] )[A-Z][a-z]{2,}\b", made.value)
             if not re.search(rf"{_MONTHS}|{'|'.join(_WEEKDAYS)}", m[0])]  # fmt: skip
    if not found:
        return None
    match = chance.choice(found)
    spoken = f"{made.turn.speaker} {made.quote}".lower()
    others = [name for name in names if name.lower() not in spoken]
    return made.value[: match.start()] + chance.choice(others) + made.value[match.end() :]


def falsified_negation(made: Made, names: list[str], chance: random.Random) -> str | None:
    value = made.value
    if not value.isascii():
        match = re.search(r"喜欢|是|会|要", value)
        return value[: match.start()] + "不" + value[match.start() :] if match else None
    for old, new in ((" does not ", " does "), (" did not ", " did "), (" never ", " often "),
                     (" cannot ", " can "), (" not ", " ")):  # fmt: skip
        if old in value:
            return value.replace(old, new, 1)
    for old, new in ((" is ", " is not "), (" has ", " has never "), (" was ", " was not "),
                     (" will ", " will not ")):  # fmt: skip
        if old in value:
            return value.replace(old, new, 1)
    match = re.match(r"(\S+) (\w+?)s (.*)", value)
    return f"{match[1]} does not {match[2]} {match[3]}" if match and match[2] in _PRESENT else None


def falsified_speaker(made: Made, names: list[str], chance: random.Random) -> str | None:
    if not made.value.isascii() or made.value.split(" ")[0].endswith("'s"):
        return None
    others = [n for n in names if n.lower() != str(made.turn.speaker).lower()]
    return chance.choice(others) + " " + made.value.split(" ", 1)[1]


def of_another(turn: Turn) -> Iterator[Made]:
    """Yield what a turn says of somebody else, claimed of the user."""
    for sentence in sentences(turn.text):
        match = re.match(rf"(?:My (?:{'|'.join(_RELATIONS)})|He|She|They) (\w+)(.*)$", sentence)
        if match and not re.search(r"\b(I|me|my|we|us|our)\b", match[2]):
            yield Made(f"User {match[1]}{match[2]}"[:120], sentence, turn, ("speaker",))


FALSIFY = {
    "number": falsified_number,
    "date": falsified_date,
    "name": falsified_name,
    "negation": falsified_negation,
    "speaker": falsified_speaker,
}


def verdict(made: Made, policy: Policy) -> tuple[bool, tuple[str, ...]]:
    """Return whether a memory would be stored, and why not."""
    item = ProposedItem("stated_fact", made.value, ScopeName.USER, 180.0, 0.9, made.quote)
    candidate = anchor(item, made.turn, HOME, category="fact")
    judged = judged_under(replace(candidate, key=None), policy)
    reasons = tuple(m for m in candidate.marks if m in (*UNPROVEN, NOT_THE_USER))
    return isinstance(judged, Commit), reasons or judged.reasons


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("data", type=Path)
    parser.add_argument("--half", choices=("tuned", "fresh"), default="fresh")
    parser.add_argument("--each", type=int, default=60)
    parser.add_argument("--show", type=int, default=0)
    parser.add_argument("--seed", type=int, default=6)
    given = parser.parse_args()
    chance = random.Random(given.seed)
    rows = [*turns(given.data, given.half)]
    names = sorted(
        {str(t.speaker).title() for _, t in rows if str(t.speaker).isalpha()} - {"Assistant"}
    )
    true = [m for name, t in rows if t.role is Role.USER for m in truthful(name, t, chance)]
    chance.shuffle(true)
    telling = [m for m in true if re.search(r"\d|[a-z] [A-Z]|\bnot\b|never", m.value)]
    sample = (telling[: 4 * given.each] + true)[: 5 * given.each]
    false: dict[str, list[Made]] = defaultdict(list)
    assistants = [
        m for name, t in rows if t.role is Role.ASSISTANT for m in truthful(name, t, chance)
    ]
    aside = [m for _, t in rows if t.role is Role.USER for m in of_another(t)]
    chance.shuffle(aside)
    false["speaker"] += [replace(m, changed=("role",)) for m in assistants[: given.each // 6]]
    false["speaker"] += aside[: given.each // 3]
    # Few sentences name a date: those are falsified up to three times.
    for made in [*true, *true, *true]:
        for kind, change in FALSIFY.items():
            said = change(made, names, chance) if len(false[kind]) < given.each else None
            fake = replace(made, value=said or made.value, changed=(kind,))
            if said not in (None, made.value) and fake not in false[kind]:
                false[kind].append(fake)
    report(sample, false, given.show)


def report(true: list[Made], false: dict[str, list[Made]], show: int) -> None:
    """Print the confusion table, and examples of what went wrong."""
    policy = Policy()
    print(f"{'memories':20} {'n':>4} {'stored':>6} {'held':>5}  reasons")
    wrong: list[tuple[str, Made, tuple[str, ...]]] = []
    for kind, made in {"truthful": true, **false}.items():
        verdicts = [verdict(one, policy) for one in made]
        stored = sum(is_stored for is_stored, _ in verdicts)
        reasons = Counter(reason for is_stored, why in verdicts if not is_stored for reason in why)
        print(f"{kind:20} {len(made):4} {stored:6} {len(made) - stored:5}  {dict(reasons)}")
        wrong += [(kind, one, why) for one, (is_stored, why) in zip(made, verdicts, strict=True)
                  if is_stored != (kind == "truthful")]  # fmt: skip
    for kind, one, why in wrong[:show]:
        print(f"\n{kind} {why}\n  claim {one.value}\n  quote {one.quote}")


if __name__ == "__main__":
    main()
