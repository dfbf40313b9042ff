"""A leak test: one principal fills a store, another one asks for it by every verb.

A leak is a planted word or an id in an answer to another principal, a count that changes with
another one's data, or an answer that differs, in its text or its time, between what another one has
and what nobody has.
"""

from __future__ import annotations

import json
import re
import statistics
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from math import comb
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

import numpy

from simonides._version import __version__
from simonides.core.clock import SystemClock, to_datetime
from simonides.testing.leak_calls import OF_USER, Asker, Trial
from simonides.testing.leak_doors import Answer, Door, Question, Unreachable
from simonides.testing.leak_plant import (
    ID_OR_PART,
    WORD,
    Pair,
    Planted,
    lists,
    plant,
    tails_in,
    words_in,
)

if TYPE_CHECKING:
    from numpy.random import Generator

CALLS = 20_000
"""How many calls a test makes. Set by judgement: all kinds of questions several times."""

MOST_RATIO, MOST_CHANCE = 1.05, 0.001
"""Times differ if their median ratio is above this, and a sign test says that chance does
so less often than this. Set by judgement."""

LEAST_PAIRS = 60
"""How many pairs of times are compared at least. Set by judgement."""

CONFIRMING = 600
"""Pairs by which a difference of times is looked at again, as among many some differ by chance."""

NEW_NAMES = 24
"""How many names that were not asked for before these pairs share: a word takes longer than another
one whoever has it, so that only many words tell something. Set by judgement."""

ROUNDS = 4
"""How often counts are compared. Set by judgement."""

MCP_TIMES = 8
"""How often a question over MCP is asked while one of another door is asked once: it has few tools.
Set by judgement."""

SHORT = 3
"""A name so short may be a word of a message: it counts only beside a quote or in a path."""

SHOWN_CHARS = 600

OF_USER_PATHS = (".events", ".alerts", ".items[].score", ".items[].relevance")
"""What goes by all of a user, whichever agent or purpose: scores weigh a word by how rare it is in
all memories of the user."""


@dataclass(frozen=True)
class Side:
    """A principal that asks, at one door.

    Attributes:
        who: What it is called in the report.
        door: Its door.
        planted: What it asks for.
        scope: Path of its scope.
        may_see: Words that it may see though another one planted them, as of its organisation.
        may_name: The last characters of ids that it may see.
        org: Its organisation, where it administers one.
        fixed: What its credential fixes beside the user: ``agent``, ``purpose``.
    """

    who: str
    door: Door
    planted: Planted
    scope: str
    may_see: frozenset[str] = frozenset()
    may_name: frozenset[str] = frozenset()
    org: str = "own"
    fixed: frozenset[str] = frozenset()


@dataclass
class Report:
    """What was tried, and what leaked.

    Attributes:
        about: Version, date, seed, kind of store, doors, principals.
        planted: Kinds of things, and whether the one that has them reads them back.
        calls: Number of calls by door and verb.
        unreachable: Verbs that a principal cannot reach at a door.
        tried: Number of pairs by what was tried.
        counts: How many counts were compared, and which change by themselves.
        times: Comparisons of times, by door and by what was tried.
        leaks: What leaked, each with the call that shows it.
    """

    about: dict[str, Any]
    planted: dict[str, bool] = field(default_factory=dict)
    calls: dict[str, Counter[str]] = field(default_factory=lambda: defaultdict(Counter))
    unreachable: dict[str, set[str]] = field(default_factory=lambda: defaultdict(set))
    tried: Counter[str] = field(default_factory=Counter)
    counts: dict[str, Any] = field(default_factory=dict)
    times: list[dict[str, Any]] = field(default_factory=list)
    leaks: list[dict[str, Any]] = field(default_factory=list)

    @property
    def gaps(self) -> list[str]:
        """Kinds of things that could not be planted: the test says nothing of them."""
        return [name for name, seen in self.planted.items() if not seen]

    def __bool__(self) -> bool:
        return not self.leaks

    def to_dict(self) -> dict[str, Any]:
        """Return the report as JSON-ready data."""
        fields = {name: value for name, value in vars(self).items() if name != "about"}
        unreachable = {door: sorted(each) for door, each in self.unreachable.items()}
        return {**self.about, "passed": bool(self), **fields, "unreachable": unreachable}


