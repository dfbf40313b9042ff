"""Ends a session in committed steps, each taken exactly once.

Each step is committed together with its effects, and only if the session is unchanged since it was
read. A crash therefore leaves a step done or not done, and only one of several workers takes it.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace

from simonides.domain.codecs.memory import decode
from simonides.domain.conversation.session import (
    EndedBy,
    EndStep,
    Logged,
    Progress,
    SessionEndReport,
)
from simonides.domain.conversation.task import left_open
from simonides.domain.conversation.turn import Turn
from simonides.domain.event import EventType
from simonides.domain.memory import Record
from simonides.domain.scope import Principal, Scope
from simonides.domain.trust import Trust
from simonides.domain.writing.decision import NO_USAGE, Judgements, Outcome, Usage
from simonides.engine.consolidation import (
    SUMMARISED_ROLES,
    Consolidator,
    Promotion,
    SessionPromoter,
    is_substantive,
    summarise,
    summary_candidate,
)
from simonides.engine.core import Counters, Runtime, account_of
from simonides.engine.sessions.close_tasks import TaskEnder
from simonides.engine.sessions.extract import Extractor, Lanes
from simonides.engine.sessions.progress import SessionState, SessionTurns, StepWrite, step_to
from simonides.engine.sessions.turns import turn_of_entry
from simonides.engine.write import Decided, ExtraChanges, Writer
from simonides.ports import LanguageModel

MOST_PARENTS = 64
"""Most memories of a session from which its summary is derived; chosen: it has few sentences."""

NO_SUMMARY = "no_summary"
"""Diagnostic: the session was worth a summary, but none was produced."""


@dataclass(slots=True)
class _Done:
    """What one call has done of a session's end."""

    acted: bool = False
    resumed_after: str | None = None
    summary: Outcome | None = None
    promoted: tuple[Outcome, ...] = ()
    kept: int = 0
    let_go: int = 0
    tasks: tuple[str, ...] = ()
    usage: Usage = NO_USAGE
    diagnostics: list[str] = field(default_factory=list)


