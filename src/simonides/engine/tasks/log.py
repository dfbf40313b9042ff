"""A task in the log of its session: what it writes there, and what it finds there again.

Whatever a task is told is appended here before its working memory sees it, and working memory is
what these entries add up to. So nothing that it drops is lost, and a task whose process stopped
goes on from where it stood.
"""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

from simonides.capture.drafts import name_or_none
from simonides.domain.conversation.session import (
    Entry,
    EntryKind,
    Logged,
    SessionRules,
)
from simonides.domain.conversation.task import EVENT, TaskEvent
from simonides.domain.conversation.turn import Role
from simonides.domain.errors import InvalidInput
from simonides.domain.memory import Importance
from simonides.domain.policy.working import WorkingRules
from simonides.domain.scope import MAX_ID_CHARS, Principal, Scope
from simonides.domain.trust import Label, Source
from simonides.domain.value import shown
from simonides.domain.writing.decision import Candidate, Proposer
from simonides.engine.core.runtime import Runtime
from simonides.engine.recall.session_log import SessionLog
from simonides.engine.screening.screen import screened
from simonides.engine.sessions.background_extract import Following
from simonides.engine.tasks.outcomes import VERIFIED
from simonides.engine.tasks.working_memory import WorkingMemory
from simonides.policy.policy import Policy
from simonides.text import patterns

OWN = "task-"
"""What the name of a task's own session begins with; the task's name follows."""

MAX_RESULT_CHARS = 256 * 1024
"""Longest result of a tool that is kept whole; of a longer one as much, and how long it was.
Chosen: it bounds what looking for secrets costs to a fifth of a second."""


MINUTES_A_DAY = 1_440

MAX_ASKED_CHARS = 2_000
"""Characters of a tool's input that are looked through; policy has some hundred of them searched
for."""


def session_of(principal: Principal, task: str) -> str:
    """Return the session that a task is logged in: its principal's, else one of its own.

    Raises:
        InvalidInput: If the task's name is too long to name a session.
    """
    if principal.session is not None:
        return principal.session
    most = MAX_ID_CHARS - len(OWN)
    if len(task) > most:
        raise InvalidInput("name", f"has {len(task)} characters; without a session at most {most}")
    return OWN + task


