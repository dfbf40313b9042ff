"""Read numbers, amounts, dates and times of day from a text as comparable values."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from itertools import islice

from simonides.text import analyse, patterns


class Measure(StrEnum):
    """What a figure measures; only figures of the same measure can differ."""

    COUNT = "count"
    MONEY = "money"
    SHARE = "share"
    DATE = "date"
    CLOCK = "clock"
    WEEKDAY = "weekday"
    NAMED = "named"


@dataclass(frozen=True, slots=True)
class Figure:
    """One figure.

    Attributes:
        measure: What it measures.
        value: In canonical form: ``5``, ``04-05`` (month, day), ``11:00``.
        unit: Stem of the counted noun; empty for none.
        words: Terms of the figure's text, without the unit.
    """

    measure: Measure
    value: str
    unit: str
    words: tuple[str, ...]


MAX_FIGURES = 16
"""Most figures read from one claim; chosen: a text with more is a table."""

_MONTHS = "jan feb mar apr may jun jul aug sep oct nov dec".split()
_MONTH = (
    r"(?:jan(?:uary)?|feb(?:ruary)?|mar(?:ch)?|apr(?:il)?|may|june?|july?|aug(?:ust)?"
    r"|sept?(?:ember)?|oct(?:ober)?|nov(?:ember)?|dec(?:ember)?)"
)
_WORDS = dict(
    zip(
        "two three four five six seven eight nine ten eleven twelve".split(),
        map(str, range(2, 13)),
        strict=True,
    )
) | {"twice": "2", "thirty": "30", "twenty": "20", "fifty": "50"}
_NUMBER = r"\d{1,3}(?:,\d{3})+(?:\.\d+)?|\d+(?:\.\d+)?"
_DAYS = "mon(?:day)?|tues?(?:day)?|wed(?:nesday)?|thu(?:rs)?(?:day)?|fri(?:day)?"
_FIGURE = (
    rf"\b(?P<month>{_MONTH})\.? (?P<day>\d{{1,2}})(?:st|nd|rd|th)?\b(?:,? (?:19|20)\d\d)?"
    rf"|\b(?P<day2>\d{{1,2}})(?:st|nd|rd|th)?(?: of)? (?P<month2>{_MONTH})\b(?:,? (?:19|20)\d\d)?"
    r"|\b(?P<iso>(?:19|20)\d\d-\d\d-\d\d)\b"
    r"|\b(?P<hour>\d{1,2})(?::(?P<minute>\d\d))? ?(?P<half>am|pm|a\.m|p\.m)\b"
    r"|\b(?P<clock>\d{1,2}:\d\d)\b"
    rf"|(?P<money>[$€£¥] ?(?:{_NUMBER})[km]?)"
    rf"|(?P<share>(?:{_NUMBER}) ?(?:%|percent\b))"
    rf"|\b(?P<weekday>{_DAYS}|saturday|sunday)s?\b"
    # Versions, ratios and names with digits count nothing.
    r"|(?P<named>[\p{L}_]*\d+(?:[./:_-]\d+)+\w*|\b[vV]\d+\w*|[\p{L}_]+-?\d+\w*|\d+[\p{L}]\w*)"
    rf"|\b(?P<count>{_NUMBER}|{'|'.join(_WORDS)})(?:[ -](?P<unit>\p{{L}}+))?"
)


def figures(text: str) -> tuple[Figure, ...]:
    """Return the first :data:`MAX_FIGURES` figures of a text, in order."""
    found = patterns.compile(_FIGURE, ignore_case=True).finditer(text)
    return tuple(_figure(match) for match in islice(found, MAX_FIGURES))


def _figure(match: patterns.Match) -> Figure:
    given = {name: value for name, value in match.groupdict().items() if value is not None}
    whole = match.group() or ""
    counted = given.get("unit", "")
    words = analyse(whole.removesuffix(counted) if counted else whole)
    measure, value = _read(given)
    unit = analyse(counted)
    return Figure(measure, value, unit[0] if unit else "", tuple(words))


def _read(given: dict[str, str]) -> tuple[Measure, str]:
    month = given.get("month") or given.get("month2")
    if month is not None:
        day = int(given.get("day") or given["day2"])
        return Measure.DATE, f"{_MONTHS.index(month[:3].lower()) + 1:02}-{day:02}"
    if "iso" in given:
        return Measure.DATE, given["iso"][5:]
    if "hour" in given:
        hour = int(given["hour"]) % 12 + 12 * given["half"].lower().startswith("p")
        return Measure.CLOCK, f"{hour:02}:{given.get('minute', '00')}"
    if "clock" in given:
        return Measure.CLOCK, given["clock"].rjust(5, "0")
    if "weekday" in given:
        return Measure.WEEKDAY, given["weekday"][:3].lower()
    for measure in (Measure.MONEY, Measure.SHARE, Measure.NAMED):
        if measure.value in given:
            return measure, _plain(given[measure.value])
    return Measure.COUNT, _plain(given["count"])


def _plain(number: str) -> str:
    bare = number.lower().replace(",", "").replace(" ", "").removesuffix("percent").rstrip("%")
    return _WORDS.get(bare, bare)
