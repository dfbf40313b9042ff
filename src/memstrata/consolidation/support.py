"""When a turn bears out what is held back (CO-5).

It does if the speaker is the right one, and it holds the exact object term or two meaningful tokens
of the claim, and does not deny what the claim affirms or the other way about.
"""

from __future__ import annotations

from dataclasses import dataclass

from memstrata.domain.decision import Candidate
from memstrata.domain.turn import Role, Turn
from memstrata.language.analyser import analyse
from memstrata.language.polarity import Part, parts

TOKENS = 2
"""So many meaningful tokens must be shared where the object term is not (CO-5)."""

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


def claim_of(candidate: Candidate) -> Claim:
    """Return what is to be looked for."""
    said = f"{candidate.content} {candidate.quote or ''}"
    named = candidate.content if candidate.key is not None else ""
    object_ = candidate.triple.object if candidate.triple is not None else named
    tokens = frozenset(analyse(said)) - _WEAK
    clauses = parts(candidate.quote or candidate.content)
    denied = [each for part in clauses for each in _shared(part, tokens)]
    return Claim(
        object=tuple(term for term in analyse(object_) if term not in _WEAK),
        tokens=tokens,
        is_denied=_mostly(denied),
        speaker=candidate.speaker,
    )


def bears_out(claim: Claim, turn: Turn) -> bool:
    """Whether a turn bears out a claim; only the user's turns do, and only the same speaker's."""
    if turn.role is not Role.USER:
        return False
    if claim.speaker is not None and turn.speaker not in (None, claim.speaker):
        return False
    return is_said_in(claim, turn.text)


def is_said_in(claim: Claim, text: str) -> bool:
    """Whether a text says what a claim says, as far as words tell."""
    if not mentions(claim, text):
        return False
    clauses = [_shared(part, claim.tokens) for part in parts(text)]
    most = max(map(len, clauses), default=0)
    near = [denied for denied in clauses if denied and len(denied) == most]
    return not near or any(_mostly(denied) == claim.is_denied for denied in near)


def mentions(claim: Claim, text: str) -> bool:
    """Whether a text speaks of what a claim is about, whether it affirms it or denies it."""
    found = analyse(text)
    return _holds(found, claim.object) or len(claim.tokens.intersection(found)) >= TOKENS


def _holds(found: tuple[str, ...], wanted: tuple[str, ...]) -> bool:
    size = len(wanted)
    if not size:
        return False
    return any(found[at : at + size] == wanted for at in range(len(found) - size + 1))


def _shared(part: Part, tokens: frozenset[str]) -> list[bool]:
    """Return of each word of a clause that is among some tokens whether it is denied."""
    words = enumerate(part.words)
    return [
        place in part.denied for place, word in words if tokens.intersection(analyse(word.text))
    ]


def _mostly(denied: list[bool]) -> bool:
    return 2 * sum(denied) > len(denied)
