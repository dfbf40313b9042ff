"""When two statements cannot both be true, by their words alone.

It prefers to miss a contradiction: a person is asked about each. Two statements contradict each
other if they differ in nothing but a negation or an opposite, or in nothing but a figure or a name
after a verb of being: the staging server is in Oslo, the staging server is in Bergen.
"""

from __future__ import annotations

import re

from simonides.text.analyse import analyse
from simonides.text.statement import NEGATIONS, read
from simonides.text.words import first_of_group

OPPOSITES = first_of_group("opposites")
"""Words, each with the one that stands for its pair."""

_PRONOUNS = frozenset("i my you your he his she her we our they their".split())
_BEING = frozenset("is are was were am has have costs uses lives works starts ends runs".split())
_UNTOLD = NEGATIONS | {"do", "does", "did"}
_NAME = re.compile(r"(?<!^)\b[A-Z][\w'-]*")
MOST_WORDS = 3
"""Words of a value. Set by judgement."""


def contradict(one: str, other: str) -> bool:
    """Whether two statements cannot both be true."""
    if one.rstrip().endswith("?") or other.rstrip().endswith("?"):
        return False
    return deny_each_other(one, other) or _give_other_values(one, other)


def deny_each_other(one: str, other: str) -> bool:
    """Whether two statements differ in nothing but a negation or an opposite."""
    (mine, my_sign), (theirs, their_sign) = _signed(one), _signed(other)
    return len(mine) > 1 and mine == theirs and my_sign != their_sign


def _signed(text: str) -> tuple[list[str], bool]:
    """Return what a text says without negations and opposites, and whether it denies that."""
    words = [word for word in read(text).telling if word != ","]
    kept = [OPPOSITES.get(word, word) for word in words if word not in _UNTOLD]
    terms = analyse(" ".join(kept)) + [word for word in kept if word in _PRONOUNS]
    negations = sum(word in NEGATIONS for word in words)
    return terms, (negations + sum(OPPOSITES.get(word, word) != word for word in words)) % 2 == 1


def _give_other_values(one: str, other: str) -> bool:
    mine, theirs = read(one).telling, read(other).telling
    most = min(len(mine), len(theirs))
    first = next((n for n in range(most) if mine[n] != theirs[n]), most)
    last = next((n for n in range(most - first) if mine[-n - 1] != theirs[-n - 1]), most - first)
    lead = mine[:first]
    values = mine[first : len(mine) - last], theirs[first : len(theirs) - last]
    if len(lead) < 2 or _BEING.isdisjoint(lead) or not all(values):
        return False
    kinds = [_kind(text, value) for text, value in zip((one, other), values, strict=True)]
    return kinds[0] is not None and kinds[0] == kinds[1]


def names_in(text: str) -> set[str]:
    """Return the names in a text, in small letters; the first word is not counted as one."""
    return {name.lower() for name in _NAME.findall(text)}


def _kind(text: str, value: tuple[str, ...]) -> str | None:
    """Return whether a value is a figure or a name; None for anything else."""
    if len(value) > MOST_WORDS:
        return None
    if all(any(map(str.isdigit, word)) for word in value):
        return "figure"
    return "name" if names_in(text).issuperset(value) else None
