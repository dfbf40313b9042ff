"""Text to index terms, for any script.

A text is folded (width, case, accents) and split into words. Latin words get English Snowball
stems, Cyrillic words get Russian stems. Han, kana and Hangul become characters and pairs of
characters; South-East Asian scripts become pairs. The patterns are character classes without
nesting, so the time is linear in the text.
"""

from __future__ import annotations

import re
import threading
import unicodedata
from enum import IntFlag
from functools import lru_cache
from itertools import chain, pairwise

import Stemmer

from simonides.text.words import first_of_group, listed

STOP_WORDS = listed("stop")

IRREGULAR = first_of_group("irregular")

MAX_TERM_CHARS = 64
"""Longer words are cut. Set by judgement: users do not type such a word to find it."""

CACHED_WORDS = 32_768
"""Chosen: takes about 8 MB and holds the active vocabulary of a busy process."""

_CJK = (
    "\u1100-\u11ff\u2e80-\u2fdf\u3005-\u3007\u3040-\u30ff\u3100-\u318f\u31a0-\u31bf\u31f0-\u31ff"
    "\u3400-\u4dbf\u4e00-\u9fff\ua960-\ua97f\uac00-\ud7ff\uf900-\ufaff\U00020000-\U0003ffff"
)
_UNSPACED = (
    "\u0e00-\u0eff\u0f00-\u0fff\u1000-\u109f\u1780-\u17ff"  # Thai, Lao, Tibetan, Burmese, Khmer
)
_INDIC = "\u0900-\u0dff"  # all code points: `re` does not count the vowel signs as letters
_WORD = rf"(?:[^\W_{_CJK}{_UNSPACED}]|[{_INDIC}])+"
_SEGMENT = re.compile(rf"([{_CJK}]+)|([{_UNSPACED}]+)|{_WORD}(?:[-'.@/:_]{_WORD})*")
_ASCII_SEGMENT = re.compile(r"[a-z0-9]+(?:[-'.@/:_][a-z0-9]+)*")
_PART = re.compile(r"[-'.@/:_]")
_CLITIC = re.compile(r"'(?:s|re|ll|d)$")
# "don't" becomes "dont": these clitics mark a negation or the speaker.
_JOINED = re.compile(r"'(?=(?:t|m|ve)$)")
# Accents, vowel points, zero-width characters; the breve of й is part of the letter.
_DROPPED = re.compile(
    "(?<![\u0400-\u04ff])[\u0300-\u036f]"
    "|[\u0591-\u05c7\u0640\u064b-\u065f\u00ad\u200b-\u200d\u2060\ufe00-\ufe0f\ufeff]"
)
_LETTERS = str.maketrans(
    {"ø": "o", "ł": "l", "đ": "d", "ı": "i", "æ": "ae", "œ": "oe", "ё": "е"}
    | dict.fromkeys("‘’ʼ′", "'")
    | dict.fromkeys("‐‑−", "-")
)


def analyse(text: str) -> list[str]:
    """Return the terms of a text in order, with repetition; empty if it has none."""
    folded = fold(text)
    if folded.isascii():  # the same, and four times as fast
        return list(chain.from_iterable(map(_compound, _ASCII_SEGMENT.findall(folded))))
    terms: list[str] = []
    for segment in _SEGMENT.finditer(folded):
        if segment[1]:
            terms += [*segment[1], *_pairs(segment[1])] if len(segment[1]) > 1 else segment[1]
        elif segment[2]:
            terms += _pairs(segment[2])
        else:
            terms += _compound(segment[0])
    return terms


def query_terms(text: str) -> list[str]:
    """Return the distinct terms of a query, in order of first appearance."""
    return list(dict.fromkeys(analyse(text)))


def fold(text: str) -> str:
    """Return a text in lower case, with one form of width, accents, quotes and hyphens."""
    if text.isascii():
        return text.lower()
    clean = text.encode("utf-8", "replace").decode()  # lone surrogates become "?"
    folded = unicodedata.normalize("NFKC", clean).casefold().translate(_LETTERS)
    return unicodedata.normalize("NFC", _DROPPED.sub("", unicodedata.normalize("NFD", folded)))


def is_latin(text: str) -> bool:
    """Whether most letters of a text are Latin, the only script of the encoder."""
    letters = [char for char in text if char.isalpha()]
    return 2 * sum(char < "\u0250" for char in letters) > len(letters)


@lru_cache(maxsize=CACHED_WORDS)
def _compound(compound: str) -> tuple[str, ...]:
    """Return the terms of a compound: of its parts, then of the whole (``email`` of ``e-mail``)."""
    compound = _JOINED.sub("", _CLITIC.sub("", compound))
    parts = _PART.split(compound)
    if len(parts) == 1:
        return _stem(compound)
    terms = [term for part in parts for term in _stem(part)]
    # Compounds with digits keep their connectors, because 1.2.3 is not 12.3.
    whole = compound if any(map(str.isdigit, compound)) else "".join(parts)
    return (*terms, *_stem(whole))


def _stem(word: str) -> tuple[str, ...]:
    """Return the term of a word, or nothing for a stop word."""
    if word in STOP_WORDS:
        return ()
    word = word[:MAX_TERM_CHARS]
    if word in IRREGULAR:
        return (IRREGULAR[word],)
    if word.isascii() and word.isalpha():
        return (_stemmers.english.stemWord(word),)
    if word.isalpha() and all("\u0400" <= char <= "\u04ff" for char in word):
        return (_stemmers.russian.stemWord(word),)
    return (word,)


def _pairs(run: str) -> list[str]:
    return [first + second for first, second in pairwise(run)] or [run]


class _Stemmers(threading.local):
    """The stemmers of one thread: PyStemmer's instances are not thread-safe."""

    def __init__(self) -> None:
        self.english = Stemmer.Stemmer("english", 0)
        self.russian = Stemmer.Stemmer("russian", 0)


_stemmers = _Stemmers()


# -- marks -----------------------------------------------------------------------------------------


class Mark(IntFlag):
    """What a row contains: the first person, a time, a gap."""

    SELF = 2
    TIME = 4
    GAP = 32


def any_of(words: str) -> re.Pattern[str]:
    """Return the pattern of any of some words, which are separated by blanks."""
    return re.compile(rf"\b(?:{'|'.join(words.split())})\b")


MONTHS = (
    "january february march april may june july august september october november december".split()
)
ASKS = re.compile(r"[?？]")
SELF = any_of("i me my mine we our im ive")
_TIME = any_of(
    "yesterday today tomorrow tonight morning evening ago last next recently? just soon since"
    " weeks? weekends? months? years? (?:mon|tues|wednes|thurs|fri|satur|sun)days? "
    + " ".join(MONTHS)
)


def marks_of(text: str) -> int:
    """Return the marks of a row's text."""
    folded = fold(text)
    patterns = ((Mark.SELF, SELF), (Mark.TIME, _TIME))
    return sum(mark for mark, pattern in patterns if pattern.search(folded))
