"""The questions of a leak test, from the list of verbs.

Each comes as a pair: one names what the first principal has, the other what nobody has, in the same
shape.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, NamedTuple

from simonides.api.remote import wire
from simonides.core.record import Draft
from simonides.testing.leak_doors import MCP_CALLS, Question
from simonides.testing.leak_plant import Planted, part_of

NEUTRAL: Mapping[str, Any] = {
    "content": "I like tea", "query": "tea", "messages": "I like tea", "about": "tea",
    "text": "tea", "answer": "tea", "tool": "search", "result": "tea", "kind": "test",
    "label": "test", "keep": "old", "right": "org_write", "arguments": {"query": "tea"},
    "drafts": [{"content": "I like tea"}], "input": "tea", "session": "own talk", "task": "own",
    "outcome": "own 1", "goal": "make tea",
}  # fmt: skip
"""Arguments that a call needs, where something else of it is tried; others are ``own``."""

TEXTS = frozenset("content query about text answer result note learning goal".split())
"""Arguments that are sentences: what is found by them is compared by its code only, as scores go by
the words."""

WRITTEN = frozenset(
    """key idempotency_key tags metadata messages drafts session task name plan constraints scope
    audience purpose""".split()
)
"""Arguments by which a write makes something of the asker's own."""


Change = Callable[[Any], Any]


def _same(value: Any) -> Any:
    return value


PLAIN: Mapping[str, Change] = {"as it is": _same}

TRICKS: Mapping[str, Change] = {
    **PLAIN,
    "in upper case": str.upper,
    "with % for its end": lambda name: f"{name[:-2]}%",
    "with * for its end": lambda name: f"{name[:-2]}*",
    "in full width": lambda name: "".join(
        chr(ord(c) + 0xFEE0) if "!" <= c <= "~" else c for c in name
    ),
    "with a character of no width": lambda name: f"{name}\u200b",
    "percent-encoded": lambda name: "".join(f"%{ord(c):02x}" for c in name),
    "behind ../": lambda name: f"../{name}",
    "with a slash": lambda name: f"{name}/",
    "its beginning": lambda name: name[:-1],
    "with a quote": lambda name: f"{name}' OR '1'='1",
}
"""How else a name may be spelt."""

BY_NAME: Mapping[str, tuple[str, ...]] = {
    "which": ("id", "short id", "key"), "id": ("id", "short id", "key"), "memory": ("root", "id"),
    "if_version": ("id",), "resolves": ("id", "short id"), "token": ("id", "token"),
    "cursor": ("cursor", "position"), "receipt": ("receipt",), "outcome": ("event", "id"),
    "session": ("session",), "task": ("task",), "name": ("task", "source"), "actor": ("scope",),
    "user": ("user",), "org": ("org",), "key": ("own key",), "idempotency_key": ("own idem",),
    "purpose": ("purpose",), **dict.fromkeys(TEXTS, ("word",)),
}  # fmt: skip
"""Which planted names are tried for an argument."""

_TEA = {"content": "I like tea"}

SHAPES: Mapping[str, tuple[tuple[str, str, Change], ...]] = {
    "filter": (
        ("by key", "key", lambda v: {"key": v}),
        ("by a part of a key", "key", lambda v: {"key": {"$contains": v[:6]}}),
        ("by tag", "tag", lambda v: {"tags": [v]}),
        ("by metadata", "field", lambda v: {f"metadata.{v}": {"$exists": True}}),
        ("by session", "session", lambda v: {"session": v}),
        ("by task", "task", lambda v: {"task": v}),
        ("by text", "word", lambda v: {"content": {"$contains": v}}),
        ("by purpose", "purpose", lambda v: {"purpose": v}),
        ("by agent", "agent", lambda v: {"audience": [v]}),
    ),
    "metadata": (("a field", "own field", lambda v: {v: v}),),
    "drafts": (
        ("a key", "own key", lambda v: [{**_TEA, "key": v}]),
        ("parents", "id", lambda v: [{**_TEA, "parents": [v]}]),
        ("a scope", "scope", lambda v: [{**_TEA, "scope": v}]),
    ),
    "messages": (
        ("an id of a message", "own idem", lambda v: [{**_TEA, "role": "user", "id": f"{v}-m"}]),
        ("a word", "own word", lambda v: f"My {v} likes tea."),
    ),
    "arguments": (
        ("a query", "word", lambda v: {"query": v}),
        ("an id", "short id", lambda v: {"id": v}),
    ),
    "scope": (("a path", "scope", _same),),
    **{name: ((f"a list with {kind}", kind, lambda v: [v]),) for name, kind in (
        ("scopes", "scope"), ("tags", "own tag"), ("parents", "id"), ("plan", "own word"),
        ("constraints", "own word"), ("audience", "agent"))},
}  # fmt: skip
"""Arguments that are more than a name: what is tried, with which planted names, and how."""

