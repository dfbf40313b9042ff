"""Under which keys an answer may stand, asked for in other languages than English (RE-2).

"Wo wohne ich?" asks for ``location``. A question asks for a key only where all its words but those
that say nothing are the words of one that is listed, in any order: as
:mod:`memstrata.language.asked` reads English, with fewer ways to say it. A language is data, a
module of its own here.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cache
from typing import NamedTuple

from memstrata.language import patterns
from memstrata.language.asked_tongues.asking import Asking
from memstrata.language.asked_tongues.chinese import CHINESE
from memstrata.language.asked_tongues.dutch import DUTCH
from memstrata.language.asked_tongues.french import FRENCH
from memstrata.language.asked_tongues.german import GERMAN
from memstrata.language.asked_tongues.italian import ITALIAN
from memstrata.language.asked_tongues.japanese import JAPANESE
from memstrata.language.asked_tongues.portuguese import PORTUGUESE
from memstrata.language.asked_tongues.russian import RUSSIAN
from memstrata.language.asked_tongues.spanish import SPANISH
from memstrata.language.han import simplified

MOST_WORDS = 14
"""Of a question with what it is wrapped in; chosen."""
MOST_SENTENCES = 4
"""Of a text in a script without spaces, that are looked at."""
MOST_CHARS = 60
"""Of a sentence in such a script that asks for a key; chosen."""

ASKINGS: tuple[Asking, ...] = (
    DUTCH, FRENCH, GERMAN, ITALIAN, PORTUGUESE, RUSSIAN, SPANISH, JAPANESE, CHINESE,
)  # fmt: skip

MAY_ASK_ELSEWHERE = frozenset[str]().union(*(asking.who for asking in ASKINGS if asking.spaced))
"""A question with none of these words asks for no key in these languages."""

_FIRST_UNSPACED = "\u3040"
_SENTENCES = str.maketrans(
    dict.fromkeys("。！？!?…\n", "\n")
    | dict.fromkeys(" \u3000，、,.：:；;~～·「」『』\"'“”()（）", "")
)


def asked_elsewhere(words: Sequence[str], *, asks: bool) -> tuple[str, ...]:
    """Return the keys under which the answer to a sentence may stand, none where it asks for none.

    Args:
        words: Of the sentence, in small letters, without punctuation.
        asks: Whether it ends in a question mark.
    """
    if not 0 < len(words) <= MOST_WORDS:
        return ()
    for filed in _SPACED:
        # All English questions pay for this.
        if not filed.asking.who.isdisjoint(words) and (keys := _asked_in(filed, words, asks=asks)):
            return keys
    return ()


def asked_unspaced(text: str) -> tuple[str, ...]:
    """Return the keys that the sentences of a text in a script without spaces ask for.

    Args:
        text: Whatever it is; one of other scripts costs a look at its characters.
    """
    if text.isascii() or max(text) < _FIRST_UNSPACED:
        return ()
    # The engine works on UTF-8; a query may hold lone surrogates, which are no words.
    clean = text.encode("utf-8", "replace").decode("utf-8")
    said = [part for part in clean.translate(_SENTENCES).lower().split("\n") if part]
    if len(said) > MOST_SENTENCES:
        return ()
    found = (
        keys
        for part in said
        for place, filed in enumerate(_FILED)
        if not filed.asking.spaced and (keys := _asked_in(filed, _parted(part, place), asks=True))
    )
    return tuple(dict.fromkeys(key for keys in found for key in keys))


class _Filed(NamedTuple):
    """A language's questions by their words, with what they may be wrapped in."""

    asking: Asking
    questions: Mapping[frozenset[str], tuple[str, ...]]
    marked: Mapping[frozenset[str], tuple[str, ...]]
    nouns: Mapping[frozenset[str], tuple[str, ...]]
    openings: tuple[tuple[str, ...], ...]


def _asked_in(filed: _Filed, words: Sequence[str], *, asks: bool) -> tuple[str, ...]:
    asking = filed.asking
    if asking.who.isdisjoint(words):
        return ()
    said = frozenset(_unwrapped(tuple(words), filed.openings, asking.empty)) - asking.empty
    if keys := filed.questions.get(said) or (filed.marked.get(said) if asks else None):
        return keys
    named = said - asking.who - asking.frames
    return filed.nouns.get(named, ()) if named != said else ()


def _parted(sentence: str, place: int) -> Sequence[str]:
    """Return the words of a sentence, none if it has one that the language does not know."""
    if len(sentence) > MOST_CHARS:
        return ()
    if ASKINGS[place].both_hans:
        sentence = simplified(sentence)
    found = (match.group() or "" for match in _known(place).finditer(sentence))
    words = [word for word in found if word]
    return words if sum(map(len, words)) == len(sentence) else ()


@cache
def _known(place: int) -> patterns.Pattern:
    """Return the words of a language, the longest first."""
    asking = ASKINGS[place]
    told = (*asking.questions.values(), *asking.nouns.values(), asking.openings)
    said = "|".join(told).replace("|", " ").split()
    known = {*said, *asking.empty, *asking.who, *asking.frames}
    words = sorted(known, key=lambda word: (-len(word), word))
    return patterns.compile("|".join(map(patterns.escaped, words)))


def _unwrapped(
    words: tuple[str, ...], openings: Sequence[tuple[str, ...]], empty: frozenset[str]
) -> tuple[str, ...]:
    """Return a question without what it is wrapped in, the longest that fits, be it greeted."""
    while words:
        for opening in openings:
            if words[: len(opening)] == opening:
                return words[len(opening) :]
        if words[0] not in empty:
            break
        words = words[1:]
    return words


def _by_words(
    told: Mapping[str, str], empty: frozenset[str]
) -> Mapping[frozenset[str], tuple[str, ...]]:
    found: dict[frozenset[str], tuple[str, ...]] = {}
    for keys, asked in told.items():
        for question in asked.split("|"):
            said = frozenset(question.split()) - empty
            found[said] = tuple(dict.fromkeys([*found.get(said, ()), *keys.split()]))
    return found


def _openings(asking: Asking) -> tuple[tuple[str, ...], ...]:
    wraps = (tuple(each.split()) for each in asking.openings.split("|") if each)
    return tuple(sorted(wraps, key=len, reverse=True))


_FILED = tuple(
    _Filed(
        asking,
        _by_words(asking.questions, asking.empty),
        _by_words(asking.marked, asking.empty),
        _by_words(asking.nouns, asking.empty),
        _openings(asking),
    )
    for asking in ASKINGS
)
_SPACED = tuple(filed for filed in _FILED if filed.asking.spaced)
