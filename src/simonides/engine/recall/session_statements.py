"""The user's statements in a session, extracted by the rules, whether or not they are stored.

Each turn is parsed once and cached while its session is hot. Candidates held until the end of the
session count too, whoever proposed them.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Sequence
from functools import partial
from typing import Any, NamedTuple

from simonides.capture import lasts_for_session, within_session, without_digests
from simonides.capture.rules import ENDING, LIKED_IN_PASSING, TURN_SCOPED, examine
from simonides.domain.codecs.candidate import decode_held
from simonides.domain.conversation.session import EntryKind, Logged
from simonides.domain.conversation.turn import Role, Turn
from simonides.domain.scope import Principal, Scope
from simonides.domain.trust import Trust
from simonides.domain.value import from_us, to_us
from simonides.domain.writing.decision import Candidate, Commit, Drop, Hold, Judgement
from simonides.engine.core import Prefetch, Runtime
from simonides.engine.recall.session_log import SessionLog
from simonides.engine.recall.warm_sessions import WarmSessions
from simonides.engine.screening import judge_one
from simonides.policy import Policy
from simonides.ports import Capability

FOR_THE_SESSION = frozenset({"session_only_category", "implicit_preference"})
"""Reasons for which the judge holds a candidate until the session ends, while it is valid in the
session. Candidates held for evidence, repetition or a person's decision are not.
"""

_CONDITIONAL = frozenset({LIKED_IN_PASSING, ENDING})
"""Marks of candidates that only change stored memories and so have no effect in a session."""

MANY = 10
"""Turns that are parsed in some ten milliseconds, measured: 1 ms a turn. More are parsed off the
event loop.
"""

_HELD = 2**31
"""Sort position of a held candidate without a turn among those of its time: last."""


class Stated(NamedTuple):
    """One statement of the user, or a request to forget one.

    Attributes:
        at: When it was made, µs.
        number: Of the entry.
        candidate: As policy changed it; ``retracts`` names what is forgotten.
    """

    at: int
    number: int
    candidate: Candidate


class _Read(NamedTuple):
    """The parsed part of a log.

    Attributes:
        last: The last parsed entry; None for nothing.
        topic: Statement that a correction in the next turn would refer to.
        said: The statements found.
    """

    last: Logged | None = None
    topic: Candidate | None = None
    said: tuple[Stated, ...] = ()


class Statements:
    """Extracts the statements of one principal's sessions."""

    def __init__(self, runtime: Runtime, principal: Principal) -> None:
        self._runtime = runtime
        self._hot = runtime.part(WarmSessions)
        self._principal = principal

    async def of(self, session: str) -> tuple[Stated, ...]:
        """Return the statements in a session, by time, then by entry number.

        Raises:
            StoreError: If a store cannot be read.
        """
        owner = self._principal.home.owner
        store, unread = self._runtime.store, None
        waits = Capability.INLINE not in store.capabilities
        asked = Prefetch(store.held(owner, session=session), goes_on=waits)
        try:
            # This runs while a networked store returns the held candidates.
            unread = await self._unread(session)
        finally:
            if unread is None:
                await asked.dismiss()
        held = await asked
        found = [*(await self._read(session, *unread)).said]
        for each in map(decode_held, held):
            candidate = each.candidate
            # Only the user's own statements override. Those of a tool, a page or the agent may be
            # held for the same reasons, but they do not correct the user.
            is_his = candidate.label.trust is Trust.USER and candidate.source.trust is Trust.USER
            is_here = candidate.scope == self._principal.home
            if is_his and is_here and FOR_THE_SESSION & {*each.reasons}:
                number = candidate.origin.turn
                place = _HELD if number is None else number
                found.append(Stated(to_us(candidate.said_at or each.held_at), place, candidate))
        return tuple(sorted(found, key=lambda one: one[:2]))

    async def _unread(self, session: str) -> tuple[_Read, Sequence[Logged]]:
        """Return the parsed part of a log and the new entries.

        If another session has the name now, nothing counts as parsed and all entries are new.
        """
        log = SessionLog(self._runtime, self._principal.home.owner, session)
        known: _Read = self._derived(session).get(self._name(), _Read())
        new = await log.newer(known.last)
        return (_Read(), await log.entries()) if new is None else (known, new)

    async def _read(self, session: str, known: _Read, new: Sequence[Logged]) -> _Read:
        if not new:
            return known
        work = partial(self._continued, known, new, session)
        read = await self._runtime.aside(work) if len(new) > MANY else work()
        self._derived(session)[self._name()] = read
        return read

    def _derived(self, session: str) -> dict[Hashable, Any]:
        return self._hot.of(self._principal.home.owner, session).derived

    def _name(self) -> Hashable:
        return Stated, self._principal.home, self._policy(self._principal.home).hash

    def _policy(self, scope: Scope) -> Policy:
        return self._runtime.policies.policy_for(scope.org)

    def _continued(self, known: _Read, new: Sequence[Logged], session: str) -> _Read:
        topic, said = known.topic, [*known.said]
        for logged in new:
            if logged.entry.kind is not EntryKind.TURN or logged.entry.role is not Role.USER:
                continue
            turn = _turn(logged, session)
            found = examine(turn, self._principal.home, before=topic).candidates
            said += [
                Stated(logged.at, logged.number, one) for one in self._valid_in_session(found, turn)
            ]
            keyed = [one for one in found if one.key and not one.retracts]
            topic = keyed[-1] if keyed else None
        return _Read(new[-1], topic, tuple(said))

    def _valid_in_session(self, found: Sequence[Candidate], turn: Turn) -> Iterator[Candidate]:
        """Yield the candidates that hold in the session, as policy changed them."""
        for candidate in found:
            if candidate.retracts is not None:
                yield candidate
                continue
            if _CONDITIONAL.intersection(candidate.marks):
                continue
            judgement = judge_one(candidate, self._policy(candidate.scope))
            if _holds(judgement, turn):
                yield judgement.candidate


def _turn(logged: Logged, session: str) -> Turn:
    entry = logged.entry
    return Turn(
        text=within_session(without_digests(entry.text)),
        role=entry.role,
        speaker=entry.speaker,
        session=session,
        number=logged.number,
        said_at=from_us(logged.at),
    )


def _holds(judgement: Judgement, turn: Turn) -> bool:
    match judgement:
        case Commit():
            return True
        case Hold(reasons=reasons):
            return frozenset(reasons) <= FOR_THE_SESSION
        case Drop(reasons=reasons):
            return reasons == (TURN_SCOPED,) and lasts_for_session(turn.text)
        case _:
            return False
