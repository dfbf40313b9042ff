"""What turns speak of, as far as the rules tell.

A turn has no key. What the rules read out of what its user says has one, and a category; and a turn
that speaks of the same, whoever says it, goes with that. Turns that are kept as they were said are
refused by it, and so are summaries, what a session's log shows and what a new summary is made of
(:mod:`simonides.engine.screening.suppression`).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from functools import cached_property
from typing import TypeAlias

from simonides.capture.pasted import without_digests
from simonides.capture.rules.extract import examine
from simonides.domain.ageing import SUMMARY_CATEGORY
from simonides.domain.codecs.memory import decode
from simonides.domain.conversation.turn import Role, Turn
from simonides.domain.governance.consent import About, Refusals
from simonides.domain.memory import Kind, Memory
from simonides.domain.scope import Scope
from simonides.domain.trust import Source
from simonides.domain.writing.change import StoredRow
from simonides.domain.writing.decision import TURN_CATEGORY, Candidate
from simonides.text.similarity.support import (
    Claim,
    Said,
    claim_of,
    mentions,
)

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


def parents_of(told: Iterable[Memory]) -> list[str]:
    """Return the ids of the memories that the summaries among some were made of."""
    return sorted({id for each in told if _is_summary(each) for id in each.parents})


def is_telling(told: Memory | Candidate) -> bool:
    """Whether something tells, under no key, what was said: a turn that is kept as it was said, or
    a session's summary.
    """
    return _is_summary(told) or (told.kind is Kind.EPISODIC and told.category == TURN_CATEGORY)


def _is_summary(told: Memory | Candidate) -> bool:
    return told.category == SUMMARY_CATEGORY


class _Telling:
    """One verbatim turn, and what its user states in it; or a summary, and what it says that the
    user stated.

    Attributes:
        run: What it belongs to with the turns of its session.
        turn: As it was said.
        said: Its text.
        parents: Ids of the memories that it was made of.
    """

    def __init__(self, told: Memory | Candidate) -> None:
        is_summary = _is_summary(told)
        session = None if is_summary else told.origin.session
        # Nothing tells what goes before a turn without a session, and so what it would repair.
        self.run = object() if session is None else (told.scope, session)
        # Without a model a summary is in the words of who spoke.
        is_users = is_summary or told.source is Source.USER_STATED
        self.parents = told.parents if is_summary else ()
        self.turn = Turn(
            text=told.content,
            role=Role.USER if is_users else Role.OTHER,
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
    def __init__(self, candidate: Candidate | Memory) -> None:
        self.candidate = candidate

    @cached_property
    def claim(self) -> Claim:
        return claim_of(self.candidate)


class ConsentMatcher:
    """What the verbatim turns and summaries among some memories, or candidates for them, speak of.

    Reading takes about half a millisecond a turn, and is done when it is first asked for.
    """

    def __init__(self, told: Sequence[Memory | Candidate], home: Scope) -> None:
        self._tellings = [each for each in told if is_telling(each)]
        self._home = home

    def __len__(self) -> int:
        return len(self._tellings)

    def refused(self, *refusals: Refusals) -> Mapping[str, About]:
        """Return the texts of those that speak of something refused, and by what it is.

        What a turn speaks of is a matter of its text: places do not tell turns apart, for many
        have none, and those of two scopes can be the same.

        Args:
            refusals: Of everybody who may refuse them; the first that does is told of.
        """
        if not self._tellings or not any(refusals):
            return {}
        claims = _refused_in(self._heard, self._home, refusals)
        found = dict[str, About]()
        for each in self._heard:
            by = _by_which(claims, each.said)
            if by is not None:
                found.setdefault(each.turn.text, by)
        return found

    @cached_property
    def _heard(self) -> list[_Telling]:
        return [_Telling(each) for each in self._tellings]


class StatementMatcher:
    """What the verbatim turns and summaries that stand of one owner speak of: each is read once,
    and one that comes is compared with what those before it state.

    Of those that stand no more nothing is left once it is asked again.
    """

    def __init__(self, home: Scope) -> None:
        self._home = home
        self._heard: Mapping[str, _Telling] = {}
        self._compared: tuple[_Claims, Mapping[str, About | None]] = [], {}
        self._parents: Mapping[str, _Stated | None] = {}

    @property
    def nbytes(self) -> int:
        """Memory held, roughly, in bytes."""
        return TURN_BYTES * len(self._heard)

    def unread(self, rows: Iterable[StoredRow]) -> int:
        """Return how many of some of them were not read yet."""
        return sum(row.id not in self._heard for row in rows)

    def made_of(self, rows: Iterable[StoredRow]) -> list[str]:
        """Return the ids of what some of them were made of, as far as that was not told yet."""
        self._heard = heard = self._read(rows)
        wanted = {id for each in heard.values() for id in each.parents}
        return sorted(wanted - self._parents.keys())

    def refused(
        self, rows: Sequence[StoredRow], refusals: Refusals, parents: Iterable[Memory] = ()
    ) -> Mapping[str, About]:
        """Return the ids of those that speak of something refused, and by what it is.

        Args:
            rows: All of them that stand.
            refusals: Of their owner.
            parents: What :meth:`made_of` wanted, as far as it is there.
        """
        compared, verdicts = self._compared
        heard = self._read(rows)
        wanted = {id for each in heard.values() for id in each.parents}
        told = {parent.id: _Stated(parent) for parent in parents}
        stated = {id: self._parents.get(id) or told.get(id) for id in wanted}
        claims = _refused_in(heard.values(), self._home, [refusals])
        before = verdicts if claims == compared else {}
        after = dict[str, About | None]()
        for id, each in heard.items():
            after[id] = before[id] if id in before else _by_which(claims, each.said)
        self._heard, self._compared, self._parents = heard, (claims, after), stated
        found = {id: by for id, by in after.items() if by is not None}
        for id, each in heard.items():
            by = _by_which(_inherited(each, stated, [refusals]), each.said)
            if by is not None:
                found.setdefault(id, by)
        return found

    def refused_since(
        self, told: Sequence[Memory], refusals: Refusals, parents: Iterable[Memory]
    ) -> frozenset[str]:
        """Return the ids of those that stand no more and speak of something refused: by what the
        standing ones state, which were read before, by what they state themselves, and by what
        they were made of.

        Args:
            told: Turns and summaries.
            refusals: Of their owner.
            parents: What they were made of, as far as it is there.
        """
        heard = {memory.id: _Telling(memory) for memory in told}
        # What a repair is about may stand.
        everything = [*self._heard.values(), *heard.values()]
        claims = [*self._compared[0], *_refused_in(everything, self._home, [refusals])]
        stated = {parent.id: _Stated(parent) for parent in parents}
        return frozenset(
            id
            for id, each in heard.items()
            if _by_which([*claims, *_inherited(each, stated, [refusals])], each.said)
        )

    def _read(self, rows: Iterable[StoredRow]) -> dict[str, _Telling]:
        known = self._heard
        return {row.id: known.get(row.id) or _Telling(decode(row)) for row in sorted(rows)}


def _refused_in(heard: Iterable[_Telling], home: Scope, refusals: Sequence[Refusals]) -> _Claims:
    """Return what is stated in turns and refused, and by what it is."""
    runs: dict[object, list[_Telling]] = {}
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


def _inherited(
    telling: _Telling, stated: Mapping[str, _Stated | None], refusals: Sequence[Refusals]
) -> _Claims:
    """Return what is refused of what a summary was made of, and by what it is."""
    parents = filter(None, map(stated.get, telling.parents))
    against = ((_first(refusals, parent.candidate), parent) for parent in parents)
    return [(by, parent.claim) for by, parent in against if by is not None]


def _by_which(claims: _Claims, said: Said) -> About | None:
    return next((by for by, claim in claims if mentions(claim, said)), None)


def _first(refusals: Iterable[Refusals], stated: Candidate | Memory) -> About | None:
    return next((by for each in refusals if (by := each.against(stated)) is not None), None)
