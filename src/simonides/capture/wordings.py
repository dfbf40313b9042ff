r"""The wordings of requests and facts, read from data files and compiled on first use.

A file has lists of wordings: a regular expression, a sentence that it fits (a test runs it), and
what the sentence is about (the group ``about``). ``<NAME>`` stands for an entry of ``[parts]``.
``[needs]`` has the words of which a text must hold one before a list is tried, under the list's
name; other names add words at which the file is opened at all. Matching ignores accents, and case
but for files with ``keeps_case``.
"""

from __future__ import annotations

import re
import unicodedata
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from functools import cache, lru_cache
from importlib.resources import files
from typing import Any

from simonides.text.analyse import CACHED_WORDS
from simonides.text.patterns import PatternSet
from simonides.text.words import listed, read_toml

MOST_CHARS = 400
"""Of a longer clause only the beginning is read. Set by judgement: requests are short."""

LANGUAGES = sorted(
    (
        file.name.removesuffix(".toml")
        for file in (files("simonides.capture") / "languages").iterdir()
    ),
    key=lambda name: (name != "english", name),
)
"""Languages that have a file, English first."""

_WORD = re.compile(r"[^\W\d_]+(?:'[^\W\d_]+)?")
_UNSPACED = re.compile("[\u3040-\u30ff\u4e00-\u9fff]")
_AKIN = ("spanish", "portuguese", "italian")
"""Languages that a short text does not tell apart."""

_CYRILLIC = re.compile("[\u0400-\u04ff]")
_ANY_WORD = re.compile(r"(?<![\w'])\w[\w']*")
_KANA = re.compile("[\u3040-\u30ff]")


_TOKEN = re.compile(r"\\.|\[(?:\\.|[^\]])+\]|\(\?<?[=!]|(?:[*+?]|\{[\d,]+\})[+?]?|.", re.DOTALL)
_LOOSE = {r"\b": "", r"\w": r"[\pL\pN_]", r"\W": r"[^\pL\pN_]", r"\d": r"\pN"}


_UNSEEN = re.compile(
    "[\u00ad\u061c\u200b-\u200f\u202a-\u202e\u2060-\u2064\ufe0e\ufe0f\ufeff]"
    r"|(?:\*+|__)(?=\w[^*_]{0,60}\w(?:\*+|__),?\s\w)|(?<=\w)(?:\*+|__)(?=,?\s\w)"
)
"""What readers do not see: characters without width, and emphasis within a sentence."""

_FULL_WIDTH = {0xFEE0 + code: chr(code) for code in range(33, 127) if chr(code).isalnum()}
_PLAIN = (
    {code: unicodedata.normalize("NFD", chr(code))[0] for code in range(0xC0, 0x250)}
    | _FULL_WIDTH
    | {ord(mark): plain for mark, plain in zip("’‘“”ёЁ\u00a0", "''\"\"еЕ ", strict=True)}
)
"""One character for one, so that positions in a text stay the same."""


_VERBS = "do does did is are was were ca wo has have should would could must need".split()
_WHOLE = {"im": "i'm", "ive": "i've", "lets": "let's", **{f"{v}nt": f"{v}n't" for v in _VERBS}}
"""Contractions without their apostrophe."""

_QUOTED = re.compile(r"""(?<!\w)['"«](?! )[^'"«»]{3,}['"»](?!\w)""")
_AND_ALWAYS = re.compile(
    r"'s\b|\W*(?:and|und|y|e|et|en|и|以及|和)\W*(?:also |in )?(?:always|ever|all|every|any|immer"
    r"|alle|siempre|toujours|sempre|altijd|всегда|以后|总是)",
    re.IGNORECASE,
)
"""What stands after "in this conversation" if a wish lasts."""


_CONTRACTED = re.compile(rf"\b((?:{'|'.join(_VERBS)})n|i|let)'(t|m|ve|s)\b")


