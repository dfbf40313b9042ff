"""Where one session stands, and its steps, each of which exactly one worker writes."""

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
from simonides.engine.core.runtime import Runtime
from simonides.engine.recall.session_log import PAGE
from simonides.engine.write.companion_writes import Decided, ExtraChanges, is_unchanged
from simonides.engine.write.prepare import NOT_WAITING, QuotaCheck
from simonides.engine.write.writer import Writer


class Standing(NamedTuple):
    """A session as it stands.

    Attributes:
        progress: How far it has come; of the run that a log which has grown begins.
        step: As it was read; what a turn compares with.
        record: Its log, or None where it has none.
        incarnation: Of the owner before anything of a session was read that nobody has looked at
            yet; None where a step tells, or for an owner of whom nothing is stored.
    """

    progress: Progress
    step: SessionStep | None
    record: SessionRecord | None
    incarnation: bytes | None = None

    @property
    def entries(self) -> int:
        """How many entries its log has."""
        return 0 if self.record is None else self.record.entries

    @property
    def has_more(self) -> bool:
        """Whether there are entries that nobody has looked at."""
        return self.entries > self.progress.extracted + 1


@dataclass(frozen=True, slots=True)
class StepWrite:
    """Moves a session to its next step, together with a batch.

    Subclasses add what the batch leads to.

    Attributes:
        standing: Where the session stood; if another worker has moved it on, nothing is written.
        after: Where it stands then.
    """

    standing: Standing
    after: Progress

    @property
    def session(self) -> str:
        """Name of the session."""
        return self.after.session

    def is_current(self, snapshot: Snapshot) -> bool:
        """See :class:`~simonides.engine.write.companion_writes.CompanionWrite`."""
        return is_unchanged(snapshot, self.standing.step, self.standing.incarnation)

    def changes(self, decided: Decided) -> ExtraChanges:
        """See :class:`~simonides.engine.write.companion_writes.CompanionWrite`."""
        return step_to(self.after, decided)


def step_to(after: Progress, decided: Decided, *, released: tuple[str, ...] = ()) -> ExtraChanges:
    """Return a session's next step as a change, at the time of the turn."""
    step = after.recorded(decided.recorder.moment.known_at)
    return ExtraChanges((step,), released=released)


class SessionTurns:
    """One session of one principal, read and moved on.

    Attributes:
        owner: Whose session it is.
        session: Its name.
    """

    def __init__(self, runtime: Runtime, principal: Principal, session: str) -> None:
        self._runtime = runtime
        self.owner: Scope = principal.home.owner
        self.session = session
        self._writer = Writer(runtime, principal)

    async def standing(self) -> Standing:
        """Return where the session stands now.

        Raises:
            StoreError: If a store could not.
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
            return Standing(progress, None, record, incarnation)
        progress = progress_of(step, runtime.store.location)
        return Standing(_of_this_log(progress, record), step, record)

    async def _incarnation(self) -> bytes | None:
        """Return what tells whether the owner was erased since: steps would be gone with all else,
        and there were none.
        """
        (head,) = await self._runtime.store.heads([self.owner])
        return None if head is None else head.incarnation

    async def entries(self, *, after: int, limit: int) -> tuple[Logged, ...]:
        """Return entries of the log after a number, by number rising.

        Raises:
            StoreCorrupt: If one cannot be read.
            StoreError: If the store could not.
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
            judgements: What is stored with it, all of its owner.
            waiting: By place: the id of the held candidate that a judgement stores.
            binding: The tombstones that bind; None for all.

        Returns:
            The outcomes in order; None if another worker was there first.

        Raises:
            StoreError: If the store could not; nothing was written.
        """
        batch = await self._writer.prepare(
            self.owner, judgements, binding=binding, waiting=waiting, check=QuotaCheck.BYTES
        )
        return await self._writer.commit(batch, step)


def _of_this_log(progress: Progress, record: SessionRecord | None) -> Progress:
    """Return a progress as it is of the log that is there: another log is another run."""
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
