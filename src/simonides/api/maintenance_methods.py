"""The verbs about what hygiene says of texts and of what is stored; they change nothing."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Iterable

from simonides.api.sync_markers import waits_for_model
from simonides.domain.ageing import (
    Ageing,
    access_noted,
    age,
    seen_at,
    stale_from,
    staleness,
)
from simonides.domain.codecs.memory import decode_all
from simonides.domain.memory import Record
from simonides.domain.operations.dream import Consolidation
from simonides.domain.operations.gc import GcReport
from simonides.domain.operations.hygiene_scan import (
    Scan,
    ScannedMemory,
    Seen,
    StoreScan,
)
from simonides.domain.policy.ceilings import (
    DayUsage,
    Spent,
    UsageReport,
    day_of,
)
from simonides.domain.scope import Principal, Scope
from simonides.domain.trust import Source
from simonides.domain.value import enum_member, from_us, to_us
from simonides.domain.writing.finding import Finding
from simonides.engine.consolidation.dream import Consolidator
from simonides.engine.consolidation.undo_dream import ConsolidationUndoer
from simonides.engine.core.runtime import Runtime
from simonides.engine.maintenance.access_counts import preview_fold
from simonides.engine.maintenance.gc import Collector
from simonides.engine.recall.lookup import Lookup
from simonides.engine.recall.query import QueryBuilder, between
from simonides.engine.recall.read_journal import ReadJournal
from simonides.engine.screening.screen import findings_of, look
from simonides.engine.screening.second_opinion import more_in
from simonides.policy import Policy
from simonides.text import check_text

MAX_SCANNED_BYTES = 16 * 1024 * 1024
"""Longest text that is looked through in one go; chosen: some ten seconds of work at worst."""


class AsyncHygieneVerbs:
    """What a principal can ask of hygiene; see :class:`simonides.AsyncMemory`, which has
    these verbs.
    """

    _runtime: Runtime
    _principal: Principal
    _lookup: Lookup

    async def scan(self, text: str, *, source: str = Source.USER_STATED) -> Scan:
        """Say what hygiene finds in a text and what policy would do about it; stores nothing.

        Args:
            text: At most 16 MiB.
            source: Whose words they are taken for; what a detector is asked may hang on it.

        Raises:
            InvalidInput: If it is not text that can be stored, or too long.
        """
        said = check_text("text", text, MAX_SCANNED_BYTES)
        trust = enum_member(Source, "source", source).trust
        policy = self._runtime.policies.policy_for(self._principal.home.org)
        found = (*look(said, trust), *await more_in(self._runtime, said))
        return Scan(_seen(found, policy))

    async def scan_memories(self) -> StoreScan:
        """Look through what is stored of this principal, its tasks and superseded versions
        included.

        Told are ids, classes and places, never words.

        Raises:
            StoreError: If the store cannot be read.
        """
        home = self._principal.home
        looked_at, found = 0, []
        async for memory in _stored(self._runtime, home.owner):
            is_own = memory.scope == home or home == home.owner
            if not is_own or not self._lookup.admits(memory):
                continue
            if not await self._lookup.agreed([memory]):
                continue
            looked_at += 1
            found += _found(memory, self._runtime.policies.policy_for(home.org))
        return StoreScan(looked_at, tuple(found))


class AsyncAdminHygiene:
    """How an administrator looks through a store; see :class:`simonides.AsyncAdmin`."""

    _runtime: Runtime

    async def scan(self, *, org: str | None = None) -> StoreScan:
        """Look through what is stored of every owner; each by its own org's policy.

        Told are ids, classes and places, never words.

        Args:
            org: Only owners of this org; None means all.

        Raises:
            StoreError: If the store cannot be read.
        """
        looked_at, found = 0, []
        for owner in await self._runtime.store.owners():
            if org is not None and owner.org != org:
                continue
            policy = self._runtime.policies.policy_for(owner.org)
            async for memory in _stored(self._runtime, owner):
                looked_at += 1
                found += _found(memory, policy)
        return StoreScan(looked_at, tuple(found))


async def _stored(runtime: Runtime, owner: Scope) -> AsyncIterator[Record]:
    after = ""
    while page := await runtime.store.rows(owner, after=after):
        for memory in decode_all(page):
            yield memory
        after = page[-1].id


def _found(memory: Record, policy: Policy) -> list[ScannedMemory]:
    seen = _seen(findings_of(memory), policy)
    if not seen:
        return []
    return [ScannedMemory(memory.id, memory.scope.path, memory.status.value, seen)]


def _seen(found: Iterable[Finding], policy: Policy) -> tuple[Seen, ...]:
    return tuple(Seen(finding, policy.hygiene.action_on(finding)) for finding in found)


class AsyncAgeingVerbs:
    """What time does to memories; see :class:`simonides.AsyncMemory`, which has these
    verbs.
    """

    _runtime: Runtime
    _principal: Principal
    _lookup: Lookup
    _asker: QueryBuilder

    async def ageing(self, id: str) -> Ageing | None:
        """Return what time has made of one memory, and how often it was read; None if there is
        none that this principal may read.

        How often others read the org's memories is not this reader's to know: of those, the
        access says what ranking knows.
        """
        readable = await self._asker.readable(None, "get")
        memory = await self._lookup.get(check_text("id", id, 512), readable)
        if memory is None:
            return None
        owner, now = memory.scope.owner, self._lookup.now
        await self._runtime.part(ReadJournal).flush()
        (row,) = await self._lookup.stored([memory.id], owner)
        if owner == self._principal.home.owner:
            folded = await preview_fold(self._runtime.store, owner, ())
            access = folded.access(memory.id, to_us(now))
        else:
            access = access_noted(row, now)
        since = stale_from(row)
        return Ageing(
            record=memory,
            recorded_confidence=row.confidence,
            age=age(row, now),
            staleness=staleness(row, now, access),
            stale_from=None if since is None else from_us(since),
            access=access,
            asks_to_be_verified=seen_at(row, now).asks_to_be_verified(now),
        )

    async def to_verify(self) -> tuple[Record, ...]:
        """Return the memories that somebody should be asked to verify now, newest first.

        Unverified ones stay flagged until they are confirmed; they are asked about for an hour
        after they were recorded.
        """
        now = self._lookup.now
        found = await self._lookup.list(await self._asker.cue("", verb="list"))
        return tuple(memory for memory in found if memory.asks_to_be_verified(now))

    async def gc(
        self, *, dry_run: bool = False, progress: Callable[[GcReport], None] | None = None
    ) -> GcReport:
        """Collect what has aged out of this principal's memories, its tasks' included.

        What has expired is evicted, what is stale is marked and evicted a day later unless it was
        read or confirmed, what gave way or was evicted longer ago than time travel reaches is
        purged; see :class:`~simonides.GcReport`. What the user stated, pinned, or told the agent
        to do is evicted by its hard expiry only. Run again at once it finds nothing to do; killed
        at any point it is gone on with by the next run.

        Args:
            dry_run: Only say what would be done.
            progress: Is told how far it has come, after each turn.

        Raises:
            StoreError: If the store could not; what was done until then stays.
        """
        collector = Collector(self._runtime, self._principal)
        owner = self._principal.home.owner
        return await collector.everything([owner], dry_run=dry_run, tell=progress)


MAX_DREAMS = 1_000


class AsyncDreamVerbs:
    """Consolidating what is stored; see :class:`simonides.AsyncMemory`, which has these
    verbs.
    """

    _runtime: Runtime
    _principal: Principal

    @waits_for_model
    async def dream(self, *, dry_run: bool = False) -> Consolidation:
        """Consolidate this principal's memories, in one transaction that can be taken back.

        What was said twice is merged; what a later statement updates gives way; of what contradicts
        itself a clear gap of confidence decides, else a person is asked. Rules beyond the cap are
        archived. If enough is new, insights are made of what several memories show, each with the
        ids of those; insights of which too little stands any more are withdrawn. No source is
        rewritten: states change, and new memories come. Where there is a language model it is
        asked two questions at the most; its word passes policy, guards and gates as everybody's.

        Args:
            dry_run: Only return the diff; nothing is written but what the model cost.

        Returns:
            The diff with its reasons and evidence; applied, it has an id for :meth:`undo_dream`.
            Without anything to do, or dry, it has none.

        Raises:
            StoreError: If the store could not; nothing was changed.
        """
        return await Consolidator(self._runtime, self._principal).dream(dry_run=dry_run)

    async def undo_dream(self, id: str) -> Consolidation:
        """Take a dream back: what it changed stands again as it stood, what it added is evicted.

        Of items whose memories have changed since, or are forgotten, it says so (``left``) and
        takes back the others.

        Args:
            id: Of an applied dream.

        Raises:
            UndoRefused: ``unknown_event``, ``already_undone``, or ``changed_since`` if nothing of
                it can be taken back.
            StoreError: If the store could not; nothing was changed.
        """
        return await ConsolidationUndoer(self._runtime, self._principal).undo(id)

    async def dreams(self, *, limit: int = 20) -> tuple[Consolidation, ...]:
        """Return the dreams that were applied last, the newest first, without words.

        Raises:
            InvalidInput: If the limit is out of range.
            StoreError: If the store cannot be read.
        """
        most = between("limit", limit, 1, MAX_DREAMS)
        return await ConsolidationUndoer(self._runtime, self._principal).dreams(most)


MAX_DAYS = 3_650


class AsyncUsageVerbs:
    """Telling what models have cost; see :class:`simonides.AsyncMemory`, which has this
    verb.
    """

    _runtime: Runtime
    _principal: Principal

    async def usage(self, *, days: int = 30) -> UsageReport:
        """Return what models have cost this principal's owner by day, and the ceilings in force.

        What a question under way may come to at the most is counted until it is answered.

        Args:
            days: So many days back, today included.

        Raises:
            InvalidInput: If that is out of range.
            StoreError: If the store cannot be read.
        """
        runtime, owner = self._runtime, self._principal.home.owner
        today = day_of(runtime.clock.now_us())
        since = today - between("days", days, 1, MAX_DAYS) + 1
        found = [each for each in await runtime.store.spent(owner, since=since) if each.counts]
        told = [_told(each) for each in found if each.day <= today]
        return UsageReport(
            owner=owner.path,
            today=next(
                (_told(each) for each in found if each.day == today), _told(Spent(today, {}))
            ),
            days=tuple(reversed(told)),
            ceilings=runtime.policies.policy_for(owner.org).ceilings,
        )


def _told(spent: Spent) -> DayUsage:
    counts = {name: spent.counts.get(name, 0) for name in ("calls", "tokens", "embedded")}
    return DayUsage(day=spent.on.isoformat(), **counts)
