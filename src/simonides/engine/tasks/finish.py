"""Ends a task exactly once: keeps what is worth keeping, then removes its scope.

``log the learning → store memories → remove the scope → log completion → daily collection``. The
first and fourth steps are log entries. The steps between them are idempotent: each write has the
idempotency key of its log entry in this run, and removing an empty scope changes nothing. Memories
from the log are stored only while the user is not erased. A scope that another session has taken
over is left alone.
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
from simonides.engine.core import Runtime
from simonides.engine.maintenance import SYSTEM, Collector, DailyGc
from simonides.engine.screening import judge_one
from simonides.engine.sessions import TaskEnd, TaskEnder
from simonides.engine.tasks.claim import Fence, TaskLock
from simonides.engine.tasks.log import TaskLog
from simonides.engine.tasks.outcomes import TOOL_RESULT, Run, learned, left_by_task
from simonides.engine.tasks.run import TaskRun
from simonides.engine.tasks.working_memory import Progress
from simonides.engine.write import REPEATED, EchoFilter, Writer

BATCH = 1_000
"""Memories written in one transaction; chosen: the owner's turn takes some 0.3 s."""


class TaskFinisher:
    """Ends runs of one task; its user keeps the stored memories."""

    def __init__(
        self, runtime: Runtime, principal: Principal, log: TaskLog, hold: TaskLock
    ) -> None:
        self._runtime = runtime
        self._rules = runtime.part(WorkingRules)
        self._daily_gc = runtime.part(DailyGc)
        self._log, self._hold = log, hold
        self._purpose = principal.purpose
        # A task acts for its user, so it may store memories with that user.
        user = replace(principal, home=principal.home.owner, session=log.session)
        self._writer = Writer(runtime, user)
        self._echoes = EchoFilter(runtime, user)
        self._ender = TaskEnder(runtime, user)

    async def completed(self, run: TaskRun) -> TaskReport:
        """Store what is worth keeping, remove the scope, and log completion; idempotent.

        Args:
            run: The run; its learning was logged.

        Raises:
            StoreError: If a store failed; the next call continues from there.
        """
        while (kept := await self._kept(await self._hold.fence(), await run.ending())) is None:
            continue  # the user was erased or the name taken over: what was read is stale
        *promoted, learning = kept
        end = await self._cleaned()
        await self._log.append(self._log.decision(TaskEvent.COMPLETED), is_last=True)
        collected, diagnostics = await self._collected()
        return replace(
            _report(self._log.task, end, completed=True),
            promoted=tuple(each for each in promoted if each is not None),
            learning=learning,
            collected=collected,
            diagnostics=diagnostics,
        )

    async def abandoned(self) -> TaskReport:
        """Remove the task's scope and keep nothing.

        Raises:
            StoreError: If a store failed.
        """
        return _report(self._log.task, await self._cleaned(), completed=False)

    async def _cleaned(self) -> TaskEnd:
        return await self._ender.end(self._log.task, (), session=self._log.session)

    async def _kept(self, fence: Fence, progress: Progress) -> tuple[Outcome | None, ...] | None:
        """Store what is worth keeping; return the outcomes, the learning's last.

        The learning's outcome is None if nothing was learned. Returns None if the fence no longer
        holds.
        """
        entries, _ = await self._log.entries(after=progress.first)
        # The learning is about earlier entries only; a retry also finds later ones in the log.
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
        """Write candidates while the fence holds; return None when it does not."""
        written: list[Outcome] = []
        for start in range(0, len(candidates), BATCH):
            batch = candidates[start : start + BATCH]
            echoes = await self._echoes.among([*map(_for_echo_search, batch)], fresh=True)
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
        """Run the daily collection if it is due; a failure becomes a diagnostic, and the task is
        complete.
        """
        if not self._daily_gc.is_daily:
            return None, ()
        try:
            return await Collector(self._runtime, SYSTEM).due_today(self._log.home), ()
        except StoreError as error:
            return None, (f"gc:{type(error).__name__}",)


def _report(task: str, end: TaskEnd, *, completed: bool) -> TaskReport:
    return TaskReport(task=task, completed=completed, removed=end.removed, released=end.released)


def _for_echo_search(candidate: Candidate) -> Candidate:
    """Return a candidate in the form in which echoes are searched.

    An agent's statement may repeat a shown memory under any key. A tool result is never an echo.
    """
    if candidate.category == TOOL_RESULT:
        return candidate
    return replace(candidate, proposer=Proposer.MODEL, key=None)