def leak_test(
    sides: Sequence[Side],
    *,
    calls: int = CALLS,
    seed: int = 0,
    verbs: Sequence[str] = (),
    about: Mapping[str, Any] | None = None,
) -> Report:
    """Ask as some principals for what others have, in random order.

    Args:
        sides: The ones who ask. What they ask for is planted first.
        calls: How many calls to make at least.
        seed: Of the random order: the same seed makes the same questions.
        verbs: Only these calls, such as ``Memory.get``; none means all.
        about: More for the report.
    """
    now = SystemClock().now_ms()
    report = Report({
        "program": "simonides leak-test", "version": __version__,
        "date": to_datetime(now).isoformat(), "seed": seed, **(about or {}),
        "principals": sorted({f"{each.who} ({each.door.name})" for each in sides}),
    })  # fmt: skip
    test = _Test(sides, numpy.random.default_rng(seed), tuple(verbs), report)
    for planted in test.planted:
        plant(planted)
        report.planted |= {f"{planted.apart} {n}".strip(): v for n, v in planted.seen.items()}
    test.compare_counts(max(2, min(ROUNDS, calls // 100)))
    test.ask_all(calls)
    test.judge_times(min(LEAST_PAIRS, max(12, calls // 300)))
    return report


class _Test:
    """The run of a test."""

    def __init__(
        self, sides: Sequence[Side], draw: Generator, verbs: tuple[str, ...], report: Report
    ) -> None:
        self._sides, self._draw, self._verbs, self._report = sides, draw, verbs, report
        self.planted = list({id(each.planted): each.planted for each in sides}.values())
        self._said: dict[str, set[str]] = defaultdict(set)
        self._times: dict[tuple[str, str], list[tuple[float, float]]] = defaultdict(list)
        self._trials: dict[tuple[str, str], list[tuple[Side, Trial]]] = defaultdict(list)
        self._found: set[tuple[str, ...]] = set()
        self._new: dict[tuple[int, bool], Planted] = {}
        self.asked = 0

    # -- what is in an answer ----------------------------------------------------------------------

    def _ask(self, side: Side, question: Question, tried: str) -> Answer:
        """Ask, look for what was planted, and return code, text and time."""
        sent = json.dumps(question.sent, ensure_ascii=False, default=str)
        planted = side.planted
        asker = planted.apart or side.who  # principals of one user read what each other wrote
        self._said[asker] |= words_in(sent)
        answer = side.door.ask(question)
        self.asked += 1
        self._report.calls[side.door.name][question.call] += 1
        words = words_in(answer.text) & planted.words - self._said[asker] - side.may_see
        ids = tails_in(answer.text) & planted.tails - tails_in(sent) - side.may_name
        for kind, found in (("canary", words), ("id", ids)):
            if found:
                shown = _around(answer.text, min(found))
                self._leak(kind, side, question, tried, shown=shown)
        if question.call == "Privacy.pause_recall":  # else nothing would be recalled any more
            side.door.ask(Question("Privacy.resume_recall"))
        return answer

    def _leak(self, kind: str, side: Side, question: Question, tried: str, **more: Any) -> None:
        """Note a leak; the first of each kind, principal, door, call and way."""
        name = (kind, side.who, side.door.name, question.call, tried.split(" ")[0])
        if name not in self._found:
            self._found.add(name)
            about = {"kind": kind, "door": side.door.name, "principal": side.who}
            asked = {"call": question.call, "tried": tried, "question": question.sent}
            self._report.leaks.append({**about, **asked, **more})

    # -- questions ---------------------------------------------------------------------------------

    def ask_all(self, calls: int) -> None:
        """Ask every kind of question in random order, and again, until there were enough calls."""
        every, self.asked = list(self._every()), 0
        while every and self.asked < calls:
            for n in self._draw.permutation(len(every)):
                side, trial = every[n]
                try:
                    self._compare(side, trial)
                except Unreachable:
                    self._report.unreachable[f"{side.door.name}, {side.who}"].add(trial.call)
                if self.asked >= calls:
                    return

    def _every(self) -> Iterator[tuple[Side, Trial]]:
        for side in self._sides:
            asker = Asker(side.planted, side.scope, side.door.name, side.fixed)
            times = MCP_TIMES if side.door.name == "mcp" else 1
            yield from ((side, trial) for trial in times * asker.trials(self._verbs))

    def _pair(self, side: Side, trial: Trial) -> tuple[tuple[Answer, Answer], Pair]:
        """Ask for what another one has, and for what nobody has, in random order."""
        asked, answers = Pair(*trial.questions(side.planted)), list[Answer]()
        order = (0, 1) if self._draw.random() < 0.5 else (1, 0)
        for n in order:
            answers.append(self._ask(side, asked[n], trial.way))
        return (answers[order[0]], answers[order[1]]), asked

    def _compare(self, side: Side, trial: Trial) -> None:
        group = (side.door.name, f"{side.planted.apart} {trial.way}".strip())
        answers, asked = self._pair(side, trial)
        self._report.tried[group[1]] += 1
        self._note_times(group, side, trial, answers)
        differs = _difference(side, trial, answers, asked)
        for _ in range(2):  # the state of the asker may have changed between both
            if differs is None:
                return
            answers, asked = self._pair(side, trial)
            differs = _difference(side, trial, answers, asked)
        if differs is not None:
            more = {"codes": [each.code for each in answers], "void_question": asked.void.sent}
            told = {"held": differs[0], "void": differs[1]}
            self._leak("difference", side, asked.held, group[1], **told, **more)

    # -- counts ------------------------------------------------------------------------------------

    def compare_counts(self, rounds: int) -> None:
        """Compare what each principal counts before and after another one writes."""
        if self._verbs and not lists().keys() & {*self._verbs}:
            return
        alone, after = Counter[Any](), Counter[Any]()
        shown: dict[Any, tuple[Any, Any]] = {}
        for _ in range(rounds):
            first, second = self._counts(), self._counts()
            for planted in self.planted:
                _plant_more(planted, own=1, others=1)
            third = self._counts()
            alone.update(_changed(first, second))
            changed = _changed(second, third)
            after.update(changed)
            shown |= {each: (second.get(each), third.get(each)) for each in changed}
        restless = sorted({f"{name} {path}" for _, name, path in alone})
        compared = len({where[1:] for where in first})
        self._report.counts = {"rounds": rounds, "compared": compared, "vary_alone": restless}
        for where, times in after.items():
            if times >= 2 and times > 2 * alone[where]:
                side, question = self._sides[where[0]], Question(where[1], lists()[where[1]])
                told = dict(zip(("before", "after"), shown[where], strict=True))
                tried = f"{where[2]} before and after another writes"
                self._leak("count", side, question, tried, **told)

    def _counts(self) -> dict[tuple[int, str, str], Any]:
        """Return every number, and the length of every list, that each principal can read."""
        found: dict[tuple[int, str, str], Any] = {}
        for n, side in enumerate(self._sides):
            skipped = OF_USER_PATHS if side.planted.apart else ()
            for question in self._counting(side):
                try:
                    answer = self._ask(side, question, "counted")
                except Unreachable:
                    continue
                found[n, question.call, "code"] = answer.code
                for path, value in _numbers(json.loads(answer.text), ""):
                    if not path.startswith(skipped):
                        found[n, question.call, path] = value
        return found

    def _counting(self, side: Side) -> Iterator[Question]:
        for name, values in lists().items() if side.door.name != "mcp" else ():
            is_known = not (side.planted.apart and name in OF_USER)
            if is_known and (not self._verbs or name in self._verbs):
                yield Question(name, {**values, **({"org": side.org} if "org" in values else {})})

    # -- times -------------------------------------------------------------------------------------

    def _note_times(
        self, group: tuple[str, str], side: Side, trial: Trial, answers: tuple[Answer, Answer]
    ) -> None:
        """Note two times; those of one user's principals are not compared: they share its rows."""
        if not side.planted.apart:
            self._times[group].append((answers[0].seconds, answers[1].seconds))
            self._trials[group].append((side, trial))

    def judge_times(self, least: int) -> None:
        """Compare how long it takes to ask for what another one has, and for what nobody has.

        Args:
            least: How many pairs to compare at least, where a name is given as it is.
        """
        for group, pairs in sorted(self._times.items()):
            trials = self._trials[group]
            if group[1].endswith("as it is") or compared(pairs)[0] > MOST_RATIO:
                pairs += [self._timed(trials) for _ in range(least - len(pairs))]
            ratio, chance = compared(pairs)
            names = None
            if _is_slow(ratio, chance):
                pairs = self._timed_by_name(trials)
                names = len(pairs)
                ratio, chance = compared(pairs)
            line = {"door": group[0], "asked_by": group[1], "pairs": CONFIRMING if names else
                    len(pairs), "names": names, "ratio": round(ratio, 4),
                    "chance": round(chance, 6)}  # fmt: skip
            self._report.times.append(line)
            if _is_slow(ratio, chance):
                side, trial = trials[0]
                self._leak("time", side, trial.questions(side.planted)[0], group[1], **line)

    def _timed(self, trials: Sequence[tuple[Side, Trial]]) -> tuple[float, float]:
        answers, _ = self._pair(*trials[int(self._draw.integers(len(trials)))])
        return answers[0].seconds, answers[1].seconds

    def _timed_by_name(self, trials: Sequence[tuple[Side, Trial]]) -> list[tuple[float, float]]:
        """Ask again for new names; return the median ratio of each, beside 1.

        Of what there is only one, such as the user, each question stands for itself.
        """
        ratios: dict[int, list[float]] = defaultdict(list)
        for n in range(CONFIRMING):
            side, trial = trials[int(self._draw.integers(len(trials)))]
            new = self._new_names(side.planted, is_own=trial.kind.startswith("own ")).pairs
            known = new.get(trial.kind) or side.planted.pairs[trial.kind] or [Pair(None, None)]
            pairs = {trial.kind: [known[n % len(known)]]}
            asking = replace(side, planted=replace(side.planted, pairs=pairs))
            answers, _ = self._pair(asking, trial)
            name = n % NEW_NAMES if len(known) >= NEW_NAMES else n
            ratios[name].append(answers[0].seconds / answers[1].seconds)
        return [(statistics.median(each), 1.0) for each in ratios.values()]

    def _new_names(self, planted: Planted, *, is_own: bool) -> Planted:
        """Return names that nobody asked for before; they are planted when first needed."""
        which = id(planted), is_own
        if which not in self._new:
            own, others = (NEW_NAMES, 0) if is_own else (0, NEW_NAMES)
            self._new[which] = _plant_more(planted, own=own, others=others)
        return self._new[which]


def _plant_more(planted: Planted, *, own: int, others: int) -> Planted:
    """Give a principal more, and return only the new things."""
    more = Planted(planted.door, planted.draw, planted.apart)
    plant(more, own=own, others=others)
    planted.words |= more.words
    planted.tails |= more.tails
    return more


# -- comparisons -----------------------------------------------------------------------------------


def compared(pairs: Sequence[tuple[float, float]]) -> tuple[float, float]:
    """Return the median ratio of the two times, above 1 whichever is longer, and a two-sided sign
    test's p.

    The ratio is that of each pair, as the pairs of a group are of calls that take unequally long.
    """
    median = statistics.median(held / void for held, void in pairs)
    ratio = max(median, 1 / median)
    slower = sum(a > b for a, b in pairs)
    n = sum(a != b for a, b in pairs)
    tail = sum(comb(n, k) for k in range(min(slower, n - slower) + 1))
    return ratio, min(1.0, 2 * tail / 2**n)


def _is_slow(ratio: float, chance: float) -> bool:
    return ratio > MOST_RATIO and chance < MOST_CHANCE


_MOMENT = re.compile(r"\d{4}-\d\d-\d\dT[\d:.]+(?:Z|[+-]\d\d:\d\d)?")
_SECRET = re.compile(r"sim_[0-9a-f]{8}_[\w-]+")
"""A new token; the store keeps none, so that it can be nobody else's."""

_FRACTION = re.compile(r"(\d+\.\d{4})\d+")
"""A score: of two questions it differs in its last digits, as memories grow old between them."""

_QUOTED = re.compile(r"\(a text of \d+ characters\)|'[^']*…'|'<asked>'|\"<asked>\"")
"""How an error repeats what was asked for: a long one only begins, and one that may be a
secret is told by its length."""


_SIMILAR = re.compile(r"did you mean '(?!<asked>)[^']*'\?")
_NEAREST = re.compile(r'"nearest": "(?!<asked>)[^"]*"')
"""A key of the asker's own that resembles the one that was asked for."""


def _difference(
    side: Side, trial: Trial, answers: tuple[Answer, Answer], asked: Pair
) -> tuple[str, str] | None:
    """Return where two answers differ, but for what was asked for, and for ids and times; None if
    they do not.
    """
    if trial.compares == "nothing":
        return None
    held, void = (set(_leaves(each.sent)) for each in asked)
    texts = (
        _plain(answers[0].text, side.scope, _told(held, void)),
        _plain(answers[1].text, side.scope, _told(void, held)),
    )
    if answers[0].code == answers[1].code and (trial.compares == "code" or texts[0] == texts[1]):
        return None
    pairs = enumerate(zip(*texts, strict=False))
    same = next((n for n, (a, b) in pairs if a != b), min(map(len, texts)))
    start = max(same - SHOWN_CHARS // 3, 0)
    return texts[0][start : same + SHOWN_CHARS], texts[1][start : same + SHOWN_CHARS]


def _told(asked: set[str], others: set[str]) -> list[str]:
    """Return what only one of two questions says, longest first, and the parts of its paths."""
    ours, theirs = ({part for each in texts if "/" in each for part in re.split(r"[/ ]", each)}
                    for texts in (asked, others))  # fmt: skip
    return sorted((asked - others) | (ours - theirs), key=len, reverse=True)


def _plain(text: str, own: str, asked: Sequence[str]) -> str:
    """Return an answer without the own scope and what was asked for, and without ids and times."""
    for path in (own, own.removeprefix("/global").rstrip("/")):
        text = text.replace(path, "<own>") if len(path) > 1 else text
    for each in asked:
        for shape in (json.dumps(each, ensure_ascii=False)[1:-1], each, quote(each, safe="")):
            before = r"(?<!\w)" if len(shape) > SHORT else r"(?<=['\"/:])"
            text = re.sub(rf"{before}{re.escape(shape)}(?!\w)", "<asked>", text)
    text = _SECRET.sub("<secret>", _FRACTION.sub(r"\1", text))
    # What the asker itself wrote holds words that it asked for before, and may resemble this one.
    text = _SIMILAR.sub("list() shows what there is", _NEAREST.sub('"nearest": null', text))
    text = _QUOTED.sub("<asked>", WORD.sub("<asked>", text))
    return ID_OR_PART.sub("<id>", _MOMENT.sub("<time>", text))


def _leaves(value: Any) -> Iterator[str]:
    """Yield the texts that were sent."""
    match value:
        case str():
            yield value
        case Mapping():
            for name, each in value.items():
                yield from _leaves([name, each])
        case list() | tuple():
            for each in value:
                yield from _leaves(each)
        case _:
            pass


def _numbers(value: Any, path: str) -> Iterator[tuple[str, Any]]:
    """Yield the path of each number and of each list's length."""
    match value:
        case dict():
            for name, each in value.items():
                yield from _numbers(each, f"{path}.{name}")
        case list():
            yield f"{path}.length", len(value)
            for each in value[:50]:
                yield from _numbers(each, f"{path}[]")
        case bool() | int() | float():
            yield path, value
        case _:
            pass


def _changed(before: Mapping[Any, Any], after: Mapping[Any, Any]) -> set[Any]:
    return {each for each in before.keys() | after.keys() if before.get(each) != after.get(each)}


def _around(text: str, found: str) -> str:
    place = max(text.casefold().find(found) - SHOWN_CHARS // 2, 0)
    return text[place : place + SHOWN_CHARS]


def lines(report: Report) -> Iterator[str]:
    """Yield the report for people, a line for each check."""
    about = report.about
    yield f"simonides {about['version']}, {about['date']}, seed {about['seed']}"
    yield f"asked by: {'; '.join(about['principals'])}"
    for door, calls in report.calls.items():
        yield f"{door}: {sum(calls.values()):,} calls of {len(calls)} verbs"
    for name, seen in report.planted.items():
        yield f"{'ok  ' if seen else 'GAP '} planted in {name}"
    kinds = Counter(each["kind"] for each in report.leaks)
    checks = {
        "canary": "no planted word in an answer", "id": "no id in an answer",
        "count": f"no count changes ({report.counts.get('compared', 0)} compared)",
        "difference": f"the same answers ({sum(report.tried.values()):,} pairs)",
        "time": f"the same time ({len(report.times)} comparisons)",
    }  # fmt: skip
    for kind, text in checks.items():
        yield f"{'LEAK' if kinds[kind] else 'ok  '} {text}" + (
            f": {kinds[kind]}" if kinds[kind] else ""
        )
    for leak in report.leaks:
        yield f"LEAK {leak['kind']}: {leak['door']}, {leak['principal']}, {leak['call']},"
        yield f"     {leak['tried']}: {json.dumps(leak['question']['values'], default=str)[:200]}"
