"""Where one session stands, and the turns by which it goes on, each written once (SE-4)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import NamedTuple

from simonides.domain.change import HeldCandidate, Snapshot
from simonides.domain.decision import Judgement, Outcome
from simonides.domain.scope import Principal, Scope
from simonides.domain.session import Logged, SessionRecord
from simonides.domain.session_codec import decode_entry
from simonides.domain.session_end import EndStep, SessionStep
from simonides.domain.session_progress import Progress, progress_of
from simonides.manager.beside import Also, Beside, Finish
from simonides.manager.scribe import Scribe
from simonides.manager.services import Services
from simonides.manager.session_log import PAGE
from simonides.manager.writing import Writer


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


class SessionTurns:
    """One session of one principal, read and moved on.

    Attributes:
        owner: Whose session it is.
        session: Its name.
    """

    def __init__(self, services: Services, principal: Principal, session: str) -> None:
        self._services = services
        self.owner: Scope = principal.home.owner
        self.session = session
        self._writer = Writer(services, principal)

    async def standing(self) -> Standing:
        """Return where the session stands now.

        Raises:
            StoreError: If a store could not.
        """
        services = self._services
        steps = await services.store.session_steps(self.owner, session=self.session)
        step = steps[0] if steps else None
        incarnation = None if step else await self._incarnation()
        known = await services.sessions.sessions(self.owner)
        record = next((each for each in known if each.id == self.session), None)
        if step is None:
            started = None if record is None else record.started_at
            progress = Progress(session=self.session, started_at=started)
            return Standing(progress, None, record, incarnation)
        progress = progress_of(step, services.store.location)
        return Standing(_of_this_log(progress, record), step, record)

    async def _incarnation(self) -> bytes | None:
        """Return what tells whether the owner was erased since: steps would be gone with all else,
        and there were none.
        """
        (head,) = await self._services.store.heads([self.owner])
        return None if head is None else head.incarnation

    async def entries(self, *, after: int, limit: int) -> tuple[Logged, ...]:
        """Return entries of the log after a number, by number rising.

        Raises:
            StoreCorrupt: If one cannot be read.
            StoreError: If the store could not.
        """
        store = self._services.sessions
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
        standing: Standing,
        after: Progress,
        judgements: Sequence[Judgement] = (),
        finish: Finish | None = None,
        waiting: Mapping[int, str] | None = None,
        binding: frozenset[bytes] | None = None,
    ) -> tuple[Outcome, ...] | None:
        """Write outcomes and where the session stands after them, all or nothing.

        Args:
            standing: Where it stood; if somebody else has moved it on, nothing is written.
            after: Where it stands then.
            judgements: What is stored with it, all of its owner.
            finish: Says what else is written, and another progress if it is to be; its step counts
                instead of ``after``.
            waiting: As for :class:`simonides.manager.beside.Beside`.
            binding: The tombstones that bind; None for all.

        Returns:
            The outcomes in order; None if somebody else was there first.

        Raises:
            StoreError: If the store could not; nothing was written.
        """
        now = self._services.clock.now_us()

        def finished(
            outcomes: Mapping[int, Outcome],
            held: Sequence[HeldCandidate],
            snapshot: Snapshot,
            scribe: Scribe,
        ) -> Also:
            also = Also() if finish is None else finish(outcomes, held, snapshot, scribe)
            return also if also.steps else also._replace(steps=(after.recorded(now),))

        beside = Beside(self.session, standing.step, finished, waiting or {}, standing.incarnation)
        outcomes = await self._writer.write_turn(self.owner, judgements, binding, beside=beside)
        return None if beside.raced else outcomes


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
