"""Whether a text says again what another said, whole or in passages (FX-5).

For labels, not for gates: what is taken for a repetition here is stored all the same, and only
trusted less. So it errs the other way than :mod:`simonides.language.sameness`: case, punctuation,
articles and hidden characters do not count, and half of a text is enough.
"""

from __future__ import annotations

import unicodedata
from collections import Counter
from collections.abc import Iterator, Sequence

from simonides.language.normalise import normalise
from simonides.language.tokens import is_cjk

RUN = 5
"""Words in a row, articles left out, that make a passage of two texts. Chosen: five are seldom met
by chance, and a sentence worth keeping has them."""

LEAST = 3
"""Words of the shortest text that is known again, if all of them stand in a row in another; chosen:
values such as "yes" or "Berlin Mitte" come from anywhere."""

MOST = 16_384
"""Words of a text that are looked up; chosen: as many as 64 KiB of ordinary ones, so that a text of
nothing but short ones takes no longer."""

_ARTICLES = frozenset({"a", "an", "the"})


class _Plain(dict[int, str | None]):
    """A table for ``str.translate`` that makes words of letters and digits, learned as it is used.

    Marks and what shows nothing go without a trace, so that none of them parts a word in two.
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
    """Texts by their passages, so that one that comes again is known.

    Costs some 300 bytes for each word that is filed.
    """

    def __init__(self) -> None:
        self._filed: dict[int, str] = {}
        self._ids: set[str] = set()

    def __len__(self) -> int:
        """How many passages are filed."""
        return len(self._filed)

    def __contains__(self, id: str) -> bool:
        return id in self._ids

    def add(self, id: str, text: str) -> None:
        """File a text; a passage that others have too goes by the last of them."""
        self._ids.add(id)
        words = words_of(text)
        for size in range(LEAST, RUN + 1):
            self._filed.update(dict.fromkeys(_runs(words, size), id))

    def find(self, text: str) -> str | None:
        """Return the text that this one says again, or None.

        It does if runs of :data:`RUN` words that both have make up half of it, or if it is shorter
        than that and stands there whole. Of several the one with most of them is named.
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
