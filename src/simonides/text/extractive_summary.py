"""Extractive summary: selects the most informative sentences of a text.

A sentence scores high if its words recur, if it is first or last, or if it has a name or number. A
question scores lower than an answer. Sentences are taken best first, each by what it adds to those
already taken, to avoid repetition. Words are the terms of the analyser: stems, and pairs of
characters in scripts without spaces.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from simonides.text.analyser import analyse
from simonides.text.sentences import sentences
from simonides.text.similarity.negation import is_negation

LEAST_CHARS = 40
"""Least length of a summary; less holds no sentence."""

CUT = "…"
"""Marks a truncated sentence."""

MOST = 1_000
"""Sentences that are compared with each other, the best by score. Chosen: it limits the work on 64
KiB to some tens of milliseconds."""

NEAR = 0.6
"""Share of a sentence's words in a taken one, from which it is a repetition. Another number or the
opposite polarity is an exception; chosen."""

HALF = 0.5
"""Repeated share that such an exception counts with."""

LEAST = 0.2
"""Least score that a sentence must add, relative to the best sentence; chosen."""

# Chosen, not fitted; a word that occurs once counts only _RARE.
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
        """Whether it has a number that ``other`` lacks, or the opposite polarity."""
        if _is_negated(self.text) != _is_negated(other.text):
            return True
        return any(any(map(str.isdecimal, term)) for term in self.terms - other.terms)


def extract(texts: Sequence[str], *, max_chars: int) -> str:
    """Return the most informative sentences of some texts, in their order, within a length.

    Deterministic, for any language. Sentences are kept whole. If even the best sentence is too
    long, it alone is truncated and marked. Empty if the texts hold no sentences.

    Args:
        texts: Turns or paragraphs, oldest first.
        max_chars: Limit in characters, 40 or more.

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
    """Return how frequent the words of a sentence are in all texts.

    The sum is divided by the root of their number. A plain sum favours the longest sentence, a mean
    the shortest.
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
    taken: list[_Sentence] = []
    candidates = [(each, 0.0) for each in weighed]
    least = LEAST * weighed[0].score if weighed else 0.0
    budget = max_chars
    while candidates := [
        (each, repeated) for each, repeated in candidates if len(each.text) + bool(taken) <= budget
    ]:
        best, repeated = max(candidates, key=_added)
        if taken and _added((best, repeated))[0] < least:
            break
        budget -= len(best.text) + bool(taken)
        taken.append(best)
        candidates = _without_repeats(candidates, best)
    return taken


def _added(weighed: tuple[_Sentence, float]) -> tuple[float, int]:
    """Return the score that a sentence adds, less the repeated share; ties go to the earlier."""
    each, repeated = weighed
    return each.score * (1 - repeated), -each.place


def _without_repeats(
    candidates: Iterable[tuple[_Sentence, float]], taken: _Sentence
) -> list[tuple[_Sentence, float]]:
    kept: list[tuple[_Sentence, float]] = []
    for each, repeated in candidates:
        share = _share(each, taken)
        if share > HALF and each.differs_from(taken):
            share = HALF
        if each is not taken and share < NEAR:
            kept.append((each, max(repeated, share)))
    return kept


def _share(each: _Sentence, taken: _Sentence) -> float:
    if not each.terms:
        return float(each.text.casefold() == taken.text.casefold())
    return len(each.terms & taken.terms) / len(each.terms)


def _is_negated(text: str) -> bool:
    return sum(map(is_negation, text.lower().split())) % 2 == 1


def _shortened(text: str, max_chars: int) -> str:
    """Return the beginning of a sentence that is too long, cut at a space if one is near."""
    kept = text[: max_chars - len(CUT)]
    space = kept.rfind(" ", len(kept) * 2 // 3)
    return (kept if space < 0 else kept[:space]).rstrip() + CUT


def _storable(text: str) -> str:
    return text.encode("utf-8", "replace").decode("utf-8")
