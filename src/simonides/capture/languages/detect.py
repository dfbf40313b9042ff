"""Chooses the languages whose commands a sentence may contain.

The script decides for Russian, Chinese and Japanese. For the other languages one word of the
sentence must be listed in the language's ``told`` words, and more of its words than are listed as
English. Most English sentences have none of them, so they cost one dictionary lookup per word.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache

from simonides.capture.languages.load import Language, all_languages
from simonides.text import patterns

MAX_CHARS = 240
"""Characters that are looked at; chosen: enough to contain the verb of a command."""

_TO_SPACES = str.maketrans(dict.fromkeys("'’.,;:!?¿¡\"()[]*_/-«»„“”…", " "))

_ENGLISH = frozenset(
    "the and my your you with this what when how please always never remember are have has for i'm"
    " see will about that it's from now on call keep reply answer don't not".split()
)


def candidates(sentence: str) -> tuple[Language, ...]:
    """Return the languages to try, the one with most listed words first."""
    head = sentence[:MAX_CHARS]
    if not head.isascii():
        scripts = ((one, one.script) for one in all_languages())
        found = (one for one, script in scripts if script and patterns.compile(script).search(head))
        by_script = next(found, None)
        if by_script is not None:
            return (by_script,)
    told = _by_word()
    counts: dict[Language, int] = {}
    words = head.lower().translate(_TO_SPACES).split()
    for word in words:
        for language in told.get(word, ()):
            counts[language] = counts.get(language, 0) + 1
    # "Note: see the appendix" is English, though "note" is French too.
    english = sum(word in _ENGLISH for word in words) if counts else 0
    likely = (one for one, count in counts.items() if count > english)
    return tuple(sorted(likely, key=lambda one: (-counts[one], one.name)))


@cache
def _by_word() -> Mapping[str, tuple[Language, ...]]:
    found: dict[str, tuple[Language, ...]] = {}
    for language in all_languages():
        for word in language.told:
            found[word] = (*found.get(word, ()), language)
    return found
