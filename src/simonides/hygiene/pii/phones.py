"""Find telephone numbers by their form or by the words around them.

Three forms need no words: a plus sign and a country code, three groups as in North America, and a
leading zero with groups as in Europe. A number with a plus sign must also fit its country's
telephone plan. Other digits count only next to a word such as "call".
"""

from __future__ import annotations

from itertools import pairwise

from simonides.domain.writing.finding import Severity
from simonides.hygiene.pii.rule_matching import Judge, Rule, digits_of, is_standalone
from simonides.text import patterns

_FEWEST, _MOST = 7, 15
"""Digits: a local number, and what ITU-T E.164 allows."""

_EXTENSION = r"(?: ?(?:x|ext\.?) ?\d{1,5})?"
_INTERNATIONAL = r"\+\d{1,3}(?:[ .\-/]?(?:\(0?\d{1,4}\)[ .\-]?)?\d{1,14}){1,7}" + _EXTENSION
_ZEROS = r"\b00[1-9]\d{0,2}(?:[ \-]\d{2,10}){2,5}"
_NORTH_AMERICAN = (
    r"(?:\b1[ .\-])?(?:\([2-9]\d{2}\) ?|\b[2-9]\d{2}[.\-])[2-9]\d{2}[.\-]\d{4}\b"
    + _EXTENSION
    + r"|\b[2-9]\d{2} [2-9]\d{2} \d{4}\b"
)
_WITH_ZERO = (
    r"\(?\b0[1-9]\d{1,3}\)?[ \-]\d{3,4}[ \-]\d{2,4}(?:[ \-]\d{2,4})?\b|\b0[1-79](?: \d{2}){4}\b"
)
_ANY = r"(?:\(\+?\d{1,4}\)[ .\-]?)?\d(?:[ .\-/]?\d){5,14}" + _EXTENSION

_WORDS = (
    r"(?:\b(?:tele)?phones?(?:bers?)?\b|\bmobiles?\b|\bcell(?:phone)?\b|\btel\b|\bfax\b|\bcall\b|\bdial\b"
    r"|\bwhats ?app\b|\bsms\b|\btext(?:ed|ing)? (?:me|him|her|us|them)\b|\bmessages?\b|\breach\b"
    r"|\banswering\b|\bring\b|\bdesk\b|\boffice\b|\bhotline\b|\bcontact\b|\bhandy\w*|\btelefon\w*"
    r"|\brufnummer\b|\bmobilnummer\b|\btéléphone\b|\bportable\b|\bteléfono\b|\bmóvil\b|\bcelular\b"
    r"|\btelefone\b|\btelemóvel\b|\bcellulare\b|\btelefoon\w*"
    r"|телефон|номер|电话|電話|手机|手機|携帯|전화|휴대폰)"
)
_AFTER_WORD = rf"(?i){_WORDS}[^\d\n]{{0,32}}\n?[^\d\n]{{0,4}}(?P<it>{_ANY})"
_BEFORE_WORD = rf"(?i)(?P<it>{_ANY})[\s\-,(]{{0,3}}(?:office|fax|mobile|cell|home|work|tel|phone)\b"

# A number right after one of these is something else.
_OTHER_NUMBER = (
    r"\b(?:ports?|versions?|v|isbn|orders?|invoice|id|ids|ticket|flight|lines?|issue|pr|pages?"
    r"|room|years?|since|build|ref|reference|sku|date|from|rows?|case|account|card|serial|limit"
    r"|tracking|commit|bug|step|chapter|section|zip|postcode|codes?|pin|range|between|timestamp"
    r"|width|height|size|count|total|max|min|of|has|with)"
    r"(?: (?:is|was|number|no\.?|nr\.?|numbers))?[ :#]{0,3}$"
)
_DATE = (
    r"(?:19|20)\d{2}[ .\-/]\d{1,2}[ .\-/]\d{1,2}.*|\d{1,2}[ .\-/]\d{1,2}[ .\-/](?:19|20)\d{2}.*"
    r"|(?:19|20)\d{2}[ ]?-[ ]?(?:19|20)\d{2}"
)


def rules() -> tuple[Rule, ...]:
    """Return the rules, the most reliable first."""
    return (
        _rule(r"\+\d", _INTERNATIONAL, _is_possible),
        _rule(r"\b00[1-9]\d{0,2}[ \-]\d", _ZEROS, _is_plausible),
        _rule(r"[2-9]\d{2}\)? ?[ .\-]?[2-9]\d{2}[ .\-]\d{4}", _NORTH_AMERICAN, _is_plausible),
        _rule(r"0[1-9]\d{0,3}\)?[ \-]\d{2,4}[ \-]\d{2,4}", _WITH_ZERO, _is_plausible),
        _rule(rf"{_WORDS}[^\d\n]*\n?[^\d\n]*\d", _AFTER_WORD, _is_plausible),
        _rule(
            r"\d[\s\-,(]{0,3}(?:office|fax|mobile|cell|home|work|tel|phone)\b",
            _BEFORE_WORD,
            _is_plausible,
        ),
    )


def _rule(hint: str, pattern: str, judge: Judge) -> Rule:
    return Rule("phone", Severity.SUSPICIOUS, hint, pattern, judge)


def _is_possible(text: str, start: int, end: int) -> bool:
    """Whether the country's telephone plan allows this number's length."""
    if not _is_plausible(text, start, end):
        return False
    # The import takes about 30 ms, and few texts have a number with a plus sign.
    import phonenumbers

    try:
        return phonenumbers.is_possible_number(phonenumbers.parse(text[start:end], None))
    except phonenumbers.NumberParseException:
        return False


def _is_plausible(text: str, start: int, end: int) -> bool:
    """Whether a span is a standalone number, no date and not named as something else."""
    number = text[start:end]
    digits = len(digits_of(number.partition("x")[0]))
    if not _FEWEST <= digits <= _MOST or not is_standalone(text, start, end):
        return False
    if patterns.compile(_DATE).fullmatch(number) or _is_series(number):
        return False
    before = text[max(0, start - 40) : start]
    return patterns.compile(_OTHER_NUMBER, ignore_case=True).search(before) is None


def _is_series(number: str) -> bool:
    """Whether three or more groups differ by the same step, as in a list of numbers."""
    groups = [int(group) for group in number.replace("-", " ").split() if group.isdigit()]
    steps = {after - before for before, after in pairwise(groups)}
    return len(groups) > 2 and len(steps) == 1
