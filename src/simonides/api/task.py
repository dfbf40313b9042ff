"""One task of an agent: what is in front of it, what is remembered for it, what comes of it.

``(before_model → before_tool → observe → note → step_done → turn_end)* → complete``
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from types import TracebackType
from typing import Any, Self

from simonides.api.bound import Bound
from simonides.api.memory import AsyncMemory
from simonides.api.messages import parse_messages
from simonides.api.sync_markers import waits_for_model
from simonides.capture import flag, name_or_none
from simonides.domain.conversation.message import Message
from simonides.domain.conversation.session import Entry, EntryKind
from simonides.domain.conversation.task import TaskEvent, TaskPhase, TaskReport
from simonides.domain.conversation.turn import Role
from simonides.domain.errors import InvalidInput, InvalidScope, PhaseError, ScopeDenied
from simonides.domain.memory import Importance
from simonides.domain.policy.working import Constraint, Talk
from simonides.domain.reading.digest import Digest
from simonides.domain.scope import Scope, checked_id
from simonides.domain.value import enum_member
from simonides.engine.core import Counters
from simonides.engine.prompting import AsyncTriggers, TriggerMode
from simonides.engine.recall import sequence
from simonides.engine.tasks import (
    Beginning,
    TaskFinisher,
    TaskLock,
    TaskLog,
    TaskPhases,
    TaskRun,
    WorkingMemory,
    text_of,
)
from simonides.text import check_text

MAX_LINE_BYTES = 4 * 1024
"""Longest goal, step or constraint in UTF-8. Chosen: they stand in every prompt, never cut."""

MAX_NOTE_BYTES = 16 * 1024
"""Longest note, learning or summary in UTF-8; chosen."""

MAX_MESSAGE_BYTES = 256 * 1024
"""Longest turn of the talk in UTF-8; chosen."""


class AsyncTask:
    """One task: working memory, what is pushed and pulled for it, and its end.

    Built by :meth:`simonides.AsyncMemory.task`. Its first call begins it, or continues an open task
    of its name. Everything that it is told is in its session's log before working memory sees it.
    Its calls are made one after the other, by one process; calls out of order raise
    :class:`~simonides.PhaseError`. One session of a user has its name at a time; who was left so
    long that another has it gets :class:`~simonides.TaskUnderWay` from whatever writes but
    :meth:`complete` and :meth:`abandon`.

    It ends by :meth:`complete` or :meth:`abandon`; leaving a ``with`` block ends nothing.
    """

    def __init__(self, bound: Bound, scope: Scope, given: Beginning) -> None:
        runtime = bound.runtime
        self._log, self._given = TaskLog(runtime, bound.principal, str(scope.task)), given
        principal = replace(bound.principal, home=scope, session=self._log.session)
        self._scope = scope
        hold = TaskLock(runtime, principal, self._log)
        self._run = TaskRun(runtime, self._log, hold)
        self._phases = TaskPhases(runtime.part(Counters))
        self._report: TaskReport | None = None
        self._caller, self._bound = bound, Bound(runtime, principal, bound.life)
        self._triggers = self._triggered(given.goal or "", given.mode)
        self._finisher = TaskFinisher(runtime, principal, self._log, hold)
        self._is_concluded = False

    def __repr__(self) -> str:
        return f"<Task {self.name} {self.phase}>"

    def _triggered(self, about: str, mode: str) -> AsyncTriggers:
        bound = self._bound
        return AsyncTriggers(
            bound.runtime, bound.principal, bound.reader, bound.supplier, about, mode
        )

    @property
    def memory(self) -> AsyncMemory:
        """The task's own memory, below the user's; it is removed when the task ends."""
        return AsyncMemory(self._caller.within(home=self._scope))

    @property
    def name(self) -> str:
        """Its name, under which it can be resumed."""
        return self._log.task

    @property
    def session(self) -> str:
        """The session whose log it is in: its principal's, else ``task-`` and its name."""
        return self._log.session

    @property
    def phase(self) -> TaskPhase:
        """Where it is."""
        return self._phases.now

    @property
    def goal(self) -> str:
        """What it is for."""
        if self._phases.now is TaskPhase.STARTUP:
            return self._given.goal or ""
        return self._state.goal

    @property
    def current_step(self) -> str | None:
        """The step that is being worked on; None where there is none left."""
        return self._state.current_step

    @property
    def steps_done(self) -> int:
        """How many steps of the plan are done."""
        return self._state.done

    @property
    def left_out(self) -> tuple[Constraint, ...]:
        """Constraints that find no room in the prompt."""
        return self._state.left_out

    @property
    def pushed(self) -> Digest | None:
        """What was pushed last; None before that, and in ``pull`` mode."""
        return self._triggers.pinned

    @property
    def report(self) -> TaskReport | None:
        """What came of it, once it is over."""
        return self._report

    async def __aenter__(self) -> Self:
        await self._begun()
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        return None

    async def _begun(self) -> None:
        """Begin it, or continue it: working memory is filled and what is remembered is pushed.

        A run that had begun to complete is completed, and is over then.

        Raises:
            TaskUnderWay: If a task of this name is under way in another session.
            InvalidInput: If there is none to be continued and no goal.
            StoreError: If the store could not.
        """
        if self._phases.now is not TaskPhase.STARTUP:
            return
        is_new = await self._run.begin(self._given)
        self._phases.enter(TaskPhase.EXECUTING)
        if not is_new:
            await self._run.decide(TaskEvent.RESUMED)
        if self._state.progress.ending is not None:
            self._is_concluded = True
            await self._finish()
            return
        self._triggers = self._triggered(self._run.about, self._state.progress.mode)
        await self._triggers.before_model()

    async def prompt(self) -> str:
        """Return what goes before a model: the slots of working memory, and after the constraints
        what is remembered, looked at again if that is due.

        The same state and the same memories give the same text; where nothing is pushed, or the
        digest is switched off, all other bytes are the same.

        Raises:
            PhaseError: If the task is not under way.
            StoreError: If memory cannot be read and nothing is warm.
        """
        await self._begun()
        self._phases.check("prompt")
        await self._run.heed(self._triggers)
        pushed = await self._triggers.before_model()
        return self._state.to_prompt("" if pushed is None else pushed.text)

    async def before_model(self) -> str:
        """Return the prompt as :meth:`prompt` does, for a model that is asked now; after the end of
        a turn it begins the next.

        Raises:
            PhaseError: If a tool runs whose result was not observed, or the task is not under way.
            StoreError: If memory cannot be read and nothing is warm.
        """
        await self._begun()
        self._phases.check("before_model")
        shown = await self.prompt()
        self._phases.goes_on()
        return shown

    async def before_tool(self, name: str, args: Any = None) -> Digest | None:
        """Return what is remembered about a tool call that is to be made; None in ``push`` mode.

        Args:
            name: Of the tool.
            args: Its input: text, or data.

        Raises:
            InvalidInput: If the name is no text, or the input neither text nor data.
            PhaseError: If the task is not under way.
            StoreError: If memory cannot be read and nothing is warm.
        """
        await self._begun()
        self._phases.check("before_tool")
        name = check_text("name", name, 512)
        asked = self._log.asked("args", args)
        found = await self._triggers.before_tool(name, asked)
        self._phases.calls(name, asked)
        return found

    async def observe(
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
        await self._begun()
        self._phases.check("observe")
        if flag("failed", failed) and flag("verified", verified):
            raise InvalidInput("verified", "what failed shows nothing; leave one out")
        entry = self._log.observation(
            check_text("name", name, 512),
            text := text_of("result", result),
            importance=enum_member(Importance, "importance", importance),
            key=self._log.key("key", key),
            failed=failed,
            verified=verified,
        )
        await self._run.tell(entry)
        given = self._phases.observed(name)
        if not failed:
            return None
        return await self._triggers.after_failed_tool(name, given, self._log.asked("result", text))

    async def note(
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
        await self._begun()
        self._phases.check("note")
        details: dict[str, Any] = {"resolved": True} if flag("resolved", resolved) else {}
        if settled := _numbers(resolves):
            details["resolves"] = settled
        return await self._decide(
            TaskEvent.NOTED,
            check_text("text", text, MAX_NOTE_BYTES),
            importance=enum_member(Importance, "importance", importance),
            key=self._log.key("key", key),
            **details,
        )

    async def step_done(self, note: str | None = None) -> str | None:
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
        await self._begun()
        self._phases.check("step_done")
        said = "" if note is None else check_text("note", note, MAX_NOTE_BYTES)
        await self._decide(TaskEvent.STEP_DONE, said)
        self._triggers.state_changed(self._run.about)
        return self.current_step

    async def add_constraint(
        self, text: str, *, importance: str = "normal"
    ) -> tuple[Constraint, ...]:
        """Add what the task must hold to from now on, whatever happens to the rest.

        Returns:
            All constraints that find no room in the prompt now; the prompt says how many.

        Raises:
            InvalidInput: If a value is not storable.
            PhaseError: If the task is not under way.
            StoreError: If the store could not; nothing was written.
        """
        await self._begun()
        self._phases.check("add_constraint")
        said = check_text("text", text, MAX_LINE_BYTES)
        weight = enum_member(Importance, "importance", importance)
        # In the details: a constraint is the task's and ends with it, however important it is.
        await self._decide(TaskEvent.CONSTRAINED, said, weight=weight.value)
        return self.left_out

    @waits_for_model
    async def add(self, messages: Any) -> Talk:
        """Add turns of the conversation; past the token budget its older half is summarised.

        Args:
            messages: As for :meth:`simonides.AsyncMemory.add`.

        Returns:
            The talk as it is now, with how full its budget was when this turn came.

        Raises:
            InvalidInput: If a value is not storable.
            PhaseError: If the task is not under way.
            StoreError: If the store could not. Where only the summary could not be written the
                turn is there, and the next one tries again.
        """
        await self._begun()
        self._phases.check("add")
        said = parse_messages(messages).messages
        entries = [self._turn(each) for each in said]
        self._phases.goes_on()
        shown = self._state.conversation.shown(self._state.rules)
        for entry in entries:
            shown = await self._run.converse(entry)
        return shown

    def _turn(self, message: Message) -> Entry:
        return Entry(
            kind=EntryKind.TURN,
            text=self._log.kept(check_text("messages", message.content, MAX_MESSAGE_BYTES)),
            role=enum_member(Role, "role", message.role),
            speaker=name_or_none("speaker", message.name),
            task=self.name,
        )

    async def conversation(self) -> Talk:
        """Return the talk as it is in front of a model.

        Raises:
            PhaseError: If the task is not under way.
        """
        await self._begun()
        self._phases.check("conversation")
        return self._state.conversation.shown(self._state.rules)

    async def turn_end(self) -> None:
        """End a turn: observations and scratchpad are cleared, the rest stays.

        Raises:
            PhaseError: If a tool runs whose result was not observed, if the turn has ended, or the
                task is not under way.
            StoreError: If the store could not; nothing was written.
        """
        await self._begun()
        self._phases.check("turn_end")
        await self._decide(TaskEvent.TURN_ENDED)
        self._triggers.turn_end()
        self._phases.enter(TaskPhase.TURN_END)

    async def complete(self, learning: str | None = None) -> TaskReport:
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
        await self._begun()
        with self._phases.ends("complete"):
            if not self._is_concluded or self._report is not None:
                self._phases.check("complete")
                said = "" if learning is None else check_text("learning", learning, MAX_NOTE_BYTES)
                await self._conclude("complete", TaskEvent.COMPLETING, said)
                self._is_concluded = True
            return await self._finish()

    async def abandon(self) -> TaskReport:
        """Give it up: nothing is learned, its scope is cleaned, the log stays. It is not resumed.

        Raises:
            PhaseError: If the task is not under way, as for :meth:`complete`.
            StoreError: If a store could not; called again it goes on from there.
        """
        await self._begun()
        with self._phases.ends("abandon"):
            self._phases.check("abandon")
            if await self._run.is_over(TaskEvent.ABANDONED):
                raise self._over("abandon")
            report = await self._finisher.abandoned()
            await self._conclude("abandon", TaskEvent.ABANDONED)
            self._report, self._run.state = report, self._state.cleared()
            self._phases.enter(TaskPhase.COMPLETE)
            return report

    @property
    def _state(self) -> WorkingMemory:
        return self._run.state

    async def _conclude(self, call: str, event: TaskEvent, text: str = "") -> None:
        if not await self._run.conclude(event, text):
            raise self._over(call)

    def _over(self, call: str) -> PhaseError:
        self._run.state = self._state.cleared()
        return self._phases.over(call)

    async def _finish(self) -> TaskReport:
        self._phases.enter(TaskPhase.COMPLETE)
        self._report = await self._finisher.completed(self._run)
        self._run.state = self._state.cleared()
        return self._report

    async def _decide(self, event: TaskEvent, text: str = "", **details: Any) -> int:
        number = await self._run.decide(event, text, **details)
        self._phases.goes_on()
        return number


def _numbers(raw: Sequence[object]) -> list[object]:
    if not all(type(each) is int for each in raw):
        raise InvalidInput("resolves", "must be numbers of notes, as `note` returned them")
    return list(raw)


def begin_task(
    bound: Bound,
    goal: str | None,
    name: str | None,
    plan: Sequence[str],
    constraints: Sequence[str | Constraint],
    mode: str,
) -> AsyncTask:
    """Return the handle of a task; see :meth:`simonides.AsyncMemory.task`."""
    if goal is None and name is None:
        raise InvalidInput("goal", "say what the task is for, or the name of one to continue")
    given = Beginning(
        goal=None if goal is None else check_text("goal", goal, MAX_LINE_BYTES),
        plan=_lines("plan", plan),
        constraints=tuple(map(_constraint, sequence("constraints", constraints))),
        mode=enum_member(TriggerMode, "mode", mode).value,
        resume=name is not None,
    )
    return AsyncTask(bound, _task_scope(bound, name), given)


def _task_scope(bound: Bound, name: str | None) -> Scope:
    home = bound.principal.home
    if home.org is None or home.user is None:
        raise InvalidScope("task", "a task belongs to a user; name the user too")
    if home.task is not None:
        if name not in (None, home.task):
            raise ScopeDenied(home.path, "write", "a task has no tasks; ask its user's memory")
        return home
    if name is None:
        name = bound.runtime.ids.new(bound.runtime.clock.now_us())
    return Scope.of_task(home.org, home.user, checked_id("name", name))


def _lines(field: str, raw: Sequence[str]) -> tuple[str, ...]:
    return tuple(check_text(field, each, MAX_LINE_BYTES) for each in sequence(field, raw))


def _constraint(given: object) -> Constraint:
    if not isinstance(given, Constraint):
        return Constraint(check_text("constraints", given, MAX_LINE_BYTES))
    text = check_text("constraints", given.text, MAX_LINE_BYTES)
    return Constraint(text, enum_member(Importance, "constraints.importance", given.importance))
