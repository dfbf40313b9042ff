"""Under which keys an answer may stand, asked for in other languages than English (RE-2).

"Wo wohne ich?" asks for ``location``. A question asks for a key only where all its words but those
that say nothing are the words of one that is listed, in any order: as
:mod:`memstrata.language.asked` reads English, with fewer ways to say it. A language is data, a
module of its own here.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from memstrata.language.asked_tongues.asking import Asking
from memstrata.language.asked_tongues.french import FRENCH
from memstrata.language.asked_tongues.german import GERMAN
from memstrata.language.asked_tongues.italian import ITALIAN
from memstrata.language.normalise import without_accents

MOST_WORDS = 14
"""Of a question with what it is wrapped in; chosen."""

ASKINGS: tuple[Asking, ...] = (GERMAN, FRENCH, ITALIAN)

MAY_ASK_ELSEWHERE = frozenset[str]().union(*(asking.who for asking in ASKINGS))
"""A question with none of these words asks for no key in these languages."""


def asked_elsewhere(words: Sequence[str]) -> tuple[str, ...]:
    """Return the keys under which the answer to a sentence may stand, none where it asks for none.

    Args:
        words: Of the sentence, in small letters, without punctuation.
    """
    if not 0 < len(words) <= MOST_WORDS:
        return ()
    for asking, filed, openings, empty in _FILED:
        if not asking.who.isdisjoint(words):
            said = _unwrapped(_spelled(asking, words), openings)
            if keys := filed.get(frozenset(said) - empty):
                return keys
    return ()


def _unwrapped(words: tuple[str, ...], openings: Sequence[tuple[str, ...]]) -> tuple[str, ...]:
    """Return a question without what it is wrapped in, the longest that fits."""
    for opening in openings:
        if words[: len(opening)] == opening:
            return words[len(opening) :]
    return words


def _spelled(asking: Asking, words: Iterable[str]) -> tuple[str, ...]:
    """Return words as a language compares them."""
    return tuple(map(without_accents, words) if asking.accents_optional else words)


def _empty(asking: Asking) -> frozenset[str]:
    return frozenset(_spelled(asking, asking.empty))


def _questions(asking: Asking) -> Mapping[frozenset[str], tuple[str, ...]]:
    found: dict[frozenset[str], tuple[str, ...]] = {}
    for keys, asked in asking.questions.items():
        for question in asked.split("|"):
            said = frozenset(_spelled(asking, question.split())) - _empty(asking)
            found[said] = tuple(dict.fromkeys([*found.get(said, ()), *keys.split()]))
    return found


def _openings(asking: Asking) -> tuple[tuple[str, ...], ...]:
    wraps = (_spelled(asking, each.split()) for each in asking.openings.split("|") if each)
    return tuple(sorted(wraps, key=len, reverse=True))


_FILED = tuple(
    (asking, _questions(asking), _openings(asking), _empty(asking)) for asking in ASKINGS
)
