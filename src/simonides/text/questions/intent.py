"""What a question asks for, and the marks by which a text may answer it.

Ranking needs two facts that common words do not give: the kind of answer wanted (a time, a number,
the present state) and whether a text contains that kind. Both are read from short lists of English
words, like the stop words of the analyser. In other languages a question asks for nothing in
particular; digits and question marks still count.
"""

from __future__ import annotations

from datetime import date
from enum import IntFlag, StrEnum
from itertools import pairwise
from typing import NamedTuple

from simonides.text import patterns
from simonides.text.analyser import analyse, term_id
from simonides.text.questions.answer_keys import (
    MAY_ASK,
    MOST_SAID,
    MOST_SENTENCES,
    NO_KEYS,
    AskedKeys,
    asked_keys,
)
from simonides.text.questions.relations import (
    NO_OTHERS,
    RELATIONS,
    OfOthers,
    asked_of_named,
    asked_of_others,
)


class Mark(IntFlag):
    """What a text contains, in one byte; the highest bit is free for storage.

    ``ASKS`` a question, ``SELF`` the first person, ``NUMBER`` a number in digits or words, ``TIME``
    a word for a time, ``WHY`` a reason, an aim or a change of mind.
    """

    ASKS = 1
    SELF = 2
    NUMBER = 4
    TIME = 8
    WHY = 16


class Form(StrEnum):
    """The form of a query, read from its words alone.

    ``QUESTION`` asks, or names what is searched for. ``MESSAGE`` is a turn of a conversation and
    states something too. ``REMARK`` is about the user and asks nothing: the memories it refers to
    may share its meaning and hardly a word.
    """

    QUESTION = "question"
    MESSAGE = "message"
    REMARK = "remark"


class SaidDate(NamedTuple):
    """A date in a question; None for a part that it leaves open."""

    year: int | None
    month: int
    day: int | None


class Ago(NamedTuple):
    """A time before the question: ``many`` times a ``unit``, which is ``day``, ``week``, ``month``
    or ``year``.
    """

    many: int
    unit: str


class Question(NamedTuple):
    """What a question asks for.

    Attributes:
        of_self: It is in the first person: the user asks about himself.
        wants_time: The answer is a time.
        wants_number: The answer is a number.
        wants_latest: It asks for the present state: of two versions the newer one answers.
        wants_lately: It refers to a recent conversation: ``last time``, ``next``, ``done``.
        form: Its form.
        dates: The dates in it.
        date_terms: Ids of the terms of these dates.
        ago: The distance in time that it names: ``two weeks ago``, ``last month``.
        keys: Keys under which an answer may be stored.
        of_others: What it asks about another person; the user's own facts do not answer it.
    """

    of_self: bool = False
    wants_time: bool = False
    wants_number: bool = False
    wants_latest: bool = False
    wants_lately: bool = False
    form: Form = Form.QUESTION
    dates: tuple[SaidDate, ...] = ()
    date_terms: frozenset[int] = frozenset()
    ago: Ago | None = None
    keys: AskedKeys = NO_KEYS
    of_others: OfOthers = NO_OTHERS

    @property
    def wants_kind(self) -> bool:
        """Whether it asks for a certain kind of answer: a time, a number, or a fact of a date."""
        return bool(self.wants_time or self.wants_number or self.dates or self.ago is not None)


_MONTHS = (
    "january february march april may june july august september october november december".split()
)
_TIME_WORDS = """
    yesterday today tomorrow tonight morning evening week weekend month year ago last next recent
    recently just soon since monday tuesday wednesday thursday friday saturday sunday
"""
_TIME_TERMS = frozenset(analyse(f"{_TIME_WORDS} {' '.join(_MONTHS)}"))
_SELF = frozenset("i my me mine we our".split())
_ADDRESSED = frozenset("you your let lets please".split())
_OPENINGS = frozenset(
    "hello hi hey ok okay yes yeah yep no nah alright right great perfect thanks excellent cheers"
    " good understood confirmed".split()
)
_LATELY = frozenset(
    "previous previously earlier next now back again finally update updated updates progress still"
    " continue today yesterday recent recently lately latest just discussed talked mentioned agreed"
    " ready finished done".split()
)
_LATELY_PAIRS = frozenset(
    [("last", "time"), ("last", "session"), ("so", "far"), ("left", "off"), ("picking", "up")]
)
_NUMBERS = frozenset(
    "one two three four five six seven eight nine ten dozen couple few several once twice hundred"
    " thousand million".split()
)
_REASONS = frozenset(
    "because since why want wanted decided believe value realized realised learned made makes"
    " taught pushed started stopped goal hope hoping plan important matter matters prefer rather"
    " instead".split()
)
_DIGITS = frozenset("0123456789")

