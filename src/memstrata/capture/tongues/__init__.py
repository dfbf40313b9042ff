"""What users say in other languages than English, read by phrase tables as English is (LM-2).

A language is data, a file of its own here (:mod:`.loading` says how it is written);
:mod:`.meanings` has what its phrases may mean. Each sentence is read in the language it is in: told
by its letters, or by words that English has not. What nothing tells to be in another is read as
English.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache

from memstrata.capture.tongues.loading import load, told_by
from memstrata.capture.tongues.tongue import Tongue
from memstrata.language import patterns

MOST_CHARS = 240
"""Of a sentence, looked at to tell its language; chosen: enough for its small words."""


def of(sentence: str) -> Tongue | None:
    """Return the language of a sentence, or None for English and whatever else is not told."""
    head = sentence[:MOST_CHARS]
    if not head.isascii() and (name := _by_script(head)):
        return load(name)
    by_word = _by_word()
    counts: dict[str, int] = {}
    words = head.lower().translate(_TO_SPACES).split()
    for word in words:
        for name in by_word.get(word, ()):
            counts[name] = counts.get(name, 0) + 1
    most = max(counts.values(), default=0)
    # "I love the song Ich will" is English.
    if not most or most <= sum(word in _ENGLISH for word in words):
        return None
    return load(next(name for name, count in counts.items() if count == most))


_TO_SPACES = str.maketrans(dict.fromkeys("'.,;:!?¿¡\"()[]*_/«»„“”…", " "))
_ENGLISH = frozenset(
    "i my the and is are am was were be been have has had to of for with you your it that this"
    " what where when how why who which do does did not from at by live lives like likes love"
    " loves want wants prefer called they we our she his her their would could should can will"
    " please always never remember about".split()
)


def _by_script(text: str) -> str | None:
    for name, tells in told_by().items():
        if "script" in tells and patterns.compile(tells["script"]).search(text):
            # "I love the song 告白气球" is English.
            return None if _is_mostly_english(text, tells["script"]) else name
    return None


def _is_mostly_english(text: str, script: str) -> bool:
    told = sum(len(match.group() or "") for match in patterns.compile(script).finditer(text))
    if told >= sum(char.isascii() and char.isalpha() for char in text):
        return False
    return not _ENGLISH.isdisjoint(text.lower().translate(_TO_SPACES).split())


@cache
def _by_word() -> Mapping[str, tuple[str, ...]]:
    found: dict[str, tuple[str, ...]] = {}
    for name, tells in told_by().items():
        for word in tells.get("words", "").split():
            found[word] = (*found.get(word, ()), name)
    return found
