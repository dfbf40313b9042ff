"""The sentences of a text that say most of it: a summary that nobody had to write.

A sentence tells much if its words come up again and again, if it is the first or the last of what
was said in one go, and if it names somebody or gives a number; a question tells less than an
answer. Sentences are taken best first, each for what it adds to those taken already, so that
nothing is said twice. Words are the terms of the analyser: stems, and pairs of characters in
scripts without spaces.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from simonides.language.analyser import analyse
from simonides.language.polarity import is_negation
from simonides.language.sentences import sentences

LEAST_CHARS = 40
"""Shortest summary that can be asked for: less holds no sentence."""

CUT = "…"
"""The mark of a sentence that was cut."""

MOST = 1_000
"""Sentences that are weighed against each other; of more, those that tell most. Chosen: it bounds
the work on 64 KiB to some tens of milliseconds."""

NEAR = 0.6
"""Share of a sentence's words that one already taken has too, from which it says nothing new,
unless it has another number or denies what the other states; chosen."""

HALF = 0.5
"""What such a one counts for all the same: half of it was said."""

LEAST = 0.2
"""Share of what the best sentence tells that one must add to be worth its room; chosen."""

# Chosen, not fitted to anything; a word that comes up once counts as little as _RARE.
_RARE = 0.2
_FIRST = 0.5
_LAST = 0.25
_NUMBER = 0.35
_NAME = 0.35
_QUESTION = 0.6


@dataclass(frozen=True, slots=True)
class _Sentence:
    place: int
    text: str
    terms: frozenset[str]
    score: float

    def differs_from(self, other: _Sentence) -> bool:
        """Whether it has a number that another has not, or denies what that states."""
        if _denies(self.text) != _denies(other.text):
            return True
        return any(any(map(str.isdecimal, term)) for term in self.terms - other.terms)


def extract(texts: Sequence[str], *, max_chars: int) -> str:
    """Return the most telling sentences of some texts, in their order, within a length.

    Deterministic; a sentence stands whole or not at all, but for a first one that alone is too
    long, which is cut and marked. Any language; empty for texts that say nothing.

    Args:
        texts: Turns or paragraphs, oldest first.
        max_chars: At most so many characters, 40 or more.

    Raises:
        ValueError: If ``max_chars`` is less.
    """
    if max_chars < LEAST_CHARS:
        raise ValueError(f"max_chars must be {LEAST_CHARS} or more, not {max_chars}")
    weighed = _weighed([list(sentences(_storable(text))) for text in texts])
    weighed.sort(key=lambda each: (-each.score, each.place))
    taken = _taken(weighed[:MOST], max_chars)
    if not taken and weighed:
        return _shortened(weighed[0].text, max_chars)
    return " ".join(each.text for each in sorted(taken, key=lambda each: each.place))


def _weighed(said: Sequence[Sequence[str]]) -> list[_Sentence]:
    """Return every sentence with what it tells by itself, in order."""
    terms = [[frozenset(analyse(sentence)) for sentence in each] for each in said]
    known = Counter(term for each in terms for found in each for term in found)
    made: list[_Sentence] = []
    for each, found in zip(said, terms, strict=True):
        for at, sentence in enumerate(each):
            score = _frequency(found[at], known)
            score *= 1 + _bonus(sentence) + _FIRST * (at == 0) + _LAST * (at == len(each) - 1)
            made.append(_Sentence(len(made), sentence, found[at], score))
    return made


def _frequency(terms: frozenset[str], known: Counter[str]) -> float:
    """Return how much of all that was said the words of a sentence make up.

    Divided by the root of their number, between a sum, which is for the longest sentence, and a
    mean, which is for the shortest.
    """
    if not terms:
        return 0.0
    return math.fsum(_RARE + math.log2(known[term]) for term in terms) / math.sqrt(len(terms) + 3)


def _bonus(sentence: str) -> float:
    bonus = _NUMBER * any(map(str.isdecimal, sentence)) + _NAME * _names_something(sentence)
    return bonus - _QUESTION * sentence.rstrip("\"'”’»)]").endswith(("?", "？", "؟"))


def _names_something(sentence: str) -> bool:
    """Whether a word other than the first begins with a capital, where a script has them."""
    words = sentence.split()[1:]
    return any(word[:1].isupper() and word not in ("I", "I'm", "I've", "I'll") for word in words)


def _taken(weighed: Sequence[_Sentence], max_chars: int) -> list[_Sentence]:
    """Take sentences that fit, best first, each for what it adds to those taken already."""
    taken: list[_Sentence] = []
    left = [(each, 0.0) for each in weighed]
    least = LEAST * weighed[0].score if weighed else 0.0
    room = max_chars
    while left := [(each, heard) for each, heard in left if len(each.text) + bool(taken) <= room]:
        best, heard = max(left, key=_added)
        if taken and _added((best, heard))[0] < least:
            break
        room -= len(best.text) + bool(taken)
        taken.append(best)
        left = _without_repeats(left, best)
    return taken


def _added(weighed: tuple[_Sentence, float]) -> tuple[float, int]:
    """Return what a sentence adds, given how much of it was said; ties go to the earlier."""
    each, heard = weighed
    return each.score * (1 - heard), -each.place


def _without_repeats(
    left: Iterable[tuple[_Sentence, float]], taken: _Sentence
) -> list[tuple[_Sentence, float]]:
    """Return the sentences that still say something, each with how much of it was said."""
    kept: list[tuple[_Sentence, float]] = []
    for each, heard in left:
        share = _share(each, taken)
        if share > HALF and each.differs_from(taken):
            share = HALF
        if each is not taken and share < NEAR:
            kept.append((each, max(heard, share)))
    return kept


def _share(each: _Sentence, taken: _Sentence) -> float:
    if not each.terms:
        return float(each.text.casefold() == taken.text.casefold())
    return len(each.terms & taken.terms) / len(each.terms)


def _denies(text: str) -> bool:
    return sum(map(is_negation, text.lower().split())) % 2 == 1


def _shortened(text: str, max_chars: int) -> str:
    """Return the beginning of a sentence that is too long, to a space if there is one near."""
    kept = text[: max_chars - len(CUT)]
    space = kept.rfind(" ", len(kept) * 2 // 3)
    return (kept if space < 0 else kept[:space]).rstrip() + CUT


def _storable(text: str) -> str:
    return text.encode("utf-8", "replace").decode("utf-8")