_TIMES_ASKED = frozenset(
    [("how", "long")]
    + [("what", unit) for unit in ("date", "day", "year", "month", "time")]
    + [("which", unit) for unit in ("year", "month", "day")]
)
_NUMBERS_ASKED = frozenset(("how", what) for what in ("many", "much", "old", "often"))
_VALUES_ASKED = _NUMBERS_ASKED | {("how", "long"), ("what", "time"), ("what", "day")}
_STATES_ASKED = frozenset(
    (asks, verb)
    for asks in ("when", "what", "which", "where", "who")
    for verb in ("is", "are", "am", "s")
) | {("these", "days")}
_PRESENT = frozenset("is are am do does has have should can".split())
_NOW = frozenset("current currently now latest still".split())
_PAST = frozenset(
    "did was were had ago first last previous previously original originally initial initially"
    " before between after ever".split()
)
_MONTHS_SHORT = "jan feb mar apr jun jul aug sept sep oct nov dec".split()
_NAMED_DATE = (
    r"\b(?:(\d{1,2})(?:st|nd|rd|th)?\s+(?:of\s+)?)?"
    rf"({'|'.join(_MONTHS + _MONTHS_SHORT)})\b\.?"
    r"(?:\s+(\d{1,2})(?:st|nd|rd|th)?\b)?(?:,?\s*(?:of\s+)?((?:19|20)\d\d)\b)?"
)
_WRITTEN_DATE = r"\b((?:19|20)\d\d)-(\d\d)(?:-(\d\d))?\b"
# Day first, as wherever dates are written with full stops.
_DOTTED_DATE = r"\b(\d{1,2})\.(\d{1,2})\.((?:19|20)\d\d)\b"
_AGO = frozenset("ago yesterday last".split())
_UNITS = frozenset("day week month year".split())
_COUNTS = {
    word: many
    for many, word in enumerate("one two three four five six seven eight nine ten".split(), start=1)
}
_COUNTS |= {"a": 1, "an": 1, "couple": 2, "few": 3}
_FIRST_OF_PAIRS = frozenset(
    first for first, _ in (*_TIMES_ASKED, *_VALUES_ASKED, *_STATES_ASKED, *_LATELY_PAIRS)
)
_ASKED_FOR = (
    _SELF,
    _ADDRESSED,
    frozenset(_MONTHS + _MONTHS_SHORT),
    _PAST,
    _PRESENT,
    _NOW,
    _LATELY,
    _AGO,
    _FIRST_OF_PAIRS,
    MAY_ASK,
)
(
    _OF_SELF,
    _OF_ADDRESSED,
    _OF_MONTH,
    _OF_PAST,
    _OF_PRESENT,
    _OF_NOW,
    _OF_LATELY,
    _OF_AGO,
    _OF_PAIR,
    _OF_KEYS,
) = (1 << place for place in range(len(_ASKED_FOR)))
# Each word of a query is looked up once, not once in every list: all queries pay for this.
_WORD_FLAGS = {
    word: sum(1 << place for place, words in enumerate(_ASKED_FOR) if word in words)
    for word in frozenset[str]().union(*_ASKED_FOR)
}
_MAX_AGO = 999
_MAX_DATES = 8
_MAX_SHORT = 4
_MAX_OPENING = 3
"""Longest first sentence, in words, that counts as a reply to the assistant: "Copy that."; chosen.
"""
_ENDS = frozenset(".!?;\n\N{FULLWIDTH QUESTION MARK}")
_OWNERS = frozenset(["'s", "\N{RIGHT SINGLE QUOTATION MARK}s"])
_TO_ENDS = str.maketrans(dict.fromkeys(_ENDS, "\n"))
_TO_SPACES = str.maketrans(dict.fromkeys("'\N{RIGHT SINGLE QUOTATION MARK}.,;:!?¿¡\"()[]*_-/", " "))


