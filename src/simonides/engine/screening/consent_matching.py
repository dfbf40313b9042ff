"""Finds the verbatim turns and summaries that mention a statement the user refuses to have
remembered.

A turn has no key of its own. The rules extract keyed statements from what the user says. A turn
that mentions such a statement, by any speaker, is refused with it. The same rule applies to
summaries and to a session's searchable log (:mod:`simonides.engine.screening.suppression`). It also
filters the input of a new summary.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from functools import cached_property
from typing import TypeAlias

from simonides.capture import without_digests
from simonides.capture.rules import examine
from simonides.domain.ageing import SUMMARY_CATEGORY
from simonides.domain.codecs.memory import decode
from simonides.domain.conversation.turn import Role, Turn
from simonides.domain.governance.consent import About, Refusals
from simonides.domain.memory import Kind, Record
from simonides.domain.scope import Scope
from simonides.domain.trust import Source
from simonides.domain.writing.change import StoredRow
from simonides.domain.writing.decision import TURN_CATEGORY, Candidate
from simonides.text.similarity import Claim, Said, claim_of, mentions

TURN_BYTES = 2_000
"""Memory of a parsed turn of twenty words, in bytes; measured."""

_Claims: TypeAlias = list[tuple[About, Claim]]


def stated_in(
    turns: Iterable[Turn], home: Scope, topic: Candidate | None = None
) -> tuple[list[Candidate], Candidate | None]:
    """Return the user's statements that the rules find in turns, in order.

    Args:
        turns: Of one session, oldest first.
        home: Scope of the turns.
        topic: Statement that a correction in the first turn would refer to.

    Returns:
        The statements, without retractions; and the statement that a correction in the next turn
        would refer to.
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
    """Whether a text mentions any of the statements."""
    return any(mentions(claim, said) for claim in claims)


def parents_of(memories: Iterable[Record]) -> list[str]:
    """Return the ids of the parents of the summaries among some memories."""
    return sorted({id for each in memories if _is_summary(each) for id in each.parents})


def is_telling(statement: Record | Candidate) -> bool:
    """Whether a memory is a verbatim turn or a session's summary; neither has a key."""
    return _is_summary(statement) or (
        statement.kind is Kind.EPISODIC and statement.category == TURN_CATEGORY
    )


def _is_summary(statement: Record | Candidate) -> bool:
    return statement.category == SUMMARY_CATEGORY


class _ParsedText:
    """One verbatim turn or summary, with the user's statements in it.

    Attributes:
        run: Groups the turns of one session.
        turn: The turn; a summary counts as one.
        said: Its text.
        parents: Ids of the memories that it was derived from.
    """

    def __init__(self, statement: Record | Candidate) -> None:
        is_summary = _is_summary(statement)
        session = None if is_summary else statement.origin.session
        # A turn without a session has no known predecessor, so a correction in it has no topic.
        self.run = object() if session is None else (statement.scope, session)
        # Without a model a summary quotes the speakers.
        is_users = is_summary or statement.source is Source.USER_STATED
        self.parents = statement.parents if is_summary else ()
        self.turn = Turn(
            text=statement.content,
            role=Role.USER if is_users else Role.OTHER,
            speaker=statement.speaker,
            session=session,
            number=statement.origin.turn,
        )
        self.said = Said(statement.content)
        self._read: tuple[Candidate | None, list[_Statement], Candidate | None] | None = None

    def stated(
        self, home: Scope, topic: Candidate | None
    ) -> tuple[list[_Statement], Candidate | None]:
        """Return the result of :func:`stated_in`; parsed again only if the topic changes."""
        read = self._read
        if read is None or read[0] != topic:
            found, then = stated_in([self.turn], home, topic)
            read = self._read = topic, [_Statement(each) for each in found], then
        return read[1:]


class _Statement:
    def __init__(self, candidate: Candidate | Record) -> None:
        self.candidate = candidate

    @cached_property
    def claim(self) -> Claim:
        return claim_of(self.candidate)


class ConsentMatcher:
    """Matches the verbatim turns and summaries among some memories or candidates against refusals.

    A turn is parsed at the first use; that takes about half a millisecond.
    """

    def __init__(self, memories: Sequence[Record | Candidate], home: Scope) -> None:
        self._texts = [each for each in memories if is_telling(each)]
        self._home = home

    def __len__(self) -> int:
        return len(self._texts)

    def refused(self, *refusals: Refusals) -> Mapping[str, About]:
        """Return the texts that mention something refused, each with the refusal that applies.

        Turns are identified by text. Many have no position, and positions in two scopes can be
        equal.

        Args:
            refusals: Of everyone who may refuse them; the first match is returned.
        """
        if not self._texts or not any(refusals):
            return {}
        claims = _refused_in(self._parsed, self._home, refusals)
        found = dict[str, About]()
        for each in self._parsed:
            by = _matching_refusal(claims, each.said)
            if by is not None:
                found.setdefault(each.turn.text, by)
        return found

    @cached_property
    def _parsed(self) -> list[_ParsedText]:
        return [_ParsedText(each) for each in self._texts]


