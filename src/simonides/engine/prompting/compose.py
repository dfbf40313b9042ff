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
from simonides.engine.prompting.render import (
    Line,
    Written,
    is_turn,
    other_user,
    page,
    written,
)

Count = Callable[[str], int]
"""Counts the tokens of a text."""

_ORDER = tuple(Section)


@dataclass(frozen=True, slots=True)
class Composed:
    """The result of a selection.

    Attributes:
        text: The whole block.
        items: Its lines, in their order.
        chosen: The same hits in the order of selection.
        dropped: The others, in the order in which they were tried.
    """

    text: str
    items: tuple[DigestItem, ...]
    chosen: tuple[Hit, ...]
    dropped: tuple[Dropped, ...]


def compose(
    hits: Sequence[Hit],
    rules: DigestRules,
    now: datetime,
    count: Count,
    *,
    reader: Scope | None = None,
) -> Composed:
    """Select hits one after the other while they fit, shortened if need be.

    Composing the selected hits again by the same rules gives the same text, because dropped hits
    use no budget.

    Args:
        hits: In the order of preference.
        rules: Budgets and conditions.
        now: The clock, for warnings.
        count: Tokens of a text.
        reader: Home of the reader; a line names the owner of another user's memory.
    """
    draft = _Draft(rules, count, reader)
    chosen: list[Hit] = []
    dropped: list[Dropped] = []
    said: set[tuple[str | None, str | None, str]] = set()
    for hit in hits:
        memory = hit.record
        whose = other_user(memory, reader)
        if memory.sensitivity not in rules.sensitivities:
            reason: str | None = "sensitivity"
        elif memory.is_passage and WITHHELD in memory.metadata:
            reason = WITHHELD
        elif (whose, _name_of(memory), memory.content_hash) in said:
            reason = "same_text"
        else:
            reason = draft.add(hit, now)
        if reason is None:
            chosen.append(hit)
            said |= {(whose, name, memory.content_hash) for name in (_name_of(memory), None)}
        else:
            dropped.append(Dropped(memory.id, hit.score, reason))
    return Composed(draft.text, draft.items, tuple(chosen), tuple(dropped))


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

    @property
    def items(self) -> tuple[DigestItem, ...]:
        return tuple(item for section in _ORDER for item in self._parts[section])

    @property
    def text(self) -> str:
        return page([item.line for item in self.items])

    def add(self, hit: Hit, now: datetime) -> str | None:
        """Add a memory, shortened as needed; return the exceeded budget if it does not fit."""
        section = section_of(hit.record)
        mine, total = self._rules.budget(section), self._rules.total
        if len(self._parts[section]) >= mine.items:
            return f"items:{section}"
        if len(self.items) >= total.items:
            return "items:total"
        line, refusal = self._longest(written(hit.record, now, self._reader), section)
        if line is None:
            return refusal
        item = DigestItem(hit.record, section, hit.score, line.text, line.truncated)
        self._parts[section].append(item)
        return None

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
        whole = page([each for part in _ORDER for each in lines[part]])
        return self._excess(mine + "\n", self._rules.budget(section), section) or self._excess(
            whole, self._rules.total, "total"
        )

    def _excess(self, text: str, budget: Budget, name: str) -> str | None:
        if len(text) > budget.chars:
            return f"chars:{name}"
        if budget.tokens is not None and self._count(text) > budget.tokens:
            return f"tokens:{name}"
        return None
