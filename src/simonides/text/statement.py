"""The rule by which two different texts are the same statement.

The rule prefers to miss a repetition, because a repetition is not stored. Two texts are the same
statement if they have the same *telling* words in the same order. Every word tells by default, in
any language. Texts with another number, date, name, unit, tense, negation or antonym are therefore
never the same, and the rule needs no knowledge of these. Only a short list does not tell:

* Punctuation at the end of words, and brackets. Punctuation inside a sentence tells if the text has
  a negation ("no, tea is fine") or is not plain ASCII. Question marks, quotation marks, signs and
  symbols always tell.
* English articles, unless they may be letters or belong to *a few*, and *that* before a subject.
* Words of emphasis and politeness, and interjections at either end. The former tell next to a
  negation ("not definitely"), and if they may be a name (capitalised within the sentence).

Contractions with one reading are written out. Words are compared without stemming: "I lived there"
is not "I live there".

:func:`mean_the_same` also allows synonyms in a closed table and an English phrase moved from the
front to the end. It is only for texts with nearly equal embeddings.
"""

from __future__ import annotations

import hashlib
import re
import unicodedata
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import NamedTuple

from simonides.text.words import first_of_group, listed, table

NEGATIONS = listed("negations")

NEGATING_CHARACTERS = frozenset("不没沒無无非未别勿않안못없")
"""Characters that negate in Chinese, Japanese and Korean, and also occur in other words."""

ONE_MEANING = first_of_group("synonyms")
"""Words, in lower case, to the representative of their synonyms."""

CACHED_WORDS = 32_768
"""Chosen: takes some 10 MB and holds the active vocabulary of a busy process."""

_OPENING = "([{¡¿'"
_DIVIDING = ".,;:!…。、"
_CLOSING = _DIVIDING + ")]}'"
_BREAK = ","
"""Stands, among the telling words, for punctuation that divides a sentence."""

_CONTRACTED = {word: tuple(whole.split()) for word, whole in table()["contractions"].items()}
# 's and 'd have several readings each and are not written out.
_CLITICS = {"n't": "not", "'m": "am", "'re": "are", "'ve": "have", "'ll": "will"}

_ARTICLES = frozenset({"a", "an", "the"})
_NO_ARTICLE_BEFORE = listed("no_article_before")
_NO_ARTICLE_AFTER = listed("no_article_after")
_ENGLISH = listed("english")
_SUBJECTS = listed("subjects")
_EMPHASIS = listed("emphasis")
_AT_EITHER_END = listed("interjections")
_AT_THE_START = _AT_EITHER_END | {"well", "so"}
_MAY_NOT_TELL = _ARTICLES | _EMPHASIS | _AT_THE_START | {"that", ""}

_DISTANCING = listed("distancing")
_SCOPES = listed("scopes")
_MOVABLE = listed("movable")

# Scripts with one character a syllable or word: Hangul, Han, kana, Yi, full- and half-width forms.
_SYLLABIC = (
    "[\u1100-\u11ff\u2e80-\u9fff\ua000-\ua4cf\ua960-\ua97f\uac00-\ud7ff\uf900-\ufaff\uff00-\uffef"
    "\U0001aff0-\U0001b2ff\U00020000-\U0003ffff]"
)


@dataclass(frozen=True, slots=True)
class NormalForm:
    """A text prepared for comparison; made by :func:`read`.

    Attributes:
        telling: The telling words in order, and a comma where a break between them tells.
        meant: The same, with one word for all synonyms; possible names stay.
        words: All distinct words.
        is_negated: Whether a word of :data:`NEGATIONS` or a negating character occurs.
    """

    telling: tuple[str, ...]
    meant: tuple[str, ...]
    words: frozenset[str]
    is_negated: bool


def normal_form(text: str) -> str:
    """Return the form in which equal texts are equal: NFKC, case-folded, single spaces.

    Idempotent. White space at both ends is removed.
    """
    if text.isascii():
        return " ".join(text.lower().split())
    # Case folding can undo the normal form, so the text is normalised again after it.
    folded = unicodedata.normalize("NFKC", text).casefold()
    return " ".join(unicodedata.normalize("NFKC", folded).split())