class SessionEnder:
    """Ends sessions of one principal's owner; a task's sessions belong to its user."""

    def __init__(
        self, runtime: Runtime, principal: Principal, *, lanes: Lanes | None = None
    ) -> None:
        principal = replace(principal, home=principal.home.owner)
        self._runtime = runtime
        self._principal = principal
        self._counters = runtime.part(Counters)
        self._writer = Writer(runtime, principal)
        self._extractor = Extractor(runtime, principal, lanes=lanes)
        self._account: LanguageModel | None = None
        self._promoter = SessionPromoter(runtime, principal)
        self._steps: Mapping[EndStep, _Step] = {
            EndStep.OPEN: self._extract,
            EndStep.EXTRACTED: self._summarise,
            EndStep.SUMMARISED: self._promote,
            EndStep.PROMOTED: self._clean,
            EndStep.CLEANED: self._finish,
        }

    async def end(self, session: str, *, ended_by: EndedBy = EndedBy.CALL) -> SessionEndReport:
        """Take the remaining steps of a session's end.

        Idempotent: repeated calls, concurrent calls and calls after a crash give the same result.

        Raises:
            StoreError: If a store failed; the next call continues from there.
        """
        turns = SessionTurns(self._runtime, self._principal, session)
        done = _Done()
        self._account = account_of(self._runtime, turns.owner)
        state = await turns.state()
        if state.progress.step not in (EndStep.OPEN, EndStep.DONE):
            done.resumed_after = state.progress.step.value
        while state.progress.step is not EndStep.DONE:
            if not await self._is_endable(state):
                # The session is empty, or its owner was erased meanwhile.
                await self._runtime.sessions.drop(turns.owner, session, entries=0)
                return SessionEndReport(session=session, ended_by=ended_by)
            await self._steps[state.progress.step](turns, state, done, ended_by)
            done.acted = True
            state = await turns.state()
        await self._drop(turns, state)
        if done.acted:
            await Consolidator(self._runtime, self._principal, turns.owner).reflect()
        return self._report(state.progress, done, ended_by)

    async def checkpoint(self, session: str) -> SessionEndReport:
        """Promote the candidates that have enough support; the session continues.

        Raises:
            StoreError: If a store failed; the next call continues from there.
        """
        turns = SessionTurns(self._runtime, self._principal, session)
        done = _Done()
        await self._extractor.catch_up(session)
        state = await turns.state()
        while state.progress.step is EndStep.OPEN:
            promotion = await self._promoter.promotion(session)
            if not promotion.judgements and not promotion.let_go:
                done.kept = promotion.kept
                break
            done.acted = True
            if await self._promoted(turns, state, promotion, EndStep.OPEN, done):
                break
            state = await turns.state()
        state = await turns.state()
        return replace(self._report(state.progress, done, EndedBy.CALL), already=False)

    async def _is_endable(self, state: SessionState) -> bool:
        """Whether there is something to end: a log, steps, or held candidates of the session."""
        if state.step is not None or state.entries:
            return True
        owner = self._principal.home.owner
        return bool(await self._runtime.store.held(owner, session=state.progress.session))

    # -- the steps, in their order ---------------------------------------------------------

    async def _extract(
        self, turns: SessionTurns, state: SessionState, done: _Done, by: EndedBy
    ) -> None:
        del by
        report = await self._extractor.catch_up(turns.session, model=self._account)
        done.usage += report.usage
        done.diagnostics += report.diagnostics
        state = await turns.state()
        if state.progress.step is EndStep.OPEN and not state.has_more:
            after = replace(state.progress, step=EndStep.EXTRACTED)
            await turns.take(StepWrite(state, after))

    async def _summarise(
        self, turns: SessionTurns, state: SessionState, done: _Done, by: EndedBy
    ) -> None:
        del by
        progress = state.progress
        after = replace(progress, step=EndStep.SUMMARISED)
        policy = self._writer.policy(turns.owner)
        said = [
            turn
            for turn in await self._turns_to_remember(turns, progress)
            if turn.role in SUMMARISED_ROLES
        ]
        told = await self._extractor.unforgotten(said)
        if not is_substantive(told, policy.consolidation):
            await turns.take(StepWrite(state, after))
            return
        chars = policy.consolidation.arc_chars
        summary = await summarise(
            self._runtime,
            policy,
            told,
            max_chars=chars,
            owner=turns.owner,
            model=self._account,
        )
        done.usage += summary.usage
        done.diagnostics += summary.diagnostics
        if not summary.text.strip():
            done.diagnostics.append(NO_SUMMARY)
            await turns.take(StepWrite(state, after))
            return
        parents = await self._parents(progress)
        home = self._principal.home
        candidate = summary_candidate(summary.text, summary.by, turns.session, told, home, parents)
        judged = await self._writer.judge([candidate])
        written = await turns.take(_SummaryWrite(state, after), judged)
        if written:
            done.summary = written[0]

    async def _promote(
        self, turns: SessionTurns, state: SessionState, done: _Done, by: EndedBy
    ) -> None:
        del by
        summary = await self._summary(state.progress)
        promotion = await self._promoter.promotion(turns.session, summary)
        await self._promoted(turns, state, promotion, EndStep.PROMOTED, done)

    async def _promoted(
        self,
        turns: SessionTurns,
        state: SessionState,
        promotion: Promotion,
        step: EndStep,
        done: _Done,
    ) -> bool:
        """Write a promotion together with its step; False if another worker was first."""
        write = _PromotionWrite(state, replace(state.progress, step=step), promotion)
        judgements = Judgements(tuple(promotion.judgements))
        written = await turns.take(write, judgements, waiting=promotion.waiting)
        if written is None:
            return False
        done.promoted += written
        done.kept = promotion.settled.kept
        done.let_go += promotion.settled.let_go
        return True

    async def _clean(
        self, turns: SessionTurns, state: SessionState, done: _Done, by: EndedBy
    ) -> None:
        del by
        progress = state.progress
        tasks = left_open(await self._entries(turns, progress))
        if turns.owner.user is not None:
            for task in tasks:
                ender = TaskEnder(self._runtime, self._principal)
                await ender.end(task, (), session=turns.session)
            done.tasks = tasks
        after = replace(progress, step=EndStep.CLEANED).counting(tasks=len(done.tasks))
        await turns.take(StepWrite(state, after))

    async def _finish(
        self, turns: SessionTurns, state: SessionState, done: _Done, by: EndedBy
    ) -> None:
        after = replace(state.progress, step=EndStep.DONE)
        write = _EndWrite(state, after, turns.owner, by)
        if await turns.take(write) is not None:
            self._counters.ended(by.value, dict(after.counts))

    async def _drop(self, turns: SessionTurns, state: SessionState) -> None:
        """Drop the log of an ended run; entries added meanwhile continue as another run."""
        progress = state.progress
        if progress.is_dropped:
            return
        if state.record is None or await self._runtime.sessions.drop(
            turns.owner, turns.session, entries=progress.extracted + 1
        ):
            await turns.take(StepWrite(state, replace(progress, is_dropped=True)))

    # -- reading the session ---------------------------------------------------------------

    async def _entries(self, turns: SessionTurns, progress: Progress) -> tuple[Logged, ...]:
        count = progress.extracted + 1 - progress.first
        return await turns.entries(after=progress.first - 1, limit=count) if count > 0 else ()

    async def _turns_to_remember(self, turns: SessionTurns, progress: Progress) -> list[Turn]:
        """Return the turns of the run, without those marked as not to be remembered."""
        entries = await self._entries(turns, progress)
        heard = (each for each in entries if each.number not in progress.unheard)
        read = (turn_of_entry(each, progress) for each in heard)
        return [turn for turn in read if turn is not None]

    async def _parents(self, progress: Progress) -> tuple[str, ...]:
        """Return the memories of the session from which its summary is derived."""
        found = await self._memories(progress.memories[-MOST_PARENTS:])
        usable = (one for one in found if one.status.is_live and one.trust is not Trust.EXTERNAL)
        return tuple(memory.id for memory in usable)

    async def _summary(self, progress: Progress) -> str:
        """Return the text of the run's summary; empty if it has none or it was forgotten."""
        if progress.summary is None:
            return ""
        found = await self._memories((progress.summary,))
        return found[0].content if found else ""

    async def _memories(self, ids: Sequence[str]) -> list[Record]:
        if not ids:
            return []
        rows = await self._runtime.store.get(self._principal.home.owner, ids)
        return [decode(row) for row in rows]

    @staticmethod
    def _report(progress: Progress, done: _Done, by: EndedBy) -> SessionEndReport:
        counts = dict(progress.counts)
        return SessionEndReport(
            session=progress.session,
            ended_by=by,
            entries=counts.get("entries", 0),
            already=not done.acted,
            resumed_after=done.resumed_after,
            summary=done.summary,
            promoted=done.promoted,
            kept=done.kept,
            let_go=done.let_go,
            tasks=done.tasks,
            counts=counts,
            usage=done.usage,
            diagnostics=tuple(dict.fromkeys(done.diagnostics)),
        )


