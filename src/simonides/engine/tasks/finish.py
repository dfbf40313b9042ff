"""The end of a task, exactly once: what it leaves is kept, its scope is cleaned.

``learning said → what is worth it is written → the scope is cleaned → said to be complete → the
day's collecting``. The first and the fourth are entries of the log. What stands between them may be
done again after a crash and comes to the same: each write has the idempotency key of its entry in
this run, and a scope that is clean stays so. What was read of the log is written only while its
user was not erased, and a scope that another session has by now is left alone.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from simonides.domain.conversation.task import TaskEvent, TaskReport
from simonides.domain.errors import StoreError
from simonides.domain.operations.gc import GcReport
from simonides.domain.policy.working import WorkingRules
from simonides.domain.scope import Principal
from simonides.domain.writing.decision import (
    Candidate,
    Drop,
    Judgement,
    Judgements,
    Outcome,
    Proposer,
)
from simonides.engine.core.runtime import Runtime
from simonides.engine.maintenance.daily_gc import DailyGc
from simonides.engine.maintenance.gc import SYSTEM, Collector
from simonides.engine.screening.judge import judge_one
from simonides.engine.sessions.close_tasks import TaskEnd, TaskEnder
from simonides.engine.tasks.claim import Fence, TaskHold
from simonides.engine.tasks.log import TaskLog
from simonides.engine.tasks.outcomes import (
    TOOL_RESULT,
    Run,
    learned,
    left_by_task,
)
from simonides.engine.tasks.run import TaskRun
from simonides.engine.tasks.working_memory import Progress
from simonides.engine.write.echo_filter import REPEATED, EchoFilter
from simonides.engine.write.writer import Writer

BATCH = 1_000
"""Memories that are written in one transaction; chosen: a turn of the owner's of some 0.3 s."""


class TaskFinisher:
    """Ends runs of one task."""

    def __init__(
        self, runtime: Runtime, principal: Principal, log: TaskLog, hold: TaskHold
    ) -> None:
        """Build it.

        Args:
            runtime: The open simonides.
            principal: The task; its user keeps what it leaves.
            log: Its log.
            hold: Its name.
        """
        self._runtime = runtime
        self._rules = runtime.part(WorkingRules)
        self._housekeeping = runtime.part(DailyGc)
        self._log, self._hold = log, hold
        self._purpose = principal.purpose
        # A task's user is the same person: the task may hand up to its own user.
        user = replace(principal, home=principal.home.owner, session=log.session)
        self._writer = Writer(runtime, user)
        self._echoes = EchoFilter(runtime, user)
        self._ender = TaskEnder(runtime, user)

    async def completed(self, run: TaskRun) -> TaskReport:
        """Keep what is worth it, clean up, and say so; done again it comes to the same.

        Args:
            run: Its learning was logged.

        Raises:
            StoreError: If a store could not; called again it goes on from there.
        """
        while (kept := await self._kept(await self._hold.fence(), await run.ending())) is None:
            continue  # its user was erased, or the name was taken over: what was read is no more
        *promoted, learning = kept
        end = await self._cleaned()
        await self._log.append(self._log.decision(TaskEvent.COMPLETED), is_last=True)
        collected, diagnostics = await self._collected()
        return replace(
            _report(self._log.task, end, completed=True),
            promoted=tuple(filter(None, promoted)),
            learning=learning,
            collected=collected,
            diagnostics=diagnostics,
        )

    async def abandoned(self) -> TaskReport:
        """Clean its scope; nothing of it is kept.

        Raises:
            StoreError: If a store could not.
        """
        return _report(self._log.task, await self._cleaned(), completed=False)

    async def _cleaned(self) -> TaskEnd:
        return await self._ender.end(self._log.task, (), session=self._log.session)

    async def _kept(self, fence: Fence, progress: Progress) -> tuple[Outcome | None, ...] | None:
        """Keep what is worth it; return what came of each, what was learned last, None for nothing
        of it. None if the fence has fallen.
        """
        entries, _ = await self._log.entries(after=progress.first)
        # What was logged after the learning was not part of what it is about, and a retry sees it.
        own = [each for each in entries if each.number < (progress.ending or 0)]
        run = Run(
            str(progress.run),
            self._log.home,
            self._log.session,
            self._purpose,
            self._rules.kept_chars,
        )
        promoted = await self._written(left_by_task(own, run), fence)
        if promoted is None or not progress.learning:
            return None if promoted is None else (*promoted, None)
        learning = await self._written([learned(progress.learning, own, run)], fence)
        return None if learning is None else (*promoted, *learning)

    async def _written(
        self, candidates: Sequence[Candidate], fence: Fence
    ) -> tuple[Outcome, ...] | None:
        """Write candidates while everything stands as it did; return None once it does not."""
        written: list[Outcome] = []
        for start in range(0, len(candidates), BATCH):
            batch = candidates[start : start + BATCH]
            echoes = await self._echoes.among([*map(_as_said, batch)], fresh=True)
            judged = Judgements(
                tuple(
                    Drop(each, (REPEATED,)) if place in echoes else self._judged(each)
                    for place, each in enumerate(batch)
                )
            )
            prepared = await self._writer.prepare(self._log.home, judged)
            outcomes = await self._writer.commit(prepared, fence)
            if outcomes is None:
                return None
            written += outcomes
        return tuple(written)

    def _judged(self, candidate: Candidate) -> Judgement:
        return judge_one(candidate, self._writer.policy(candidate.scope))

    async def _collected(self) -> tuple[GcReport | None, tuple[str, ...]]:
        """Collect what has aged out, if nobody has today; the task is complete all the same."""
        if not self._housekeeping.is_daily:
            return None, ()
        try:
            return await Collector(self._runtime, SYSTEM).due_today(self._log.home), ()
        except StoreError as error:
            return None, (f"gc:{type(error).__name__}",)


def _report(task: str, end: TaskEnd, *, completed: bool) -> TaskReport:
    return TaskReport(task=task, completed=completed, removed=end.removed, released=end.released)


def _as_said(candidate: Candidate) -> Candidate:
    """Return a candidate as echoes are looked for: what an agent says may repeat what it was shown,
    under whichever key it says so; what a tool gave is no echo.
    """
    if candidate.category == TOOL_RESULT:
        return candidate
    return replace(candidate, proposer=Proposer.MODEL, key=None)
