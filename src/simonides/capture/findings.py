"""What a rule is and what it finds; the tables of phrases are ``statements`` and ``instructions``.

A rule is a pattern anchored at the start of a clause and a function from the match to findings;
no findings means that the phrase was not meant that way after all, and the next rule is tried.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TypeAlias

from simonides.capture import lexicon, values
from simonides.capture.clause import Clause
from simonides.domain.memory import Importance, Kind
from simonides.language import patterns


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    """What a rule read in a clause.

    Attributes:
        category: Category to propose.
        key: Key of the fact, or None for free text.
        value: Content of a keyed fact; None takes the clause as it was said.
        explicit: Said as something lasting; False where it may be meant for once.
        corrects: Whether the wording itself corrects what was held before.
        retracts: Key or text that is to be forgotten.
        fragile: A negative statement about oneself, which needs repetition (CO-5).
        span: Part of the clause that is the evidence, in characters; None for all of it.
    """

    category: str
    key: str | None = None
    value: str | None = None
    kind: Kind = Kind.SEMANTIC
    importance: Importance = Importance.NORMAL
    explicit: bool = True
    corrects: bool = False
    retracts: str | None = None
    fragile: bool = False
    span: tuple[int, int] | None = None


Findings: TypeAlias = tuple[Finding, ...]
Build: TypeAlias = Callable[[Clause, patterns.Match], Findings]


@dataclass(frozen=True, slots=True)
class Rule:
    """A phrase: where it starts and what it may mean."""

    name: str
    pattern: str
    build: Build = field(compare=False)

    def read(self, clause: Clause) -> Findings:
        """Return the findings of this phrase at the start of a clause."""
        match = patterns.compile(self.pattern, ignore_case=True).match(clause.text)
        return self.build(clause, match) if match else ()


class Table:
    """Rules in order of preference, with one pattern that tells most clauses fit none."""

    def __init__(self, rules: tuple[Rule, ...]) -> None:
        self.rules = rules
        self._any = "|".join(f"(?:{patterns.unnamed(rule.pattern)})" for rule in rules)

    def begins(self, text: str) -> bool:
        """Return whether a text begins as any rule's phrase does."""
        return starts(self._any, text)

    def read(self, clause: Clause) -> Findings:
        """Return the findings of the first rule that has any."""
        if not starts(self._any, clause.text):
            return ()
        return next((found for rule in self.rules if (found := rule.read(clause))), ())


def keyed(
    key: str, value: str | None, *, explicit: bool = True, corrects: bool = False
) -> Findings:
    """Return the finding of a keyed fact, or nothing without a value."""
    if value is None:
        return ()
    category = lexicon.CATEGORIES.get(key, "entity_fact")
    return (Finding(category=category, key=key, value=value, explicit=explicit, corrects=corrects),)


def as_key(key: str) -> Build:
    """Return a build that reads group ``v`` as the value of ``key``, by the key's shape."""

    def build(_: Clause, match: patterns.Match) -> Findings:
        said, corrects = affirmed(match.group("v") or "")
        return keyed(key, values.SHAPES[key](said), corrects=corrects)

    return build


def affirmed(text: str) -> tuple[str, bool]:
    """Return what "not X but Y" or "Y, not X" affirms, and whether it was such a contrast."""
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


def starts(pattern: str, text: str) -> bool:
    """Return whether ``text`` begins with the pattern, in any case."""
    return patterns.compile(pattern, ignore_case=True).match(text) is not None


def has(pattern: str, text: str) -> bool:
    """Return whether the pattern stands anywhere in ``text``, in any case."""
    return patterns.compile(pattern, ignore_case=True).search(text) is not None