def marks(text: str, terms: tuple[str, ...]) -> Mark:
    """Return the marks of a text; ``terms`` are its analysed terms."""
    words = words_of(text)
    found = 0
    if "?" in text or "\N{FULLWIDTH QUESTION MARK}" in text:
        found |= Mark.ASKS.value
    if not _SELF.isdisjoint(words):
        found |= Mark.SELF.value
    if not _DIGITS.isdisjoint(text) or not _NUMBERS.isdisjoint(words):
        found |= Mark.NUMBER.value
    if not _TIME_TERMS.isdisjoint(terms):
        found |= Mark.TIME.value
    if not _REASONS.isdisjoint(words):
        found |= Mark.WHY.value
    return Mark(found)


def read_question(text: str) -> Question:
    """Return what a query asks for; the default if it asks for nothing in particular."""
    words, flags = words_of(text), 0
    for word in words:
        flags |= _WORD_FLAGS.get(word, 0)
    pairs = list(pairwise(words)) if flags & _OF_PAIR else []
    has_date = flags & _OF_MONTH or "-" in text or "." in text
    dates, date_terms = _dates(text) if has_date else ((), frozenset())
    return Question(
        of_self=bool(flags & _OF_SELF),
        wants_time=words[:1] == ["when"] or not _TIMES_ASKED.isdisjoint(pairs[:1]),
        wants_number=not _NUMBERS_ASKED.isdisjoint(pairs),
        wants_latest=not flags & _OF_PAST and _is_about_now(flags, pairs),
        wants_lately=bool(flags & _OF_LATELY) or not _LATELY_PAIRS.isdisjoint(pairs),
        form=_form(text, words, flags),
        dates=dates,
        date_terms=date_terms,
        ago=_ago(words, pairs) if flags & _OF_AGO else None,
        keys=_keys(text, words) if flags & _OF_KEYS else NO_KEYS,
        of_others=_of_others(text, words) if flags & _OF_SELF else _of_named(text, words),
    )


def _keys(text: str, words: list[str]) -> AskedKeys:
    """Return the keys that the sentences of a text ask for."""
    found = [asked_keys(said, asks=_asks(text)) for said in _sentences(text, words)]
    if len(found) == 1:
        return found[0]
    own = dict.fromkeys(key for each in found for key in each.own)
    return AskedKeys(
        tuple(own), tuple(dict.fromkeys(key for each in found for key in each.replies))
    )


def _of_others(text: str, words: list[str]) -> OfOthers:
    """Return what a text asks about other people, without keys that it also asks of the user."""
    if RELATIONS.isdisjoint(words):
        return NO_OTHERS
    sentences = _sentences(text, words)
    found = [asked_of_others(said, asks=_asks(text)) for said in sentences]
    own = {key for said in sentences for key in asked_keys(said, asks=_asks(text)).own}
    keys = dict.fromkeys(key for each in found for key in each.keys if key not in own)
    who = frozenset[str]().union(*(each.who for each in found))
    return OfOthers(tuple(keys), who) if keys else NO_OTHERS


def _of_named(text: str, words: list[str]) -> OfOthers:
    """Return what a text of one sentence asks about a person with a name."""
    if "'s" not in text and "\N{RIGHT SINGLE QUOTATION MARK}s" not in text:
        return NO_OTHERS
    owners = [each[:-2] for each in text.split()[1:] if each[-2:] in _OWNERS and each[0].isupper()]
    names = [name.lower() for name in owners if name.isalpha()]
    if len(names) != 1 or len(words) > MOST_SAID or not _ENDS.isdisjoint(text[:-1]):
        return NO_OTHERS
    return asked_of_named(words, names[0], asks=_asks(text))


def _asks(text: str) -> bool:
    return "?" in text or "\N{FULLWIDTH QUESTION MARK}" in text


def _sentences(text: str, words: list[str]) -> list[list[str]]:
    """Return the words of each sentence, without long sentences; nothing if there are too many."""
    said = [words]
    if not _ENDS.isdisjoint(text[:-1]):
        said = list(filter(None, map(words_of, text.translate(_TO_ENDS).split("\n"))))
    if len(said) > MOST_SENTENCES:
        return []
    return [sentence for sentence in said if len(sentence) <= MOST_SAID]