class Wordings:
    """The content of one data file: named lists of wordings, and settings.

    Attributes:
        table: The whole file.
        rows: The rows of each list: pattern, sentence, and what the sentence is about.
        words: Words of which a text must hold one; single characters for Chinese and Japanese.
    """

    def __init__(self, table: Mapping[str, Any]) -> None:
        self.table = table
        self.rows: Mapping[str, list[list[str]]] = table["wordings"]
        self._parts: dict[str, str] = {}
        for name, part in table.get("parts", {}).items():  # a part may name those before it
            self._parts[name] = self._expanded(part)
        self._needs = {name: frozenset(plain(w).split()) for name, w in table["needs"].items()}
        self.words = frozenset[str]().union(*self._needs.values())
        self._filters: dict[str, PatternSet] = {}
        self._patterns: dict[str, re.Pattern[str]] = {}

    def find(self, name: str, text: str, words: frozenset[str]) -> re.Match[str] | None:
        """Return the match of the first wording of a list that fits, if its words are there."""
        needs = self._needs.get(name)
        if needs and words.isdisjoint(needs):
            return None
        rows = self.rows.get(name, [])
        if name not in self._filters:
            self._filters[name] = PatternSet([loose(self._expanded(row[0])) for row in rows])
        for number in self._filters[name].in_text(text):
            if match := self.pattern(rows[number][0]).search(text):
                return match
        return None

    def passes(self, text: str, words: frozenset[str], *, is_order: bool = False) -> bool:
        """Whether a plain text is for a short time: for a day too if it is an order."""

        def one_off(text: str) -> re.Match[str] | None:
            once = self.find("one_off", text, words)
            return once or (self.setting("one_day").search(text) if is_order else None)

        if not one_off(text):
            return False
        text = self.pattern("<DURABLE>").sub(" ", _QUOTED.sub(" ", text))
        once = one_off(text)
        return once is not None and not _AND_ALWAYS.match(text[once.end() :])

    def is_unfinished(self, text: str) -> bool:
        """Whether a plain text says how an order is meant and not what is ordered."""
        if self.matches("unfinished", text):
            return True
        frame = [self.setting(name) for name in ("ever", "negation", "order", "lead")]
        for each in (self.pattern("<DURABLE>"), *frame):
            text = each.sub(" ", text)
        return not any(map(str.isalnum, text))

    def matches(self, name: str, text: str) -> bool:
        """Whether the pattern of a setting occurs in a text."""
        return bool(self.setting(name).search(text))

    def setting(self, name: str) -> re.Pattern[str]:
        """Return a pattern that stands outside the lists; one that fits nothing if it is absent."""
        return self.pattern(self.table.get(name, "(?!)"))

    def pattern(self, pattern: str) -> re.Pattern[str]:
        """Return a pattern of the file, compiled on first use."""
        if pattern not in self._patterns:
            flags = 0 if self.table.get("keeps_case", False) else re.IGNORECASE
            self._patterns[pattern] = re.compile(self._expanded(pattern), flags)
        return self._patterns[pattern]

    def _expanded(self, pattern: str) -> str:
        pattern = _CONTRACTED.sub(r"\1'?\2", pattern.replace("\n", ""))  # as typed in haste
        return plain(re.sub(r"<([A-Z_]+)>", lambda match: self._parts[match[1]], pattern))


def loose(pattern: str) -> str:
    """Return a pattern in RE2 syntax that fits wherever another does, and in more places.

    It lacks look-around and counts. A set of such patterns tells fast which rows are worth a try.
    """
    kept, depth = [], 0
    for mark in _TOKEN.findall(pattern):
        if depth or mark in ("(?=", "(?!", "(?<=", "(?<!"):
            depth += mark.startswith("(") - (mark == ")")
        elif mark[0] in "*+?{":
            kept.append({"?": "?", "+": "+"}.get(mark[0], "*"))
        elif mark.startswith("["):
            kept.append(mark.replace(r"\w", r"\pL\pN_"))
        else:
            kept.append(_LOOSE.get(mark, mark))
    return "".join(kept)


def plain(text: str) -> str:
    """Return a text without accents and typographic quotes, position for position."""
    return text.translate(_PLAIN)


@lru_cache(maxsize=64)
def heard(clause: str) -> tuple[str, str, frozenset[str]]:
    """Return what is read of a clause: its text in one line, the same plain, and its words."""
    clause = clause[:MOST_CHARS]
    if not clause.isascii() or "*" in clause or "__" in clause:
        clause = _UNSEEN.sub("", clause)
    clause = " ".join(clause.split())
    text = plain(clause)
    return clause, text, words_of(text)


def words_of(text: str) -> frozenset[str]:
    """Return the lower-case words of a plain text, and its characters if it has no spaces."""
    text = text.lower()
    words = frozenset(_WORD.findall(text))
    words |= {_WHOLE[word] for word in words & _WHOLE.keys()}
    return words.union(text) if _UNSPACED.search(text) else words


