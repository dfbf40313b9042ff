"""The blocking face of the async classes.

Written by ``scripts/generate_sync.py``: edit the async classes and run the script. Each method
drives the async method of the same name (:mod:`simonides.api.sync.driver`).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime
from types import TracebackType
from typing import Any, Self

from simonides.api.session import AsyncSession
from simonides.api.sync.driver import Driver
from simonides.api.sync.memory import Memory
from simonides.api.task import AsyncTask
from simonides.domain.conversation.add_report import AddReport
from simonides.domain.conversation.session import LoggedEntry, SessionEndReport
from simonides.domain.conversation.task import TaskPhase, TaskReport
from simonides.domain.policy.working import Constraint, Talk
from simonides.domain.reading.digest import Digest
from simonides.domain.reading.page import Page
from simonides.engine.recall import MAX_LISTED


class Session(Memory):
    """A memory bound to one conversation, with an append-only log that is durable with each entry.

    Built by :meth:`simonides.Memory.session`. It is opened by its first entry, and continued,
    by any process, under its name. It ends by :meth:`end`, or after 20 idle minutes; a shutdown of
    an embedded program ends the sessions that it began. What was said here and is not stored yet
    holds in its reads already.
    """

    _memory: AsyncSession

    def __init__(self, memory: AsyncSession, driver: Driver) -> None:
        super().__init__(memory, driver)

    @property
    def name(self) -> str:
        """What the session is called."""
        return self._memory.name

    def add(
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
            messages: As for :meth:`simonides.Memory.add`. A tool's result may name an
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
        return self._driver.run(
            self._memory.add(messages, at=at, me=me, wait=wait, number=number), asks_model=True
        )

    def note(
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
        return self._driver.run(
            self._memory.note(
                text, key=key, importance=importance, at=at, metadata=metadata, number=number
            )
        )

    def messages(self, *, after: int = -1, limit: int = MAX_LISTED) -> Page[LoggedEntry]:
        """Return what was logged, by number rising.

        Args:
            after: Only entries after this number; -1 for all.
            limit: At most this many; pass the last entry's number as ``after`` for more.

        Raises:
            InvalidInput: If a number is none.
            StoreError: If the store could not.
        """
        return self._driver.run(self._memory.messages(after=after, limit=limit))

    def checkpoint(self) -> SessionEndReport:
        """Promote what has found support by now; the session goes on.

        Raises:
            SessionEnded: If this handle has ended the session.
            StoreError: If a store could not; called again it goes on from there.
        """
        return self._driver.run(self._memory.checkpoint(), asks_model=True)

    def end(self) -> SessionEndReport:
        """End the session: what it leaves is stored, its log is dropped. Twice does no harm.

        Raises:
            StoreError: If a store could not; called again it goes on from there.
        """
        return self._driver.run(self._memory.end(), asks_model=True)


class Task:
    """One task: working memory, what is pushed and pulled for it, and its end.

    Built by :meth:`simonides.Memory.task`. Its first call begins it, or continues an open task
    of its name. Everything that it is told is in its session's log before working memory sees it.
    Its calls are made one after the other, by one process; calls out of order raise
    :class:`~simonides.PhaseError`. One session of a user has its name at a time; who was left so
    long that another has it gets :class:`~simonides.TaskUnderWay` from whatever writes but
    :meth:`complete` and :meth:`abandon`.

    It ends by :meth:`complete` or :meth:`abandon`; leaving a ``with`` block ends nothing.
    """

    def __init__(self, task: AsyncTask, driver: Driver) -> None:
        self._task = task
        self._driver = driver

    def __repr__(self) -> str:
        return self._task.__repr__()

    @property
    def memory(self) -> Memory:
        """The task's own memory, below the user's; it is removed when the task ends."""
        return Memory(self._task.memory, self._driver)

    @property
    def name(self) -> str:
        """Its name, under which it can be resumed."""
        return self._task.name

    @property
    def session(self) -> str:
        """The session whose log it is in: its principal's, else ``task-`` and its name."""
        return self._task.session

    @property
    def phase(self) -> TaskPhase:
        """Where it is."""
        return self._task.phase

    @property
    def goal(self) -> str:
        """What it is for."""
        return self._task.goal

    @property
    def current_step(self) -> str | None:
        """The step that is being worked on; None where there is none left."""
        return self._task.current_step

    @property
    def steps_done(self) -> int:
        """How many steps of the plan are done."""
        return self._task.steps_done

    @property
    def left_out(self) -> tuple[Constraint, ...]:
        """Constraints that find no room in the prompt."""
        return self._task.left_out

    @property
    def pushed(self) -> Digest | None:
        """What was pushed last; None before that, and in ``pull`` mode."""
        return self._task.pushed

    @property
    def report(self) -> TaskReport | None:
        """What came of it, once it is over."""
        return self._task.report

    def __enter__(self) -> Self:
        self._driver.run(self._task.__aenter__())
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._driver.run(self._task.__aexit__(kind, error, trace))

    def prompt(self) -> str:
        """Return what goes before a model: the slots of working memory, and after the constraints
        what is remembered, looked at again if that is due.

        The same state and the same memories give the same text; where nothing is pushed, or the
        digest is switched off, all other bytes are the same.

        Raises:
            PhaseError: If the task is not under way.
            StoreError: If memory cannot be read and nothing is warm.
        """
        return self._driver.run(self._task.prompt())

    def before_model(self) -> str:
        """Return the prompt as :meth:`prompt` does, for a model that is asked now; after the end of
        a turn it begins the next.

        Raises:
            PhaseError: If a tool runs whose result was not observed, or the task is not under way.
            StoreError: If memory cannot be read and nothing is warm.
        """
        return self._driver.run(self._task.before_model())

    def before_tool(self, name: str, args: Any = None) -> Digest | None:
        """Return what is remembered about a tool call that is to be made; None in ``push`` mode.

        Args:
            name: Of the tool.
            args: Its input: text, or data.

        Raises:
            InvalidInput: If the name is no text, or the input neither text nor data.
            PhaseError: If the task is not under way.
            StoreError: If memory cannot be read and nothing is warm.
        """
        return self._driver.run(self._task.before_tool(name, args))

    def observe(
        self,
        name: str,
        result: Any,
        *,
        importance: str = "normal",
        key: str | None = None,
        failed: bool = False,
        verified: bool = False,
    ) -> Digest | None:
        """Take in what a tool gave: the whole goes to the log, its beginning before the model.

        Args:
            name: Of the tool.
            result: Text, or data, of which the JSON is kept.
            importance: ``critical`` goes first and is not pushed out by others; what is
                ``critical`` or ``high`` is kept when the task is complete.
            key: Under which it is kept then; None makes one of the tool's name and the text.
            failed: Whether the tool failed; that is never kept.
            verified: Whether the host vouches for the result. Without it a result stays external
                when it is kept: little confidence, never a rule, no fact about the user.

        Returns:
            What is remembered about a call that failed; else, and in ``push`` mode, None.

        Raises:
            InvalidInput: If a value is not storable; nothing was written.
            PhaseError: If the task is not under way.
            StoreError: If the store could not. Where only the look at what is remembered failed
                the result is in the log and before the model.
        """
        return self._driver.run(
            self._task.observe(
                name, result, importance=importance, key=key, failed=failed, verified=verified
            )
        )

    def note(
        self,
        text: str,
        *,
        resolved: bool = False,
        resolves: Sequence[int] = (),
        importance: str = "normal",
        key: str | None = None,
    ) -> int:
        """Write a line of reasoning into the scratchpad, and return its number.

        Args:
            text: What the agent thinks.
            resolved: Whether it is settled already: such notes go first where room is short.
            resolves: Numbers of earlier notes that it settles.
            importance: What is ``critical`` or ``high`` is kept when the task is complete, as
                something that the agent says.
            key: Under which it is kept then.

        Raises:
            InvalidInput: If a value is not storable; nothing was written.
            PhaseError: If the task is not under way.
            StoreError: If the store could not; nothing was written.
        """
        return self._driver.run(
            self._task.note(
                text, resolved=resolved, resolves=resolves, importance=importance, key=key
            )
        )

    def step_done(self, note: str | None = None) -> str | None:
        """Say that the current step is done; past the end of the plan nothing happens.

        What is remembered is looked at again before the next model call.

        Args:
            note: How it went; a line of the scratchpad.

        Returns:
            The step that comes now, or None.

        Raises:
            InvalidInput: If the note is not storable.
            PhaseError: If a tool runs whose result was not observed, or the task is not under way.
            StoreError: If the store could not; nothing was written.
        """
        return self._driver.run(self._task.step_done(note))

    def add_constraint(self, text: str, *, importance: str = "normal") -> tuple[Constraint, ...]:
        """Add what the task must hold to from now on, whatever happens to the rest.

        Returns:
            All constraints that find no room in the prompt now; the prompt says how many.

        Raises:
            InvalidInput: If a value is not storable.
            PhaseError: If the task is not under way.
            StoreError: If the store could not; nothing was written.
        """
        return self._driver.run(self._task.add_constraint(text, importance=importance))

    def add(self, messages: Any) -> Talk:
        """Add turns of the conversation; past the token budget its older half is summarised.

        Args:
            messages: As for :meth:`simonides.Memory.add`.

        Returns:
            The talk as it is now, with how full its budget was when this turn came.

        Raises:
            InvalidInput: If a value is not storable.
            PhaseError: If the task is not under way.
            StoreError: If the store could not. Where only the summary could not be written the
                turn is there, and the next one tries again.
        """
        return self._driver.run(self._task.add(messages), asks_model=True)

    def conversation(self) -> Talk:
        """Return the talk as it is in front of a model.

        Raises:
            PhaseError: If the task is not under way.
        """
        return self._driver.run(self._task.conversation())

    def turn_end(self) -> None:
        """End a turn: observations and scratchpad are cleared, the rest stays.

        Raises:
            PhaseError: If a tool runs whose result was not observed, if the turn has ended, or the
                task is not under way.
            StoreError: If the store could not; nothing was written.
        """
        self._driver.run(self._task.turn_end())

    def complete(self, learning: str | None = None) -> TaskReport:
        """Keep what is worth it and what was learned, clean the task's scope, and be done.

        Each step is done exactly once, also if the process dies between two: who resumes the task
        completes it. An error of the store leaves it to be called again.

        Args:
            learning: What the agent learned, in its own words; None for nothing.

        Raises:
            InvalidInput: If the learning is not storable.
            PhaseError: If a tool runs whose result was not observed, or the task is not under way:
                another handle of it, or another call, has ended it or is at it.
            StoreError: If a store could not; called again it goes on from there.
        """
        return self._driver.run(self._task.complete(learning))

    def abandon(self) -> TaskReport:
        """Give it up: nothing is learned, its scope is cleaned, the log stays. It is not resumed.

        Raises:
            PhaseError: If the task is not under way, as for :meth:`complete`.
            StoreError: If a store could not; called again it goes on from there.
        """
        return self._driver.run(self._task.abandon())
