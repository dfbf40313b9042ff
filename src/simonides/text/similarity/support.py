"""Decides whether a turn supports a held candidate.

The turn must be of the same speaker. It must contain the exact object of the claim or two of its
meaningful terms, and must not deny what the claim affirms, or affirm what it denies.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache, cached_property

from simonides.domain.conversation.turn import Role, Turn
from simonides.domain.memory import Record
from simonides.domain.writing.decision import Candidate
from simonides.text.analyser import analyse
from simonides.text.similarity.negation import clauses as clauses_of

TOKENS = 2
"""Meaningful terms that must be shared if the object is not."""

# Words for wanting or doing something, whatever it is: two sentences that share no others have
# nothing in common. Chosen by reading, in addition to the stop words of the analyser.
_WEAK_WORDS = (
    "user speaker like love hate prefer want need wish enjoy think feel guess know mean say "
    "tell ask talk get got go going went make made do done take use try keep give come see "
    "look let put thing things stuff something anything everything really very quite pretty "
    "just too also even still always never ever often usually sometimes maybe please sure "
    "yes ok okay good great nice well much many lot more most less bit little kind sort way "
    "time today now day i'm don't doesn't didn't can't won't isn't i've can could would "
    "should will may might must us about please thanks thank"
)


@dataclass(frozen=True, slots=True)
class Claim:
    """A candidate or memory, analysed for comparison with turns.

    Attributes:
        object: Terms of the triple's object or of a keyed fact's value, in order.
        tokens: All its meaningful terms.
        is_denied: Whether it denies something.
        speaker: Name of the speaker, or None.
    """

    object: tuple[str, ...]
    tokens: frozenset[str]
    is_denied: bool
    speaker: str | None


class Said:
    """A text, analysed once for comparison with many claims.

    Attributes:
        terms: Its terms in order.
    """

    def __init__(self, text: str) -> None:
        self._text = text
        self.terms = analyse(text)
        self._distinct = frozenset(self.terms)

    def shares(self, tokens: frozenset[str]) -> int:
        """Return how many of the terms it has."""
        return len(tokens & self._distinct)

    def holds(self, wanted: tuple[str, ...]) -> bool:
        """Whether it has the terms as one run, in this order."""
        size = len(wanted)
        if not size or not self._distinct.issuperset(wanted):
            return False
        starts = range(len(self.terms) - size + 1)
        return any(self.terms[at : at + size] == wanted for at in starts)

    def denials(self, tokens: frozenset[str]) -> list[list[bool]]:
        """Return by clause, for each word with one of the terms, whether it is denied."""
        return [
            [denied for terms, denied in clause if not tokens.isdisjoint(terms)]
            for clause in self._clauses
        ]

    @cached_property
    def _clauses(self) -> list[list[tuple[tuple[str, ...], bool]]]:
        return [
            [
                (analyse(word.text), place in clause.negated)
                for place, word in enumerate(clause.words)
            ]
            for clause in clauses_of(self._text)
        ]


def claim_of(stated: Candidate | Record) -> Claim:
    """Return the claim of a candidate or memory."""
    said = f"{stated.content} {stated.quote or ''}"
    named = stated.content if stated.key is not None else ""
    object_ = stated.triple.object if stated.triple is not None else named
    tokens = frozenset(analyse(said)) - _weak_terms()
    clauses = Said(stated.quote or stated.content).denials(tokens)
    return Claim(
        object=tuple(term for term in analyse(object_) if term not in _weak_terms()),
        tokens=tokens,
        is_denied=_mostly([denied for clause in clauses for denied in clause]),
        speaker=stated.speaker,
    )


def bears_out(claim: Claim, turn: Turn, said: Said | None = None) -> bool:
    """Whether a turn supports a claim; only turns of the user and of the same speaker can.

    Args:
        claim: The claim.
        turn: The turn.
        said: Its text if it is analysed already.
    """
    if turn.role is not Role.USER:
        return False
    if claim.speaker is not None and turn.speaker not in (None, claim.speaker):
        return False
    return is_said_in(claim, Said(turn.text) if said is None else said)


def is_said_in(claim: Claim, said: Said) -> bool:
    """Whether a text states a claim, judged by its words."""
    if not mentions(claim, said):
        return False
    clauses = said.denials(claim.tokens)
    most = max(map(len, clauses), default=0)
    near = [denied for denied in clauses if denied and len(denied) == most]
    return not near or any(_mostly(denied) == claim.is_denied for denied in near)


def mentions(claim: Claim, said: Said) -> bool:
    """Whether a text is about the subject of a claim; it may affirm or deny it."""
    return said.holds(claim.object) or said.shares(claim.tokens) >= TOKENS


# Lazy, because the analyser loads the stemmer.
@cache
def _weak_terms() -> frozenset[str]:
    return frozenset(analyse(_WEAK_WORDS))


def _mostly(denied: list[bool]) -> bool:
    return 2 * sum(denied) > len(denied)
