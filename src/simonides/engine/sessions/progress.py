"""The position of a session in its end, and steps that exactly one worker writes."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import NamedTuple

from simonides.domain.codecs.session import decode_entry
from simonides.domain.conversation.session import (
    EndStep,
    Logged,
    Progress,
    SessionRecord,
    SessionStep,
    progress_of,
)
from simonides.domain.scope import Principal, Scope
from simonides.domain.writing.change import Snapshot
from simonides.domain.writing.decision import NO_JUDGEMENTS, Judgements, Outcome
from simonides.engine.core import Runtime
from simonides.engine.recall import PAGE
from simonides.engine.write import (
    NOT_WAITING,
    Decided,
    ExtraChanges,
    QuotaCheck,
    Writer,
    is_unchanged,
)


class SessionState(NamedTuple):
    """A session as it was read.

    Attributes:
        progress: How far extraction and the end have come; for a log that has grown, of its next
            run.
        step: The stored step, compared with at commit.
        record: Its log, or None.
        incarnation: Incarnation of the owner, read before any pending entry. None if there is a
            step to compare with, or if nothing is stored for the owner.
    """

    progress: Progress
    step: SessionStep | None
    record: SessionRecord | None
    incarnation: bytes | None = None

    @property
    def entries(self) -> int:
        """Number of entries in its log."""
        return 0 if self.record is None else self.record.entries

    @property
    def has_more(self) -> bool:
        """Whether entries are pending extraction."""
        return self.entries > self.progress.extracted + 1


@dataclass(frozen=True, slots=True)
class StepWrite:
    """Moves a session to its next step, together with a batch.

    Subclasses add the effects of the batch.

    Attributes:
        state: The session as read; if another worker has moved it on, nothing is written.
        after: The session's progress after the step.
    """

    state: SessionState
    after: Progress

    @property
    def session(self) -> str:
        """Name of the session."""
        return self.after.session

    def is_current(self, snapshot: Snapshot) -> bool:
        """Whether the session is unchanged since it was read."""
        return is_unchanged(snapshot, self.state.step, self.state.incarnation)

    def changes(self, decided: Decided) -> ExtraChanges:
        """Return the next step as an additional change."""
        return step_to(self.after, decided)


def step_to(after: Progress, decided: Decided, *, released: tuple[str, ...] = ()) -> ExtraChanges:
    """Return a session's next step as a change, at the time of the turn."""
    step = after.recorded(decided.recorder.moment.known_at)
    return ExtraChanges((step,), released=released)


class SessionTurns:
    """Reads and advances one session of one principal.

    Attributes:
        owner: Owner of the session.
        session: Its name.
    """

    def __init__(self, runtime: Runtime, principal: Principal, session: str) -> None:
        self._runtime = runtime
        self.owner: Scope = principal.home.owner
        self.session = session
        self._writer = Writer(runtime, principal)

    async def state(self) -> SessionState:
        """Return the session as stored.

        Raises:
            StoreError: If a store failed.
        """
        runtime = self._runtime
        steps = await runtime.store.session_steps(self.owner, session=self.session)
        step = steps[0] if steps else None
        incarnation = None if step else await self._incarnation()
        known = await runtime.sessions.sessions(self.owner)
        record = next((each for each in known if each.id == self.session), None)
        if step is None:
            started = None if record is None else record.started_at
            progress = Progress(session=self.session, started_at=started)
            return SessionState(progress, None, record, incarnation)
        progress = progress_of(step, runtime.store.location)
        return SessionState(_of_this_log(progress, record), step, record)

    async def _incarnation(self) -> bytes | None:
        """Return the owner's incarnation: it detects an erasure where no step can be compared."""
        (head,) = await self._runtime.store.heads([self.owner])
        return None if head is None else head.incarnation

    async def entries(self, *, after: int, limit: int) -> tuple[Logged, ...]:
        """Return entries of the log after a number, in ascending order.

        Raises:
            StoreCorrupt: If an entry cannot be read.
            StoreError: If the store failed.
        """
        store = self._runtime.sessions
        found, last = list[Logged](), after
        while len(found) < limit:
            page = await store.entries(
                self.owner, self.session, after=last, limit=min(PAGE, limit - len(found))
            )
            if not page:
                break
            found += [decode_entry(row, store.location) for row in page]
            last = page[-1].number
        return tuple(found)

    async def take(
        self,
        step: StepWrite,
        judgements: Judgements = NO_JUDGEMENTS,
        *,
        waiting: Mapping[int, str] = NOT_WAITING,
        binding: frozenset[bytes] | None = None,
    ) -> tuple[Outcome, ...] | None:
        """Write a batch and the session's next step, all or nothing.

        Args:
            step: The next step.
            judgements: Judgements to store with it, all of its owner.
            waiting: Ids of the held candidates that judgements store, by place.
            binding: The tombstones that bind; None for all.

        Returns:
            The outcomes in order; None if another worker was first.

        Raises:
            StoreError: If the store failed; nothing was written.
        """
        batch = await self._writer.prepare(
            self.owner, judgements, binding=binding, waiting=waiting, check=QuotaCheck.BYTES
        )
        return await self._writer.commit(batch, step)


def _of_this_log(progress: Progress, record: SessionRecord | None) -> Progress:
    """Return the progress for the current log; a new log starts another run."""
    if record is None:
        return progress
    is_same = progress.started_at == record.started_at and not progress.is_dropped
    if is_same and progress.started_at is not None:
        if progress.step is not EndStep.DONE or record.entries <= progress.extracted + 1:
            return progress
        return _next_run(progress, base=progress.base, first=progress.extracted + 1)
    started = _next_run(progress, base=progress.next_turn, first=0)
    return replace(started, started_at=record.started_at, extracted=-1, asked=-1)


def _next_run(progress: Progress, *, base: int, first: int) -> Progress:
    return Progress(
        session=progress.session,
        run=progress.run + (progress.step is EndStep.DONE),
        started_at=progress.started_at,
        base=base,
        first=first,
        extracted=progress.extracted,
        asked=max(progress.asked, first - 1),
    )
