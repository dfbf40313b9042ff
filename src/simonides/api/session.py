"""A session as an agent has it in hand: what is said goes in, and it ends once (SE, DESIGN §4)."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import replace
from datetime import datetime
from types import TracebackType
from typing import TYPE_CHECKING, Any, Self

from simonides.api.sync_markers import waits_for_model
from simonides.capture import (
    checked_metadata,
    flag,
    name_or_none,
    turn_number,
)
from simonides.domain.conversation.session import Entry, EntryKind, LoggedEntry, SessionEndReport
from simonides.domain.conversation.turn import Role
from simonides.domain.errors import InvalidInput, SessionEnded
from simonides.domain.memory import Importance
from simonides.domain.reading.recall import Recall
from simonides.domain.scope import Principal, checked_session
from simonides.domain.value import enum_member, from_us, moment, to_us
from simonides.engine.core.counters import Counters
from simonides.engine.core.runtime import Runtime
from simonides.engine.recall.session_log import SessionLog
from simonides.engine.sessions.background_extract import BackgroundExtraction
from simonides.engine.sessions.end import SessionEnder
from simonides.engine.sessions.extract import Extractor
from simonides.engine.sessions.idle import ProcessSessions
from simonides.text import check_text

if TYPE_CHECKING:
    from simonides.api.manager import AsyncMemory

MAX_TEXT_BYTES = 64 * 1024
"""Longest text of one entry, as of a turn that is captured."""

MAX_NAME_BYTES = 512
"""Longest name of a tool, as of whatever else is named."""


def follow_sessions(runtime: Runtime) -> None:
    """Have what this process appends to sessions looked at soon after."""

    async def catch_up(principal: Principal, session: str) -> object:
        return await Extractor(runtime, principal).go_on(session)

    runtime.part(BackgroundExtraction).serve(catch_up)


class AsyncSession:
    """One conversation: an append-only log, durable with each entry, searched and ended here.

    Built by :meth:`simonides.AsyncMemory.session`. It is opened by its first entry, and gone
    on with, by any process, under its name. As a context manager it ends with its block; an
    exception in the block leaves it open, to be gone on with, or to end when it was idle.
    """

    def __init__(
        self,
        runtime: Runtime,
        memory: AsyncMemory,
        name: str,
        *,
        ends_on_close: bool = False,
    ) -> None:
        self._runtime = runtime
        self._following = runtime.part(BackgroundExtraction)
        self._departing = runtime.part(ProcessSessions)
        self._counters = runtime.part(Counters)
        self._memory = memory
        self._name = name
        self._log = SessionLog(runtime, memory.principal.home.owner, name)
        # Whose the session is, is who it is ended for: a task's sessions are its user's, and leave
        # the same whoever ends them.
        self._whose = replace(memory.principal, home=memory.principal.home.owner)
        self._ender = SessionEnder(runtime, self._whose)
        self._ends_on_close = ends_on_close
        self._has_ended = False

    @property
    def name(self) -> str:
        """What the session is called."""
        return self._name

    @property
    def memory(self) -> AsyncMemory:
        """The verbs of the same principal within this session: what was said here and is not
        stored yet holds in them already.
        """
        return self._memory

    async def add(
        self,
        role: str,
        text: str,
        *,
        speaker: str | None = None,
        at: datetime | str | None = None,
        details: Mapping[str, Any] | None = None,
        number: int | None = None,
    ) -> LoggedEntry:
        """Append what somebody said; it is durable when this returns, and nothing else is done.

        What is worth remembering is found off the way of the answer: soon after by a process that
        goes on, else at a checkpoint or at the end.

        Args:
            role: ``user``, ``assistant``, ``tool`` or ``other``; only users speak for the user.
            text: What was said, verbatim. What policy keeps out of memory is struck out before it
                is written, and the answer says so.
            speaker: Name of who said it.
            at: When it was said; None for now.
            details: Whatever else is to be noted; JSON-ready, at most 16 KiB.
            number: For who tries again after an error: the number that the entry must get. What
                stands there already is not written twice.

        Raises:
            InvalidInput: If a value is not storable, or something else has the number.
            SessionEnded: If this handle has ended the session.
            StoreError: If the store could not; nothing was written, as far as it knows.
        """
        who = enum_member(Role, "role", role)
        entry = Entry(
            kind=EntryKind.TOOL if who is Role.TOOL else EntryKind.TURN,
            text=check_text("text", text, MAX_TEXT_BYTES),
            role=who,
            speaker=name_or_none("speaker", speaker),
            details=self._details(details),
        )
        return await self._add(entry, at, number)

    async def add_tool(
        self,
        name: str,
        result: Any,
        *,
        failed: bool = False,
        importance: str = "normal",
        key: str | None = None,
        at: datetime | str | None = None,
        details: Mapping[str, Any] | None = None,
        number: int | None = None,
    ) -> LoggedEntry:
        """Append what a tool gave.

        Args:
            name: Of the tool.
            result: Text, or data that is written as JSON.
            failed: Whether the tool failed; what failed is never promoted.
            importance: ``normal``, ``high`` or ``critical``.
            key: Under which it is to be kept should it be promoted.
            at: As for :meth:`add`, like the next two.
            details: See there.
            number: See there.

        Raises:
            InvalidInput: As for :meth:`add`, like the others.
            SessionEnded: See there.
            StoreError: See there.
        """
        entry = Entry(
            kind=EntryKind.TOOL,
            text=check_text("result", _written(result), MAX_TEXT_BYTES),
            role=Role.TOOL,
            tool=check_text("name", name, MAX_NAME_BYTES),
            failed=flag("failed", failed),
            importance=enum_member(Importance, "importance", importance),
            key=name_or_none("key", key),
            details=self._details(details),
        )
        return await self._add(entry, at, number)

    async def decide(
        self,
        text: str,
        *,
        importance: str = "normal",
        key: str | None = None,
        at: datetime | str | None = None,
        details: Mapping[str, Any] | None = None,
        number: int | None = None,
    ) -> LoggedEntry:
        """Append what the agent decided; its arguments are those of :meth:`add_tool`.

        Raises:
            InvalidInput: As for :meth:`add`, like the others.
            SessionEnded: See there.
            StoreError: See there.
        """
        entry = Entry(
            kind=EntryKind.DECISION,
            text=check_text("text", text, MAX_TEXT_BYTES),
            role=Role.ASSISTANT,
            importance=enum_member(Importance, "importance", importance),
            key=name_or_none("key", key),
            details=self._details(details),
        )
        return await self._add(entry, at, number)

    async def entries(self, *, after: int = -1) -> tuple[LoggedEntry, ...]:
        """Return what was logged after a number, by number rising; all of it for -1.

        Raises:
            InvalidInput: If the number is none.
            StoreError: If the store could not.
        """
        if after != -1:
            turn_number(after)
        found = await self._log.entries(after=after)
        return tuple(LoggedEntry(one.number, from_us(one.at), one.entry) for one in found)

    async def search(self, query: str, *, limit: int = 5) -> Recall:
        """Return what of this session serves a query, best first, by words and by meaning.

        Args:
            query: As for :meth:`simonides.AsyncMemory.recall`.
            limit: At most this many, 1 to 1,000.

        Raises:
            InvalidInput: If an argument is out of range.
            StoreError: If the store could not.
        """
        return await self._memory.recall(query, limit=limit, layer="l1")

    @waits_for_model
    async def checkpoint(self) -> SessionEndReport:
        """Promote what has found support by now; the session goes on.

        Raises:
            SessionEnded: If this handle has ended the session.
            StoreError: If a store could not; called again it goes on from there.
        """
        self._check_open()
        return await self._ender.checkpoint(self._name)

    @waits_for_model
    async def end(self) -> SessionEndReport:
        """End the session: what it leaves is stored, its log is dropped. Twice does no harm.

        Raises:
            StoreError: If a store could not; called again it goes on from there.
        """
        self._following.forget(self._whose, self._name)
        report = await self._ender.end(self._name)
        self._departing.discard(self._whose, self._name)
        self._log.forget()
        self._has_ended = True
        return report

    async def __aenter__(self) -> Self:
        return self

    @waits_for_model
    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        # A fault of the host's says nothing about the talk, which may go on where it was.
        if error is None and not self._has_ended:
            await self.end()

    async def _add(
        self, entry: Entry, at: datetime | str | None, number: int | None
    ) -> LoggedEntry:
        self._check_open()
        said_at = moment("at", at)
        try:
            added = await self._log.add(
                entry, at=None if said_at is None else to_us(said_at), first=turn_number(number)
            )
        except ValueError as error:
            # The port's own word for a number that leaves a gap, or is another entry's.
            raise InvalidInput("number", str(error)) from error
        if added.number == 0:
            self._counters.began_session()
        if self._ends_on_close:
            self._departing.add(self._whose, self._name)
        self._following.noticed(self._whose, self._name)
        return added

    def _details(self, details: Mapping[str, Any] | None) -> Mapping[str, Any]:
        policy = self._runtime.policies.policy_for(self._memory.principal.home.org)
        return checked_metadata(details, policy.callers.max_metadata_bytes)

    def _check_open(self) -> None:
        if self._has_ended:
            raise SessionEnded(self._name)


def within(principal: Principal, name: str | None) -> Principal:
    """Return a principal within a session of its own.

    Raises:
        InvalidInput: If no session is named, or another one than that by which alone it is known.
        InvalidScope: If the name is malformed.
    """
    named = principal.session if name is None else name
    if named is None:
        raise InvalidInput("name", "name the session: memory.session('thread-7'), --session")
    if principal.home.session is not None and named != principal.home.session:
        raise InvalidInput("name", "a principal without a user is its session; name a user too")
    if principal.home.session is not None:
        return principal
    return replace(principal, session=checked_session(named))


def _written(result: object) -> object:
    if isinstance(result, str):
        return result
    try:
        return json.dumps(result, ensure_ascii=False)
    except (TypeError, ValueError, RecursionError) as error:
        raise InvalidInput("result", f"must be text or JSON-ready data: {error}") from error
