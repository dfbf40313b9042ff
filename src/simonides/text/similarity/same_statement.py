"""The rule by which two different texts are the same statement, for the near gates.

It avoids errors rather than missing nothing, because a supposed repetition is not stored. Two texts
are the same statement if they have the same *telling* words in the same order. Every word tells by
default, in any language and script. So texts with another number, date, name, unit, tense, negation
or antonym are never the same. No knowledge of these is needed. Only a short list does not tell:

* the punctuation at the end of words, and brackets. It does tell where it divides a sentence and
  the text has a negation ("no, tea is fine"). It also tells in texts that are not plain ASCII,
  whose languages are less known here. Question marks, quotation marks, signs and symbols always
  tell;
* English articles, unless they may be letters or belong to *a few*, and *that* before a subject;
* words of emphasis and politeness, and interjections at either end. The former tell next to a
  negation ("not definitely"), or if they may be a name: capitalised within the sentence.

Contractions with one reading are written out. Words are compared as they are, not by their stems:
"I lived there" is not "I live there".

:func:`mean_the_same` allows two more differences. It is only for texts whose embeddings are nearly
equal too. The differences are synonyms in a closed table (:data:`ONE_MEANING`), and an English
phrase moved from front to end.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import cache
from itertools import chain
from operator import attrgetter
from typing import NamedTuple

from simonides.text.analyser import analyse, term_id
from simonides.text.normalise import normalise
from simonides.text.tokens import is_cjk

_OPENING = "([{¡¿'"
_PARTING = ".,;:!…。、"
_CLOSING = _PARTING + ")]}'"

_CONTRACTED = {
    "can't": ("can", "not"),
    "cannot": ("can", "not"),
    "won't": ("will", "not"),
    "shan't": ("shall", "not"),
    "let's": ("let", "us"),
}
# 's and 'd have several readings each and are not written out.
_CLITICS = {"n't": "not", "'m": "am", "'re": "are", "'ve": "have", "'ll": "will"}

_CONTRACTING = (
    "do does did is are was were have has had ca wo sha could would should might must need "
    "i you we they"
).split()

_ARTICLES = frozenset({"a", "an", "the"})
# "a few friends" is not "few friends", and an A may be a letter.
_NO_ARTICLE_BEFORE = frozenset(
    "few little must bit lot in on at for and or is was are were".split()
)
_NO_ARTICLE_AFTER = frozenset(
    "vitamin plan type grade team group option section hepatitis class level model series point "
    "part step block room gate platform terminal size side letter key note".split()
)
# With two of these a text counts as English, where "a" and "an" are articles.
_ENGLISH = frozenset(
    "the and i my is are of with you your they their this that she we our it its to from was were "
    "user which who have in for".split()
)
_SUBJECTS = frozenset("i you he she it we they my your his her our their the".split())
_EMPHASIS = frozenset(
    "very really truly definitely absolutely actually basically honestly literally totally "
    "certainly indeed also please kindly sehr wirklich bitte vraiment muy realmente "
    "очень пожалуйста действительно".split()
)
_AT_EITHER_END = frozenset("oh hey hi hello ok okay yeah um uh btw fyi lol haha thanks".split())
_AT_THE_START = _AT_EITHER_END | {"well", "so"}

NEGATIONS = frozenset(
    "not no never none nobody nothing neither nor without nowhere hardly barely scarcely "
    "nicht kein keine keinen keinem keiner keines nie niemals nein ohne weder "
    "ne pas non jamais sans aucun aucune rien nunca nada ni nadie sin mai senza nessuno "
    "niet geen nooit nee zonder inte icke ej nej aldrig ikke nei aldri ingen nie nigdy bez "
    "nao não sem nem ei nu tidak bukan yok "
    "не нет никогда без ни нельзя ні немає değil hayır není".split()
)
"""Words of negation in many languages, lower case; English contractions are written out."""

NEGATING_CHARACTERS = frozenset("不没沒無无非未别勿않안못없")
"""Characters that negate in Chinese, Japanese and Korean, also within words that negate nothing."""

# Words that make a sentence hypothetical, past or another person's. A text that adds one of them
# says something else, even if it holds all words of the other.
_DISTANCING = frozenset(
    "used if would could might may should must can will wish wishes want wants hope hopes plan "
    "plans planning think thinks thought said says told heard former formerly ex was were had "
    "almost nearly only unless until before after instead stopped quit despite than".split()
)
_SCOPES = frozenset("only just even alone all both each every most some any always".split())
_MOVABLE = frozenset(
    "in on at during when whenever if since after before with for because while until by".split()
)

ONE_MEANING = {
    word: group.split()[0]
    for group in (
        "color colour", "favorite favourite", "flavor flavour", "neighbor neighbour",
        "behavior behaviour", "center centre", "theater theatre", "program programme",
        "mother mom mum mommy mummy", "father dad daddy", "grandmother grandma granny",
        "grandfather grandpa", "bicycle bike", "telephone phone", "movie film", "photo photograph",
        "buy purchase", "bought purchased", "begin start", "began started", "children kids",
        "child kid", "big large", "love adore", "loves adores",
        "apartment flat", "vacation holiday", "television tv", "airplane aeroplane plane",
        "refrigerator fridge", "ok okay", "perhaps maybe", "sofa couch",
    )
    for word in group.split()
}  # fmt: skip
"""Words, in lower case, to the representative of their synonyms."""


class Statement(NamedTuple):
    """A text prepared for comparison; made by :func:`read`.

    Attributes:
        telling: Its telling words in order, with the breaks between them where these tell.
        meant: The same with one word for all synonyms, except possible names.
        words: All its distinct words.
        is_negated: Whether it has a known word of negation.
    """

    telling: tuple[str, ...]
    meant: tuple[str, ...]
    words: frozenset[str]
    is_negated: bool


class _Word(NamedTuple):
    """One word in normal form.

    ``is_capital``: it was written with a capital. ``parts``: it ends a part of the sentence.
    """

    text: str
    is_capital: bool = False
    parts: bool = False

    @property
    def meaning(self) -> str:
        return self.text if self.is_capital else ONE_MEANING.get(self.text, self.text)


_BREAK = _Word(",")
"""Represents, among the telling words, punctuation that divides a sentence."""


def read(text: str) -> Statement:
    """Return a text prepared for comparison, in time linear in the text."""
    words = [word for chunk in text.split() for word in _words(chunk)]
    texts = [word.text for word in words]
    known = frozenset(texts)
    is_negated = not known.isdisjoint(NEGATIONS) or not known.isdisjoint(NEGATING_CHARACTERS)
    tells_breaks = is_negated or not text.isascii()
    telling = list(_telling(words, texts, is_negated=is_negated, tells_breaks=tells_breaks))
    said, meant = (tuple(map(attrgetter(name), telling)) for name in ("text", "meaning"))
    return Statement(said, meant, known - {""}, is_negated)


@cache
def idle_terms() -> frozenset[int]:
    """Return the term ids of words that a text may lack and still be the same as another.

    These are words that may not tell, contractions, and their written-out forms.
    """
    contracted = (word + clitic for word in _CONTRACTING for clitic in _CLITICS)
    written_out = (*chain(*_CONTRACTED.values()), *_CLITICS.values())
    words = (*_EMPHASIS, *_AT_THE_START, *_CONTRACTED, *contracted, *written_out)
    return frozenset(term_id(term) for word in words for term in analyse(word))


@cache
def loose_terms() -> frozenset[int]:
    """Return the term ids of idle words and of words with synonyms."""
    return idle_terms() | {term_id(term) for word in ONE_MEANING for term in analyse(word)}


def overlap(one: Statement, other: Statement) -> float:
    """Return the Jaccard index of the words of two texts, 0 to 1; 0 if neither has any."""
    either = len(one.words | other.words)
    return len(one.words & other.words) / either if either else 0.0


def are_the_same(one: Statement, other: Statement) -> bool:
    """Whether two texts are the same statement: the same telling words in the same order.

    Reflexive and symmetric. A text without a telling word equals no other.
    """
    return bool(one.telling) and one.telling == other.telling


def mean_the_same(one: Statement, other: Statement) -> bool:
    """Whether two texts with nearly equal embeddings are the same statement.

    Like :func:`are_the_same`, but synonyms are equal. A phrase with a preposition or conjunction
    may also have moved from the front to the end. It may not if there is a negation, or a word
    whose scope depends on its place (*only*, *all*).
    """
    mine, theirs = one.meant, other.meant
    if not mine or len(mine) != len(theirs):
        return False
    if mine == theirs:
        return True
    fixed = one.is_negated or other.is_negated or not _SCOPES.isdisjoint(mine)
    return not fixed and sorted(mine) == sorted(theirs) and _has_moved(mine, theirs)


def adds_nothing(newcomer: Statement, existing: Statement) -> bool:
    """Whether another text holds all telling words of a newcomer, in this order, and confirms them.

    It does not confirm them if it adds a negation, a condition or another person's opinion.
    """
    if newcomer.is_negated != existing.is_negated or not newcomer.telling:
        return False
    rest = iter(existing.telling)
    if not all(word in rest for word in newcomer.telling):
        return False
    return _DISTANCING.isdisjoint(existing.words - newcomer.words)


def _words(chunk: str) -> Iterator[_Word]:
    is_capital = chunk.lstrip(_OPENING)[:1].isupper()
    folded = chunk.lower() if chunk.isascii() else normalise(chunk)
    bare = _bare(folded.replace("\u2019", "'").replace("\u2018", "'"))
    if not bare:
        # Punctuation on its own: a sign or an emoticon tells, a single mark only divides.
        if len(folded) > 1 or folded not in _CLOSING + _OPENING:
            yield _Word(folded)
        elif folded in _PARTING:
            yield _Word("", parts=True)
        return
    found = [part for piece in _pieces(bare) for part in _written_out(piece)]
    parts = folded.endswith(tuple(_PARTING)) and not bare.endswith(tuple(_PARTING))
    for at, word in enumerate(found, start=1):
        yield _Word(word, is_capital, parts and at == len(found))


def _bare(folded: str) -> str:
    bare = folded.lstrip(_OPENING).rstrip(_CLOSING)
    # "5!" is another number than 5.

    return bare + "!" if bare[-1:].isdigit() and folded[len(bare) :].startswith("!") else bare


def _pieces(bare: str) -> list[str]:
    """Return the characters of scripts without spaces one by one, other words whole.

    A hyphen between letters is a space ("well-known").
    """
    if bare.isascii():
        return bare.split("-") if bare.replace("-", "").isalpha() and bare[0] != "-" else [bare]
    pieces: list[str] = []
    run = ""
    for char in bare:
        if is_cjk(char):
            pieces += [run, char] if run else [char]
            run = ""
        else:
            run += char
    return [*pieces, *run.split()] if run else pieces


def _written_out(word: str) -> tuple[str, ...]:
    known = _CONTRACTED.get(word)
    if known is not None or "'" not in word:
        return known or (word,)
    for clitic, whole in _CLITICS.items():
        if word.endswith(clitic) and len(word) > len(clitic):
            return word.removesuffix(clitic), whole
    return (word,)


def _telling(
    words: Sequence[_Word], texts: Sequence[str], *, is_negated: bool, tells_breaks: bool
) -> Iterator[_Word]:
    is_english = len(_ENGLISH.intersection(texts)) >= 2
    first, last = _without_interjections(texts)
    for place in range(first, last):
        word = words[place]
        before, after = texts[place - 1] if place else "", texts[place + 1 : place + 2]
        may_be_name = word.is_capital and place > 0
        idle = not may_be_name and _is_idle(
            word.text, before, after, is_negated=is_negated, is_english=is_english
        )
        if word.text and not idle:
            yield word
        if word.parts and tells_breaks and place < last - 1:
            yield _BREAK


def _without_interjections(texts: Sequence[str]) -> tuple[int, int]:
    first, last = 0, len(texts)
    while first < last - 1 and texts[first] in _AT_THE_START:
        first += 1
    while last - 1 > first and texts[last - 1] in _AT_EITHER_END:
        last -= 1
    return first, last


def _is_idle(
    word: str, before: str, after: Sequence[str], *, is_negated: bool, is_english: bool
) -> bool:
    if word in _EMPHASIS:
        return not is_negated
    if word == "that":
        return bool(before and after and after[0] in _SUBJECTS)
    if word not in _ARTICLES or not after or after[0] in _NO_ARTICLE_BEFORE:
        return False
    return word == "the" or (is_english and before not in _NO_ARTICLE_AFTER)


def _has_moved(one: Sequence[str], other: Sequence[str]) -> bool:
    """Whether a phrase is at the front of one text and at the end of the other."""
    for cut in range(1, len(one)):
        front, rest = one[:cut], one[cut:]
        if (*rest, *front) == tuple(other) and not _MOVABLE.isdisjoint((front[0], rest[0])):
            return True
    return False