def content_hash(text: str) -> str:
    """Return the SHA-256 of the normal form of a text, as 64 hexadecimal digits."""
    return hashlib.sha256(normal_form(text).encode("utf-8", "surrogatepass")).hexdigest()


@lru_cache(maxsize=64)
def read(text: str) -> NormalForm:
    """Return a text prepared for comparison, in time linear in the text."""
    words = [word for chunk in text.split() for word in _words(chunk)]
    known = frozenset(word.text for word in words if word.text)
    is_negated = not (known.isdisjoint(NEGATIONS) and known.isdisjoint(NEGATING_CHARACTERS))
    breaks_tell = is_negated or not text.isascii()
    kept = list(_telling(words, is_negated=is_negated, breaks_tell=breaks_tell))
    telling, meant = tuple(word.text for word in kept), tuple(word.meaning for word in kept)
    return NormalForm(telling, meant, known, is_negated)


def fingerprint(text: str) -> bytes:
    """Return 8 bytes that are equal for any two texts that may be one statement.

    It reads the words that always tell: each once, in no order, one word for all synonyms.
    """
    words = " ".join(sorted(frozenset().union(*map(_always_tell, text.split()))))
    return hashlib.blake2b(words.encode("utf-8", "surrogatepass"), digest_size=8).digest()


def _always_tell(chunk: str) -> frozenset[str]:
    # Long chunks would fill the cache.
    return _telling_of(chunk) if len(chunk) <= 64 else _telling_of.__wrapped__(chunk)


@lru_cache(maxsize=CACHED_WORDS)
def _telling_of(chunk: str) -> frozenset[str]:
    words = {word.text for word in _words(chunk)} - _MAY_NOT_TELL
    return frozenset(ONE_MEANING.get(word, word) for word in words)


def overlap(one: NormalForm, other: NormalForm) -> float:
    """Return the Jaccard index of the words of two texts, 0 to 1; 0 if neither has any."""
    either = len(one.words | other.words)
    return len(one.words & other.words) / either if either else 0.0


def are_the_same(one: NormalForm, other: NormalForm) -> bool:
    """Whether two texts are the same statement: the same telling words in the same order.

    Reflexive and symmetric. A text without a telling word equals no other.
    """
    return bool(one.telling) and one.telling == other.telling


def mean_the_same(one: NormalForm, other: NormalForm) -> bool:
    """Whether two texts with nearly equal embeddings are the same statement.

    Like :func:`are_the_same`, but synonyms are equal. A phrase with a preposition or conjunction
    may also have moved from the front to the end, unless the text has a negation, or a word whose
    scope depends on its place (*only*, *all*).
    """
    mine, theirs = one.meant, other.meant
    if not mine or len(mine) != len(theirs):
        return False
    is_fixed = one.is_negated or other.is_negated or not _SCOPES.isdisjoint(mine)
    if mine == theirs or is_fixed or _MOVABLE.isdisjoint((mine[0], theirs[0])):
        return mine == theirs
    return f" {' '.join(theirs)} " in f" {' '.join(mine + mine)} "  # a rotation


def same_figures(one: str, other: str) -> bool:
    """Whether two texts have the same figures and codes, in order, as they were written.

    Folding makes 10² out of 102 and one code out of aB1 and Ab1, so these are compared unfolded.
    """
    return _figures(one) == _figures(other)


def _figures(text: str) -> list[str]:
    words = (word.strip(_OPENING + _CLOSING) for word in unicodedata.normalize("NFC", text).split())
    return [
        word if _is_code(word) else word.casefold()
        for word in words
        if _is_code(word) or any(map(str.isnumeric, word))
    ]


def _is_code(word: str) -> bool:
    """Whether a word changes case inside, as passwords and identifiers do."""
    return any(map(str.isupper, word[1:])) and any(map(str.islower, word))


