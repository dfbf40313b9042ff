"""When a turn bears out what is held back.

It does if the speaker is the right one, and it holds the exact object term or two meaningful tokens
of the claim, and does not deny what the claim affirms or the other way about.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

from simonides.domain.conversation.turn import Role, Turn
from simonides.domain.memory import Record
from simonides.domain.writing.decision import Candidate
from simonides.text.analyser import analyse
from simonides.text.similarity.negation import clauses as clauses_of

TOKENS = 2
"""So many meaningful tokens must be shared where the object term is not."""

# Words that say that somebody wants or does something, not what: two sentences that share no more
# have nothing in common. Chosen by reading; beside the stop words of the analyser.
_WEAK = frozenset(
    analyse(
        "user speaker like love hate prefer want need wish enjoy think feel guess know mean say "
        "tell ask talk get got go going went make made do done take use try keep give come see "
        "look let put thing things stuff something anything everything really very quite pretty "
        "just too also even still always never ever often usually sometimes maybe please sure "
        "yes ok okay good great nice well much many lot more most less bit little kind sort way "
        "time today now day i'm don't doesn't didn't can't won't isn't i've can could would "
        "should will may might must us about please thanks thank"
    )
)


@dataclass(frozen=True, slots=True)
class Claim:
    """What is held back, ready to be looked for in turns.

    Attributes:
        object: Terms of the object, in order: of the triple's, or of a keyed fact's value.
        tokens: Meaningful terms of all that it says.
        is_denied: Whether it says that something is not.
        speaker: Who said it, if he has a name.
    """

    object: tuple[str, ...]
    tokens: frozenset[str]
    is_denied: bool
    speaker: str | None


class Said:
    """A text, ready to be asked by many claims.

    Attributes:
        terms: Its terms in order.
    """

    def __init__(self, text: str) -> None:
        self._text = text
        self.terms = analyse(text)
        self._distinct = frozenset(self.terms)

    def shares(self, tokens: frozenset[str]) -> int:
        """Return how many of some tokens it has."""
        return len(tokens & self._distinct)

    def holds(self, wanted: tuple[str, ...]) -> bool:
        """Whether it has some terms, one behind the other."""
        size = len(wanted)
        if not size or not self._distinct.issuperset(wanted):
            return False
        starts = range(len(self.terms) - size + 1)
        return any(self.terms[at : at + size] == wanted for at in starts)

    def denials(self, tokens: frozenset[str]) -> list[list[bool]]:
        """Return, clause by clause, of each word that is among some tokens whether it is denied."""
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
    """Return what is to be looked for."""
    said = f"{stated.content} {stated.quote or ''}"
    named = stated.content if stated.key is not None else ""
    object_ = stated.triple.object if stated.triple is not None else named
    tokens = frozenset(analyse(said)) - _WEAK
    clauses = Said(stated.quote or stated.content).denials(tokens)
    return Claim(
        object=tuple(term for term in analyse(object_) if term not in _WEAK),
        tokens=tokens,
        is_denied=_mostly([denied for clause in clauses for denied in clause]),
        speaker=stated.speaker,
    )


def bears_out(claim: Claim, turn: Turn, said: Said | None = None) -> bool:
    """Whether a turn bears out a claim; only the user's turns do, and only the same speaker's.

    Args:
        claim: What is held back.
        turn: What was said, and by whom.
        said: Its text, where that is ready.
    """
    if turn.role is not Role.USER:
        return False
    if claim.speaker is not None and turn.speaker not in (None, claim.speaker):
        return False
    return is_said_in(claim, Said(turn.text) if said is None else said)


def is_said_in(claim: Claim, said: Said) -> bool:
    """Whether a text says what a claim says, as far as words tell."""
    if not mentions(claim, said):
        return False
    clauses = said.denials(claim.tokens)
    most = max(map(len, clauses), default=0)
    near = [denied for denied in clauses if denied and len(denied) == most]
    return not near or any(_mostly(denied) == claim.is_denied for denied in near)


def mentions(claim: Claim, said: Said) -> bool:
    """Whether a text speaks of what a claim is about, whether it affirms it or denies it."""
    return said.holds(claim.object) or said.shares(claim.tokens) >= TOKENS


def _mostly(denied: list[bool]) -> bool:
    return 2 * sum(denied) > len(denied)
