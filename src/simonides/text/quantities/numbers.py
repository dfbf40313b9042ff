"""Finds numbers in text: digits, words of eight languages, Chinese numerals, units, times of day.

Reading is asymmetric on purpose. A *claim* has only the numbers that are certain. *Evidence* has
every possible reading (``1.500`` is 1.5 and 1500). So a claim is never refused for the way its
evidence is written. Units are compared by name, never converted.

Words are known in English, German, French, Spanish, Italian, Portuguese, Dutch and Russian up to
millions; ordinals, halves, dozens and the like in English only. Time is linear in the text.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from fractions import Fraction
from functools import lru_cache
from typing import NamedTuple

from simonides.text import patterns

CLOCK = "clock"
"""Unit of a time of day, whose value is minutes from midnight."""


class Token(NamedTuple):
    """A word, number or mark of a text.

    Attributes:
        text: As written.
        low: In lower case, with a plain apostrophe.
        start: Start offset, in characters.
        end: End offset, exclusive.
    """

    text: str
    low: str
    start: int
    end: int

    @property
    def is_number(self) -> bool:
        """Whether it begins with a digit."""
        return self.text[0].isdecimal()


class Quantity(NamedTuple):
    """One number in a text.

    Attributes:
        values: Its possible values; one if it is unambiguous.
        unit: Canonical name of its unit, or None if unknown.
        start: Start offset, in characters.
        end: End offset, exclusive.
    """

    values: frozenset[Fraction]
    unit: str | None
    start: int
    end: int


_PIECE = (
    r"[零〇一二三四五六七八九十百千万亿两壱弐参]+"
    r"|\p{N}+(?:[.,:]\p{N}+)*|\p{Han}|[^\P{L}\p{Han}][\p{M}]*(?:[^\P{L}\p{Han}]|\p{M}|['’]\p{L})*"
    r"|[$€£¥₹₽%°]"
    r"|[.,;:!?()\[\]\"/–—…。，、；：！？\n-]"
)


# Cached: numbers, dates and clauses are each read from the same few texts.
@lru_cache(maxsize=8)
def tokens(text: str) -> tuple[Token, ...]:
    """Return the words, numbers and marks of a text, without lone surrogates."""
    clean = text.encode("utf-8", "replace").decode("utf-8")
    return tuple(
        Token(word := match.group() or "", word.lower().replace("’", "'"), *match.span())
        for match in patterns.compile(_PIECE).finditer(clean)
    )


def may_be_number(token: Token) -> bool:
    """Whether a number may begin with a token."""
    low = token.low
    begins = low in _NAMED or low in _SPECIAL or low in _ONES
    return begins or token.is_number or low[0] in _HAN_DIGITS or low[0] in _HAN_SCALES


def quantities(said: Sequence[Token], *, strict: bool) -> list[Quantity]:
    """Return the numbers among tokens, in their order.

    Args:
        said: From :func:`tokens`.
        strict: Return only certain numbers, as for a claim; else every possible one.
    """
    found: list[Quantity] = []
    place = 0
    while place < len(said):
        read = _number(said, place, strict=strict) if may_be_number(said[place]) else None
        if read is None:
            place += 1
            continue
        values, after = read
        clock = _clock(said, place, after)
        if clock is not None:
            found.append(clock)
            after = next(i for i, t in enumerate([*said, _END]) if t.start >= clock.end)
        else:
            unit = _unit(said, place, after, strict=strict)
            found.append(Quantity(values, unit, said[place].start, said[after - 1].end))
        place = max(after, place + 1)
    return found


_END = Token(".", ".", 1 << 62, 1 << 62)


def supports(claim: Quantity, evidence: Sequence[Quantity]) -> bool:
    """Whether evidence has the number of a claim: one of its values, in its unit if it names one.

    A bare hour ("at 5") also supports a time of day.
    """
    for each in evidence:
        if claim.unit == CLOCK and each.unit is None:
            if any(v * 60 % 720 in {c % 720 for c in claim.values} for v in each.values):
                return True
        elif claim.values & each.values and claim.unit in (None, each.unit):
            return True
    return False


def _number(
    said: Sequence[Token], place: int, *, strict: bool
) -> tuple[frozenset[Fraction], int] | None:
    return _digits(said, place) if said[place].is_number else _words(said, place, strict=strict)


def _digits(said: Sequence[Token], place: int) -> tuple[frozenset[Fraction], int]:
    token, after = said[place], place + 1
    values = _values_of(token.text)
    following = said[after] if after < len(said) else _END
    if following.start == token.end and following.low in _SUFFIXES:
        return frozenset(v * _SUFFIXES[following.low] for v in values), after + 1
    if following.start == token.end and following.low in ("st", "nd", "rd", "th", "s"):
        return values, after + 1
    if following.low in _SCALES:
        return frozenset(v * _SCALES[following.low] for v in values), after + 1
    if following.text and following.text in _HAN_SCALES:
        return frozenset(v * _HAN_SCALES[following.text] for v in values), after + 1
    return values, after


@lru_cache(maxsize=4096)
def _values_of(written: str) -> frozenset[Fraction]:
    plain = "".join(str(int(c)) if c.isdecimal() else c if c in ".,:" else "" for c in written)
    digits = plain.replace(",", "").replace(".", "").replace(":", "")
    if not digits or len(digits) > _MAX_DIGITS:
        return frozenset()
    if ":" in plain:
        hours, minutes = [*plain.split(":"), "0"][:2]
        return frozenset({Fraction(f"{_whole(hours)}"), Fraction(f"{_whole(minutes)}")})
    found = set()
    for point, group in ((".", ","), (",", ".")):
        whole, _, rest = plain.replace(group, "").partition(point)
        if point not in rest and whole:
            grouped = all(len(part) == 3 for part in plain.partition(point)[0].split(group)[1:])
            found |= {Fraction(f"{whole}.{rest or 0}")} if grouped else set()
    if _is_grouped(plain):
        found.add(Fraction(digits))
    return frozenset(found or {Fraction(digits)})


_MAX_DIGITS = 40


def _whole(digits: str) -> str:
    return digits.replace(",", "").replace(".", "") or "0"


def _is_grouped(plain: str) -> bool:
    parts = plain.replace(".", ",").split(",")
    return len(parts) > 1 and all(len(part) == 3 for part in parts[1:])


def _words(
    said: Sequence[Token], place: int, *, strict: bool
) -> tuple[frozenset[Fraction], int] | None:
    low = said[place].low
    if low[0] in _HAN_DIGITS or low[0] in _HAN_SCALES:
        # A single numeral is rarely a number: 一起, 一下.
        value = _han(low)
        loose = strict and low in ("一", "两", "万", "千", "百", "亿", "十")
        return None if value is None or loose else (frozenset({value}), place + 1)
    if low in _ONES:
        if strict:
            return None
        return frozenset({Fraction(1)}), place + 1
    if strict and low in _LOOSE:
        return None
    if low in _SPECIAL:
        return frozenset({_SPECIAL[low]}), place + 1
    return _composed(said, place, strict=strict)


def _composed(
    said: Sequence[Token], place: int, *, strict: bool
) -> tuple[frozenset[Fraction], int] | None:
    """Read number words such as "two hundred and fifty", in any known language."""
    total, part, after, seen = 0, 0, place, False
    while after < len(said):
        low = said[after].low
        if low in _SCALES:
            scale = _SCALES[low]
            if not seen:
                break
            if scale == 100:
                part = (part or 1) * 100
            elif scale > 100:
                total, part = total + (part or 1) * scale, 0
            elif scale == 12:
                part *= 12
        elif low in _NAMED and (not seen or _goes_on(part, _NAMED[low])):
            # Quatre-vingts is four twenties.
            part = 80 if (part, _NAMED[low]) == (4, 20) else part + _NAMED[low]
        elif not (seen and low in _JOINERS and _follows(said, after)):
            break
        seen = True
        after += 1
    if not seen or (strict and after == place + 1 and said[place].low in _MAYBE):
        return None
    return frozenset({Fraction(total + part)}), after


def _goes_on(part: int, more: int) -> bool:
    """Whether a smaller number continues a larger one: twenty-one, not two three."""
    if (part, more) == (4, 20) or (part in (60, 80) and more < 20):
        return True
    room = 100 if part % 100 == 0 and part else 10 if part % 10 == 0 and part else 0
    return more < room


def _follows(said: Sequence[Token], after: int) -> bool:
    if after + 1 >= len(said):
        return False
    low = said[after + 1].low
    return low in _NAMED or low in _SCALES


def _han(written: str) -> Fraction | None:
    """Return the value of a Chinese numeral, read by place if it has no units (二〇二四)."""
    if not any(char in _HAN_SCALES for char in written):
        digits = [_HAN_DIGITS[char] for char in written]
        return Fraction("".join(map(str, digits))) if len(digits) < _MAX_DIGITS else None
    total, part, digit = 0, 0, 0
    for char in written:
        if char in _HAN_DIGITS:
            digit = _HAN_DIGITS[char]
        elif _HAN_SCALES[char] >= 10_000:
            total, part, digit = (total + part + digit or 1) * _HAN_SCALES[char], 0, 0
        else:
            part, digit = part + (digit or 1) * _HAN_SCALES[char], 0
    return Fraction(total + part + digit)


def _clock(said: Sequence[Token], place: int, after: int) -> Quantity | None:
    """Read a time of day: 17:00, 5 pm, 5.30 p.m., five o'clock."""
    token = said[place]
    half, end = _half_of_day(said, after)
    hour_minute = token.text.split(":") if token.is_number and ":" in token.text else None
    if hour_minute is None and half is None:
        return None
    if hour_minute is None:
        parts = token.text.split(".") if token.is_number else []
        values = _values_of(parts[0]) if parts else (_words(said, place, strict=False) or [()])[0]
        hour, minute = next((int(v) for v in values), 99), int(parts[1]) if len(parts) > 1 else 0
    else:
        hour, minute = int(hour_minute[0]), int(hour_minute[1][:2])
    if hour > 24 or minute > 59 or (hour_minute and len(hour_minute[1]) != 2):
        return None
    halves = (0, 12) if half == "o'clock" else (12,) if half == "p" else (0,)
    minutes = {((hour % 12 if half else hour) + more) % 24 * 60 + minute for more in halves}
    return Quantity(frozenset(map(Fraction, minutes)), CLOCK, token.start, end or token.end)


