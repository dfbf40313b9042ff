"""What a query asks for, and the marks by which a row may answer it.

Both are read from short lists of English words. In another language a query asks for nothing in
particular; question marks and dates in digits still count.
"""

from __future__ import annotations

import re
from datetime import date, timedelta
from enum import Enum
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from simonides.text.analyse import ASKS, MONTHS, SELF, any_of, fold


class Form(Enum):
    """The form of a query, which decides how the evidence is weighed.

    A QUESTION asks, or names what is searched for. A MESSAGE is a turn of a running conversation:
    it says something besides. A REMARK is about the user and asks nothing.
    """

    QUESTION = "question"
    MESSAGE = "message"
    REMARK = "remark"


class Days(NamedTuple):
    """A span of days, first and last."""

    first: date
    last: date


class Question(NamedTuple):
    """What a query asks for.

    Attributes:
        form: Its form.
        of_self: It is in the first person.
        wants_time: The answer is a time.
        wants_latest: It asks for the present state: of two versions the newer one answers.
        days: The times that it names.
    """

    form: Form = Form.QUESTION
    of_self: bool = False
    wants_time: bool = False
    wants_latest: bool = False
    days: tuple[Days, ...] = ()


_YOU = any_of("you your lets please")
_WANTS_TIME = re.compile(r"^(?:when|how long|(?:what|which) (?:date|day|year|month|time))\b")
_NOW = any_of("current currently now latest still these\\sdays")
_STATE = re.compile(r"\b(?:when|what|which|where|who)(?:'s| is| are| am)\b")
_VALUE = re.compile(r"\b(?:how (?:many|much|old|often|long)|what (?:time|day))\b")
_PRESENT = any_of("is are am do does has have should can")
_PAST = any_of(
    "did was were had ago first last previous previously original originally initial initially"
    " before between after ever"
)
_OPENING = any_of(
    "hello hi hey ok okay yes yeah yep no nah alright right great perfect thanks excellent"
    " cheers good understood confirmed"
)
_SENTENCE_END = re.compile(r"[!?]+\s|(?<!\b[A-Z])(?<!\b[A-Z][a-z])(?<!\b[A-Z][a-z]{2})\.\s")
_MOST_OPENING_WORDS = 3
"""Longest first sentence that counts as a reply to the assistant: "Copy that.". Not measured."""


def read_question(text: str, today: date) -> Question:
    """Return what a query asks for.

    Args:
        text: The query.
        today: The day it is asked, from which "two weeks ago" counts.
    """
    text = text.strip()
    folded = fold(text)
    asks_value = _PRESENT.search(folded) and _VALUE.search(folded)
    is_about_now = _NOW.search(folded) or _STATE.search(folded) or asks_value
    return Question(
        form=_form(text, folded),
        of_self=bool(SELF.search(folded)),
        wants_time=bool(_WANTS_TIME.search(folded)),
        wants_latest=bool(is_about_now) and not _PAST.search(folded),
        days=days_named(folded, today),
    )


def _form(text: str, folded: str) -> Form:
    end = _SENTENCE_END.search(text)
    opening = len(text[: end.start()].split()) if end else 0
    asks = bool(ASKS.search(text))
    if asks and not opening:
        return Form.QUESTION
    if asks or 0 < opening <= _MOST_OPENING_WORDS or _OPENING.match(folded) or _YOU.search(folded):
        return Form.MESSAGE
    if SELF.search(folded):
        return Form.REMARK
    return Form.MESSAGE if opening else Form.QUESTION


# -- times -----------------------------------------------------------------------------------------

