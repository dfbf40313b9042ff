"""The rule type and its findings; the tables of rules are in ``statements`` and ``instructions``.

A rule is a pattern anchored at the start of a clause and a function from the match to findings.
Without findings the phrase has another meaning, and the next rule is tried.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TypeAlias

from simonides.capture import lexicon
from simonides.capture.clause import Clause, Finding, Findings, keyed
from simonides.capture.rules import values
from simonides.text import patterns

Build: TypeAlias = Callable[[Clause, patterns.Match], Findings]


@dataclass(frozen=True, slots=True)
class Rule:
    """A phrase: its pattern and its meaning."""

    name: str
    pattern: str
    build: Build = field(compare=False)

    def read(self, clause: Clause) -> Findings:
        """Return the findings of this phrase at the start of a clause."""
        match = patterns.compile(self.pattern, ignore_case=True).match(clause.text)
        return self.build(clause, match) if match else ()


class Table:
    """Rules in order of preference, with one pattern that rules out most clauses."""

    def __init__(self, rules: tuple[Rule, ...]) -> None:
        self.rules = rules
        self._any = "|".join(f"(?:{patterns.unnamed(rule.pattern)})" for rule in rules)

    def read(self, clause: Clause) -> Findings:
        """Return the findings of the first rule that has any."""
        if not patterns.starts(self._any, clause.text):
            return ()
        return next((found for rule in self.rules if (found := rule.read(clause))), ())


def as_key(key: str) -> Build:
    """Return a build that reads group ``v`` as the value of ``key``, by the key's shape."""

    def build(_: Clause, match: patterns.Match) -> Findings:
        said, corrects = affirmed(match.group("v") or "")
        return keyed(key, values.SHAPES[key](said), corrects=corrects)

    return build


def affirmed(text: str) -> tuple[str, bool]:
    """Return the affirmed part of "not X but Y" or "Y, not X".

    The second value is whether the text was such a contrast.
    """
    match = patterns.compile(_NOT_BUT, ignore_case=True).match(text)
    if match:
        return match.group("v") or "", True
    match = patterns.compile(_BUT_NOT, ignore_case=True).match(text)
    return (match.group("v") or "", True) if match else (text, False)


_NOT_BUT = r"not\s+(?:in\s+|at\s+)?.{1,40}?,?\s+(?:but(?: rather| in| at)?|it's|it is)\s+(?P<v>.+)"
_BUT_NOT = (
    r"(?P<v>.{1,60}?),?\s+(?:and\s+)?(?:not|rather than|instead of)\s+(?:in\s+"
    r"|at\s+)?\S+(?:\s\S+){0,3}$"
)


def manner(text: str, *, explicit: bool) -> Findings:
    """Read adjectives such as "short and formal" as style, tone and format; all must be known."""
    filler = patterns.compile(_INTENSITY, ignore_case=True)
    words = text.lower().replace("&", ",").split()
    plain = " ".join("," if word in ("and", "but") else word for word in words
                     if not filler.fullmatch(word))  # fmt: skip
    found: dict[str, Finding] = {}
    for part in plain.split(","):
        word = part.strip(" .!\"'")
        if not word:
            continue
        pair = _MANNERS.get(lexicon.STYLE_ADVERBS.get(word, word))
        if pair is None:
            return ()
        found.setdefault(pair[0], keyed(pair[0], pair[1], explicit=explicit)[0])
    return tuple(found.values())


_INTENSITY = (
    r"very|more|super|as|possible|always|quite|really|fairly|nice|pretty|a|bit|please|too|in"
    r"|less|only|an|relatively|reasonably|both"
)
_MANNERS = (
    {word: (lexicon.RESPONSE_STYLE, value) for word, value in lexicon.STYLES.items()}
    | {word: (lexicon.TONE, value) for word, value in lexicon.TONES.items()}
    | {word: (lexicon.RESPONSE_FORMAT, value) for word, value in lexicon.FORMATS.items()}
)