def words_of(text: str) -> list[str]:
    """Return the words of a text in lower case; an apostrophe separates words."""
    return text.lower().translate(_TO_SPACES).split()


def _form(text: str, words: list[str], flags: int) -> Form:
    asks = _asks(text)
    opening = _opening(text)
    if asks and not opening:
        return Form.QUESTION
    if asks or 0 < opening <= _MAX_OPENING or not _OPENINGS.isdisjoint(words[:1]):
        return Form.MESSAGE
    if flags & _OF_ADDRESSED:
        return Form.MESSAGE
    if flags & _OF_SELF:
        return Form.REMARK
    return Form.MESSAGE if opening else Form.QUESTION


def _opening(text: str) -> int:
    """Return the number of words in the first sentence; 0 if there is only one sentence.

    In abbreviations the full stop is part of the word: Dr., Mrs., e.g.
    """
    if not ("." in text or "!" in text or "?" in text):
        return 0
    before = text.split()[:-1]
    for number, word in enumerate(before, start=1):
        if word[-1] in "!?" or (word[-1] == "." and not _is_short_form(word)):
            return number
    return 0


def _is_short_form(word: str) -> bool:
    return "." in word[:-1] or (word[0].isupper() and len(word) <= _MAX_SHORT)


def _is_about_now(flags: int, pairs: list[tuple[str, str]]) -> bool:
    if flags & _OF_NOW or not _STATES_ASKED.isdisjoint(pairs):
        return True
    return bool(flags & _OF_PRESENT) and not _VALUES_ASKED.isdisjoint(pairs)


def _ago(words: list[str], pairs: list[tuple[str, str]]) -> Ago | None:
    if "yesterday" in words:
        return Ago(1, "day")
    for first, second in pairs:
        if first == "last" and second in _UNITS:
            return Ago(1, second)
    place = words.index("ago") if "ago" in words else 0
    unit = words[place - 1].removesuffix("s") if place > 1 else ""
    before = words[place - 2 if words[place - 2] != "of" else place - 3] if place > 1 else ""
    count = int(before) if before.isascii() and before.isdigit() else _COUNTS.get(before, 0)
    return Ago(count, unit) if unit in _UNITS and 0 < count <= _MAX_AGO else None


def _dates(text: str) -> tuple[tuple[SaidDate, ...], frozenset[int]]:
    # The engine works on UTF-8; a query may hold lone surrogates, which are no words.
    clean = text.encode("utf-8", "replace").decode("utf-8")
    found: dict[SaidDate, None] = {}
    terms: set[int] = set()
    for pattern, read in _DATE_PATTERNS:
        for match in patterns.compile(pattern, ignore_case=True).finditer(clean):
            said = read(match)
            if said is not None and _may_be(said) and len(found) < _MAX_DATES:
                found[said] = None
                terms.update(map(term_id, analyse(match.group() or "")))
    return tuple(found), frozenset(terms)


def _named(match: patterns.Match) -> SaidDate | None:
    before, name, after, year = (match.group(number) for number in range(1, 5))
    day = before or after
    if name is None:
        return None
    is_short = name.lower() in _MONTHS_SHORT
    if (name.islower() or is_short) and day is None and year is None:
        # "may" and "march" in lower case are verbs; Jan and Mar are names of people.
        return None
    month = [full[:3] for full in _MONTHS].index(name.lower()[:3]) + 1
    return SaidDate(int(year) if year else None, month, int(day) if day else None)


def _written(match: patterns.Match) -> SaidDate | None:
    year, month, day = (match.group(number) for number in range(1, 4))
    return SaidDate(int(year or 0), int(month or 0), int(day) if day else None)


def _dotted(match: patterns.Match) -> SaidDate | None:
    day, month, year = (match.group(number) for number in range(1, 4))
    return SaidDate(int(year or 0), int(month or 0), int(day or 0))


def _may_be(said: SaidDate) -> bool:
    try:
        # Without a year, 29 February must be valid: 2000 is a leap year.
        date(said.year or 2000, said.month, said.day or 1)
    except ValueError:
        return False
    return True


_DATE_PATTERNS = ((_NAMED_DATE, _named), (_WRITTEN_DATE, _written), (_DOTTED_DATE, _dotted))
