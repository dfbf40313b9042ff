"""Detects that a text repeats another, in whole or in passages.

The result is for labels, not for gates: a supposed repetition is stored anyway, and only trusted
less. So it errs the other way than :mod:`simonides.text.similarity.same_statement`: case,
punctuation, articles and hidden characters do not count, and half of a text suffices.
"""

from __future__ import annotations

import unicodedata
from collections import Counter
from collections.abc import Iterator, Sequence

from simonides.text.normalise import normalise
from simonides.text.tokens import is_cjk

RUN = 5
"""Words in a row, without articles, that two texts must share as a passage. Chosen: five seldom
match by chance, and a sentence worth keeping has them."""

LEAST = 3
"""Words of the shortest text that is recognised, if another text holds all of them in a row.
Chosen: values such as "yes" or "Berlin Mitte" come from anywhere."""

MOST = 16_384
"""Words of a text that are looked up. Chosen: the number of ordinary words in 64 KiB, so that a
text of very short ones takes no longer."""

_ARTICLES = frozenset({"a", "an", "the"})


class _Plain(dict[int, str | None]):
    """A table for ``str.translate`` that keeps letters and digits and separates words, filled on
    use.

    Marks and invisible characters are removed without a space, so that they do not split a word.
    """

    def __missing__(self, code: int) -> str | None:
        char = chr(code)
        category = unicodedata.category(char)
        made: str | None = " "
        if category[0] == "M" or (category in ("Cf", "Cc") and not char.isspace()):
            made = None
        elif is_cjk(char):
            made = f" {char} "
        elif char.isalnum():
            made = char
        self[code] = made
        return made


_PLAIN = _Plain()


def words_of(text: str) -> tuple[str, ...]:
    """Return the words of a text as they are compared; linear in the text."""
    words = normalise(text).translate(_PLAIN).split()
    return tuple(word for word in words if word not in _ARTICLES)


class Passages:
    """Index of texts by their passages.

    Costs some 300 bytes for each indexed word.
    """

    def __init__(self) -> None:
        self._filed: dict[int, str] = {}
        self._ids: set[str] = set()

    def __len__(self) -> int:
        """Number of indexed passages."""
        return len(self._filed)

    def __contains__(self, id: str) -> bool:
        return id in self._ids

    def add(self, id: str, text: str) -> None:
        """Index a text; a passage that several texts share belongs to the last of them."""
        self._ids.add(id)
        words = words_of(text)
        for size in range(LEAST, RUN + 1):
            self._filed.update(dict.fromkeys(_runs(words, size), id))

    def find(self, text: str) -> str | None:
        """Return the id of the text that this one repeats, or None.

        It is a repetition if shared runs of :data:`RUN` words cover half of it. A shorter text must
        occur there as a whole. Of several texts, the one with most shared runs is returned.
        """
        words = words_of(text)[:MOST]
        if len(words) < LEAST:
            return None
        if len(words) < RUN:
            return self._filed.get(hash(words))
        found = [(place, self._filed.get(run)) for place, run in enumerate(_runs(words, RUN))]
        known = [(place, id) for place, id in found if id is not None]
        covered, end = 0, 0
        for place, _ in known:
            covered += place + RUN - max(place, end)
            end = place + RUN
        if 2 * covered < len(words) or not known:
            return None
        counted = Counter(id for _, id in known)
        return min(counted, key=lambda each: (-counted[each], each))


def _runs(words: Sequence[str], size: int) -> Iterator[int]:
    return map(hash, zip(*(words[start:] for start in range(size)), strict=False))
