"""What turns speak of, as far as the rules tell (PO-4).

A turn has no key. What the rules read out of what its user says has one, and a category; and a turn
that speaks of the same, whoever says it, goes with that. Turns that are kept as they were said are
refused by it, and so are those of a session's log and of a summary
(:mod:`memstrata.manager.unwanted`).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from functools import cached_property
from typing import TypeAlias

from memstrata.capture.pasted import without_digests
from memstrata.capture.rules import examine
from memstrata.consolidation.support import Claim, Said, claim_of, mentions
from memstrata.domain.change import StoredRow
from memstrata.domain.codec import decode
from memstrata.domain.consent import About, Refusals
from memstrata.domain.decision import TURN_CATEGORY, Candidate
from memstrata.domain.memory import Kind, Memory
from memstrata.domain.scope import Scope
from memstrata.domain.trust import Source
from memstrata.domain.turn import Role, Turn

TURN_BYTES = 2_000
"""Memory that a turn of twenty words takes once it was read, measured."""

_Claims: TypeAlias = list[tuple[About, Claim]]


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


class _SaidTurn:
    """One verbatim turn, and what its user states in it.

    Attributes:
        run: What it belongs to with the turns of its session.
        turn: As it was said.
        said: Its text.
    """

    def __init__(self, told: Memory | Candidate) -> None:
        session = told.origin.session
        # Nothing tells what goes before a turn without a session, and so what it would repair.
        self.run = object() if session is None else (told.scope, session)
        self.turn = Turn(
            text=told.content,
            role=Role.USER if told.source is Source.USER_STATED else Role.OTHER,
            speaker=told.speaker,
            session=session,
            number=told.origin.turn,
        )
        self.said = Said(told.content)
        self._read: tuple[Candidate | None, list[_Stated], Candidate | None] | None = None

    def stated(
        self, home: Scope, topic: Candidate | None
    ) -> tuple[list[_Stated], Candidate | None]:
        """Return what :func:`stated_in` does of it; read once for as long as the topic is one."""
        read = self._read
        if read is None or read[0] != topic:
            found, then = stated_in([self.turn], home, topic)
            read = self._read = topic, [_Stated(each) for each in found], then
        return read[1:]


class _Stated:
    def __init__(self, candidate: Candidate) -> None:
        self.candidate = candidate

    @cached_property
    def claim(self) -> Claim:
        return claim_of(self.candidate)


class Spoken:
    """What the verbatim turns among some memories, or candidates for them, speak of.

    Reading takes about half a millisecond a turn, and is done when it is first asked for.
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
        claims = _refused_in(self._heard, self._home, refusals)
        told = {each.turn.text: each.said for each in self._heard} if claims else {}
        verdicts = ((text, _by_which(claims, said)) for text, said in told.items())
        return {text: by for text, by in verdicts if by is not None}

    @cached_property
    def _heard(self) -> list[_SaidTurn]:
        return [_SaidTurn(each) for each in self._turns]


class Overheard:
    """What the verbatim turns that stand of one owner speak of: each is read once, and one that
    comes is compared with what those before it state.

    Of turns that stand no more nothing is left once it is asked again.
    """

    def __init__(self, home: Scope) -> None:
        self._home = home
        self._heard: Mapping[str, _SaidTurn] = {}
        self._compared: tuple[_Claims, Mapping[str, About | None]] = [], {}

    @property
    def nbytes(self) -> int:
        """Memory held, roughly, in bytes."""
        return TURN_BYTES * len(self._heard)

    def unread(self, rows: Iterable[StoredRow]) -> int:
        """Return how many of some turns were not read yet."""
        return sum(row.id not in self._heard for row in rows)

    def refused(self, rows: Sequence[StoredRow], refusals: Refusals) -> Mapping[str, About]:
        """Return the ids of those of all turns that speak of something refused, and by what it is.

        Args:
            rows: All of them that stand.
            refusals: Of their owner.
        """
        known, (compared, verdicts) = self._heard, self._compared
        heard = {row.id: known.get(row.id) or _SaidTurn(decode(row)) for row in sorted(rows)}
        claims = _refused_in(heard.values(), self._home, [refusals])
        before = verdicts if claims == compared else {}
        after = dict[str, About | None]()
        for id, each in heard.items():
            after[id] = before[id] if id in before else _by_which(claims, each.said)
        self._heard, self._compared = heard, (claims, after)
        return {id: by for id, by in after.items() if by is not None}


def _refused_in(heard: Iterable[_SaidTurn], home: Scope, refusals: Sequence[Refusals]) -> _Claims:
    """Return what is stated in turns and refused, and by what it is."""
    runs: dict[object, list[_SaidTurn]] = {}
    for each in heard:
        runs.setdefault(each.run, []).append(each)
    claims: _Claims = []
    for run in runs.values():
        topic: Candidate | None = None
        for each in sorted(run, key=lambda one: one.turn.number or 0):
            stated, topic = each.stated(home, topic)
            against = ((_first(refusals, one.candidate), one) for one in stated)
            claims += [(by, one.claim) for by, one in against if by is not None]
    return claims


def _by_which(claims: _Claims, said: Said) -> About | None:
    return next((by for by, claim in claims if mentions(claim, said)), None)


def _first(refusals: Iterable[Refusals], stated: Candidate) -> About | None:
    return next((by for each in refusals if (by := each.against(stated)) is not None), None)
