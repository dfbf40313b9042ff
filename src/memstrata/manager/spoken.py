"""What turns speak of, as far as the rules tell (PO-4).

A turn has no key. What the rules read out of what its user says has one, and a category; and a turn
that speaks of the same, whoever says it, goes with that. Turns that are kept as they were said are
refused by it, and so are those of a session's log and of a summary
(:mod:`memstrata.manager.unwanted`).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from functools import cached_property

from memstrata.capture.pasted import without_digests
from memstrata.capture.rules import examine
from memstrata.consolidation.support import Claim, Said, claim_of, mentions
from memstrata.domain.consent import About, Refusals
from memstrata.domain.decision import TURN_CATEGORY, Candidate
from memstrata.domain.memory import Kind, Memory
from memstrata.domain.scope import Scope
from memstrata.domain.trust import Source
from memstrata.domain.turn import Role, Turn


def stated_in(
    turns: Iterable[Turn], home: Scope, topic: Candidate | None = None
) -> tuple[list[Candidate], Candidate | None]:
    """Return what the rules find that the user states in turns, in order.

    Args:
        turns: Of one session, oldest first.
        home: Whose they are.
        topic: What a repair in the first of them would be about.

    Returns:
        The statements, without what is to be forgotten; and what a repair in the next turn would
        be about.
    """
    stated: list[Candidate] = []
    for turn in turns:
        if turn.role is not Role.USER:
            continue
        own = Turn(
            text=without_digests(turn.text),
            role=turn.role,
            speaker=turn.speaker,
            session=turn.session,
            number=turn.number,
            said_at=turn.said_at,
        )
        found = [c for c in examine(own, home, before=topic).candidates if c.retracts is None]
        stated += found
        topic = next((each for each in reversed(found) if each.key), None)
    return stated, topic


def speaks_of(said: Said, claims: Iterable[Claim]) -> bool:
    """Whether a text speaks of any of some statements."""
    return any(mentions(claim, said) for claim in claims)


def is_turn(told: Memory | Candidate) -> bool:
    """Whether something is a turn that is kept as it was said (CO-10)."""
    return told.kind is Kind.EPISODIC and told.category == TURN_CATEGORY


class Spoken:
    """What the verbatim turns among some memories, or candidates for them, speak of.

    Reading takes about a millisecond a turn, and is done when it is first asked for.
    """

    def __init__(self, told: Sequence[Memory | Candidate], home: Scope) -> None:
        self._turns = [each for each in told if is_turn(each)]
        self._home = home

    def __len__(self) -> int:
        return len(self._turns)

    def refused(self, *refusals: Refusals) -> Mapping[str, About]:
        """Return the texts of those that speak of something refused, and by what it is.

        What a turn speaks of is a matter of its text: places do not tell turns apart, for many
        have none, and those of two scopes can be the same.

        Args:
            refusals: Of everybody who may refuse them; the first that does is told of.
        """
        if not self._turns or not any(refusals):
            return {}
        against = ((_first(refusals, one), claim_of(one)) for one in self._stated)
        claims = [(by, claim) for by, claim in against if by is not None]
        refused: dict[str, About] = {}
        for text, said in self._said.items() if claims else ():
            by = next((by for by, claim in claims if mentions(claim, said)), None)
            if by is not None:
                refused[text] = by
        return refused

    @cached_property
    def _stated(self) -> list[Candidate]:
        runs: dict[object, list[Turn]] = {}
        for at, each in enumerate(self._turns):
            session = each.origin.session
            # Nothing tells what goes before a turn without a session, and so what it would repair.
            run = at if session is None else (each.scope, session)
            runs.setdefault(run, []).append(_turn(each))
        ordered = (sorted(run, key=lambda one: one.number or 0) for run in runs.values())
        return [found for run in ordered for found in stated_in(run, self._home)[0]]

    @cached_property
    def _said(self) -> dict[str, Said]:
        return {each.content: Said(each.content) for each in self._turns}


def _first(refusals: Iterable[Refusals], stated: Candidate) -> About | None:
    return next((by for each in refusals if (by := each.against(stated)) is not None), None)


def _turn(told: Memory | Candidate) -> Turn:
    return Turn(
        text=told.content,
        role=Role.USER if told.source is Source.USER_STATED else Role.OTHER,
        speaker=told.speaker,
        session=told.origin.session,
        number=told.origin.turn,
    )
