"""The analyser: splits texts into the terms of the index and of queries.

A text is split at white space, and each chunk into segments of letters, digits and marks:

* **Words** (scripts that put spaces between words). Width, case, ligatures and decimal digits are
  folded. So are accents of Latin and Greek, vowel points of Arabic and Hebrew, and ё to е (й stays:
  it is a letter, not an accented и). Latin words get English Snowball stems, Cyrillic words Russian
  ones; words with digits and other scripts are not stemmed. English stop words are removed.
* **Han, kana, Hangul**: every character, and every pair of neighbours.
* **Thai, Lao, Khmer, Burmese, Tibetan**: every pair of neighbours, or the single character.
* **Apostrophes**: at the end 's 're 'll 'd are dropped. n't 'm 've are joined to the word, because
  they mark the speaker or a negation (``don't`` = ``dont``). Elsewhere an apostrophe is a
  connector.
* **Compounds**, words connected by one of ``- _ . @ / :`` or an apostrophe, give their parts and
  one joined term. It is closed up where all parts are letters (``e-mail`` = ``email``, ``user_id``
  = ``userId``, ``O'Brien`` = ``OBrien``). It keeps the connectors where it has digits
  (``us-east-1``, ``1.2.3`` is not ``12.3``).

Stop words are English only; in other languages term frequency has the same effect.
"""

from __future__ import annotations

import hashlib
import threading
import unicodedata
from collections import Counter
from functools import lru_cache
from itertools import pairwise
from typing import Protocol

from simonides.text import patterns

ANALYSER_VERSION = "1"
"""Raised whenever the terms of any text would change; indexes of another version are rebuilt."""

# Function words: articles, prepositions, pronouns, auxiliaries, question words. The list omits
# will, may, us and can, which in memories are names or facts as often. Measured with
# BM25 alone on development conversations, recall@10: LoCoMo .624, RealTalk .577, BEAM-100K .408.
_STOP_WORDS = """
    a an the and or but if as at by for from in into of on out over than to up with
    i me my mine we our ours you your yours he him his she her hers it its they them their theirs
    this that these those there then such some any all also
    are be is was do does did has have had no not
    what when where which who why how
"""
STOP_WORDS = frozenset(_STOP_WORDS.split())

# Longer chunks are not cached: they are outliers such as URLs or unspaced CJK.
_MAX_CACHED_CHARS = 40
# Chosen: at about 250 bytes a chunk the cache stays near 8 MB, and the active vocabulary of a
# busy process fits.
_CACHED_CHUNKS = 32_768
_CACHED_TERMS = 65_536
_CACHED_CHARACTERS = 16_384
# Longer words are cut and longer joined forms left out: users do not type one again to find it.
_MAX_TERM_CHARS = 64

_CONNECTORS = "-_.@/:'"
_CJK = r"\p{Han}\p{Hiragana}\p{Katakana}\p{Hangul}\p{Bopomofo}\p{Yi}ー"
_UNSPACED = r"\p{Thai}\p{Lao}\p{Khmer}\p{Myanmar}\p{Tibetan}"
# A negated class of a negated class is how RE2 says "letters, but not of these scripts".
_LETTER, _DIGIT, _MARK = (rf"[^\P{{{kind}}}{_CJK}{_UNSPACED}]" for kind in "LNM")
_WORD = rf"(?:{_LETTER}|{_DIGIT})(?:{_LETTER}|{_DIGIT}|{_MARK})*"
_SEGMENT = rf"([{_CJK}]+)|([{_UNSPACED}]+)|{_WORD}(?:[{_CONNECTORS}]{_WORD})*"

_PUNCTUATION = ".,;:!?'\"()[]{}<>*_-"
_DROPPED_CLITICS = frozenset({"s", "re", "ll", "d"})
_KEPT_CLITICS = frozenset({"t", "m", "ve"})
_TO_SPACES = str.maketrans(dict.fromkeys(_CONNECTORS, " "))
_CLOSED_UP = str.maketrans(dict.fromkeys(_CONNECTORS))
# Look-alikes of apostrophe and hyphen are replaced. Characters invisible inside a word are removed:
# soft hyphen, zero-width characters, variation selectors, the Arabic elongation.
_SELECTORS = "".join(map(chr, range(0xFE00, 0xFE10)))
_INVISIBLE = "\u00ad\u0640\u200b\u200c\u200d\u2060\ufeff" + _SELECTORS
_REWRITTEN = str.maketrans(
    dict.fromkeys("\u2018\u2019\u02bc\u2032", "'")
    | dict.fromkeys("\u2010\u2011\u2212", "-")
    | dict.fromkeys(_INVISIBLE, "")
)
# Letters that no Unicode decomposition folds.
_FOLDED_LETTERS = str.maketrans(
    {"ø": "o", "ł": "l", "đ": "d", "ħ": "h", "ı": "i", "æ": "ae", "œ": "oe", "þ": "th", "ð": "d"}
    | {"ё": "е"}
)
_SCRIPTS_WITH_FOLDED_MARKS = frozenset({"Latin", "Greek", "Arabic", "Hebrew"})


def analyse(text: str) -> tuple[str, ...]:
    """Return the terms of a text in order, with repetition; empty if it has none.

    Any text is accepted; lone surrogates separate words. Time is linear in the text.
    """
    terms: list[str] = []
    for chunk in text.split():
        terms += _cached_terms(chunk) if len(chunk) <= _MAX_CACHED_CHARS else _terms(chunk)
    return tuple(terms)