_Step = Callable[[SessionTurns, SessionState, _Done, EndedBy], Awaitable[None]]


@dataclass(frozen=True, slots=True)
class _SummaryWrite(StepWrite):
    """Records the id of the summary's memory in the step."""

    def changes(self, decided: Decided) -> ExtraChanges:
        outcome = decided.outcomes[0]
        memory = outcome.record if outcome.stored else None
        after = replace(self.after, summary=None if memory is None else memory.id)
        return step_to(after, decided)


@dataclass(frozen=True, slots=True)
class _PromotionWrite(StepWrite):
    """Counts and releases the candidates that were promoted or dropped."""

    promotion: Promotion

    def changes(self, decided: Decided) -> ExtraChanges:
        settled = self.promotion.settle(decided.outcomes, decided.recorder)
        stored = sum(outcome.stored for outcome in decided.outcomes)
        after = self.after.counting(promoted=stored, let_go=settled.let_go)
        return step_to(after, decided, released=settled.released)


@dataclass(frozen=True, slots=True)
class _EndWrite(StepWrite):
    owner: Scope
    ended_by: EndedBy

    def changes(self, decided: Decided) -> ExtraChanges:
        after = self.after
        told = {"session": self.session, "run": after.run, "counts": dict(after.counts)}
        decided.recorder.record(
            EventType.SESSION_ENDED, self.owner, reasons=(self.ended_by.value,), details=told
        )
        return step_to(after, decided)