def _half_of_day(said: Sequence[Token], after: int) -> tuple[str | None, int | None]:
    words = said[after : after + 4]
    if words and words[0].low in ("am", "pm", "o'clock"):
        return (words[0].low if words[0].low == "o'clock" else words[0].low[0]), words[0].end
    lows = [word.low for word in words]
    if lows[:3] in (["a", ".", "m"], ["p", ".", "m"]):
        return lows[0], words[3].end if lows[3:] == ["."] else words[2].end
    return None, None


def _unit(said: Sequence[Token], place: int, after: int, *, strict: bool) -> str | None:
    before = said[place - 1].text if place else ""
    if before in _SYMBOLS:
        return _SYMBOLS[before]
    looked, skipped = after, 0
    while looked < len(said) and looked < after + 3:
        token = said[looked]
        known = _SYMBOLS.get(token.text) or _UNITS.get(token.low)
        if known:
            return known
        if token.text == "-" or (token.low == "per" and known is None):
            looked += 1
            continue
        # "Five long years": in evidence one word between number and unit is skipped.
        if strict or skipped or not token.low.isalpha():
            return None
        skipped += 1
        looked += 1
    return None


def _table(text: str) -> Iterator[tuple[str, int]]:
    for entry in text.split():
        words, _, value = entry.rpartition("=")
        for word in words.split("|"):
            yield word, int(value)