def adds_nothing(newcomer: NormalForm, existing: NormalForm) -> bool:
    """Whether the existing text holds all telling words of the newcomer in order, and confirms it.

    It does not confirm the newcomer if it adds a negation, a condition or another person's opinion.
    """
    if newcomer.is_negated != existing.is_negated or not newcomer.telling:
        return False
    rest = iter(existing.telling)
    if not all(word in rest for word in newcomer.telling):
        return False
    return _DISTANCING.isdisjoint(existing.words - newcomer.words)


class _Word(NamedTuple):
    """A word in normal form.

    Attributes:
        text: Empty for punctuation that only divides.
        is_capital: Whether it was written with a capital.
        divides: Whether punctuation after it divides the sentence.
    """

    text: str
    is_capital: bool = False
    divides: bool = False

    @property
    def meaning(self) -> str:
        return self.text if self.is_capital else ONE_MEANING.get(self.text, self.text)


def _words(chunk: str) -> Iterator[_Word]:
    folded = normal_form(chunk).replace("\u2019", "'").replace("\u2018", "'")
    bare = folded.lstrip(_OPENING).rstrip(_CLOSING)
    if not bare:
        # A sign or an emoticon tells; a single mark only divides.
        if len(folded) > 1 or folded not in _CLOSING + _OPENING:
            yield _Word(folded)
        elif folded in _DIVIDING:
            yield _Word("", divides=True)
        return
    divides = folded.endswith(tuple(_DIVIDING))
    if bare[-1].isdigit() and folded.partition(bare)[2].startswith("!"):
        bare += "!"  # "5!" is another number than 5
        divides = False
    is_capital = chunk.lstrip(_OPENING)[:1].isupper()
    words = [word for piece in _pieces(bare) for word in _written_out(piece)]
    for number, word in enumerate(words, start=1):
        yield _Word(word, is_capital, divides and number == len(words))


def _pieces(bare: str) -> list[str]:
    """Return the words of a chunk: characters of syllabic scripts one by one, other runs whole."""
    if not bare.isascii():
        return re.sub(_SYLLABIC, r" \g<0> ", bare).split()
    # A hyphen between letters is a space ("well-known").
    return bare.split("-") if bare.replace("-", "").isalpha() and bare[0] != "-" else [bare]


def _written_out(word: str) -> tuple[str, ...]:
    if word in _CONTRACTED:
        return _CONTRACTED[word]
    for clitic, whole in _CLITICS.items():
        if word.endswith(clitic) and word != clitic:
            return word.removesuffix(clitic), whole
    return (word,)


def _telling(words: Sequence[_Word], *, is_negated: bool, breaks_tell: bool) -> Iterator[_Word]:
    texts = [word.text for word in words]
    is_english = len(_ENGLISH.intersection(texts)) >= 2
    first, last = _without_interjections(texts)
    for position in range(first, last):
        word = words[position]
        before = texts[position - 1] if position else ""
        after = texts[position + 1] if position + 1 < len(texts) else None
        may_be_name = word.is_capital and position > 0
        tells = True
        if word.text in _EMPHASIS:
            tells = is_negated
        elif word.text == "that":
            tells = not before or after not in _SUBJECTS
        elif word.text in _ARTICLES:
            tells = not _is_article(word.text, before, after, is_english=is_english)
        if word.text and (tells or may_be_name):
            yield word
        if word.divides and breaks_tell and position < last - 1:
            yield _Word(_BREAK)


def _without_interjections(texts: Sequence[str]) -> tuple[int, int]:
    first, last = 0, len(texts)
    while first < last - 1 and texts[first] in _AT_THE_START:
        first += 1
    while last - 1 > first and texts[last - 1] in _AT_EITHER_END:
        last -= 1
    return first, last


def _is_article(word: str, before: str, after: str | None, *, is_english: bool) -> bool:
    if after is None or after in _NO_ARTICLE_BEFORE:
        return False
    return word == "the" or (is_english and before not in _NO_ARTICLE_AFTER)
