"""Find in a text what a table of rules describes, in linear time.

One pass over a text selects the rules whose hint occurs; most texts have none and cost no more. The
matches of each selected rule are then judged one by one.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Sequence
from functools import cached_property
from itertools import islice
from typing import NamedTuple

from simonides.domain.writing.finding import Concern, Finding, Severity
from simonides.text import patterns

MAX_MATCHES = 750
"""Matches judged one by one. Chosen: more than an honest text has. A hostile text of 64 KiB could
have 8,000, and one takes up to 50 µs (a Chinese identity number). A text with more is one finding
as a whole, which is safer than skipping the rest."""

Judge = Callable[[str, int, int], bool]
"""Whether a span of a text is what a rule describes; takes the text, start and end."""


class Rule(NamedTuple):
    """How to find one kind of thing.

    Attributes:
        name: Name of its findings.
        severity: Of its findings.
        hint: RE2, matched in any case, that occurs in every match.
        pattern: RE2; the match is its first group if that is named ``it``, else all of it.
        judge: Confirms a match.
    """

    name: str
    severity: Severity
    hint: str
    pattern: str
    judge: Judge


class Table:
    """Rules about one concern; of two overlapping matches the earlier rule's counts."""

    def __init__(self, concern: Concern, rules: Callable[[], Sequence[Rule]]) -> None:
        """Set the rules; they are loaded on first use."""
        self._concern = concern
        self._read = rules

    @cached_property
    def rules(self) -> tuple[Rule, ...]:
        """The rules, the most reliable first."""
        return tuple(self._read())

    @cached_property
    def _hints(self) -> patterns.Hints:
        return patterns.Hints([rule.hint for rule in self.rules])

    def find(self, text: str) -> tuple[Finding, ...]:
        """Return the findings in a text, by position, without overlap."""
        hinted = self._hints.in_text(text)
        if not hinted:
            return ()
        found: list[_Found] = []
        left = MAX_MATCHES
        for number in sorted(hinted):
            rule = self.rules[number]
            named = int("(?P<it>" in rule.pattern)
            places = list(islice(patterns.spans(rule.pattern, text, named), left + 1))
            if len(places) > left:
                found = [_Found(0, len(text), rule)]
                break
            left -= len(places)
            found = _joined(found, [_Found(*p, rule) for p in places if rule.judge(text, *p)])
        return tuple(
            Finding(self._concern, rule.name, rule.severity, start, end)
            for start, end, rule in found
        )


class _Found(NamedTuple):
    start: int
    end: int
    rule: Rule


def _joined(found: list[_Found], new: list[_Found]) -> list[_Found]:
    """Merge by position, without those of ``new`` that overlap one of ``found``."""
    if not found or not new:
        return found or new
    ends = [each.end for each in found]
    free = []
    for each in new:
        after = bisect_right(ends, each.start)
        if after == len(found) or found[after].start >= each.end:
            free.append(each)
    return sorted((*found, *free), key=lambda each: each.start)


def is_standalone(text: str, start: int, end: int) -> bool:
    """Whether a span is not part of a longer word, number, path or identifier."""
    before, after = text[start - 1 : start] if start else "", text[end : end + 1]
    if _is_word(before) or _is_word(after) or (before and before in "_/@#&%.+-~\\$€£"):
        return False
    beyond = text[end + 1 : end + 2]
    return not (after and after in "-/.:" and beyond.isdigit()) and after not in ("_", "@", "%")


def digits_of(text: str) -> str:
    """Return the digits of a text, without separators."""
    return "".join(char for char in text if char.isdigit())


def _is_word(char: str) -> bool:
    # Scripts without spaces between words continue right after a number, and have no case.
    return char.isalnum() and (char.isascii() or char.lower() != char.upper())
