"""What users say in other languages than English, read by phrase tables as English is (LM-2).

A language is data, a file of its own here (:mod:`.loading` says how it is written);
:mod:`.meanings` has what its phrases may mean. Each sentence is read in the language it is in: told
by its letters, or by words that English has not. What nothing tells to be in another is read as
English.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache

from simonides.capture.sentences import trimmed
from simonides.capture.tongues.loading import load, told_by
from simonides.capture.tongues.tongue import Tongue
from simonides.language import patterns

MOST_CHARS = 240
"""Of a sentence, looked at to tell its language; chosen: enough for its small words."""


def of(sentence: str, before: Tongue | None = None) -> Tongue | None:
    """Return the language of a sentence, or None for English and whatever else is not told.

    Args:
        sentence: As it was said.
        before: The language of the sentence before it, in which a repair goes on whose own words
            tell none: "No, a Torino."
    """
    head = sentence[:MOST_CHARS]
    if not head.isascii() and (name := _by_script(head)):
        return load(name)
    by_word = _by_word()
    counts: dict[str, int] = {}
    words = head.lower().translate(_TO_SPACES).split()
    for word in (_FIRST + words[0] if words else "", *words):
        for name in by_word.get(word, ()):
            counts[name] = counts.get(name, 0) + 1
    most = max(counts.values(), default=0)
    english = sum(word in _ENGLISH for word in words)
    if not most and not english and before is not None:
        return before if before.repairs(sentence) else None
    # "I love the song Ich will" is English.
    if most <= english:
        return None
    told = [load(name) for name, count in counts.items() if count == most]
    # "Vivo a Roma": both languages have the verb, and one of them says it so.
    return next((tongue for tongue in told if tongue.begins(trimmed(head))), told[0])


_FIRST = "^"
"""Before a word that tells a language only as the first of a sentence: "soy" alone is a bean."""
_TO_SPACES = str.maketrans(dict.fromkeys("'’.,;:!?¿¡\"()[]*_/«»„“”…", " "))
_ENGLISH = frozenset(
    "i my the and is are am was were be been have has had to of for with you your it that this"
    " what where when how why who which do does did not from at by live lives like likes love"
    " loves want wants prefer called they we our she his her their would could should can will"
    " please always never remember about call keep speak send reply answer write"
    # No function words, but what stands by words of other languages: "avoid em dashes".
    " dash dashes route suite".split()
)


def _by_script(text: str) -> str | None:
    for name, tells in told_by().items():
        if "script" in tells and patterns.compile(tells["script"]).search(text):
            # "I love the song 告白气球" is English.
            return None if _is_mostly_english(text, tells["script"]) else name
    return None


def _is_mostly_english(text: str, script: str) -> bool:
    if _ENGLISH.isdisjoint(text.lower().translate(_TO_SPACES).split()):
        return False
    told = sum(len(match.group() or "") for match in patterns.compile(script).finditer(text))
    return told < sum(char.isascii() and char.isalpha() for char in text)


@cache
def _by_word() -> Mapping[str, tuple[str, ...]]:
    found: dict[str, tuple[str, ...]] = {}
    for name, tells in told_by().items():
        for word in tells.get("words", "").split():
            found[word] = (*found.get(word, ()), name)
    return found
