"""What is left of a statement when it is pasted, cut, reordered or lightly reworded.

The fingerprint of a text is a set of numbers for each of its clauses: of the stems of its words,
with one for words of one meaning, of its numbers by their values, and each in the reach of a
negation another than without. Case, order, punctuation, stop words and words that only introduce
("as I said", "remember that", "the user") leave no trace. Numbers have 32 bits: two words are taken
for each other once in four thousand million pairs.

One statement *repeats* another if nearly all of it is in the other and no number, name or negation
of it is missing there.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from functools import lru_cache
from typing import NamedTuple, TypeAlias

from simonides.language.analyser import analyse, term_id
from simonides.language.numerals import Token, quantities, tokens
from simonides.language.polarity import Part, is_negation, parts
from simonides.language.sameness import ONE_MEANING
from simonides.language.tokens import is_cjk

MIN_TERMS = 2
"""Fewest words by which a clause is recognised; chosen: one word alone is in too many texts."""

ENOUGH = 0.85
"""Part of a clause that must be in the other text; chosen by measurement (docs/hygiene.md)."""

MAX_FOR_FEW = {2: 4, 3: 9}
"""Most words of a text in which two or three are enough; chosen by measurement, likewise."""

_BITS = (1 << 32) - 1


class Print(NamedTuple):
    """The fingerprint of one clause.

    Attributes:
        terms: Numbers of all its words.
        telling: Those of numbers, names, and of what is denied: none of them may be missing.
    """

    terms: frozenset[int]
    telling: frozenset[int]


Prints: TypeAlias = tuple[Print, ...]


# The same memories are shown again and again, and the same text is asked about in several ways.
@lru_cache(maxsize=4096)
def fingerprint(text: str) -> Prints:
    """Return the fingerprint of each clause of a text that has any; linear in the text."""
    made = (_print_of(part) for part in parts(text[:MAX_CHARS].replace("用户", "我")))
    return tuple(each for each in made if each.terms)


MAX_CHARS = 8_000
"""How much of a text leaves a fingerprint; chosen: more than a digest shows of one memory."""


def terms_of(prints: Iterable[Print]) -> frozenset[int]:
    """Return the numbers of all clauses."""
    return frozenset[int]().union(*(each.terms for each in prints))


def repeats(said: Prints, known: Sequence[frozenset[int]], ignored: frozenset[int]) -> bool:
    """Whether all that is said repeats what is known.

    Args:
        said: Of the statement in question.
        known: Numbers of each statement that it may repeat.
        ignored: Numbers that do not count, such as those of the speaker's own name.
    """
    clauses = [Print(each.terms - ignored, each.telling - ignored) for each in said]
    clauses = [each for each in clauses if each.terms]
    joined = _joined(clauses)
    if any(_is_in(joined, other) for other in known):
        return True
    return bool(clauses) and all(any(_is_in(each, other) for other in known) for each in clauses)


def whole(text: str) -> int | None:
    """Return the number of a text as a whole, by which it is recognised however few words it has:
    all its words in any order, but for those that introduce; None where there are no others.
    """
    words = {token.low for token in tokens(text[:MAX_CHARS]) if token.text[0].isalnum()}
    told = sorted(words - _INTRODUCING)
    return term_id(" ".join(("whole", *told))) & _BITS if told else None


def shares(said: Prints, other: frozenset[int], ignored: frozenset[int]) -> bool:
    """Whether a clause of what is said, or all of it, is in a text, as :func:`repeats` sees it."""
    clauses = [Print(each.terms - ignored, each.telling - ignored) for each in said]
    return any(_is_in(each, other) for each in (*clauses, _joined(clauses)))


def _joined(said: Sequence[Print]) -> Print:
    return Print(terms_of(said), frozenset[int]().union(*(each.telling for each in said)))


def _is_in(said: Print, other: frozenset[int]) -> bool:
    size = len(said.terms)
    if size < MIN_TERMS or not said.telling <= other:
        return False
    # A few words are found in many a long text that says something else.
    if len(other) > MAX_FOR_FEW.get(size, len(other)):
        return False
    return len(said.terms & other) >= ENOUGH * size


def _print_of(part: Part) -> Print:
    terms: set[int] = set()
    telling: set[int] = set()
    for text, is_denied, tells in _said(part):
        number = term_id(f"not {text}" if is_denied else text) & _BITS
        terms.add(number)
        if tells or is_denied:
            telling.add(number)
    return Print(frozenset(terms), frozenset(telling))


def _said(part: Part) -> Iterator[tuple[str, bool, bool]]:
    """Yield what each word of a clause comes to, whether it is denied, and whether it tells."""
    numbers = {one.start: one for one in quantities(part.words, strict=True)}
    until = 0
    for place, word in enumerate(part.words):
        if word.start < until or is_negation(word.low) or word.low in _HAN_IDLE:
            continue
        is_denied = place in part.denied
        if (number := numbers.get(word.start)) is not None:
            until = number.end
            for value in sorted(number.values)[:1]:
                yield f"{value} {number.unit or ''}".rstrip(), is_denied, True
            continue
        run = _run(part.words, place)
        until = run[-1].end
        text = "".join(token.text for token in run)
        is_name = place > 0 and word.text[0].isupper() and word.low not in ("i", "i'm", "i've")
        for term in analyse(ONE_MEANING.get(word.low, text)):
            meant = _MEANT.get(term, term)
            if meant not in _IDLE:
                yield meant, is_denied, is_name


def _run(words: Sequence[Token], place: int) -> Sequence[Token]:
    """Return a word, or the characters of a script without spaces up to the next that is none."""
    end = place + 1
    if is_cjk(words[place].text[0]):
        while end < len(words) and words[end].start == words[end - 1].end:
            if not is_cjk(words[end].text[0]) or words[end].low in _HAN_IDLE:
                break
            end += 1
    return words[place:end]


# Stems of one meaning, beside the words that are one word to the near gates: what models and people
# put for each other when they say again what they read.
_MEANT = {
    stem: group.split()[0]
    for group in (
        "like love enjoy ador fond", "live resid", "work employ job", "buy bought purchas",
        "want wish", "talk speak", "big larg huge", "small littl tini", "start begin began",
        "doctor physician", "car automobil vehicl", "hous home", "trip journey travel",
        "make creat", "finish complet", "kid child children", "prefer favour favor",
        "happi glad", "own possess", "allerg allergi", "repli answer respond", "short brief concis",
    )
    for stem in group.split()
}  # fmt: skip
_INTRODUCING = frozenset(
    "as you said say says i told tell me remember remembered that the user noted note mentioned "
    "before already know we talked about".split()
)
_HAN_IDLE = frozenset("我你您他她的了")
_IDLE = frozenset(
    "user person speaker client say said tell told mention rememb recal note know knew known pleas "
    "thank also just realli veri actual well still yes yeah okay ok oh hey hi so too now alreadi "
    "previous earlier again accord memori record fact been got get would could should am im ive "
    "were being have great awesom cool amaz nice good wow sound glad best sure let".split()
)