class TaskLog:
    """The entries of one task, by its name.

    Attributes:
        task: Its name.
        session: Name of the session that they are in.
        home: Scope of the user whose task it is.
    """

    def __init__(self, runtime: Runtime, principal: Principal, task: str) -> None:
        self.task = task
        self.session = session_of(principal, task)
        self.home: Scope = principal.home.owner
        self._user = replace(principal, home=self.home, session=self.session)
        self._runtime = runtime
        self._following = runtime.part(Following)
        self._rules = runtime.part(WorkingRules)
        # A session of its own is there for the task: it is waited for as long as the task is, and
        # once that is complete for no time at all.
        has_own = principal.session is None
        self._log = _waiting(
            runtime, self.home, self.session, self._rules.task_days if has_own else None
        )
        self._last = _waiting(runtime, self.home, self.session, 0.0 if has_own else None)

    @property
    def patience_us(self) -> int:
        """So long after an entry its session counts as left, µs."""
        return self._log.patience_us

    @property
    def policy(self) -> Policy:
        """The policy in force."""
        return self._runtime.policies.policy_for(self.home.org)

    async def append(
        self, entry: Entry, *, first: int | None = None, is_last: bool = False
    ) -> Logged:
        """Append an entry; it is durable when it returns.

        Args:
            entry: With texts as they are to be kept.
            first: The number that it must get, or None.
            is_last: Whether the task is complete with it.

        Raises:
            ValueError: If something else has the number.
            StoreError: If the store could not; nothing was written.
        """
        at = self._runtime.clock.now_us()
        log = self._last if is_last else self._log
        number = await log.append([entry], at=at, first=first)
        if entry.kind is EntryKind.TURN and entry.role is Role.USER:
            self._following.noticed(self._user, self.session)
        return Logged(number, at, entry)

    async def entries(self, *, after: int = -1) -> tuple[tuple[Logged, ...], int]:
        """Return the task's entries after a number, and how many entries the session has in all.

        Raises:
            StoreError: If the store could not.
        """
        found = await self._log.entries(after=after)
        mine = tuple(each for each in found if each.entry.task == self.task)
        return mine, found[-1].number + 1 if found else after + 1

    async def found(self) -> tuple[WorkingMemory, int]:
        """Return what is in front of the task by its log, and how many entries the session has."""
        entries, length = await self.entries()
        state = WorkingMemory(self._rules)
        for each in entries:
            state = state.after(each, self._runtime.models.tokens.count)
        return state, length

    def decision(
        self,
        event: TaskEvent,
        text: str = "",
        *,
        importance: Importance = Importance.NORMAL,
        key: str | None = None,
        **details: Any,
    ) -> Entry:
        """Return an entry that says what the task, or its agent, decided."""
        return Entry(
            kind=EntryKind.DECISION,
            text=self.kept(text, key),
            role=Role.ASSISTANT,
            importance=importance,
            key=key,
            task=self.task,
            details={EVENT: event.value, **details},
        )

    def observation(
        self,
        tool: str,
        text: str,
        *,
        importance: Importance,
        key: str | None,
        failed: bool,
        verified: bool,
    ) -> Entry:
        """Return an entry that says what a tool gave."""
        details: dict[str, Any] = {VERIFIED: True} if verified else {}
        if len(text) > MAX_RESULT_CHARS:
            details["chars"] = len(text)
        return Entry(
            kind=EntryKind.TOOL,
            text=self.kept(text[:MAX_RESULT_CHARS], key),
            role=Role.TOOL,
            tool=self.kept(tool),
            failed=failed,
            importance=importance,
            key=key,
            task=self.task,
            details=details,
        )

    def key(self, field: str, raw: object) -> str | None:
        """Return a key under which something may be kept, or None for None.

        Raises:
            InvalidInput: If it is none, or the policy's pattern does not admit it.
        """
        named, allowed = name_or_none(field, raw), self.policy.callers.key_pattern
        if named is not None and not patterns.compile(allowed).fullmatch(named):
            raise InvalidInput(field, f"{shown(named)} does not match the policy's {allowed}")
        return named

    def asked(self, field: str, given: object) -> str:
        """Return what memory is asked about for a tool's input, or what it gave: a receipt keeps
        the question, so secrets are struck out of it too.

        Raises:
            InvalidInput: As :func:`text_of`.
        """
        return self.kept(text_of(field, given)[:MAX_ASKED_CHARS])

    def kept(self, text: str, key: str | None = None) -> str:
        """Return a text as it may be kept: what policy blocks or redacts is struck out.

        Args:
            text: Any; a key may tell what a text that stands alone is.
            key: Under which it is to be kept, or None.
        """
        if not text:
            return text
        source = Source.USER_STATED
        said = Candidate(
            content=text,
            scope=self.home,
            source=source,
            proposer=Proposer.CALLER,
            label=Label(source.trust),
            key=key,
        )
        return screened(said, self.policy).content


def _waiting(runtime: Runtime, home: Scope, session: str, days: float | None) -> SessionLog:
    """Return the log of a session that counts as left so long after an entry; None for as long as
    any other.
    """
    rules = runtime.part(SessionRules)
    if days is not None:
        rules = replace(rules, idle_minutes=days * MINUTES_A_DAY)
    return SessionLog(runtime, home, session, rules)


def text_of(field: str, given: object) -> str:
    """Return what a tool gave as text; it may hold anything, a file for one.

    Raises:
        InvalidInput: If it is neither text nor data that JSON can carry.
    """
    if given is None:
        return ""
    if not isinstance(given, str):
        try:
            given = json.dumps(given, ensure_ascii=False, default=str)
        except (TypeError, ValueError, RecursionError) as error:
            problem = f"must be text or JSON-ready data, not {shown(given)}: {error}"
            raise InvalidInput(field, problem) from error
    return given.encode("utf-8", "replace").decode("utf-8").replace("\0", " ")
