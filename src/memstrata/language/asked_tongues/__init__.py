"""Under which keys an answer may stand, asked for in other languages than English (RE-2).

"Wo wohne ich?" asks for ``location``. A question asks for a key only where all its words but those
that say nothing are the words of one that is listed, in any order: as
:mod:`memstrata.language.asked` reads English, with fewer ways to say it. A language is data, a
module of its own here.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from memstrata.language.asked_tongues.asking import Asking
from memstrata.language.asked_tongues.dutch import DUTCH
from memstrata.language.asked_tongues.german import GERMAN
from memstrata.language.asked_tongues.portuguese import PORTUGUESE
from memstrata.language.asked_tongues.russian import RUSSIAN
from memstrata.language.asked_tongues.spanish import SPANISH

MOST_WORDS = 14
"""Of a question with what it is wrapped in; chosen."""

ASKINGS: tuple[Asking, ...] = (DUTCH, GERMAN, PORTUGUESE, RUSSIAN, SPANISH)

MAY_ASK_ELSEWHERE = frozenset[str]().union(*(asking.who for asking in ASKINGS))
"""A question with none of these words asks for no key in these languages."""


def asked_elsewhere(words: Sequence[str], *, asks: bool) -> tuple[str, ...]:
    """Return the keys under which the answer to a sentence may stand, none where it asks for none.

    Args:
        words: Of the sentence, in small letters, without punctuation.
        asks: Whether it ends in a question mark.
    """
    if not 0 < len(words) <= MOST_WORDS:
        return ()
    for each in _FILED:
        asking = each.asking
        if asking.who.isdisjoint(words):
            continue
        said = frozenset(_unwrapped(tuple(words), each.openings, asking.empty)) - asking.empty
        if keys := each.questions.get(said) or (each.marked.get(said) if asks else None):
            return keys
        named = said - asking.who - asking.frames
        if named != said and (keys := each.nouns.get(named)):
            return keys
    return ()


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


class _Filed(NamedTuple):
    """A language's questions by their words, with what they may be wrapped in."""

    asking: Asking
    questions: Mapping[frozenset[str], tuple[str, ...]]
    marked: Mapping[frozenset[str], tuple[str, ...]]
    nouns: Mapping[frozenset[str], tuple[str, ...]]
    openings: tuple[tuple[str, ...], ...]


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