def query_terms(text: str) -> tuple[str, ...]:
    """Return the distinct terms of a query, in order of first appearance; may be empty."""
    return tuple(dict.fromkeys(analyse(text)))


@lru_cache(maxsize=_CACHED_TERMS)
def term_id(term: str) -> int:
    """Return the index number of a term, 0 to 2**64 - 1.

    It is the first 8 bytes of BLAKE2b, little-endian: the same in every process and on every
    machine. Among a million terms the chance of any collision is about 3 in 10**8.
    """
    return int.from_bytes(hashlib.blake2b(term.encode(), digest_size=8).digest(), "little")


def main_script(text: str) -> str:
    """Return the Unicode script of most letters, such as ``Latin``, ``Han`` or ``Cyrillic``.

    Ties go to the script that appears first. A text without letters is ``Common``. Hiragana,
    Katakana and Han are counted separately.
    """
    if text.isascii():
        return "Latin" if any(map(str.isalpha, text)) else "Common"
    counts = Counter(map(_script_of, filter(str.isalpha, unicodedata.normalize("NFKC", text))))
    return max(counts, key=counts.__getitem__) if counts else "Common"


def _terms(chunk: str) -> tuple[str, ...]:
    folded = _folded(chunk)
    bare = folded.strip(_PUNCTUATION)
    if bare.isascii() and bare.isalnum():
        # Fast path: most chunks are one plain word or number, for which the pattern is not needed.
        return _word_terms(bare)
    terms: list[str] = []
    for segment in patterns.compile(_SEGMENT).finditer(folded):
        cjk, unspaced, whole = segment.group(1), segment.group(2), segment.group() or ""
        if cjk:
            terms += _characters_and_pairs(cjk)
        elif unspaced:
            terms += _pairs(unspaced)
        else:
            terms += _compound_terms(whole)
    return tuple(terms)


_cached_terms = lru_cache(maxsize=_CACHED_CHUNKS)(_terms)


def _characters_and_pairs(run: str) -> list[str]:
    terms = [run[0]]
    for first, second in pairwise(run):
        terms += (first + second, second)
    return terms


def _pairs(run: str) -> list[str]:
    return [first + second for first, second in pairwise(run)] or [run]


def _compound_terms(compound: str) -> list[str]:
    compound = _without_clitic(compound)
    parts = compound.translate(_TO_SPACES).split()
    terms = [term for part in parts for term in _word_terms(part)]
    if len(parts) > 1 and len(compound) <= _MAX_TERM_CHARS:
        if any(map(str.isnumeric, compound)):
            terms.append(compound)
        else:
            terms += _word_terms(compound.translate(_CLOSED_UP))
    return terms


def _without_clitic(compound: str) -> str:
    head, apostrophe, tail = compound.rpartition("'")
    if apostrophe and tail in _DROPPED_CLITICS:
        return head
    return head + tail if apostrophe and tail in _KEPT_CLITICS else compound


def _word_terms(word: str) -> tuple[str, ...]:
    """Return the one term of a single word, or nothing for a stop word."""
    if word in STOP_WORDS:
        return ()
    if len(word) > _MAX_TERM_CHARS:
        return (word[:_MAX_TERM_CHARS],)
    if not word.isalpha():
        return (word,)
    if word.isascii():
        return (_stemmers.stem("english", word),)
    if all("\u0400" <= char <= "\u04ff" for char in word):
        return (_stemmers.stem("russian", word),)
    return (word,)


def _folded(chunk: str) -> str:
    if chunk.isascii():
        return chunk.lower()
    text = chunk.encode("utf-8", "replace").decode("utf-8")
    # Two rounds, because folding case can undo the normal form (see ``normalise``).
    for _ in range(2):
        text = unicodedata.normalize("NFKC", text).casefold()
    text = text.translate(_REWRITTEN).translate(_FOLDED_LETTERS)
    kept: list[str] = []
    base = ""
    for char in unicodedata.normalize("NFD", text):
        if unicodedata.category(char) == "Mn":
            if base in _SCRIPTS_WITH_FOLDED_MARKS:
                continue
        else:
            base = _script_of(char)
        kept.append(str(unicodedata.decimal(char)) if char.isdecimal() else char)
    return unicodedata.normalize("NFC", "".join(kept))


@lru_cache(maxsize=_CACHED_CHARACTERS)
def _script_of(char: str) -> str:
    # The standard library knows no scripts, but a letter's name begins with that of its script.
    first = unicodedata.name(char, "COMMON").replace("-", " ").split()[0]
    return _SCRIPT_NAMES.get(first, first.capitalize())


_SCRIPT_NAMES = {
    "CJK": "Han",
    "IDEOGRAPHIC": "Han",
    "FEMININE": "Latin",
    "MASCULINE": "Latin",
    "MODIFIER": "Common",
    "MICRO": "Common",
}


class _Stemmer(Protocol):
    def stemWord(self, word: str) -> str: ...  # noqa: N802  (the vendor's name)


class _Stemmers(threading.local):
    """The stemmers of one thread: the vendor's instances are not thread-safe.

    They are made on first use. Their own caches are off, because whole chunks are cached above.
    """

    def __init__(self) -> None:
        self._made: dict[str, _Stemmer] = {}

    def stem(self, language: str, word: str) -> str:
        if language not in self._made:
            import Stemmer

            self._made[language] = Stemmer.Stemmer(language, 0)
        return self._made[language].stemWord(word)


_stemmers = _Stemmers()
