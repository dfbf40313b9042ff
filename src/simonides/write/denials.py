"""What a clause denies of what was said before: "I'm not allergic to nuts", "off the pills"."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from functools import cache
from typing import NamedTuple

from simonides.capture.commands import Request, read_clause
from simonides.capture.moods import sense_of
from simonides.capture.slots import is_for_now
from simonides.capture.wordings import MOST_CHARS
from simonides.text.analyse import analyse
from simonides.text.changes import denials_in as table

_PATTERNS = "not takes none off gone verdict error switch instead rather".split()
_FINDINGS = ("not", "none", "verdict", "error")
"""Ways to say that something was found not to be so; no medicine is stopped by them."""

_TAKES = re.compile(r"\b(?:takes?|taking|on|prescribed|using?)\b", re.IGNORECASE)
_OTHER = re.compile(r"\W*(?:my|our) ((?!\S+ (?:allerg|intoleran))[\w'-]+)", re.IGNORECASE)
LEAST_ALIKE = 5
"""Letters that two forms of one word have in common, as "epilepsy" and "epileptic" do. Not
measured."""


class Denial(NamedTuple):
    """What a clause says is not so, or no longer.

    Attributes:
        who: Of whom; empty for the user.
        terms: The value; empty for whatever is of its family.
        family: ``allergy``, ``medicine`` or empty.
        stops: Whether it can stop a medicine.
    """

    who: str
    terms: tuple[str, ...]
    family: str
    stops: bool

    def fits(self, text: str, value: str | None) -> bool:
        """Whether it may mean a statement, in the user's words, or its value."""
        stated = stated_terms(value or _OTHER.sub("", text))
        other = _OTHER.match(text)
        who = other[1].lower() if other else ""
        is_medicine = not _has("allergy", text) and bool(_TAKES.search(text))
        if who != self.who or (is_medicine and not self.stops):
            return False
        if self.terms:
            return _is_in(self.terms, stated) and any(_is_in([t], stated[:2]) for t in self.terms)
        if is_medicine:
            return self.family == "medicine"
        return self.family == "allergy" and _has("allergy", text)


def denials(clause: str) -> Iterator[Denial]:
    """Yield what a clause that states something in the user's own words denies."""
    text = re.sub(table()["finds"], "", clause[:MOST_CHARS].replace("’", "'"))
    is_own = sense_of(text).is_meant and read_clause(text).kind is Request.SAYS
    if not is_own or is_for_now(text):
        return
    for name in _PATTERNS:
        for match in _pattern(name).finditer(text):
            groups = match.groupdict(default="")
            about = groups["about"]
            if name in ("verdict", "gone"):
                about = re.split(r"\b(?:the|my|our|that|and) ", about)[-1]
            who = groups.get("who", "i").lower()
            who = "" if who in table()["own"].split() or who.endswith(("ist", "'s")) else who
            named = f"{about} {groups.get('does', '')}"
            family = next((each for each in ("allergy", "medicine") if _has(each, named)), "")
            known = _words(family) if family == "medicine" else frozenset[str]()
            terms = tuple(term for term in stated_terms(about) if term not in known)
            if terms or family:
                yield Denial(who, terms, family, name not in _FINDINGS)


def stated_terms(text: str) -> list[str]:
    """Return the terms of what a statement is about, from its first part that has some."""
    known = _words("beside") | _words("allergy")
    for part in re.split(r"[,(;]| and | so | since | because ", text):
        if terms := [t for t in analyse(part) if t not in known]:
            return terms
    return []


def _is_in(terms: Iterable[str], others: Iterable[str]) -> bool:
    return all(any(_are_alike(term, other) for other in others) for term in terms)


def _are_alike(one: str, other: str) -> bool:
    least = max(LEAST_ALIKE, len(one) - 2, len(other) - 2)
    return one == other or one[:least] == other[:least]


def _has(family: str, text: str) -> bool:
    return not _words(family).isdisjoint(analyse(text))


@cache
def _words(name: str) -> frozenset[str]:
    return frozenset(analyse(table()[name]))


@cache
def _pattern(name: str) -> re.Pattern[str]:
    pattern = re.sub(r"<([A-Z]+)>", lambda match: table()[match[1]], table()[name])
    return re.compile(pattern, re.IGNORECASE)