_CARDINALS = """
    zero|null|cero|nul|ноль|zéro=0 one|eins|uno|één|один|одна|одно=1
    two|zwei|deux|dos|due|dois|duas|twee|два|две|second=2
    three|drei|trois|tres|tre|três|drie|три|third=3
    four|vier|quatre|cuatro|quattro|quatro|четыре|fourth=4
    five|fünf|cinq|cinco|cinque|vijf|пять|fifth=5 six|sechs|seis|sei|zes|шесть|sixth=6
    seven|sieben|sept|siete|sette|sete|zeven|семь|seventh=7
    eight|acht|huit|ocho|otto|oito|восемь|eighth=8
    nine|neun|neuf|nueve|nove|negen|девять|ninth=9
    ten|zehn|dix|diez|dieci|dez|tien|десять|tenth=10
    eleven|elf|onze|undici|одиннадцать|eleventh=11
    twelve|zwölf|douze|doce|dodici|doze|twaalf|двенадцать|twelfth=12
    thirteen|dreizehn|treize|trece|tredici|treze|dertien|тринадцать|thirteenth=13
    fourteen|vierzehn|quatorze|catorce|quattordici|catorze|veertien|четырнадцать=14
    fifteen|fünfzehn|quinze|quince|quindici|vijftien|пятнадцать|fifteenth=15
    sixteen|sechzehn|seize|dieciséis|sedici|dezesseis|zestien|шестнадцать=16
    seventeen|siebzehn|diecisiete|diciassette|dezessete|zeventien|семнадцать=17
    eighteen|achtzehn|dieciocho|diciotto|dezoito|achttien|восемнадцать|eighteenth=18
    nineteen|neunzehn|diecinueve|diciannove|dezenove|negentien|девятнадцать=19
    twenty|zwanzig|vingt|veinte|venti|vinte|twintig|двадцать|twentieth=20
    thirty|dreißig|dreissig|trente|treinta|trenta|trinta|dertig|тридцать|thirtieth=30
    forty|vierzig|quarante|cuarenta|quaranta|quarenta|veertig|сорок|fortieth=40
    fifty|fünfzig|cinquante|cincuenta|cinquanta|cinquenta|vijftig|пятьдесят|fiftieth=50
    sixty|sechzig|soixante|sesenta|sessanta|sessenta|zestig|шестьдесят=60
    seventy|siebzig|setenta|settanta|zeventig|семьдесят=70
    eighty|achtzig|ochenta|ottanta|oitenta|tachtig|восемьдесят=80
    ninety|neunzig|noventa|novanta|negentig|девяносто=90
    doscientos|doscientas|двести=200 trescientos|trescientas|триста=300 quinientos=500
    veintiuno|veintiún=21 veintidós=22 veintitrés=23 veinticuatro=24 veinticinco=25
"""


