"""The verbs that end what was imported as any session ends."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, cast

from simonides.api.session import AsyncSession, within
from simonides.api.sync_markers import waits_for_model
from simonides.domain.codecs.session import encode_entry
from simonides.domain.conversation.session import (
    EndedBy,
    Entry,
    EntryKind,
    OpenSession,
    SessionEndReport,
    SessionRules,
)
from simonides.domain.conversation.turn import Role
from simonides.domain.errors import InvalidInput
from simonides.domain.memory import Draft
from simonides.domain.scope import Principal, checked_session
from simonides.domain.value import enum_member, from_us, moment, to_us
from simonides.engine.core.runtime import Runtime
from simonides.engine.recall.query import sequence
from simonides.engine.recall.session_log import cleaned
from simonides.engine.sessions.end import SessionEnder
from simonides.engine.sessions.progress import SessionTurns

if TYPE_CHECKING:
    from simonides.api.manager import AsyncMemory


PAGE = 500
"""Turns that are logged in one transaction."""


class AsyncEndingVerbs:
    """What a manager does with sessions of elsewhere; see :class:`simonides.AsyncMemory`,
    which has these verbs.
    """

    _runtime: Runtime
    _principal: Principal

    @waits_for_model
    async def end_transcript(self, turns: Sequence[Draft]) -> tuple[SessionEndReport, ...]:
        """Take the turns of imported sessions through the end that every session has: extraction,
        summary, promotion.

        Turns that a session had when it ended before are not looked at again: the same transcript
        twice adds nothing, and one that has grown adds what is new.

        Args:
            turns: As :meth:`remember_many` takes verbatim turns: each with its session, its place
                there, ``at``, ``speaker``, and in ``metadata`` the ``role``. Of one session they
                count in the order of their places.

        Returns:
            What came of each session, in the order in which they appear.

        Raises:
            InvalidInput: If a turn is none, or is of no session and the manager is within none;
                or if a time or a role is none.
            InvalidScope: If the name of a session is malformed.
            StoreError: If a store could not; called again it goes on from there.
        """
        sessions: dict[str, list[Draft]] = {}
        for place, turn in enumerate(sequence("turns", turns)):
            sessions.setdefault(self._named(place, turn), []).append(turn)
        ender = SessionEnder(self._runtime, self._principal)
        reports = []
        for name, drafts in sessions.items():
            await self._log(name, sorted(drafts, key=lambda draft: draft.turn or 0))
            reports.append(await ender.end(name, ended_by=EndedBy.IMPORT))
        return tuple(reports)

    def _named(self, place: int, turn: object) -> str:
        """Return the session of a turn; one without a name would be everybody's."""
        if not isinstance(turn, Draft):
            raise InvalidInput(f"turns[{place}]", f"must be a Draft, not {type(turn).__name__}")
        if turn.session is None:
            return str(within(self._principal, None).session)
        return checked_session(turn.session)

    async def _log(self, session: str, drafts: Sequence[Draft]) -> None:
        """Log the turns that a session has not had."""
        runtime = self._runtime
        turns = SessionTurns(runtime, self._principal, session)
        state = await turns.state()
        is_new = state.record is None
        known = state.progress.next_turn if is_new else state.progress.base + state.entries
        policy = runtime.policies.policy_for(turns.owner.org)
        new = [_observed(draft, runtime.clock.now_us()) for draft in drafts[known:]]
        said = [encode_entry(cleaned(entry, turns.owner, policy).entry, at) for entry, at in new]
        for first in range(0, len(said), PAGE):
            now = runtime.clock.now_us()
            page = said[first : first + PAGE]
            due_at = now + runtime.part(SessionRules).idle_us
            await runtime.sessions.append(turns.owner, session, page, now=now, due_at=due_at)


def _observed(draft: Draft, now: int) -> tuple[Entry, int]:
    role = (draft.metadata or {}).get("role", Role.OTHER)
    entry = Entry(
        kind=EntryKind.TURN,
        text=draft.content,
        role=enum_member(Role, "role", role),
        speaker=draft.speaker,
    )
    at = moment("at", draft.at)
    return entry, now if at is None else to_us(at)


class AsyncSessionVerbs:
    """Sessions of a principal; see :class:`simonides.AsyncMemory`, which has these verbs."""

    _runtime: Runtime
    _principal: Principal

    def session(self, name: str | None = None, *, ends_on_close: bool = False) -> AsyncSession:
        """Return a session of this principal, to be begun or gone on with (SE).

        A user may have any number at a time: each has a log of its own, and all have one memory.

        Args:
            name: What it is called; None for the session that this manager is within.
            ends_on_close: Whether it ends with this simonides, if it was gone on with here and is
                open then: for a process whose talks do not outlive it.

        Raises:
            InvalidInput: If none is named, or another than that by which alone the principal is
                known.
            InvalidScope: If the name is malformed.
        """
        bound = within(self._principal, name)
        memory = type(self)(self._runtime, bound)  # type: ignore[call-arg]
        talks = cast("AsyncMemory", memory)
        return AsyncSession(self._runtime, talks, str(bound.session), ends_on_close=ends_on_close)

    async def sessions(self) -> tuple[OpenSession, ...]:
        """Return the sessions that are open, by when they began, then by name.

        Raises:
            StoreError: If the store could not.
        """
        found = await self._runtime.sessions.sessions(self._principal.home.owner)
        return tuple(
            OpenSession(
                one.id,
                from_us(one.started_at),
                None if one.due_at is None else from_us(one.due_at),
                one.entries,
            )
            for one in found
        )