_DAY = r"(?P<{}>\d{{1,2}})(?:st|nd|rd|th)?"
_DATE = re.compile(
    rf"\b(?:{_DAY.format('before')} (?:of )?)?"
    rf"(?P<name>{'|'.join(MONTHS)}|jan|feb|mar|apr|jun|jul|aug|sept?|oct|nov|dec)\b\.?"
    rf"(?: {_DAY.format('after')}\b)?(?:,? (?:of )?(?P<year>(?:19|20)\d\d)\b)?"
)
_DIGITS = re.compile(
    r"\b(?P<year>(?:19|20)\d\d)-(?P<month>\d\d)(?:-(?P<day>\d\d))?\b"
    r"|\b(?P<dotted_day>\d{1,2})\.(?P<dotted_month>\d{1,2})\.(?P<dotted_year>(?:19|20)\d\d)\b"
)
_AGO = re.compile(
    r"\b(?P<count>\d{1,3}|an?|one|two|three|four|five|six|couple of|few)"
    r" (?P<unit>day|week|month|year)s? ago\b|\blast (?P<last>week|month|year)\b|\byesterday\b"
)
_COUNTS = {"a": 1, "an": 1, "one": 1, "two": 2, "three": 3, "four": 4, "five": 5, "six": 6}
_COUNTS |= {"couple of": 2, "few": 3}
_NO_DATES = frozenset({"may", "march", "jan", "mar"})
"""Verbs and names of people where neither a day nor a year follows."""
_UNIT_DAYS = {"day": 1, "week": 7, "month": 30, "year": 365}
NEXT = 0.5
"""How well the days next to the one that is named fit. Set by judgement."""

_SLACK_DAYS = {"day": 1, "week": 5, "month": 20, "year": 183}
"""People say only roughly how long ago something was. Set by judgement."""


def days_named(folded: str, today: date) -> tuple[Days, ...]:
    """Return the times that a folded text names."""
    readers = ((_DATE, _read_date), (_DIGITS, _read_digits), (_AGO, _read_ago))
    spans = (read(match, today) for form, read in readers for match in form.finditer(folded))
    return tuple(span for span in spans if span)


def without_days(folded: str) -> str:
    """Return a folded text without the words that name times."""
    for form in (_DATE, _DIGITS, _AGO):
        folded = form.sub(" ", folded)
    return folded


def _read_date(match: re.Match[str], today: date) -> Days | None:
    day, name, year = match["before"] or match["after"], match["name"], match["year"]
    if name in _NO_DATES and not (day or year):
        return None
    month = 1 + [each[:3] for each in MONTHS].index(name[:3])
    this_year = today.year if month <= today.month else today.year - 1
    return _span(int(year or this_year), month, int(day or 0))


def _read_digits(match: re.Match[str], today: date) -> Days | None:
    del today
    year, month = match["year"] or match["dotted_year"], match["month"] or match["dotted_month"]
    return _span(int(year), int(month), int(match["day"] or match["dotted_day"] or 0))


def _read_ago(match: re.Match[str], today: date) -> Days | None:
    unit, count = match["unit"] or match["last"] or "day", match["count"] or "a"
    middle = (_COUNTS.get(count) or int(count)) * _UNIT_DAYS[unit]
    slack = timedelta(_SLACK_DAYS[unit])
    said = today - timedelta(middle)
    return Days(said - slack, said + slack)


def _span(year: int, month: int, day: int) -> Days | None:
    """Return a day, or a whole month."""
    try:
        first = date(year, month, day or 1)
    except ValueError:
        return None
    last = first if day else date(year + month // 12, month % 12 + 1, 1) - timedelta(1)
    return Days(first, last)


def within(days: tuple[Days, ...], said: NDArray[np.int32]) -> NDArray[np.float32]:
    """Return how well days, counted since 1970, fit spans of days: 1 inside, `NEXT` beside a day.

    What was done on a day is often told on the next.
    """
    fit = np.zeros(len(said), np.float32)
    for span in days:
        first, last = (day.toordinal() - date(1970, 1, 1).toordinal() for day in span)
        beside = NEXT * (np.maximum(first - said, said - last) == 1) * (first == last)
        fit = np.maximum(fit, np.where((said >= first) & (said <= last), 1.0, beside))
    return fit
