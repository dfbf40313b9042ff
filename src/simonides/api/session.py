"""A conversation: a memory bound to one session, with the session's log."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from datetime import datetime
from functools import cached_property
from typing import Any

from simonides.api.arguments import joined_reports
from simonides.api.bound import Bound
from simonides.api.memory import AsyncMemory
from simonides.api.messages import MAX_TEXT_BYTES, storable_messages
from simonides.api.sync_markers import waits_for_model
from simonides.capture import checked_metadata, flag, name_or_none, turn_number
from simonides.domain.conversation.add_report import AddReport
from simonides.domain.conversation.message import Message
from simonides.domain.conversation.session import Entry, EntryKind, LoggedEntry, SessionEndReport
from simonides.domain.conversation.turn import Role
from simonides.domain.errors import InvalidInput, SessionEnded
from simonides.domain.memory import Importance
from simonides.domain.reading.page import Page, paged
from simonides.domain.scope import Principal, checked_session
from simonides.domain.value import enum_member, from_us, moment, to_us
from simonides.engine.core import Counters, Runtime
from simonides.engine.recall import MAX_LISTED, SessionLog, between
from simonides.engine.sessions import BackgroundExtraction, Extractor, ProcessSessions, SessionEnder
from simonides.text import check_text

MAX_NAME_BYTES = 512
"""Longest name of a tool, as of whatever else is named."""


def follow_sessions(runtime: Runtime) -> None:
    """Have what this process appends to sessions looked at soon after."""

    async def catch_up(principal: Principal, session: str) -> object:
        return await Extractor(runtime, principal).go_on(session)

    runtime.part(BackgroundExtraction).serve(catch_up)


class AsyncSession(AsyncMemory):
    """A memory bound to one conversation, with an append-only log that is durable with each entry.

    Built by :meth:`simonides.AsyncMemory.session`. It is opened by its first entry, and continued,
    by any process, under its name. It ends by :meth:`end`, or after 20 idle minutes; a shutdown of
    an embedded program ends the sessions that it began. What was said here and is not stored yet
    holds in its reads already.
    """

    def __init__(self, bound: Bound) -> None:
        super().__init__(bound)
        runtime, principal = bound.runtime, bound.principal
        self._name = str(principal.session)
        self._log = SessionLog(runtime, principal.home.owner, self._name)
        self._has_ended = False

    @cached_property
    def _owner(self) -> Principal:
        # A task's sessions are its user's.
        return replace(self._bound.principal, home=self._bound.principal.home.owner)

    @property
    def name(self) -> str:
        """What the session is called."""
        return self._name

    @waits_for_model
    async def add(
        self,
        messages: Any,
        *,
        at: datetime | str | None = None,
        me: str | None = None,
        wait: bool = False,
        number: int | None = None,
    ) -> AddReport:
        """Append what was said to the log, verbatim; it is durable when this returns.

        What policy keeps out of memory is struck out before it is written, and the entry's
        ``reasons`` say so. What is worth remembering is found off the way of the answer: soon
        after by a process that goes on, else at a checkpoint or at the end.

        Args:
            messages: As for :meth:`simonides.AsyncMemory.add`. A tool's result may name an
                ``importance``, a ``key`` and whether it ``failed``, and any message ``metadata``.
            at: When it was said, for messages without a time of their own; None means now.
            me: The user's name in a group chat.
            wait: Whether facts are extracted before this returns.
            number: To retry safely after an error: the number that the first message must get. An
                existing entry is not written twice.

        Raises:
            InvalidInput: If a message cannot be read or stored, or another entry has the number.
            SessionEnded: If this handle has ended the session.
            StoreError: If the store could not; messages before the failure are in the log.
        """
        flag("wait", wait)
        most = self._bound.policy.callers.max_metadata_bytes
        parsed = storable_messages(messages, at=at, me=me, max_metadata_bytes=most)
        first, kept = turn_number(number), []
        for place, message in enumerate(parsed.messages):
            wanted = None if first is None else first + place
            kept.append(await self._append(_entry_of(message), message.at, wanted))
        report = AddReport(kept=tuple(kept), skipped=parsed.skipped, unfinished=len(kept))
        if not wait:
            return report
        found = await Extractor(self._bound.runtime, self._owner).catch_up(self._name)
        return joined_reports([found], replace(report, unfinished=0))

    async def note(
        self,
        text: str,
        *,
        key: str | None = None,
        importance: str = "normal",
        at: datetime | str | None = None,
        metadata: Mapping[str, Any] | None = None,
        number: int | None = None,
    ) -> LoggedEntry:
        """Append what the agent decided.

        Args:
            text: The decision.
            key: Under which it is to be kept should it be promoted.
            importance: ``normal``, ``high`` or ``critical``.
            at: When; None for now.
            metadata: Whatever else is to be noted; JSON-ready, at most 16 KiB.
            number: As for :meth:`add`.

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
            details=checked_metadata(metadata, self._bound.policy.callers.max_metadata_bytes),
        )
        return await self._append(entry, at, turn_number(number))

    async def messages(self, *, after: int = -1, limit: int = MAX_LISTED) -> Page[LoggedEntry]:
        """Return what was logged, by number rising.

        Args:
            after: Only entries after this number; -1 for all.
            limit: At most this many; pass the last entry's number as ``after`` for more.

        Raises:
            InvalidInput: If a number is none.
            StoreError: If the store could not.
        """
        if after != -1:
            turn_number(after)
        most = between("limit", limit, 1, MAX_LISTED)
        found = await self._log.entries(after=after)
        logged = [LoggedEntry(one.number, from_us(one.at), one.entry) for one in found]
        return paged(logged, most, lambda one: str(one.number))

    @waits_for_model
    async def checkpoint(self) -> SessionEndReport:
        """Promote what has found support by now; the session goes on.

        Raises:
            SessionEnded: If this handle has ended the session.
            StoreError: If a store could not; called again it goes on from there.
        """
        self._check_open()
        return await SessionEnder(self._bound.runtime, self._owner).checkpoint(self._name)

    @waits_for_model
    async def end(self) -> SessionEndReport:
        """End the session: what it leaves is stored, its log is dropped. Twice does no harm.

        Raises:
            StoreError: If a store could not; called again it goes on from there.
        """
        runtime = self._bound.runtime
        runtime.part(BackgroundExtraction).forget(self._owner, self._name)
        report = await SessionEnder(runtime, self._owner).end(self._name)
        runtime.part(ProcessSessions).discard(self._owner, self._name)
        self._log.forget()
        self._has_ended = True
        return report

    async def _append(
        self, entry: Entry, at: datetime | str | None, number: int | None
    ) -> LoggedEntry:
        self._check_open()
        runtime, said_at = self._bound.runtime, moment("at", at)
        try:
            added = await self._log.add(
                entry, at=None if said_at is None else to_us(said_at), first=number
            )
        except InvalidInput:
            raise
        except ValueError as error:
            # The port's own word for a number that leaves a gap, or is another entry's.
            raise InvalidInput("number", str(error)) from error
        if added.number == 0:
            runtime.part(Counters).began_session()
        runtime.part(ProcessSessions).add(self._owner, self._name)
        runtime.part(BackgroundExtraction).noticed(self._owner, self._name)
        return added

    def _check_open(self) -> None:
        if self._has_ended:
            raise SessionEnded(self._name)


def _entry_of(message: Message) -> Entry:
    """Return the entry of a message that was checked."""
    role = Role(message.role)
    is_tool = role is Role.TOOL
    return Entry(
        kind=EntryKind.TOOL if is_tool else EntryKind.TURN,
        text=message.content,
        role=role,
        speaker=None if is_tool else message.name,
        tool=message.name if is_tool else None,
        failed=message.failed,
        importance=Importance(message.importance),
        key=message.key,
        details=message.metadata or {},
    )


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
