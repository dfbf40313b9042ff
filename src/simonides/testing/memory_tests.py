"""Memory tests as data: a YAML file says what is said, and what is to be remembered of it.

```yaml
- name: The later town is where the user lives
  steps:
    - user: I live in Bergen.
    - advance: {days: 3}
    - user: I moved to Oslo.
  expect:
    question: Where do I live?
    recalled: Oslo
```
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from datetime import UTC, datetime, timedelta
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, NamedTuple

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, ValidationError, model_validator

from simonides import testing
from simonides.core.errors import InvalidInput, NotFound, SimonidesError, shown
from simonides.core.outcome import Outcome
from simonides.core.record import Draft
from simonides.core.results import AddReport
from simonides.core.settings import Settings
from simonides.core.validation import invalid
from simonides.testing.clock import ManualClock

if TYPE_CHECKING:
    from simonides.api.memory import Memory
    from simonides.api.session import Session
    from simonides.api.store import Store
    from simonides.models.embedder import Embedder

SUFFIX = ".memory.yaml"

STEP_S = 40
"""Seconds that pass before each step; chosen, as between turns of a talk."""

HITS = 5
"""Memories that a question recalls: the default of `recall`."""

LATER = "later"
"""The conversation in which it is asked, unless the test names one."""


class _Part(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


def _listed(raw: object) -> object:
    return [raw] if isinstance(raw, str) else raw


def _pattern(text: str) -> str:
    if text.startswith("~"):
        try:
            re.compile(text[1:])
        except re.error as error:
            raise ValueError(f"is not a regular expression: {error}") from error
    return text


Text = Annotated[str, Field(min_length=1)]
Texts = Annotated[tuple[Annotated[Text, BeforeValidator(_pattern)], ...], BeforeValidator(_listed)]
"""One text or several: parts, in any case; after ``~`` stands a regular expression."""


class Correction(_Part):
    """What is corrected.

    Attributes:
        which: A key.
        to: What is true instead.
    """

    which: Text
    to: Text


class Step(_Part):
    """One thing that happens; exactly one field is given.

    Attributes:
        user: The user says.
        assistant: The assistant says.
        tool: A tool returns.
        remember: A statement, or the fields of a `Draft`.
        note: A note of the conversation.
        correct: A memory is corrected.
        forget: The memory with this key is forgotten.
        forget_about: What a topic or a person names is forgotten.
        refuse: Nothing about this topic is to be remembered.
        advance: Time passes: ``days``, ``hours``, ``minutes``, ``seconds``.
        session: The talk goes on in this conversation.
        end: The conversation ends, if true.
        speaker: Another user talks from here on.
    """

    user: Text | None = None
    assistant: Text | None = None
    tool: Text | None = None
    remember: Text | Mapping[str, Any] | None = None
    note: Text | None = None
    correct: Correction | None = None
    forget: Text | None = None
    forget_about: Text | None = None
    refuse: Text | None = None
    advance: timedelta | None = None
    session: Text | None = None
    end: bool | None = None
    speaker: Text | None = None

    @model_validator(mode="before")
    @classmethod
    def _with_time(cls, raw: Any) -> Any:
        if isinstance(raw, Mapping) and isinstance(raw.get("advance"), Mapping):
            try:
                return {**raw, "advance": timedelta(**raw["advance"])}
            except TypeError as error:
                raise ValueError("advance takes days, hours, minutes and seconds") from error
        return raw

    @model_validator(mode="after")
    def _is_one(self) -> Step:
        if len(self.model_fields_set) != 1:
            raise ValueError(f"a step is one of {', '.join(type(self).model_fields)}")
        return self


class Expectation(_Part):
    """What is so after the steps.

    Attributes:
        question: What is asked of `recall` and `digest`.
        asked_by: Another user who asks.
        session: The conversation in which it is asked; without one, a new one.
        max_chars: Budget of what bears on the question in the digest, in characters.
        recalled: Among the five best hits.
        not_recalled: Not among them.
        in_digest: In the digest.
        not_in_digest: Not in it.
        always: In the part of the digest that every prompt shows.
        not_always: Not in that.
        remembered: In what is stored, turns as well.
        not_remembered: Not in it.
        learned: In key or text of a fact.
        not_learned: Not in one.
        pending: In what waits for a person.
        not_pending: Not in it.
        refused: In text or reason of a step that was refused or skipped.
        not_refused: Not in one.
        erased: Accepted, and skipped by this version.
    """

    question: Text | None = None
    asked_by: Text | None = None
    session: Text | None = None
    max_chars: Annotated[int, Field(ge=1)] | None = None
    recalled: Texts = ()
    not_recalled: Texts = ()
    in_digest: Texts = ()
    not_in_digest: Texts = ()
    always: Texts = ()
    not_always: Texts = ()
    remembered: Texts = ()
    not_remembered: Texts = ()
    learned: Texts = ()
    not_learned: Texts = ()
    pending: Texts = ()
    not_pending: Texts = ()
    refused: Texts = ()
    not_refused: Texts = ()
    erased: Texts = ()

    @model_validator(mode="after")
    def _asks(self) -> Expectation:
        if self.question is None and {"recalled", "not_recalled"} & self.model_fields_set:
            raise ValueError("recalled needs a question")
        return self


class Case(_Part):
    """One memory test.

    Attributes:
        name: What it shows, as a sentence.
        clock: When it begins.
        user: Whose memory it is.
        org: The organisation.
        steps: What happens, in order.
        expect: What is so then.
    """

    name: Text
    clock: datetime | None = None
    user: Text = "ana"
    org: Text | None = None
    steps: Annotated[tuple[Step, ...], Field(min_length=1)]
    expect: Annotated[
        tuple[Expectation, ...],
        Field(min_length=1),
        BeforeValidator(lambda raw: [raw] if isinstance(raw, Mapping) else raw),
    ]


Place = tuple[str | int, ...]
"""Where a value stands in a file."""


class MemoryTest(NamedTuple):
    """A test and where it stands.

    Attributes:
        path: Its file.
        number: Its place in the file.
        case: The test.
        lines: Line of each value of the file.
    """

    path: Path
    number: int
    case: Case
    lines: Mapping[Place, int]

    def at(self, *place: str | int) -> str:
        """Return file and line of a part of the test."""
        return f"{self.path}:{_line(self.lines, (self.number, *place))}"


class Result(NamedTuple):
    """What a test showed.

    Attributes:
        failures: What was not as expected, each with file and line.
        skipped: Why it was not run; empty if it was.
    """

    failures: list[str]
    skipped: str = ""


# -- reading ---------------------------------------------------------------------------------------


def load(path: Path) -> list[MemoryTest]:
    """Read the tests of a file.

    Raises:
        InvalidInput: With file and line, if it cannot be read or does not follow the schema.
    """
    import yaml

    lines: dict[Place, int] = {}
    try:
        text = path.read_text("utf-8")
        root = yaml.compose(text, yaml.SafeLoader)
        _note_lines(root, (), lines)
        data = yaml.safe_load(text)
    except (OSError, UnicodeDecodeError) as error:
        raise InvalidInput(str(path), f"cannot be read as UTF-8: {error}") from error
    except (yaml.YAMLError, RecursionError) as error:
        mark = getattr(error, "problem_mark", None)
        line = 1 if mark is None else mark.line + 1
        problem = getattr(error, "problem", None) or "is not YAML that a test may hold"
        raise InvalidInput(f"{path}:{line}", problem) from error
    if not isinstance(data, list) or not data:
        raise InvalidInput(f"{path}:1", "must be a list of tests, each with name, steps, expect")
    return [
        MemoryTest(path, number, _case(path, number, each, lines), lines)
        for number, each in enumerate(data)
    ]


def _case(path: Path, number: int, raw: object, lines: Mapping[Place, int]) -> Case:
    try:
        return Case.model_validate(raw)
    except ValidationError as error:
        loc = error.errors(include_url=False)[0]["loc"]
        if len(loc) > 1 and loc[0] == "expect" and (number, "expect", 0) not in lines:
            loc = (loc[0], *loc[2:])  # one expectation stands without a list
        parts: Mapping[object, type[_Part]] = {"steps": Step, "expect": Expectation}
        known = parts.get(loc[0] if loc[1:] else "", Case)
        problem = str(invalid(error, tuple(known.model_fields)))
        raise InvalidInput(f"{path}:{_line(lines, (number, *loc))}", problem) from error


def _line(lines: Mapping[Place, int], place: Place) -> int:
    """Return the line of a value, or of its nearest ancestor in the file."""
    while place and place not in lines:
        place = place[:-1]
    return lines.get(place, 1)


def _note_lines(node: Any, place: Place, lines: dict[Place, int]) -> None:
    if node is None:
        return
    lines.setdefault(place, node.start_mark.line + 1)
    if node.id == "mapping":
        for key, value in node.value:
            lines[(*place, key.value)] = key.start_mark.line + 1
            _note_lines(value, (*place, key.value), lines)
    elif node.id == "sequence":
        for number, value in enumerate(node.value):
            _note_lines(value, (*place, number), lines)


# -- running ---------------------------------------------------------------------------------------


def run_here(test: MemoryTest) -> Result:
    """Run a test in a store of its own, in memory, under the policy of the settings; no model."""
    clock = ManualClock(test.case.clock or datetime(2026, 1, 1, 9, tzinfo=UTC))
    settings = Settings(mode="local", model=None, store=None)
    with testing.open(clock=clock, settings=settings, embedder=_encoder()) as store:
        return _run(test, store, clock, "")


@lru_cache(1)
def _encoder() -> Embedder:
    from simonides.models.encoder import Encoder

    return Encoder()


def run_against(test: MemoryTest, store: Store) -> Result:
    """Run a test on a server, as users of its own, whose memories are forgotten afterwards.

    Args:
        test: One that moves no clock; others are skipped.
        store: Opened with a token that may act for any user.
    """
    if test.case.clock is not None or any(each.advance for each in test.case.steps):
        return Result([], "it sets the clock, which a server does not let")
    return _run(test, store, None, f"-{os.urandom(6).hex()}")


def _run(test: MemoryTest, store: Store, clock: ManualClock | None, suffix: str) -> Result:
    if any(each.erased for each in test.case.expect):
        return Result([], "this version does not check what is erased")
    with ExitStack() as ends:
        talk = _Talk(test.case, store, clock, suffix)
        if clock is None:
            ends.callback(talk.forget_all)
        for number, step in enumerate(test.case.steps):
            try:
                talk.do(step)
            except SimonidesError as error:
                return Result([f"{test.at('steps', number)}: the step failed: {error}"])
        is_list = (test.number, "expect", 0) in test.lines
        return Result(
            [
                f"{test.at('expect', *([number] if is_list else []), name)}: {problem}"
                for number, each in enumerate(test.case.expect)
                for name, problem in talk.unmet(each)
            ]
        )


class _Talk:
    """What a test has said so far, and to whom."""

    def __init__(self, case: Case, store: Store, clock: ManualClock | None, suffix: str) -> None:
        self._case, self._store, self._clock, self._suffix = case, store, clock, suffix
        self._memories: dict[str, Memory] = {}
        self._memory, self._session = self._memory_of(case.user), "first"
        self._refused: list[str] = []

    def _memory_of(self, user: str) -> Memory:
        made = self._memories.get(user)
        if made is None:
            made = self._store.memory(user=f"{user}{self._suffix}", org=self._case.org)
            self._memories[user] = made
        return made

    def do(self, step: Step) -> None:
        """Do one step, and keep what was refused."""
        if self._clock is not None:
            self._clock.advance(seconds=STEP_S)
        [name] = step.model_fields_set
        value = getattr(step, name)
        match name:
            case "advance":
                self._advance(value)
            case "session":
                self._session = value
            case "speaker":
                self._memory = self._memory_of(value)
            case _:
                self._refused += _refusals(value, self._done(name, value))

    def _done(self, name: str, value: Any) -> object:
        memory, session = self._memory, self._memory.session(self._session)
        match name:
            case "remember":
                return memory.remember(Draft(value) if isinstance(value, str) else Draft(**value))
            case "note":
                return session.note(value)
            case "correct":
                return memory.correct(value.which, value.to)
            case "forget":
                return memory.forget(value)
            case "forget_about":
                return memory.privacy.forget(value)
            case "refuse":
                return memory.privacy.refuse(about=value)
            case "end":
                return session.end()
            case _:
                return session.add([{"role": name, "content": value}])

    def _advance(self, time: timedelta) -> None:
        if self._clock is not None:
            self._clock.advance(seconds=time.total_seconds())
            self._store.flush()

    def unmet(self, expected: Expectation) -> Iterator[tuple[str, str]]:
        """Yield the name of each field that is not met, and what came instead."""
        memory = self._memory_of(expected.asked_by or self._case.user)
        asked = memory.session(expected.session or LATER)
        there = self._found(memory, asked, expected)
        for name in Expectation.model_fields:
            source = there.get(name.removeprefix("not_"))
            for text in getattr(expected, name) if source is not None else ():
                texts = source or []
                if any(_has(text, each) for each in texts) == name.startswith("not_"):
                    came = "; ".join(texts) or "nothing"
                    yield name, f"{name.replace('_', ' ')}: {shown(text)}; there is: {came}"

    def _found(self, memory: Memory, asked: Session, expected: Expectation) -> dict[str, list[str]]:
        question = expected.question
        digest = asked.digest(question, max_chars=expected.max_chars)
        records = memory.list(limit=1000)
        facts = [each for each in records if each.category != "turn"]
        hits = memory.recall(question, limit=HITS) if question is not None else ()
        waits = memory.pending.list()
        return {
            "recalled": [each.content for each in hits],
            "in_digest": [digest.text],
            "always": [each.line for each in digest.items if each.part == "core"],
            "remembered": [f"{each.key or ''} {each.content}".strip() for each in records],
            "learned": [f"{each.key or ''} {each.content}".strip() for each in facts],
            "pending": [
                " ".join([each.kind, each.said, *(side.content for side in each.sides)])
                for each in waits
            ],
            "refused": self._refused,
        }

    def forget_all(self) -> None:
        """Forget what the users of this test said."""
        for memory in self._memories.values():
            for refusal in memory.privacy.list():
                memory.privacy.allow(refusal.id)
            for record in memory.list(limit=1000):
                try:
                    memory.forget(record.id)
                except NotFound:
                    continue  # it went with what it was derived from


def _refusals(value: object, result: object) -> Iterable[str]:
    """Return text and reasons of what was refused or skipped."""
    reasons: list[Sequence[str]] = []
    if isinstance(result, Outcome) and result.refused:
        reasons = [result.reasons]
    if isinstance(result, AddReport):
        reasons = [line.reasons for line in result.lines if line.reasons]
        reasons += [each.reasons for each in result.outcomes if each.refused]
    return [f"{value} {' '.join(map(str, each))}" for each in reasons]


def _has(expected: str, text: str) -> bool:
    if expected.startswith("~"):
        return re.search(expected[1:], text, re.IGNORECASE) is not None
    return expected.casefold() in text.casefold()
