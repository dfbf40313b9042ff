"""Under which keys an answer may stand, asked for in other languages than English (RE-2).

"Wo wohne ich?" asks for ``location``. A question asks for a key only where all its words but those
that say nothing are the words of one that is listed, in any order: as
:mod:`simonides.language.asked` reads English, with fewer ways to say it. A language is a file of
data (:mod:`.loading`).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cache

from simonides.language import patterns
from simonides.language.asked_tongues.loading import Asking, Phrase, load
from simonides.language.han import simplified

MOST_WORDS = 14
"""Of a question with what it is wrapped in; chosen."""
MOST_SENTENCES = 4
"""Of a text in a script without spaces, that are looked at."""
MOST_CHARS = 60
"""Of a sentence in such a script that asks for a key; chosen."""

_LANGUAGES = "dutch french german italian portuguese russian spanish japanese chinese"
ASKINGS: Mapping[str, Asking] = {name: load(name) for name in _LANGUAGES.split()}
_SPACED = tuple(asking for asking in ASKINGS.values() if asking.spaced)

MAY_ASK_ELSEWHERE = frozenset[str]().union(*(asking.who for asking in _SPACED))
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
    for asking in _SPACED:
        # All English questions pay for this.
        if not asking.who.isdisjoint(words) and (keys := _asked_in(asking, words, asks=asks)):
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
        for name, asking in ASKINGS.items()
        if not asking.spaced and (keys := _asked_in(asking, _parted(part, name), asks=True))
    )
    return tuple(dict.fromkeys(key for keys in found for key in keys))


def _asked_in(asking: Asking, words: Sequence[str], *, asks: bool) -> tuple[str, ...]:
    if asking.who.isdisjoint(words):
        return ()
    said = frozenset(_unwrapped(tuple(words), asking.openings, asking.empty)) - asking.empty
    if keys := asking.questions.get(said) or (asking.marked.get(said) if asks else None):
        return keys
    named = said - asking.who - asking.frames
    return asking.nouns.get(named, ()) if named != said else ()


def _parted(sentence: str, name: str) -> Sequence[str]:
    """Return the words of a sentence, none if it has one that the language does not know."""
    if len(sentence) > MOST_CHARS:
        return ()
    if ASKINGS[name].both_hans:
        sentence = simplified(sentence)
    found = (match.group() or "" for match in _known(name).finditer(sentence))
    words = [word for word in found if word]
    return words if sum(map(len, words)) == len(sentence) else ()


@cache
def _known(name: str) -> patterns.Pattern:
    """Return the words of a language, the longest first."""
    words = sorted(ASKINGS[name].words, key=lambda word: (-len(word), word))
    return patterns.compile("|".join(map(patterns.escaped, words)))


def _unwrapped(words: Phrase, openings: Sequence[Phrase], empty: frozenset[str]) -> Phrase:
    """Return a question without what it is wrapped in, the longest that fits, be it greeted."""
    while words:
        for opening in openings:
            if words[: len(opening)] == opening:
                return words[len(opening) :]
        if words[0] not in empty:
            break
        words = words[1:]
    return words
