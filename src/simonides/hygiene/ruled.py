"""Looking for what a table of rules describes, in time linear in the text.

One pass over a text tells which rules have anything to look at; for most texts none has, and that
is all it costs. A rule's places are then judged one by one.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Sequence
from functools import cached_property
from itertools import islice
from typing import NamedTuple

from simonides.domain.findings import Concern, Finding, Severity
from simonides.language.patterns import Hints, spans

MOST = 750
"""Places that are judged one by one. Chosen: more than an honest text has. A hostile text of 64 KiB
could have 8,000 places, and one takes up to 50 µs (a Chinese identity number). A text with more
places is one finding as a whole, which is safer than to stop looking."""

Judge = Callable[[str, int, int], bool]
"""Whether a place in a text is what a rule is about, given where it begins and ends."""


class Rule(NamedTuple):
    """What one kind of thing looks like.

    Attributes:
        name: What findings are called by.
        severity: How grave.
        hint: RE2, of which case does not matter, of what every match holds.
        pattern: RE2; a group named ``it``, the first, is the place, else all of it.
        judge: The last word.
    """

    name: str
    severity: Severity
    hint: str
    pattern: str
    judge: Judge


class Table:
    """Rules about one concern, the more telling ones first: where two overlap, the first counts."""

    def __init__(self, concern: Concern, rules: Callable[[], Sequence[Rule]]) -> None:
        """Name the rules; they are read when a text is first looked at."""
        self._concern = concern
        self._read = rules

    @cached_property
    def rules(self) -> tuple[Rule, ...]:
        """The rules, in order."""
        return tuple(self._read())

    @cached_property
    def _hints(self) -> Hints:
        return Hints([rule.hint for rule in self.rules])

    def find(self, text: str) -> tuple[Finding, ...]:
        """Return what is found in a text, by place, without overlap.

        A text with more than :data:`MOST` places to look at is one finding as a whole.
        """
        hinted = self._hints.in_text(text)
        if not hinted:
            return ()
        found: list[_Found] = []
        left = MOST
        for number in sorted(hinted):
            rule = self.rules[number]
            named = int("(?P<it>" in rule.pattern)
            places = list(islice(spans(rule.pattern, text, named), left + 1))
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
    """Return both by place, without those of ``new`` that overlap one of ``found``."""
    if not found or not new:
        return found or new
    ends = [each.end for each in found]
    free = []
    for each in new:
        after = bisect_right(ends, each.start)
        if after == len(found) or found[after].start >= each.end:
            free.append(each)
    return sorted((*found, *free), key=lambda each: each.start)