def _named() -> dict[str, int]:
    named = dict(_table(_CARDINALS))
    ones = dict(_table("ein=1 zwei=2 drei=3 vier=4 fünf=5 sechs=6 sieben=7 acht=8 neun=9"))
    tens = dict(_table("zwanzig=20 dreißig=30 vierzig=40 fünfzig=50 sechzig=60 siebzig=70 "
                       "achtzig=80 neunzig=90"))  # fmt: skip
    named |= {f"{u}und{t}": x + y for u, x in ones.items() for t, y in tens.items()}
    named |= {f"{u}hundert": 100 * x for u, x in ones.items()}
    named |= {f"{u}tausend": 1000 * x for u, x in ones.items()}
    return named


_NAMED = _named()
_SCALES = dict(
    _table(
        """
    hundred|hundreds|hundert|cent|cents|cien|ciento|cento|cem|honderd|сто=100
    thousand|thousands|tausend|mille|mil|mila|duizend|тысяча|тысячи|тысяч=1000
    million|millions|millionen|millón|millones|milioni|milhão|milhões|miljoen|миллион=1000000
    billion|billions|milliarden|milliards=1000000000 dozen|dozens=12
    """
    )
)
_SUFFIXES = {"k": 1_000, "mio": 1_000_000, "bn": 1_000_000_000}
_JOINERS = frozenset({"and", "y", "e", "et", "en", "und", "-"})
_SPECIAL = {
    word: Fraction(value)
    for word, value in {
        "twice": "2", "thrice": "3", "dozen": "12", "half": "1/2", "couple": "2", "pair": "2",
        "both": "2", "quarter": "1/4", "twins": "2", "hundred": "100", "thousand": "1000",
        "million": "1000000", "single": "1", "once": "1", "first": "1", "premier": "1",
        "beide": "2", "tausend": "1000", "cent": "100", "cien": "100", "mil": "1000",
        "mille": "1000",
    }.items()
}  # fmt: skip
_ONES = frozenset("a an un une una um uma ein eine einen einem einer een".split())
# Ambiguous number words; in a claim they do not count alone.
_LOOSE = frozenset("both pair couple half quarter single once first premier beide mil cent".split())
# Numbers of one language that are common words of another; these do not count alone either.
_MAYBE = frozenset("one uno second sei due tre elf sept dix cinque otto acht onze".split())

_HAN_DIGITS = {char: value for value, char in enumerate("〇一二三四五六七八九")} | {
    "零": 0, "两": 2, "壱": 1, "弐": 2, "参": 3,
}  # fmt: skip
_HAN_SCALES = {"十": 10, "百": 100, "千": 1_000, "万": 10_000, "亿": 100_000_000}

_SYMBOLS = {"$": "usd", "€": "eur", "£": "gbp", "¥": "yen", "₹": "inr", "₽": "rub", "%": "%"}
_UNIT_WORDS = """
usd dollar dollars bucks buck|eur euro euros|gbp quid|yen jpy|inr rupee rupees
rub ruble rubles roubles рублей|cny yuan rmb 元|% percent prozent procent процентов
km kilometer kilometers kilometre kilometres kilómetros kilomètres|mi mile miles meile meilen
m meter meters metre metres metros mètres|cm centimeter centimeters centimetre centimetres
mm millimeter millimeters millimetre millimetres|ft foot feet|inch inches|yd yard yards
kg kilo kilos kilogram kilograms kilogramm|g gram grams gramm|lb lbs pound pounds
oz ounce ounces|l liter liters litre litres|ml milliliter milliliters millilitre|cup cups
gal gallon gallons|sec secs seconds sekunden|min minute minutes mins minuten minutos
h hour hours hr hrs stunde stunden heures horas|day days tag tage tagen jours días
week weeks woche wochen semaines semanas|month months monat monate mois meses
year years yr yrs jahr jahre jahren ans années años лет|decade decades|gb gigabyte gigabytes
mb megabyte megabytes|tb terabyte terabytes|celsius|fahrenheit|mph|kmh kph|degree degrees °
"""
_UNITS = {
    word: group.split()[0]
    for group in _UNIT_WORDS.strip().replace("\n", "|").split("|")
    for word in group.split()
}
