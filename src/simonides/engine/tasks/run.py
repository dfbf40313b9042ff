"""A run of a task: what its log adds up to, how it begins or goes on, and its talk's budget."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass, replace
from typing import Any

from simonides.domain.conversation.session import Entry, Logged
from simonides.domain.conversation.task import (
    EVENT,
    OVER,
    TaskEvent,
    run_of,
)
from simonides.domain.conversation.turn import Turn
from simonides.domain.errors import InvalidInput, StoreUnavailable, TaskUnderWay
from simonides.domain.policy.working import Constraint, Talk, WorkingRules
from simonides.domain.writing.decision import NO_USAGE
from simonides.engine.consolidation.summarise import Summary, summarise
from simonides.engine.core.runtime import Runtime
from simonides.engine.prompting.triggers import AsyncTriggers
from simonides.engine.tasks.claim import TaskHold
from simonides.engine.tasks.conversation import marked
from simonides.engine.tasks.log import TaskLog
from simonides.engine.tasks.working_memory import Progress, WorkingMemory
from simonides.text.extractive_summary import LEAST_CHARS, extract

TRIES = 3
"""How often a beginning is tried while others append to the session; chosen."""

_ENDS = (TaskEvent.COMPLETING, *OVER)

CHARS_A_TOKEN = 4
"""What a summary's length is reckoned with before it is counted."""


@dataclass(frozen=True, slots=True)
class Beginning:
    """What a task is begun with, checked.

    Attributes:
        goal: What it is for; None only where it is to be resumed.
        plan: Its steps, in order.
        constraints: In order.
        mode: What reads memory for it.
        resume: Whether a run that stopped goes on.
    """

    goal: str | None
    plan: tuple[str, ...]
    constraints: tuple[Constraint, ...]
    mode: str
    resume: bool


