"""Fingerprints that recognise a statement when it is pasted, cut, reordered or lightly reworded.

The fingerprint of a text is a set of numbers for each of its clauses. They stand for word stems,
with one number for words of one meaning, and for number values. A negated word has another number
than a plain one. Case, order, punctuation, stop words and introductory words ("as I said",
"remember that", "the user") have no effect. Numbers have 32 bits: two words collide once in four
thousand million pairs.

One statement *repeats* another if the other holds nearly all of it, and all its numbers, names and
negations.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from functools import lru_cache
from typing import NamedTuple, TypeAlias

from simonides.text.analyser import analyse, term_id
from simonides.text.quantities.numbers import Token, quantities, tokens
from simonides.text.similarity.negation import Clause, clauses, is_negation
from simonides.text.similarity.same_statement import ONE_MEANING
from simonides.text.tokens import is_cjk

MIN_TERMS = 2
"""Fewest words by which a clause is recognised; chosen: a single word occurs in too many texts."""

ENOUGH = 0.85
"""Share of a clause that the other text must hold; chosen by measurement (docs/policy.md)."""

MAX_FOR_FEW = {2: 4, 3: 9}
"""Longest text, in words, in which two or three words suffice; chosen by measurement
(docs/policy.md)."""

_BITS = (1 << 32) - 1


class ClausePrint(NamedTuple):
    """The fingerprint of one clause.

    Attributes:
        terms: Numbers of all its words.
        required: Numbers of its numerals, names and negated words: all are required for a match.
    """

    terms: frozenset[int]
    required: frozenset[int]


ClausePrints: TypeAlias = tuple[ClausePrint, ...]


# Cached: the same memories are shown repeatedly, and one text is compared in several ways.
@lru_cache(maxsize=4096)
def fingerprint(text: str) -> ClausePrints:
    """Return the fingerprint of each clause of a text that has any; linear in the text."""
    made = (_print_of(clause) for clause in clauses(text[:MAX_CHARS].replace("用户", "我")))
    return tuple(each for each in made if each.terms)


MAX_CHARS = 8_000
"""Prefix of a text that is fingerprinted; chosen: more than a digest shows of one memory."""


def terms_of(prints: Iterable[ClausePrint]) -> frozenset[int]:
    """Return the numbers of all clauses."""
    return frozenset[int]().union(*(each.terms for each in prints))


def repeats(said: ClausePrints, known: Sequence[frozenset[int]], ignored: frozenset[int]) -> bool:
    """Whether the clauses of a statement, together or one by one, repeat known statements.

    Args:
        said: Fingerprint of the statement in question.
        known: Numbers of each statement that it may repeat.
        ignored: Numbers that do not count, such as those of the speaker's own name.
    """
    prints = [ClausePrint(each.terms - ignored, each.required - ignored) for each in said]
    prints = [each for each in prints if each.terms]
    joined = _joined(prints)
    if any(_is_in(joined, other) for other in known):
        return True
    return bool(prints) and all(any(_is_in(each, other) for other in known) for each in prints)


def whole_text_id(text: str) -> int | None:
    """Return a number for the whole text, which also recognises texts of a single word.

    It hashes the set of all words except introductory ones; None if there are no others.
    """
    words = {token.low for token in tokens(text[:MAX_CHARS]) if token.text[0].isalnum()}
    ordered = sorted(words - _INTRODUCING)
    return term_id(" ".join(("whole", *ordered))) & _BITS if ordered else None


def shares(said: ClausePrints, other: frozenset[int], ignored: frozenset[int]) -> bool:
    """Whether a clause of a statement, or all of it, is in a text; the rule is that of
    :func:`repeats`.
    """
    prints = [ClausePrint(each.terms - ignored, each.required - ignored) for each in said]
    return any(_is_in(each, other) for each in (*prints, _joined(prints)))


def _joined(said: Sequence[ClausePrint]) -> ClausePrint:
    return ClausePrint(terms_of(said), frozenset[int]().union(*(each.required for each in said)))


def _is_in(said: ClausePrint, other: frozenset[int]) -> bool:
    size = len(said.terms)
    if size < MIN_TERMS or not said.required <= other:
        return False
    # Many long texts on another subject hold a few given words.
    if len(other) > MAX_FOR_FEW.get(size, len(other)):
        return False
    return len(said.terms & other) >= ENOUGH * size


def _print_of(clause: Clause) -> ClausePrint:
    terms: set[int] = set()
    required: set[int] = set()
    for text, is_negated, is_required in _said(clause):
        number = term_id(f"not {text}" if is_negated else text) & _BITS
        terms.add(number)
        if is_required or is_negated:
            required.add(number)
    return ClausePrint(frozenset(terms), frozenset(required))


def _said(clause: Clause) -> Iterator[tuple[str, bool, bool]]:
    """Yield the normal form of each word of a clause, whether it is negated, and whether it is
    required.
    """
    numbers = {one.start: one for one in quantities(clause.words, strict=True)}
    until = 0
    for place, word in enumerate(clause.words):
        if word.start < until or is_negation(word.low) or word.low in _HAN_IDLE:
            continue
        is_negated = place in clause.negated
        if (number := numbers.get(word.start)) is not None:
            until = number.end
            for value in sorted(number.values)[:1]:
                yield f"{value} {number.unit or ''}".rstrip(), is_negated, True
            continue
        run = _run(clause.words, place)
        until = run[-1].end
        text = "".join(token.text for token in run)
        is_name = place > 0 and word.text[0].isupper() and word.low not in ("i", "i'm", "i've")
        for term in analyse(ONE_MEANING.get(word.low, text)):
            meant = _SYNONYMS.get(term, term)
            if meant not in _IDLE:
                yield meant, is_negated, is_name


def _run(words: Sequence[Token], place: int) -> Sequence[Token]:
    """Return a word; for a script without spaces, the run of characters up to the next idle one."""
    end = place + 1
    if is_cjk(words[place].text[0]):
        while end < len(words) and words[end].start == words[end - 1].end:
            if not is_cjk(words[end].text[0]) or words[end].low in _HAN_IDLE:
                break
            end += 1
    return words[place:end]


# Stems of one meaning, in addition to the synonyms of the near gates: models and people exchange
# them when they repeat what they read.
_SYNONYMS = {
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
