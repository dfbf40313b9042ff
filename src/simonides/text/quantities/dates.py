"""Finds absolute and relative dates in text, resolved against the day they were said.

A mention is a set of readings, each a span of days. "May 2023" is a month, "last week" seven days,
"on Friday" the one before or the one after. Evidence supports a claim if one of its spans lies
within one of the claim's: evidence may be more exact than the claim, never less.

English is covered broadly. German, French, Spanish, Italian, Portuguese, Dutch and Russian have the
months and the words for yesterday, today and tomorrow. Chinese has dates with 年月日 and common
relative words. Time is linear in the text.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import MAXYEAR, MINYEAR, date, timedelta
from typing import NamedTuple, TypeAlias

from simonides.text import patterns
from simonides.text.quantities.numbers import Token, may_be_number, quantities, tokens

Days: TypeAlias = tuple[date, date]
"""A span of days, both ends included."""


class Mention(NamedTuple):
    """One date in a text.

    Attributes:
        readings: Its possible meanings, each a span of days. A bare weekday has none if the day it
            was said on is unknown.
        weekday: 0 for Monday if only a weekday is given, else None.
        start: Start offset, in characters.
        end: End offset, exclusive.
    """

    readings: tuple[Days, ...]
    weekday: int | None
    start: int
    end: int


YEARLESS = (1, 2)
"""Placeholder years: "7 May" without a known year lies in both."""


def mentions(text: str, said_on: date | None) -> list[Mention]:
    """Return the dates in a text.

    Args:
        text: Any text.
        said_on: The day it was said, or None. Without it relative dates are not resolved, and a
            date without a year equals only another without one.
    """
    clean = text.encode("utf-8", "replace").decode("utf-8")
    found = [*_written(clean, said_on)]
    taken = [(one.start, one.end) for one in found]
    said = [t for t in tokens(clean) if not any(s < t.end and t.start < e for s, e in taken)]
    found += _spoken(said, said_on)
    return sorted(found, key=lambda one: one.start)


def supports(claim: Mention, evidence: Sequence[Mention]) -> bool:
    """Whether evidence names the date of a claim, as exactly or more so."""
    spans = [span for each in evidence for span in each.readings]
    if claim.weekday is not None:
        named = any(each.weekday == claim.weekday for each in evidence)
        return named or any(a == b and a.weekday() == claim.weekday for a, b in spans)
    return any(
        first <= start and end <= last for first, last in claim.readings for start, end in spans
    )


_MONTHS = {
    name: number
    for number, names in enumerate(
        """
        january jan januar janvier enero gennaio janeiro januari января январь
        february feb februar février febrero febbraio fevereiro februari февраля февраль
        march mar märz mars marzo março maart марта март
        april apr avril abril aprile апреля апрель
        may mai mayo maggio maio mei мая май
        june jun juni juin junio giugno junho июня июнь
        july jul juli juillet julio luglio julho июля июль
        august aug août agosto augustus августа август
        september sep sept septembre septiembre settembre setembro сентября сентябрь
        october oct oktober octobre octubre ottobre outubro октября октябрь
        november nov novembre noviembre novembro ноября ноябрь
        december dec dezember décembre diciembre dicembre dezembro декабря декабрь
        """.strip().splitlines(),
        start=1,
    )
    for name in names.split()
}
# Without a day or year these are ordinary words, or names of people.
_ALSO_WORDS = frozenset(
    "may march mar jan mars mai mei jun juni august augustus sep dec apr".split()
)
_WEEKDAYS = {
    name: number
    for number, names in enumerate(
        "monday mondays|tuesday tuesdays|wednesday wednesdays|thursday thursdays|friday fridays"
        "|saturday saturdays|sunday sundays".split("|")
    )
    for name in names.split()
}
_ISO = r"(\d{4})[-/.](\d{1,2})[-/.](\d{1,2})"
_SHORT = r"\b(\d{1,2})[-/.](\d{1,2})[-/.](\d{4}|\d{2})\b"
_HAN = r"(?:(\d{4})年)?(\d{1,2})月(?:(\d{1,2})[日号])?|(\d{4})年"


def _written(text: str, said_on: date | None) -> Iterator[Mention]:
    until = 0
    for match in patterns.compile(f"{_ISO}|{_SHORT}|{_HAN}").finditer(text):
        start, end = match.span()
        part = [int(n) if (n := match.group(i)) else None for i in range(1, 11)]
        options: list[tuple[int | None, int | None, int | None]]
        if part[0] is not None:
            options = [(part[0], part[1], part[2])]
        elif part[3] is not None and part[5] is not None:
            year = part[5] + (0 if part[5] > 99 else 2000)
            options = [(year, part[3], part[4]), (year, part[4], part[3])]
        else:
            options = [(part[9] or part[6], part[7], part[8])]
        readings = tuple(span for y, m, d in options for span in _spans(y, m, d, said_on))
        if readings and start >= until:
            until = end
            yield Mention(readings, None, start, end)


def _spans(
    year: int | None, month: int | None, day: int | None, said_on: date | None
) -> list[Days]:
    """Return the spans that year, month and day may mean; none if there is no such day."""
    if year is not None or said_on is None:
        years: Sequence[int] = YEARLESS if year is None else (year,)
        found = [_span(y, month, day) for y in years]
    else:
        around = [_span(said_on.year + more, month, day) for more in (-1, 0, 1)]
        # The year it was said in, and the years of dates within half a year.
        found = [
            span
            for span in around
            if span and (span[0].year == said_on.year or abs(span[0] - said_on) <= _HALF_YEAR)
        ]
    return [span for span in found if span is not None]


_HALF_YEAR = timedelta(days=190)


def _span(year: int, month: int | None, day: int | None) -> Days | None:
    if not MINYEAR <= year < MAXYEAR or not 1 <= (month or 1) <= 12:
        return None
    try:
        if month is None:
            return date(year, 1, 1), date(year, 12, 31)
        if day is None:
            after = date(year + month // 12, month % 12 + 1, 1)
            return date(year, month, 1), after - timedelta(days=1)
        return date(year, month, day), date(year, month, day)
    except ValueError:
        return None


_FIXED = {
    "today": 0, "tonight": 0, "heute": 0, "hoy": 0, "oggi": 0, "hoje": 0, "vandaag": 0,
    "сегодня": 0, "aujourd'hui": 0, "yesterday": -1, "gestern": -1, "hier": -1, "ayer": -1,
    "ieri": -1, "ontem": -1, "gisteren": -1, "вчера": -1, "tomorrow": 1, "demain": 1, "mañana": 1,
    "domani": 1, "amanhã": 1, "morgen": 1, "завтра": 1, "vorgestern": -2, "übermorgen": 2,
}  # fmt: skip
_HAN_FIXED = {"今天": 0, "昨天": -1, "前天": -2, "明天": 1, "后天": 2, "今晚": 0, "昨晚": -1}
_HAN_YEARS = {"今年": 0, "去年": -1, "前年": -2, "明年": 1, "后年": 2}
_HAN_UNITS = {"上周": ("week", -1), "下周": ("week", 1), "这周": ("week", 0)}
_WHICH = {"last": -1, "past": -1, "previous": -1, "this": 0, "next": 1, "coming": 1}
_UNITS = frozenset({"day", "week", "weekend", "month", "year", "summer", "winter", "spring",
                    "fall", "autumn", "night", "morning", "evening", "afternoon"})  # fmt: skip
_SEASONS = {"spring": 3, "summer": 6, "fall": 9, "autumn": 9, "winter": 12}
_PARTS_OF_DAY = frozenset({"night", "morning", "evening", "afternoon"})


def _spoken(said: Sequence[Token], said_on: date | None) -> Iterator[Mention]:
    place = 0
    while place < len(said):
        read = (
            _month_named(said, place, said_on)
            or _relative(said, place, said_on)
            or _counted(said, place, said_on)
            or _weekday(said, place, said_on)
            or _year(said, place)
        )
        if read is None:
            place += 1
            continue
        mention, place = read
        yield mention


_Read: TypeAlias = "tuple[Mention, int] | None"


def _made(said: Sequence[Token], place: int, after: int, readings: Sequence[Days]) -> _Read:
    return Mention(tuple(readings), None, said[place].start, said[after - 1].end), after


def _month_named(said: Sequence[Token], place: int, said_on: date | None) -> _Read:
    """Read "7 May 2023", "May 7th, 2023", "7 de mayo", "May 2023", "in May"."""
    day, at = None, place
    if said[at].is_number and (number := _day_of(said[at])) is not None:
        day, at = number, at + 1
        while at < len(said) and at < place + 4 and said[at].low in _BEFORE_MONTH:
            at += 1
    if at >= len(said) or said[at].low not in _MONTHS:
        return None
    month, name = _MONTHS[said[at].low], said[at]
    at += 1
    if at < len(said) and said[at].text == "." and name.low in _SHORT_MONTHS:
        at += 1
    if day is None and at < len(said) and (number := _day_of(said[at])) is not None:
        day, at = number, at + 1
        if at < len(said) and said[at].low in ("st", "nd", "rd", "th"):
            at += 1
    year, at = _year_after(said, at)
    if day is None and year is None and name.low in _ALSO_WORDS:
        before = said[place - 1].low if place else ""
        if name.text.islower() or before not in _BEFORE_TIMES:
            return None
    which = _WHICH.get(said[place - 1].low) if place else None
    spans = _spans(year, month, day, said_on)
    if year is None and said_on is not None and which in (-1, 1):
        wanted = [said_on.year + (which if _is_past(said_on, month, which) else 0)]
        spans = [span for y in wanted if (span := _span(y, month, day))]
    return _made(said, place, at, spans) if spans else None


_BEFORE_MONTH = frozenset({"of", "de", "do", "th", "st", "nd", "rd", "."})
_SHORT_MONTHS = frozenset("jan feb mar apr jun jul aug sep sept oct nov dec".split())
_BEFORE_TIMES = frozenset(
    "in since until by of during from to last next this early late mid".split()
)


def _is_past(said_on: date, month: int, which: int) -> bool:
    return month >= said_on.month if which < 0 else month <= said_on.month


def _day_of(token: Token) -> int | None:
    text = token.text
    if not (text.isascii() and text.isdigit() and len(text) <= 2):
        return None
    return int(text) if 1 <= int(text) <= 31 else None


def _year_after(said: Sequence[Token], at: int) -> tuple[int | None, int]:
    skip = at
    while skip < len(said) and skip < at + 2 and said[skip].low in (",", "of", "de", "del", "do"):
        skip += 1
    if skip < len(said) and (year := _year_of(said[skip])) is not None:
        return year, skip + 1
    return None, at


def _year_of(token: Token) -> int | None:
    text = token.text
    if not (text.isascii() and text.isdigit() and len(text) == 4):
        return None
    return int(text) if 1900 <= int(text) <= 2100 else None


def _year(said: Sequence[Token], place: int) -> _Read:
    year = _year_of(said[place])
    if year is None:
        return None
    following = said[place + 1].low if place + 1 < len(said) else ""
    before = said[place - 1].text if place else ""
    if before in ("$", "€", "£", "#") or (following.isalpha() and following in _COUNTABLE):
        return None
    span = _span(year, None, None)
    return _made(said, place, place + 1, [span]) if span else None


_COUNTABLE = frozenset(
    "dollars euros pounds miles km kilometers people users requests words times calories steps "
    "meters records rows items tokens characters hours minutes points".split()
)


def _weekday(said: Sequence[Token], place: int, said_on: date | None) -> _Read:
    low = said[place].low
    if low not in _WEEKDAYS or not said[place].text[0].isupper():
        return None
    day = _WEEKDAYS[low]
    readings: list[Days] = []
    if said_on is not None:
        back = (said_on.weekday() - day) % 7
        which = _WHICH.get(said[place - 1].low) if place else None
        past = [said_on - timedelta(days=back or 7), said_on - timedelta(days=back + 7)]
        to_come = [said_on + timedelta(days=7 - back), said_on + timedelta(days=14 - back)]
        meant = {-1: past, 1: to_come}.get(which or 0, [past[0], to_come[0]])
        meant += [said_on] if back == 0 and not which else []
        readings = [(each, each) for each in meant]
    mention = Mention(tuple(readings), day, said[place].start, said[place].end)
    return mention, place + 1


def _relative(said: Sequence[Token], place: int, said_on: date | None) -> _Read:
    """Read "yesterday", "last week", "the day before yesterday" and 昨天."""
    low = said[place].low
    after = place + 1
    if low in _FIXED:
        offset = _FIXED[low]
        lows = [t.low for t in said[max(0, place - 2) : place]]
        if lows in (["day", "before"], ["day", "after"]):
            offset *= 2
        return _made(said, place, after, _days(said_on, offset))
    pair = low + (said[after].low if after < len(said) else "")
    if pair in _HAN_FIXED:
        return _made(said, place, after + 1, _days(said_on, _HAN_FIXED[pair]))
    if pair in _HAN_YEARS:
        return _made(said, place, after + 1, _period(said_on, "year", _HAN_YEARS[pair]))
    if pair in _HAN_UNITS:
        return _made(said, place, after + 1, _period(said_on, *_HAN_UNITS[pair]))
    if low in _WHICH and after < len(said) and said[after].low in _UNITS:
        return _made(said, place, after + 1, _period(said_on, said[after].low, _WHICH[low]))
    return None


def _days(said_on: date | None, offset: int) -> list[Days]:
    if said_on is None:
        return []
    day = _moved(said_on, offset)
    return [(day, day)]


def _moved(day: date, offset: int) -> date:
    try:
        return day + timedelta(days=offset)
    except OverflowError:
        return day


def _period(said_on: date | None, unit: str, which: int) -> list[Days]:
    """Return the day, week, month, year or season before, of, or after a day."""
    if said_on is None or not MINYEAR + 2 < said_on.year < MAXYEAR - 2:
        return []
    if unit in _PARTS_OF_DAY or unit == "day":
        return _days(said_on, which)
    if unit in ("week", "weekend"):
        monday = said_on + timedelta(days=7 * which - said_on.weekday())
        first = monday + timedelta(days=5) if unit == "weekend" else monday
        spans = [(first, monday + timedelta(days=6))]
        if unit == "weekend" and which == 0:
            spans.append((first - timedelta(days=7), monday - timedelta(days=1)))
        return spans
    if unit == "month":
        month = said_on.month - 1 + which
        span = _span(said_on.year + month // 12, month % 12 + 1, None)
    elif unit == "year":
        span = _span(said_on.year + which, None, None)
    else:
        first_month, years = _SEASONS[unit], (said_on.year + which, said_on.year)
        starts = [date(year, first_month, 1) for year in years]
        return [(start, start + timedelta(days=92)) for start in starts]
    return [span] if span else []


def _counted(said: Sequence[Token], place: int, said_on: date | None) -> _Read:
    """Read "two weeks ago", "in 3 days", "for five years (now)", "5 years from now", 3天前."""
    if not may_be_number(said[place]):
        return None
    found = quantities(said[place : place + 6], strict=False)[:1]
    if not found or found[0].start != said[place].start or found[0].unit not in _LENGTHS:
        return None
    count, unit = next(iter(found[0].values)), found[0].unit
    unit_at = next((i for i in range(place, min(place + 6, len(said)))
                    if said[i].low.removesuffix("s") == unit), None)  # fmt: skip
    if unit_at is None or count.denominator != 1 or not 0 < count <= _MAX_COUNT:
        return None
    following = [t.low for t in said[unit_at + 1 : unit_at + 3]]
    before = said[place - 1].low if place else ""
    if following[:1] == ["ago"] or following[:1] == ["earlier"]:
        sign, after = -1, unit_at + 2
    elif before in ("for", "past", "last") or following[:1] in (["now"], ["already"]):
        sign, after = -1, unit_at + 1
    elif before == "in" or following == ["from", "now"] or following[:1] == ["later"]:
        sign, after = 1, unit_at + (3 if following == ["from", "now"] else 1)
    else:
        return None
    return _made(said, place, after, _away(said_on, sign * int(count), str(unit)))


_LENGTHS = {"day": 1, "week": 7, "month": 30, "year": 365}
_MAX_COUNT = 200


def _away(said_on: date | None, count: int, unit: str) -> list[Days]:
    """Return the span at a distance: a day for days, else the whole week, month or year."""
    if said_on is None or not MINYEAR + 300 < said_on.year < MAXYEAR - 300:
        return []
    if unit == "day":
        return _days(said_on, count)
    if unit == "week":
        # "Two weeks ago" is a day of that week as often as that very day.
        same = said_on + timedelta(days=7 * count)
        return [(same, same), *_period(same, "week", 0)]
    return _period(said_on, unit, count)