HEADERS = (
    *((f"{name}", kind) for kind in ("user", "scope") for name in (
        "Simonides-User", "Simonides-Visitor", "Simonides-Actor", "X-Forwarded-User",
        "X-Remote-User", "X-User", "Simonides-Owner")),
    ("Simonides-Org", "org"), ("Simonides-Agent", "agent"), ("Simonides-Purpose", "purpose"),
)  # fmt: skip
"""Headers that name another one, and by what."""

WITH_IDENTITY = (
    "Memory.list", "Memory.get", "Memory.recall", "Memory.digest", "Memory.status",
    "Memory.profile", "Audit.list", "Session.messages", "Receipts.list", "Pending.list",
    *(name for name, arguments in MCP_CALLS.items() if "text" not in arguments),
)  # fmt: skip
"""Calls that are also asked with the identity of another one beside the arguments."""

OF_USER = frozenset(
    name
    for name, call in wire.calls().items()
    if call.verb.group == "audit"
    or call.verb.counted_as in ("privacy.list", "privacy.refuse", "privacy.allow")
    or name == "Maintenance.metrics"
)
"""Calls about all of a user, whichever agent or purpose: its trail, refusals and figures."""


class Trial(NamedTuple):
    """A kind of question.

    Attributes:
        call: Name of the call.
        values: Its arguments, but the one that is varied.
        varied: What is varied.
        tried: How, in words.
        kind: The kind of planted names that are tried; "" asks the same twice.
        change: Makes what is sent of a name.
        where: Where in the question it stands: ``values``, ``names``, ``headers`` or ``more``.
        compares: Of both answers, ``all``, only the ``code``, or ``nothing``.
    """

    call: str
    values: Mapping[str, Any]
    varied: str = ""
    tried: str = "without arguments"
    kind: str = ""
    change: Change = _same
    where: str = "values"
    compares: str = "all"

    def questions(self, planted: Planted) -> tuple[Question, Question]:
        """Return a pair of questions, of any pair of names."""
        if not self.kind:
            return Question(self.call, self.values), Question(self.call, self.values)
        pairs = planted.pairs[self.kind]
        pair = pairs[int(planted.draw.integers(len(pairs)))]
        held, void = (self._asking({self.varied: self.change(each)}) for each in pair)
        return held, void

    def _asking(self, named: dict[str, Any]) -> Question:
        if self.where == "values":
            return Question(self.call, {**self.values, **named})
        more: dict[str, Any] = {self.where: named}
        return Question(self.call, self.values, **more)

    @property
    def way(self) -> str:
        """What is varied, and how."""
        return f"{self.varied}: {self.tried}"


class Form(NamedTuple):
    """What a call takes: all arguments, those that it needs with values, and whether it writes."""

    arguments: tuple[str, ...]
    needed: Mapping[str, Any]
    writes: bool


@lru_cache
def forms(door: str) -> Mapping[str, Form]:
    """Return what can be asked at a door."""
    if door != "mcp":
        return {name: _form(call) for name, call in wire.calls().items()}
    return {
        name: Form(names, {each: NEUTRAL.get(each, "own") for each in names}, "text" in names)
        for name, names in MCP_CALLS.items()
    }


def _form(call: wire.Call) -> Form:
    fields = Draft.__dataclass_fields__ if call.takes is Draft else call.takes.model_fields
    more = {"name": "own"} if call.verb is wire.BEGIN else {}
    names = (*call.named, *wire.needed_names(call), *more)
    needed = {each: NEUTRAL.get(each, "own") for each in names}
    writes = call.verb.does == "writes" and "task" not in call.named
    return Form((*call.named, *fields, *more), needed, writes)


