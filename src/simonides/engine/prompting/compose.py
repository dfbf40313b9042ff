"""Selects the memories of a digest, in order of preference, within every budget."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime

from simonides.domain.memory import Kind, Record
from simonides.domain.policy.budgets import (
    MIN_ITEM_CHARS,
    Budget,
    DigestRules,
    Section,
)
from simonides.domain.reading.digest import DigestItem
from simonides.domain.reading.document import WITHHELD
from simonides.domain.reading.recall import Hit
from simonides.domain.reading.receipt import Dropped
from simonides.domain.scope import Scope
from simonides.engine.prompting.core_block import in_order, is_core, is_never_cut
from simonides.engine.prompting.render import (
    Line,
    Written,
    is_turn,
    more_rules,
    other_user,
    page,
    written,
)

Count = Callable[[str], int]
"""Counts the tokens of a text."""

_ORDER = tuple(Section)

MAX_RULE_CHARS = 1_000
"""Longest content of a line that is never cut, in characters; chosen: no rule is as long."""


@dataclass(frozen=True, slots=True)
class Composed:
    """The result of a selection.

    Attributes:
        text: The whole block.
        items: Its lines, in their order.
        chosen: The same hits in the order of selection.
        dropped: The others, in the order in which they were tried.
        left_out: How many memories of the core block found no room.
    """

    text: str
    items: tuple[DigestItem, ...]
    chosen: tuple[Hit, ...]
    dropped: tuple[Dropped, ...]
    left_out: int = 0


def compose(
    hits: Sequence[Hit],
    rules: DigestRules,
    now: datetime,
    count: Count,
    *,
    reader: Scope | None = None,
    left_out: int | None = None,
) -> Composed:
    """Select hits one after the other while they fit, shortened if need be.

    Those of the core block come first. One that finds no room there may still be shown for its
    relevance. Composing the selected hits again by the same rules gives the same text, because
    dropped hits use no budget.

    Args:
        hits: In the order of preference.
        rules: Budgets and conditions.
        now: The clock, for warnings.
        count: Tokens of a text.
        reader: Home of the reader; a line names the owner of another user's memory.
        left_out: How many memories of the core block found no room; None counts them.
    """
    selection = _Selection(rules, count, reader, now)
    by_id = {hit.record.id: hit for hit in hits if rules.core.items and is_core(hit.record)}
    core = [by_id[record.id] for record in in_order(hit.record for hit in by_id.values())]
    for hit in core:
        selection.take(hit, Section.CORE)
    for hit in hits:
        if selection.draft.is_full and len(selection.dropped) >= MAX_DROPPED:
            break  # nothing fits any more, and enough is told of what does not
        if not by_id or hit.record.id not in by_id or hit.score >= rules.floor:
            selection.take(hit, section_of(hit.record))
    chosen = tuple(selection.chosen.values())
    if left_out is None:
        missing = [hit for hit in core if hit.record.id in selection.dropped]
        left_out = sum(selection.dropped[hit.record.id].reason in NO_ROOM for hit in missing)
    draft = selection.draft
    return Composed(
        draft.text(left_out), draft.items, chosen, tuple(selection.dropped.values()), left_out
    )


MAX_DROPPED = 50
"""Most dropped memories that a receipt names; chosen, to bound its size."""

NO_ROOM = ("items:core", "chars:core", "tokens:core")
"""Reasons of memories of the core block that are counted in it."""


class _Selection:
    """What was taken so far, and what was not, with the reasons."""

    def __init__(
        self, rules: DigestRules, count: Count, reader: Scope | None, now: datetime
    ) -> None:
        self.draft = _Draft(rules, count, reader)
        self.chosen: dict[str, Hit] = {}
        self.dropped: dict[str, Dropped] = {}
        self._rules, self._reader, self._now = rules, reader, now
        self._said: set[tuple[str | None, str | None, str]] = set()

    def take(self, hit: Hit, section: Section) -> None:
        """Add a hit to a section if it may be shown and fits."""
        memory = hit.record
        if memory.id in self.chosen:
            return
        whose = other_user(memory, self._reader)
        if memory.sensitivity not in self._rules.sensitivities:
            reason: str | None = "sensitivity"
        elif memory.is_passage and WITHHELD in memory.metadata:
            reason = WITHHELD
        elif (whose, _name_of(memory), memory.content_hash) in self._said:
            reason = "same_text"
        else:
            reason = self.draft.add(hit, self._now, section)
        if reason is not None:
            self.dropped.setdefault(memory.id, Dropped(memory.id, hit.score, reason))
            return
        self.dropped.pop(memory.id, None)
        self.chosen[memory.id] = hit
        self._said |= {(whose, name, memory.content_hash) for name in (_name_of(memory), None)}


def _name_of(memory: Record) -> str | None:
    """Return what tells equal texts apart: two keys may both hold "yes", two people may say it."""
    return memory.speaker if is_turn(memory) else memory.key


def section_of(memory: Record) -> Section:
    """Return the part of a digest that a memory belongs to."""
    if memory.is_passage:
        return Section.DOCUMENTS
    if is_turn(memory):
        return Section.TURNS
    if memory.kind is Kind.EPISODIC:
        return Section.EPISODIC
    if memory.kind is Kind.PROCEDURAL:
        return Section.PROCEDURAL
    return Section.SEMANTIC if memory.key is None else Section.FACTS


class _Draft:
    """A partly filled digest, within all budgets at any time."""

    def __init__(self, rules: DigestRules, count: Count, reader: Scope | None) -> None:
        self._rules = rules
        self._count = count
        self._reader = reader
        self._parts: dict[Section, list[DigestItem]] = {section: [] for section in _ORDER}
        self._relevant = 0

    @property
    def items(self) -> tuple[DigestItem, ...]:
        return tuple(item for section in _ORDER for item in self._parts[section])

    def text(self, left_out: int) -> str:
        """Return the digest."""
        core = [item.line for item in self._parts[Section.CORE]]
        if left_out:
            core.append(more_rules(left_out))
        return page([item.line for item in self._others], core)

    @property
    def _others(self) -> list[DigestItem]:
        return [item for item in self.items if item.section is not Section.CORE]

    @property
    def is_full(self) -> bool:
        """Whether no more memory fits, apart from the core block."""
        return self._relevant >= self._rules.total.items

    def add(self, hit: Hit, now: datetime, section: Section) -> str | None:
        """Add a memory, shortened as needed; return the exceeded budget if it does not fit."""
        is_core = section is Section.CORE
        if is_core and is_never_cut(hit.record):
            made = written(hit.record, now, self._reader)
            self._put(hit, section, made.line(MAX_RULE_CHARS))
            return None
        if len(self._parts[section]) >= self._rules.budget(section).items:
            return f"items:{section}"
        if not is_core and self.is_full:
            return "items:total"
        line, refusal = self._longest(written(hit.record, now, self._reader), section)
        if line is None:
            return refusal
        self._put(hit, section, line)
        return None

    def _put(self, hit: Hit, section: Section, line: Line) -> None:
        item = DigestItem(hit.record, section, hit.score, line.text, line.truncated)
        self._parts[section].append(item)
        self._relevant += section is not Section.CORE

    def _longest(self, made: Written, section: Section) -> tuple[Line | None, str | None]:
        """Return the longest line that fits, or the budget that it exceeds."""
        most = self._rules.longest(section)
        line = made.line(most)
        if self._refusal(line, section) is None:
            return line, None
        least = made.line(min(MIN_ITEM_CHARS, most))
        refusal = self._refusal(least, section)
        if refusal is not None:
            return None, refusal
        low, high = min(MIN_ITEM_CHARS, most), most
        while high - low > 1:
            middle = (low + high) // 2
            line = made.line(middle)
            if self._refusal(line, section) is None:
                low, least = middle, line
            else:
                high = middle
        return least, None

    def _refusal(self, line: Line, section: Section) -> str | None:
        lines = {part: [item.line for item in self._parts[part]] for part in _ORDER}
        lines[section].append(line.text)
        mine = "\n".join(lines[section])
        refusal = self._excess(mine + "\n", self._rules.budget(section), section)
        if refusal is not None or section is Section.CORE:
            return refusal
        whole = page([each for part in _ORDER if part is not Section.CORE for each in lines[part]])
        return self._excess(whole, self._rules.total, "total")

    def _excess(self, text: str, budget: Budget, name: str) -> str | None:
        if len(text) > budget.chars:
            return f"chars:{name}"
        if budget.tokens is not None and self._count(text) > budget.tokens:
            return f"tokens:{name}"
        return None
