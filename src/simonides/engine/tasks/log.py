"""Writes a task's entries to its session's log, and reads them back.

Each entry is appended here before working memory applies it, and working memory is computed from
these entries. So nothing that working memory drops is lost, and a task whose process stopped can be
resumed.
"""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

from simonides.capture import name_or_none
from simonides.domain.conversation.session import Entry, EntryKind, Logged, SessionRules
from simonides.domain.conversation.task import EVENT, TaskEvent
from simonides.domain.conversation.turn import Role
from simonides.domain.errors import InvalidInput
from simonides.domain.memory import Importance
from simonides.domain.policy.working import WorkingRules
from simonides.domain.scope import MAX_ID_CHARS, Principal, Scope
from simonides.domain.trust import Label, Source
from simonides.domain.value import shown
from simonides.domain.writing.decision import Candidate, Proposer
from simonides.engine.core import Runtime
from simonides.engine.recall import SessionLog
from simonides.engine.screening import screened
from simonides.engine.sessions import BackgroundExtraction
from simonides.engine.tasks.outcomes import VERIFIED
from simonides.engine.tasks.working_memory import WorkingMemory
from simonides.policy import Policy
from simonides.text import patterns

OWN = "task-"
"""Prefix of the name of a task's own session; the task's name follows."""

MAX_RESULT_CHARS = 256 * 1024
"""Longest tool result that is stored whole; a longer one is cut, and its length is stored. Chosen:
it limits the search for secrets to a fifth of a second."""


MINUTES_A_DAY = 1_440

MAX_ASKED_CHARS = 2_000
"""Characters of a tool's input that are used as a query; policy searches for some hundred
of them."""


def session_of(principal: Principal, task: str) -> str:
    """Return the session that logs a task: the principal's, else the task's own.

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
    """The log entries of one task.

    Attributes:
        task: Name of the task.
        session: Name of the session that contains them.
        home: Scope of the user that owns the task.
    """

    def __init__(self, runtime: Runtime, principal: Principal, task: str) -> None:
        self.task = task
        self.session = session_of(principal, task)
        self.home: Scope = principal.home.owner
        self._user = replace(principal, home=self.home, session=self.session)
        self._runtime = runtime
        self._following = runtime.part(BackgroundExtraction)
        self._rules = runtime.part(WorkingRules)
        # The task's own session stays open as long as the task may be idle. It ends at once when
        # the task is complete.
        has_own = principal.session is None
        self._log = _waiting(
            runtime, self.home, self.session, self._rules.task_days if has_own else None
        )
        self._last = _waiting(runtime, self.home, self.session, 0.0 if has_own else None)

    @property
    def patience_us(self) -> int:
        """Time after an entry at which its session counts as abandoned, µs."""
        return self._log.patience_us

    @property
    def policy(self) -> Policy:
        """The policy in force."""
        return self._runtime.policies.policy_for(self.home.org)

    async def append(
        self, entry: Entry, *, first: int | None = None, is_last: bool = False
    ) -> Logged:
        """Append an entry; it is durable on return.

        Args:
            entry: The entry, with screened texts.
            first: Required entry number, or None.
            is_last: Whether the entry completes the task.

        Raises:
            ValueError: If another entry has the number.
            StoreError: If the store failed; nothing was written.
        """
        at = self._runtime.clock.now_us()
        log = self._last if is_last else self._log
        number = await log.append([entry], at=at, first=first)
        if entry.kind is EntryKind.TURN and entry.role is Role.USER:
            self._following.noticed(self._user, self.session)
        return Logged(number, at, entry)

    async def entries(self, *, after: int = -1) -> tuple[tuple[Logged, ...], int]:
        """Return the task's entries after a number, and the session's total number of entries.

        Raises:
            StoreError: If the store failed.
        """
        found = await self._log.entries(after=after)
        mine = tuple(each for each in found if each.entry.task == self.task)
        return mine, found[-1].number + 1 if found else after + 1

    async def found(self) -> tuple[WorkingMemory, int]:
        """Return the working memory computed from the log, and the session's number of entries."""
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
        """Return an entry for a decision of the task or its agent."""
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
        """Return an entry for a tool result."""
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
        """Return a valid memory key, or None for None.

        Raises:
            InvalidInput: If it is not a valid key, or does not match the policy's pattern.
        """
        named, allowed = name_or_none(field, raw), self.policy.callers.key_pattern
        if named is not None and not patterns.compile(allowed).fullmatch(named):
            raise InvalidInput(field, f"{shown(named)} does not match the policy's {allowed}")
        return named

    def asked(self, field: str, given: object) -> str:
        """Return the query for a tool's input or result.

        Secrets are redacted from it as well, because a receipt keeps the query.

        Raises:
            InvalidInput: As :func:`text_of`.
        """
        return self.kept(text_of(field, given)[:MAX_ASKED_CHARS])

    def kept(self, text: str, key: str | None = None) -> str:
        """Return a text as it may be stored: what policy blocks or redacts is removed.

        Args:
            text: Any text; the key can tell what it is.
            key: Key under which it is to be stored, or None.
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
    """Return the log of a session that counts as abandoned after some idle days; None for the
    default.
    """
    rules = runtime.part(SessionRules)
    if days is not None:
        rules = replace(rules, idle_minutes=days * MINUTES_A_DAY)
    return SessionLog(runtime, home, session, rules)


def text_of(field: str, given: object) -> str:
    """Return a tool's input or result as text; it may contain anything, such as a file.

    Raises:
        InvalidInput: If it is neither text nor JSON-ready data.
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
