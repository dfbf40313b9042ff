"""Secrets in texts: keys, tokens, passwords (HY-1).

Rules are data, ``secrets.toml`` beside this file. One pass over a text finds which rules have
anything to look at; for most texts none has. What a rule matches must then be as random as a
secret of its kind is, and where only the words around tell what it is it must look like nothing
else: a path, a placeholder, a word.
"""

from __future__ import annotations

import tomllib
from bisect import bisect_right
from collections.abc import Iterator
from functools import cache
from itertools import islice
from importlib.resources import files
from typing import NamedTuple

from memstrata.domain.findings import Concern, Finding, Severity
from memstrata.hygiene.looks import CHECKS, entropy_of
from memstrata.language import patterns


MOST = 1_000
"""Places that are looked at one by one. Chosen: far more than an honest text has, while a hostile one
of 64 KiB could have 8,000, of 15 µs each; it is safer to take all of it for a secret than to stop
looking."""


class Rule(NamedTuple):
    """One row of the table; see there.

    Attributes:
        name: What findings are called by.
        hint: RE2 of what every match holds.
        pattern: RE2.
        entropy: Least bits a character of what was matched.
        check: A further look at what was matched, or None.
    """

    name: str
    hint: str
    pattern: str
    entropy: float
    check: str | None


class _Rules(NamedTuple):
    rules: tuple[Rule, ...]
    hints: patterns.Hints


@cache
def rules() -> tuple[Rule, ...]:
    """Return the table, the most telling rules first."""
    table = tomllib.loads((files(__package__) / "secrets.toml").read_text("utf-8"))
    return tuple(
        Rule(
            name=row["name"],
            hint=row.get("hint") or "|".join(map(_escaped, row["keywords"])),
            pattern=row["pattern"],
            entropy=row["entropy"],
            check=row.get("check"),
        )
        for row in table["rule"]
    )


def find(text: str) -> tuple[Finding, ...]:
    """Return the secrets in a text, by place; where rules overlap the more telling one counts.

    A text with more than :data:`MOST` places to look at counts as one secret, from its first
    character to its last.
    """
    hinted = _hints().in_text(text)
    if not hinted:
        return ()
    found: list[tuple[int, int, str]] = []
    left, table = MOST, rules()
    for place in sorted(hinted):
        rule = table[place]
        spans = list(islice(_matched(rule, text), left + 1))
        if len(spans) > left:
            found = [(0, len(text), rule.name)]
            break
        left -= len(spans)
        found = _joined(
            found, [(*s, rule.name) for s in spans if _is_secret(rule, text[slice(*s)])]
        )
    return tuple(
        Finding(Concern.SECRET, rule, Severity.HIGH, start, end) for start, end, rule in found
    )


def _joined(
    found: list[tuple[int, int, str]], new: list[tuple[int, int, str]]
) -> list[tuple[int, int, str]]:
    """Return both by place, without those of ``new`` that overlap one of ``found``."""
    if not found or not new:
        return found or new
    ends = [end for _, end, _ in found]
    free = []
    for start, end, rule in new:
        after = bisect_right(ends, start)
        if after == len(found) or found[after][0] >= end:
            free.append((start, end, rule))
    return sorted((*found, *free))


@cache
def _hints() -> patterns.Hints:
    return patterns.Hints([rule.hint for rule in rules()])


def _matched(rule: Rule, text: str) -> Iterator[tuple[int, int]]:
    """Yield where a rule's pattern matches: the secret in it, without what ends a sentence."""
    named = 1 if "(?P<it>" in rule.pattern else 0
    for match in patterns.compile(rule.pattern).finditer(text):
        start, end = match.span(named)
        if start < 0:
            start, end = match.span()
        elif named:
            while end > start and text[end - 1] in ".,;:!?)":
                end -= 1
        yield start, end


def _is_secret(rule: Rule, matched: str) -> bool:
    return bool(matched) and entropy_of(matched) >= rule.entropy and CHECKS[rule.check](matched)


def _escaped(literal: str) -> str:
    return "".join(c if c.isalnum() or c in "_ " else f"\\{c}" for c in literal)
