"""The run of a task: starting, resuming and ending it, and the budget of its conversation."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass, replace
from typing import Any

from simonides.domain.conversation.session import Entry, Logged
from simonides.domain.conversation.task import EVENT, OVER, TaskEvent, run_of
from simonides.domain.conversation.turn import Turn
from simonides.domain.errors import InvalidInput, SimonidesError, StoreUnavailable, TaskUnderWay
from simonides.domain.policy.working import Constraint, Talk, WorkingRules
from simonides.domain.writing.decision import NO_USAGE
from simonides.engine.consolidation import Summary, summarise
from simonides.engine.core import Runtime
from simonides.engine.prompting import AsyncTriggers
from simonides.engine.tasks.claim import TaskLock
from simonides.engine.tasks.conversation import marked
from simonides.engine.tasks.log import TaskLog
from simonides.engine.tasks.working_memory import Progress, WorkingMemory
from simonides.text import LEAST_CHARS, extract

TRIES = 3
"""Attempts to start a run while others append to the session; chosen."""

_ENDS = (TaskEvent.COMPLETING, *OVER)

CHARS_A_TOKEN = 4
"""Estimated characters per token, for the length of a summary before it is counted."""


@dataclass(frozen=True, slots=True)
class Beginning:
    """Checked input that starts a run.

    Attributes:
        goal: Goal of the task; None only to resume.
        plan: Its steps, in order.
        constraints: In order.
        mode: What reads memory for it.
        resume: Whether to resume a stopped run.
    """

    goal: str | None
    plan: tuple[str, ...]
    constraints: tuple[Constraint, ...]
    mode: str
    resume: bool


class TaskRun:
    """The current run of a task.

    Attributes:
        state: Its working memory.
    """

    def __init__(self, runtime: Runtime, log: TaskLog, hold: TaskLock) -> None:
        self.state = WorkingMemory(runtime.part(WorkingRules))
        self._runtime = runtime
        self._log = log
        self._hold = hold
        self._newest = -1
        self._logged_at = 0
        self._may_have_lost = False
        self._incarnation: bytes | None = None
        self._id = runtime.ids.new(runtime.clock.now_us())

    @property
    def about(self) -> str:
        """Query for memory: the goal and the current step."""
        return " ".join(filter(None, (self.state.goal, self.state.current_step)))

    async def tell(self, entry: Entry) -> Logged:
        """Append an entry to the log, then apply it to working memory.

        Raises:
            TaskUnderWay: If another session started a task of this name after this run lost the
                name: its session was abandoned or ended, or its user erased. Nothing was written,
                unless the append itself found the log to be new: the entry is then in that log.
            StoreError: If the store failed; nothing was written, with the same exception.
        """
        is_left = self._runtime.clock.now_us() >= self._logged_at + self._log.patience_us
        if is_left or self._may_have_lost:
            await self._acquire_name()
        logged = await self._append(entry)
        if self._may_have_lost:
            await self._acquire_name()
        return logged

    async def _append(self, entry: Entry, *, first: int | None = None) -> Logged:
        """Append an entry without checking the name's holder, optionally with a required number.

        Raises:
            ValueError: If another entry has the number ``first``.
            StoreError: If the store failed; nothing was written.
        """
        logged = await self._log.append(entry, first=first)
        self._logged_at = logged.at
        if logged.number <= self._newest:
            await self._begun_anew()
        self._newest = logged.number
        self.state = self.state.after(logged, self._runtime.models.tokens.count)
        return logged

    async def decide(self, event: TaskEvent, text: str = "", **details: Any) -> int:
        """Append a decision; return the entry's number."""
        return (await self.tell(self._log.decision(event, text, **details))).number

    async def begin(self, given: Beginning) -> bool:
        """Start a run, or resume one; return whether it is new.

        Only one of the user's sessions holds the name. Within a session, the first entry must
        directly follow what was read. If two processes start the same task at once, one gets an
        error.

        Raises:
            TaskUnderWay: If a task of this name is under way in another session, or here and is not
                to be resumed.
            InvalidInput: If there is none to resume and no goal.
            StoreError: If the store failed.
        """
        self._incarnation = await self._owner()
        for _ in range(TRIES):
            self.state, length = await self._log.found()
            self._newest = length - 1
            progress = self.state.progress
            if progress.is_under_way and not given.resume:
                raise TaskUnderWay(self._log.task, self._log.session, elsewhere=False)
            if progress.is_under_way:
                # A completing run may have released its name already and does not need it.
                if progress.ending is None:
                    await self._acquire_name()
                self._logged_at = self._runtime.clock.now_us()
                return False
            if given.goal is None:
                raise await self._none_to_resume()
            await self._acquire_name()
            try:
                await self._append(self._first(given, given.goal), first=length)
            except SimonidesError:
                raise
            except ValueError:
                continue  # another process appended meanwhile
            return True
        raise InvalidInput("name", "other processes keep writing to its session; try again")

    async def conclude(self, event: TaskEvent, text: str = "") -> bool:
        """Log exactly once that the run is completing or abandoned.

        The entry must directly follow all that was read, so only one of several callers writes it.
        A retry after a lost reply finds the entry written. The name is not checked: a run that lost
        it keeps its own results and leaves the other session's scope alone.

        Returns:
            False if another caller has logged it; nothing was written then.

        Raises:
            StoreError: If the store failed; the next call continues from there.
        """
        await self._heed_erasure()
        while True:
            said, length = await self._said()
            if said is not None:
                if not self._is_own(said, event):
                    return False
                self.state = self.state.after(said, self._runtime.models.tokens.count)
                return True
            with suppress(ValueError):  # another process appended meanwhile
                await self._append(self._log.decision(event, text, by=self._id), first=length)
                return True

    async def is_over(self, event: TaskEvent) -> bool:
        """Whether the run is completing or over, by an event that this handle did not log."""
        said, _ = await self._said()
        return said is not None and not self._is_own(said, event)

    async def _said(self) -> tuple[Logged | None, int]:
        """Return the entry that ends the run, or None, and the session's number of entries."""
        entries, length = await self._log.entries()
        own = run_of(entries, self.state.progress.run)
        said = (each for each in own if each.entry.details.get(EVENT) in _ENDS)
        return next(said, None), length

    def _is_own(self, said: Logged, event: TaskEvent) -> bool:
        details = said.entry.details
        return (details.get(EVENT), details.get("by")) == (event, self._id)

    async def ending(self) -> Progress:
        """Return the progress of a completing run, without anything logged before an erasure of its
        user.
        """
        await self._heed_erasure()
        return self.state.progress

    async def _acquire_name(self) -> None:
        """Acquire the name, and read the incarnation if the owner is new."""
        await self._hold.take()
        self._may_have_lost = False
        self._logged_at = self._runtime.clock.now_us()
        self._incarnation = self._incarnation or await self._owner()

    async def _none_to_resume(self) -> InvalidInput:
        if (refused := await self._hold.elsewhere()) is not None:
            return refused
        return InvalidInput("goal", "there is no task of this name to resume; say its goal")

    async def converse(self, entry: Entry) -> Talk:
        """Add a conversation turn; over the budget, the older half is summarised."""
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
        """Clear working memory if the user was erased meanwhile, and renew the query.

        The new query has no erased text; a receipt would keep it. While the store is unavailable,
        nothing is checked.
        """
        with suppress(StoreUnavailable):
            if await self._heed_erasure():
                triggers.state_changed(self.about)

    async def _begun_anew(self) -> None:
        """Continue in a new log of the session, after the old one was dropped.

        The old log was dropped with its session or in an erasure of its user. The lock on the name
        was dropped with it.
        """
        self._may_have_lost = True
        self.state = replace(self.state, progress=replace(self.state.progress, first=-1))
        await self._heed_erasure()

    async def _heed_erasure(self) -> bool:
        """Clear working memory if the user was erased meanwhile; return whether the user was.

        Otherwise its content would be written again, for example in a summary of the conversation.
        """
        before, self._incarnation = self._incarnation, await self._owner()
        if before == self._incarnation or not await self._is_gone():
            return False
        run = replace(self.state.progress, first=-1, ending=None, learning="")
        self.state = WorkingMemory(self.state.rules, progress=run)
        return True

    async def _owner(self) -> bytes | None:
        """Return the user's incarnation, which an erasure replaces; None if nothing is stored."""
        (head,) = await self._runtime.store.heads([self._log.home])
        return None if head is None else head.incarnation

    async def _is_gone(self) -> bool:
        """Whether the first entry of the run is missing from the log."""
        entries, _ = await self._log.entries()
        return not any(each.entry.details.get("run") == self.state.progress.run for each in entries)

    async def _flush(self) -> Summary:
        """Summarise the older half of the conversation; the log keeps it verbatim.

        A model takes time for it. If the user was erased meanwhile, nothing is written.
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
            with suppress(ValueError):  # another process appended, or the log was dropped
                await self._append(entry, first=length)
                break
        return made

    async def _summary(self, turns: list[Turn], room: int, total: int) -> Summary:
        """Return a summary that fits into ``room`` tokens with its mark."""
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