class TaskRun:
    """The run of a task that is under way.

    Attributes:
        state: What is in front of it.
    """

    def __init__(self, runtime: Runtime, log: TaskLog, hold: TaskHold) -> None:
        self.state = WorkingMemory(runtime.part(WorkingRules))
        self._runtime = runtime
        self._log = log
        self._hold = hold
        self._newest = -1
        self._told_at = 0
        self._may_have_lost = False
        self._incarnation: bytes | None = None
        self._id = runtime.ids.new(runtime.clock.now_us())

    @property
    def about(self) -> str:
        """What memory is asked about: the goal, and the step that comes now."""
        return " ".join(filter(None, (self.state.goal, self.state.current_step)))

    async def tell(self, entry: Entry) -> Logged:
        """Append an entry to the log, and only then let working memory see it.

        Raises:
            TaskUnderWay: If the session was left or ended, or its user erased, and another has
                begun a task of this name. Nothing was written, unless it was this entry by which
                that was found out: it stands in the log that was begun anew.
            StoreError: If the store could not; nothing was written, with the same exception.
        """
        is_left = self._runtime.clock.now_us() >= self._told_at + self._log.patience_us
        if is_left or self._may_have_lost:
            await self._held()
        logged = await self._append(entry)
        if self._may_have_lost:
            await self._held()
        return logged

    async def _append(self, entry: Entry, *, first: int | None = None) -> Logged:
        """Append an entry whoever has the name, maybe as a certain one.

        Raises:
            ValueError: If something else has the number ``first``.
            StoreError: If the store could not; nothing was written.
        """
        logged = await self._log.append(entry, first=first)
        self._told_at = logged.at
        if logged.number <= self._newest:
            await self._begun_anew()
        self._newest = logged.number
        self.state = self.state.after(logged, self._runtime.models.tokens.count)
        return logged

    async def decide(self, event: TaskEvent, text: str = "", **details: Any) -> int:
        """Tell it of a decision; return the entry's number."""
        return (await self.tell(self._log.decision(event, text, **details))).number

    async def begin(self, given: Beginning) -> bool:
        """Begin a run, or find the one that is to be resumed; return whether it is a new one.

        Of the user's sessions one has the name at a time. Within it the log is read first, and the
        entry must come right after what was read: of two processes that begin a task of one name
        at once, one is told of the other.

        Raises:
            TaskUnderWay: If a task of this name is under way and is not to be resumed, or is in
                another session.
            InvalidInput: If there is none to be resumed and no goal.
            StoreError: If the store could not.
        """
        self._incarnation = await self._owner()
        for _ in range(TRIES):
            self.state, length = await self._log.found()
            self._newest = length - 1
            progress = self.state.progress
            if progress.is_under_way and not given.resume:
                raise TaskUnderWay(self._log.task, self._log.session, elsewhere=False)
            if progress.is_under_way:
                # What has begun to complete needs its name no more, and may have given it back.
                if progress.ending is None:
                    await self._held()
                self._told_at = self._runtime.clock.now_us()
                return False
            if given.goal is None:
                raise await self._none_to_resume()
            await self._held()
            try:
                await self._append(self._first(given, given.goal), first=length)
            except ValueError:
                continue  # somebody else appended meanwhile
            return True
        raise InvalidInput("name", "others write to its session all the time; try again")

    async def conclude(self, event: TaskEvent, text: str = "") -> bool:
        """Say once and for all that the run is completing, or was abandoned.

        The entry must come right behind all that was read, so of several who say it at once one
        does; who says it again for want of an answer finds that it was said. The name is not
        asked for: a run that has lost it leaves what it leaves, and another's scope alone.

        Returns:
            False if somebody else has said it; nothing was written then.

        Raises:
            StoreError: If the store could not; called again it goes on from there.
        """
        await self._heed_erasure()
        while True:
            said, length = await self._said()
            if said is not None:
                if not self._is_own(said, event):
                    return False
                self.state = self.state.after(said, self._runtime.models.tokens.count)
                return True
            with suppress(ValueError):  # somebody else appended meanwhile
                await self._append(self._log.decision(event, text, by=self._id), first=length)
                return True

    async def is_over(self, event: TaskEvent) -> bool:
        """Whether the run is completing or over, other than by an event that was said here."""
        said, _ = await self._said()
        return said is not None and not self._is_own(said, event)

    async def _said(self) -> tuple[Logged | None, int]:
        """Return what ends the run, or None, and how many entries the session has."""
        entries, length = await self._log.entries()
        own = run_of(entries, self.state.progress.run)
        said = (each for each in own if each.entry.details.get(EVENT) in _ENDS)
        return next(said, None), length

    def _is_own(self, said: Logged, event: TaskEvent) -> bool:
        details = said.entry.details
        return (details.get(EVENT), details.get("by")) == (event, self._id)

    async def ending(self) -> Progress:
        """Return where a run stands that is completing: nothing is left of what was said before its
        user was erased.
        """
        await self._heed_erasure()
        return self.state.progress

    async def _held(self) -> None:
        """Have the name. The owner may be there only since."""
        await self._hold.take()
        self._may_have_lost = False
        self._told_at = self._runtime.clock.now_us()
        self._incarnation = self._incarnation or await self._owner()

    async def _none_to_resume(self) -> InvalidInput:
        if (refused := await self._hold.elsewhere()) is not None:
            return refused
        return InvalidInput("goal", "there is no task of this name to resume; say its goal")

    async def converse(self, entry: Entry) -> Talk:
        """Take in a turn of the talk; past the budget the older half is summarised."""
        await self.tell(entry)
        if self.state.conversation.must_flush(self.state.rules):
            await self._heed_erasure()
        rules, usage, noted = self.state.rules, NO_USAGE, list[str]()
        pressure = self.state.conversation.pressure(rules)
        while self.state.conversation.must_flush(rules):
            made = await self._flush()
            usage += made.usage
            noted += made.diagnostics
        talk = self.state.conversation.shown(rules, pressure)
        return replace(talk, usage=usage, diagnostics=tuple(noted))

    async def heed(self, triggers: AsyncTriggers) -> None:
        """Let go of everything if the user was erased meanwhile, and have memory asked about what
        is left: a receipt would keep the question. While the store is away nothing is asked of it.
        """
        with suppress(StoreUnavailable):
            if await self._heed_erasure():
                triggers.state_changed(self.about)

    async def _begun_anew(self) -> None:
        """Go on in another log of the session's name: the one before was dropped meanwhile, with
        its session or with all that is known of its user. The task's name went the same way.
        """
        self._may_have_lost = True
        self.state = replace(self.state, progress=replace(self.state.progress, first=-1))
        await self._heed_erasure()

    async def _heed_erasure(self) -> bool:
        """Let go of everything if the user was erased meanwhile, and return whether it was: what
        working memory still holds would be written down again, in a summary of the talk for one.
        """
        before, self._incarnation = self._incarnation, await self._owner()
        if before == self._incarnation or not await self._is_gone():
            return False
        run = replace(self.state.progress, first=-1, ending=None, learning="")
        self.state = WorkingMemory(self.state.rules, progress=run)
        return True

    async def _owner(self) -> bytes | None:
        """Return what an erasure draws anew; None for a user of whom nothing is stored."""
        (head,) = await self._runtime.store.heads([self._log.home])
        return None if head is None else head.incarnation

    async def _is_gone(self) -> bool:
        """Whether the entry with which the run began is not in the log any more."""
        entries, _ = await self._log.entries()
        return not any(each.entry.details.get("run") == self.state.progress.run for each in entries)

    async def _flush(self) -> Summary:
        """Summarise the older half of the talk; what it said is in the log, word by word.

        That takes a model its time: if the user was erased meanwhile nothing is written.
        """
        older, rules = self.state.conversation.older_half, self.state.rules
        turns = [Turn(text=each.text, role=each.role, speaker=each.speaker) for each in older]
        if before := self.state.conversation.summary:
            turns.insert(0, Turn(text=before))
        room = int(rules.summary_share * rules.conversation_tokens)
        made = await self._summary(turns, room, self.state.conversation.summarised + len(older))
        entry = self._log.decision(TaskEvent.FLUSHED, made.text, turns=len(older), by=made.by)
        while not await self._heed_erasure():
            _, length = await self._log.entries()
            with suppress(ValueError):  # somebody else appended meanwhile, or the log was dropped
                await self._append(entry, first=length)
                break
        return made

    async def _summary(self, turns: list[Turn], room: int, total: int) -> Summary:
        """Return a summary of turns that with its mark costs no more than there is room for."""
        chars = max(CHARS_A_TOKEN * room, LEAST_CHARS)
        if self._runtime.models.meter is None:
            made = Summary(extract([turn.text for turn in turns], max_chars=chars), "rules")
        else:
            made = await summarise(
                self._runtime, self._log.policy, turns, max_chars=chars, owner=self._log.home
            )
        count = self._runtime.models.tokens.count
        while count(marked(made.text, total)) > room and chars > LEAST_CHARS:
            chars = max(chars // 2, LEAST_CHARS)
            made = replace(made, text=extract([made.text], max_chars=chars))
        return made

    def _first(self, given: Beginning, goal: str) -> Entry:
        keep = self._log.kept
        return self._log.decision(
            TaskEvent.STARTED,
            goal,
            run=self._runtime.ids.new(self._runtime.clock.now_us()),
            plan=[keep(step) for step in given.plan],
            constraints=[[keep(each.text), each.importance.value] for each in given.constraints],
            mode=given.mode,
        )