def spoken(text: str, words: frozenset[str]) -> Iterator[Wordings]:
    """Yield the wordings of each language that may have something to say of a plain text."""
    if not words.isdisjoint(_first_look()):
        for name, each in zip(LANGUAGES, languages(), strict=True):
            is_other = name == "chinese" and _KANA.search(text)
            if not words.isdisjoint(each.words) and not is_other:
                yield each


def is_adverbial(part: str) -> bool:
    """Whether a part of a sentence only says that the rest is for a short time."""
    _, text, words = heard(part)
    passing = [match for each in languages() if (match := each.find("one_off", text, words))]
    others = (words_of(f"{text[: each.start()]} {text[each.end() :]}") for each in passing)
    return any(rest <= listed("adds_little") for rest in others)


@lru_cache(512)
def tongue(text: str) -> str:
    """Return the language of most of the commonest words in a plain text; "" for none or two."""
    if _UNSPACED.search(text):
        return "japanese" if _KANA.search(text) else "chinese"
    if _CYRILLIC.search(text):
        return "russian"
    counts = Counter(name for word in _ANY_WORD.findall(text) for name in _small_in(word))
    best, second = sorted(_spaced(), key=lambda name: -counts[name])[:2]
    return best if counts[best] > counts[second] else ""


@lru_cache(CACHED_WORDS)
def _small_in(word: str) -> tuple[str, ...]:
    """Return the languages in which a word is one of the commonest."""
    return tuple(name for name in _spaced() if _class("small_words", name).match(word))


def class_in(name: str, text: str, whole: str = "") -> re.Match[str] | None:
    """Return the first word of a closed class in a plain text, in its language or in English.

    Args:
        name: The class, as in the files of the languages.
        text: Where it is looked for.
        whole: The text of which this is a part, and which tells the language.
    """
    return _class(name, tongue(whole or text)).search(text)


def class_at(name: str, text: str) -> re.Match[str] | None:
    """Return the word of a closed class with which a plain text begins."""
    return _class(name, tongue(text)).match(text)


def class_of(name: str, text: str, whole: str = "") -> Iterator[re.Match[str]]:
    """Yield every word of a closed class in a plain text; see `class_in`."""
    return _class(name, tongue(whole or text)).finditer(text)


def without_class(names: Iterable[str], text: str, whole: str = "") -> str:
    """Return a plain text without the words of some classes; see `class_in`."""
    spoken = tongue(whole or text)
    for name in names:
        text = _class(name, spoken).sub(" ", text)
    return text


def verbs_of(name: str, text: str) -> Iterator[re.Match[str]]:
    """Yield every word of a class as `class_of`, in English where the language is not clear.

    What a verb does to the memory must not hang on a look-alike: Italian "cancella", "cancelled".
    """
    spoken = tongue(text) or "english"
    for each in _AKIN if spoken in _AKIN else (spoken,):
        yield from _class(name, each).finditer(text)


@cache
def shape(name: str) -> re.Pattern[str]:
    """Return a pattern of the structure of sentences, for plain texts."""
    shapes = load_wordings("shapes.toml")
    return shapes.pattern(shapes.table["shapes"][name])


@cache
def _class(name: str, language: str) -> re.Pattern[str]:
    """Return the pattern of a class of words: of a language and English, or of all if it is ""."""
    chosen = LANGUAGES if not language else dict.fromkeys(("english", language))
    if name == "small_words":
        chosen = [language]
    words: dict[bool, list[str]] = {False: [], True: []}
    for each in chosen:
        table = languages()[LANGUAGES.index(each)].table
        if name in table["classes"]:
            words[table.get("unspaced", False)].append(table["classes"][name])
    parts = [rf"(?<![\w'])(?:{'|'.join(words[False])})(?!\w)"] if words[False] else []
    pattern = "|".join([*parts, *words[True]]) or "(?!)"
    return re.compile(plain(pattern), re.IGNORECASE)


@cache
def load_wordings(file: str) -> Wordings:
    """Return the content of a data file of this package."""
    return Wordings(read_toml("capture", file))


@cache
def languages() -> list[Wordings]:
    """Return the wordings of each language, in the order of `LANGUAGES`."""
    return [load_wordings(f"languages/{name}.toml") for name in LANGUAGES]


@cache
def _spaced() -> list[str]:
    """Return the languages that write blanks between words."""
    both = zip(LANGUAGES, languages(), strict=True)
    return [name for name, each in both if not each.table.get("unspaced")]


@cache
def _first_look() -> frozenset[str]:
    return frozenset[str]().union(*(each.words for each in languages()))
