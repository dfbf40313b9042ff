"""Whether two statements answer one question about the present, each with a value of its own.

Then the newer one replaces the older, though they may share no word: "I bank with Lloyds", "I've
switched to Monzo for everything", asked "Which bank am I with?".
"""

from __future__ import annotations

import re
from typing import NamedTuple

from simonides.text.analyse import MONTHS, analyse
from simonides.text.changes import setting

_NOW = re.compile(setting("asks"))
_CLOSED = re.compile(setting("asks_closed"))
_FIGURE = re.compile(setting("asks_figure"))
_PERSON = re.compile(setting("asks_person"))
_ABOUT = re.compile(setting("asks_about"))
_NAME = re.compile(setting("name"))
_MINE = re.compile(setting("opens_own"))
_OWN = re.compile(setting("own"))
_FIRST = re.compile(setting("of_group"))
_UNREAL = re.compile(setting("unreal"))
_DENIED = re.compile(setting("denied"))
_NUMBER = re.compile(setting("figure"))
_DAYS = "monday tuesday wednesday thursday friday saturday sunday".split()
_DATE = re.compile(rf"\b(?:{'|'.join((*MONTHS, *_DAYS))})s?\b", re.IGNORECASE)
_GENERIC = frozenset(analyse(f"{setting('generic')} name kind type current right moment"))


class Asked(NamedTuple):
    """What a question asks for about the present.

    Attributes:
        terms: Index terms of the question.
        subjects: Terms of what it is about; empty if it is about the speaker.
        names: Those of them that are names.
        figure: Whether it asks for a number or a time; None if for either that or a name.
        is_own: Whether it is in the first person, or about the user.
        is_closed: Whether yes or no answers it.
    """

    terms: frozenset[str]
    subjects: frozenset[str]
    names: frozenset[str]
    figure: bool | None
    is_own: bool
    is_closed: bool


def asked_of(about: str) -> Asked | None:
    """Return what a question asks for, or None if it does not ask how something is now."""
    about = about.strip().replace("’", "'")
    if not _NOW.search(about):
        return None
    names = frozenset(analyse(" ".join([*_NAME.findall(about), *_DATE.findall(about)])))
    named = frozenset(analyse(" ".join(_ABOUT.findall(about)))) - _GENERIC
    figure = True if _FIGURE.search(about) else False if _PERSON.search(about) else None
    terms, is_own = frozenset(analyse(about)) - _GENERIC, bool(_OWN.search(about)) or not names
    return Asked(terms, named | names, names, figure, is_own, bool(_CLOSED.match(about)))


def may_answer(asked: Asked, text: str) -> bool:
    """Whether a statement is about what a question asks: its subject, or the speaker.

    "My brother moved to Malmö" is about neither in "Where do I live?", and what may be so is not.
    """
    terms = frozenset(analyse(text))
    if not asked.is_own or _UNREAL.search(text) or (asked.names and not asked.names & terms):
        return False
    if asked.is_closed:
        return bool(asked.terms & terms)
    own = _FIRST.search(text) or _MINE.match(text)
    return bool(own or asked.subjects & terms)


def replaces(asked: Asked, new: str, old: str, *, is_change: bool) -> bool:
    """Whether a newer statement answers a question anew.

    Args:
        asked: What the question asks for.
        new: The newer statement.
        old: The older one.
        is_change: Whether the newer one has words of change.
    """
    new = _DENIED.sub(" ", new)
    mine, theirs = frozenset(analyse(new)), frozenset(analyse(old))
    if not (is_change or mine & asked.terms) or not _same_subject(asked, new, mine, theirs):
        return False
    values = [(_figures(text), _names(text) - asked.names) for text in (new, old)]
    (my_figures, my_names), (their_figures, their_names) = values
    figures = bool(my_figures and their_figures and my_figures.isdisjoint(their_figures))
    names = bool(my_names and their_names and my_names.isdisjoint(their_names))
    if asked.figure is None:
        return figures or (names and not my_figures and not their_figures)
    return figures if asked.figure else names


def _same_subject(asked: Asked, new: str, mine: frozenset[str], theirs: frozenset[str]) -> bool:
    if asked.subjects:
        shared = asked.subjects & theirs
        names = shared & asked.names
        return bool(shared & mine) and (not names or bool(names & mine))
    return bool(_MINE.match(new))


def _figures(text: str) -> frozenset[str]:
    dates = _DATE.findall(text)
    return frozenset(each.lower().strip(".,") for each in (*_NUMBER.findall(text), *dates))


def _names(text: str) -> frozenset[str]:
    return frozenset(analyse(_DATE.sub(" ", " ".join(_NAME.findall(f"x {text}")))))
