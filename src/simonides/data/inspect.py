"""Looks through an export without storing anything: what is junk, repeated, stale or dangerous."""

from __future__ import annotations

from collections import Counter, defaultdict
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from pathlib import Path

from simonides.capture.commands import gives_order
from simonides.capture.messages import read_messages
from simonides.capture.slots import slots_of
from simonides.core.clock import local_time
from simonides.core.engine import Engine
from simonides.core.errors import InvalidInput
from simonides.core.policy import folded
from simonides.core.scope import Principal
from simonides.data.formats.files import name_of
from simonides.data.formats.items import Item, Left, Statement, Turn
from simonides.data.formats.known import read_export
from simonides.data.page import page_of
from simonides.data.results import Inspection
from simonides.hygiene.contradiction import contradict
from simonides.hygiene.injection import INSTRUCTION, find_injection
from simonides.hygiene.secrets import find_secrets
from simonides.prompt.lines import TITLE
from simonides.text.analyse import analyse
from simonides.text.statement import fingerprint

STALE = timedelta(days=365)
"""Age from which a statement is stale. Set by judgement."""

MOST_EXAMPLES, EXAMPLE_CHARS = 5, 160
"""Examples of a finding, and how much of each is shown. Chosen for a screen."""

Users = tuple[str, ...]

FINDINGS = (
    "turns statements junk unreadable duplicates stale contradictory secrets instructions echoes"
    " without_owner"
).split()


def inspect(
    engine: Engine,
    who: Principal,
    path: str | Path,
    *,
    format: str | None = None,
    html: str | Path | None = None,
) -> Inspection:
    """Say what an export holds; nothing is stored.

    Args:
        engine: The store; only its clock is used.
        who: The caller.
        path: A file, a ZIP or a folder of this machine; or the address of a LangGraph store.
        format: Name of its format; None recognises it.
        html: A file to write a page of charts to; it loads nothing from elsewhere.

    Raises:
        InvalidInput: If the path cannot be read, the format is not known, or the page cannot be
            written.
    """
    look = _Look(local_time(engine.clock, engine.clock.now_ms()))
    for name, item in read_export(path, format):
        look.formats[name] = None
        look.at(item)
    found = look.inspection()
    if html is not None:
        try:
            Path(html).write_text(page_of(found, name_of(path)), "utf-8")
        except OSError as error:
            raise InvalidInput("html", f"cannot be written: {error.strerror}") from error
    return found


@dataclass
class _Look:
    """What was seen so far; of texts only digests and words are kept."""

    now: datetime
    entries: int = 0
    formats: dict[str, None] = field(default_factory=dict)
    found: Counter[str] = field(default_factory=Counter)
    junk: Counter[str] = field(default_factory=Counter)
    months: Counter[str] = field(default_factory=Counter)
    examples: defaultdict[str, list[tuple[str, str]]] = field(
        default_factory=lambda: defaultdict(list)
    )
    known: set[bytes] = field(default_factory=set)
    facts: dict[tuple[Users, str], str] = field(default_factory=dict)
    alike: dict[tuple[Users, frozenset[str]], str] = field(default_factory=dict)

    def inspection(self) -> Inspection:
        """Return what was found."""
        return Inspection(
            format=", ".join(self.formats),
            entries=self.entries,
            found={name: self.found[name] for name in FINDINGS},
            junk=dict(self.junk.most_common()),
            months=dict(sorted(self.months.items())),
            examples={name: tuple(texts) for name, texts in self.examples.items()},
        )

    def at(self, item: Item) -> None:
        """Look at an item."""
        self.entries += 1
        if isinstance(item, Left):
            self._left(item)
            return
        role = item.role if isinstance(item, Turn) else "user"
        try:
            said = {"role": role, "content": item.content, "created_at": item.at}
            messages = read_messages([said])
        except InvalidInput:
            self._left(Left("unreadable", item.place))
            return
        text = "\n".join(each.text for each in messages if each.role in ("user", "assistant"))
        if not text.strip():
            self._left(Left("tool" if messages[0].role == "tool" else "empty", item.place))
            return
        is_own = messages[0].role == "user" if isinstance(item, Turn) else item.is_own
        self._note("turns" if isinstance(item, Turn) else "statements", item, "")
        if messages[0].at is not None:
            self.months[f"{messages[0].at:%Y-%m}"] += 1
        self._screen(item, text, is_own=is_own)
        if isinstance(item, Statement):
            self._statement(item, text, messages[0].at)
        elif is_own:
            self._contradictions(item, text)

    def _left(self, item: Left) -> None:
        kind = "unreadable" if item.reason == "unreadable" else "junk"
        self._note(kind, item, item.reason)
        self.junk[item.reason] += kind == "junk"

    def _screen(self, item: Item, text: str, *, is_own: bool) -> None:
        if TITLE in text:
            self._note("echoes", item, text)
        elif secrets := find_secrets(text):
            self._note("secrets", item, ", ".join(each.name for each in secrets))
        if is_own:
            return
        command = find_injection(text) or (INSTRUCTION if gives_order(text) else None)
        # Many harmless answers of a model resemble instructions.
        if command is not None and (command != INSTRUCTION or isinstance(item, Statement)):
            self._note("instructions", item, text)

    def _statement(self, item: Statement, text: str, at: datetime | None) -> None:
        mark = fingerprint(text)
        if mark in self.known:
            self._note("duplicates", item, text)
        self.known.add(mark)
        if at is not None and self.now - at > STALE:
            self._note("stale", item, text)
        if not item.users:
            self._note("without_owner", item, text)
        self._contradictions(item, text)

    def _contradictions(self, item: Turn | Statement, text: str) -> None:
        """Note a value that is another than that said before of the same fact."""
        users = item.users if isinstance(item, Statement) else ()
        slots = [((users, folded(slot.key)), slot.value) for slot in slots_of(text)]
        if isinstance(item, Statement) and item.key:
            slots.append(((users, item.key), text))
        changed: list[object] = [key for key, value in slots if self.facts.get(key, value) != value]
        self.facts.update(slots)
        terms = frozenset(analyse(text)) if isinstance(item, Statement) else frozenset[str]()
        for term in terms if len(terms) < 20 else ():
            rest = users, terms - {term}
            before = self.alike.setdefault(rest, text)
            changed += ["words"] if before != text and contradict(before, text) else []
            self.alike[rest] = text
        if changed:
            self._note("contradictory", item, text)

    def _note(self, finding: str, item: Item, text: str) -> None:
        self.found[finding] += 1
        examples = self.examples[finding]
        if finding not in ("turns", "statements") and len(examples) < MOST_EXAMPLES:
            shown = "" if finding != "secrets" and find_secrets(text) else text
            examples.append((item.place, " ".join(shown.split())[:EXAMPLE_CHARS]))