class StatementMatcher:
    """Matches the live verbatim turns and summaries of one owner against refusals.

    Each one is parsed once and a new one is compared with the statements of those before it.
    Entries that are not live any more are dropped at the next call.
    """

    def __init__(self, home: Scope) -> None:
        self._home = home
        self._parsed: Mapping[str, _ParsedText] = {}
        self._verdicts: tuple[_Claims, Mapping[str, About | None]] = [], {}
        self._parents: Mapping[str, _Statement | None] = {}

    @property
    def nbytes(self) -> int:
        """Memory held, roughly, in bytes."""
        return TURN_BYTES * len(self._parsed)

    def unread(self, rows: Iterable[StoredRow]) -> int:
        """Return the number of rows that are not parsed yet."""
        return sum(row.id not in self._parsed for row in rows)

    def made_of(self, rows: Iterable[StoredRow]) -> list[str]:
        """Return the ids of the rows' parents that are not known yet."""
        self._parsed = parsed = self._read(rows)
        wanted = {id for each in parsed.values() for id in each.parents}
        return sorted(wanted - self._parents.keys())

    def refused(
        self, rows: Sequence[StoredRow], refusals: Refusals, parents: Iterable[Record] = ()
    ) -> Mapping[str, About]:
        """Return the ids of the rows that mention something refused, each with the refusal that
        applies.

        Args:
            rows: All live turns and summaries.
            refusals: Of their owner.
            parents: The memories that :meth:`made_of` asked for, as far as they exist.
        """
        compared, verdicts = self._verdicts
        parsed = self._read(rows)
        wanted = {id for each in parsed.values() for id in each.parents}
        known = {parent.id: _Statement(parent) for parent in parents}
        stated = {id: self._parents.get(id) or known.get(id) for id in wanted}
        claims = _refused_in(parsed.values(), self._home, [refusals])
        before = verdicts if claims == compared else {}
        after = dict[str, About | None]()
        for id, each in parsed.items():
            after[id] = before[id] if id in before else _matching_refusal(claims, each.said)
        self._parsed, self._verdicts, self._parents = parsed, (claims, after), stated
        found = {id: by for id, by in after.items() if by is not None}
        for id, each in parsed.items():
            by = _matching_refusal(_refused_parents(each, stated, [refusals]), each.said)
            if by is not None:
                found.setdefault(id, by)
        return found

    def refused_since(
        self, memories: Sequence[Record], refusals: Refusals, parents: Iterable[Record]
    ) -> frozenset[str]:
        """Return the ids of memories that are not live and mention something refused.

        They are compared with their own statements, their parents, and the statements of the live
        turns, which must be parsed already.

        Args:
            memories: Turns and summaries.
            refusals: Of their owner.
            parents: Their parents, as far as they exist.
        """
        parsed = {memory.id: _ParsedText(memory) for memory in memories}
        # A correction may refer to a statement in a live turn.
        everything = [*self._parsed.values(), *parsed.values()]
        claims = [*self._verdicts[0], *_refused_in(everything, self._home, [refusals])]
        stated = {parent.id: _Statement(parent) for parent in parents}
        return frozenset(
            id
            for id, each in parsed.items()
            if _matching_refusal([*claims, *_refused_parents(each, stated, [refusals])], each.said)
        )

    def _read(self, rows: Iterable[StoredRow]) -> dict[str, _ParsedText]:
        known = self._parsed
        return {row.id: known.get(row.id) or _ParsedText(decode(row)) for row in sorted(rows)}


def _refused_in(
    parsed: Iterable[_ParsedText], home: Scope, refusals: Sequence[Refusals]
) -> _Claims:
    """Return the refused statements in turns, each with the refusal that applies."""
    runs: dict[object, list[_ParsedText]] = {}
    for each in parsed:
        runs.setdefault(each.run, []).append(each)
    claims: _Claims = []
    for run in runs.values():
        topic: Candidate | None = None
        for each in sorted(run, key=lambda one: one.turn.number or 0):
            stated, topic = each.stated(home, topic)
            against = ((_first_refusal(refusals, one.candidate), one) for one in stated)
            claims += [(by, one.claim) for by, one in against if by is not None]
    return claims


def _refused_parents(
    text: _ParsedText, stated: Mapping[str, _Statement | None], refusals: Sequence[Refusals]
) -> _Claims:
    """Return the refused parents of a summary, each with the refusal that applies."""
    parents = filter(None, map(stated.get, text.parents))
    against = ((_first_refusal(refusals, parent.candidate), parent) for parent in parents)
    return [(by, parent.claim) for by, parent in against if by is not None]


def _matching_refusal(claims: _Claims, said: Said) -> About | None:
    return next((by for by, claim in claims if mentions(claim, said)), None)


def _first_refusal(refusals: Iterable[Refusals], stated: Candidate | Record) -> About | None:
    return next((by for each in refusals if (by := each.against(stated)) is not None), None)