@dataclass(frozen=True)
class Asker:
    """Makes the questions of a principal from what another one has.

    Attributes:
        planted: What the other one has.
        scope: Path of the own scope.
        door: Name of the door.
        fixed: What the own credential fixes beside the user: ``agent``, ``purpose``.
    """

    planted: Planted
    scope: str
    door: str
    fixed: frozenset[str] = frozenset()

    def trials(self, calls: tuple[str, ...] = ()) -> list[Trial]:
        """Return all kinds of questions, or those of some calls."""
        known = {name: form for name, form in forms(self.door).items() if self._is_asked(name)}
        every = [trial for name, form in known.items() for trial in self._of_call(name, form)]
        for name in WITH_IDENTITY:
            every += self._of_identity(name, known[name].needed) if name in known else ()
        return [each for each in every if not calls or each.call in calls]

    def _is_asked(self, name: str) -> bool:
        return not (self.planted.apart and name in OF_USER)

    def _of_call(self, name: str, form: Form) -> Iterator[Trial]:
        is_any = False
        for argument in form.arguments:
            values = {each: v for each, v in form.needed.items() if each != argument}
            for kind, tried, change in self._ways(argument, form):
                is_any = True
                compares = self._compared(name, argument, kind, form)
                yield Trial(name, values, argument, tried, kind, change, compares=compares)
        if not is_any:
            yield Trial(name, form.needed)

    def _compared(self, name: str, argument: str, kind: str, form: Form) -> str:
        if self.planted.apart and kind == "event":  # the trail is the user's
            return "nothing"
        if argument in TEXTS or (form.writes and argument in WRITTEN):
            return "code"
        # A position in another's list is one in the own list, too; a tool's name is looked up.
        is_free = kind == "position" or name == "Task.before_tool"
        return "code" if is_free else "all"

    def _ways(self, argument: str, form: Form) -> Iterator[tuple[str, str, Change]]:
        """Yield what is tried for an argument: the kind of name, how, and what makes the value."""
        for kind in BY_NAME.get(argument, ()):
            is_own = form.writes and kind in ("word", "session", "task")
            chosen = f"own {kind}" if is_own else kind
            if not self.planted.pairs.get(chosen) or (kind == "org" and self._is_own(kind)):
                continue
            is_word = isinstance(self.planted.pairs[chosen][0].held, str)
            tricks = TRICKS if is_word and argument not in TEXTS else PLAIN
            yield from ((chosen, f"{kind} {how}", change) for how, change in tricks.items())
        for tried, kind, wrap in SHAPES.get(argument, ()):
            if self.planted.pairs.get(kind):
                yield kind, tried, wrap
        if argument == "receipt":
            yield "receipt", "with another reader", lambda v: {**v, "reader": self.scope}

    def _of_identity(self, name: str, needed: Mapping[str, Any]) -> Iterator[Trial]:
        values = dict(needed)
        if "which" in values or name == "tool memory_get":
            values |= dict.fromkeys(values, self.planted.pairs["key"][0].held)
        for each in ("session", "task"):
            if each not in values:
                yield Trial(name, values, each, f"acting as {each} as it is", each, where="names")
        if self.door == "library":
            for how, change in () if self._is_own("user") else [*TRICKS.items()][1:]:
                tried = f"acting as user {how}"  # another user may be a part of the own name
                yield Trial(name, values, "user", tried, "user", change, "names", "code")
            return
        for header, kind in HEADERS:
            if not self._is_own(kind):
                tried = f"a header with the {kind}"
                yield Trial(name, values, header, tried, kind, where="headers")
        for more in ("user", "owner", "who", "org", *self.fixed):
            tried = "an identity among the arguments"
            yield Trial(name, values, more, tried, "user", where="more")

    def _is_own(self, kind: str) -> bool:
        """Whether nobody else has such a name, or the asker may name it."""
        pairs = self.planted.pairs[kind]
        if kind == "scope" and self.planted.apart:
            return True
        if kind in ("agent", "purpose"):
            return not pairs or kind not in self.fixed
        return not pairs or part_of(self.scope, kind) == pairs[0].held
