"""Keeping a memory in order: collection, hygiene, consolidation, and figures."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from simonides.api.arguments import Which, named
from simonides.api.groups.group import AsyncGroup
from simonides.api.sync_markers import waits_for_model
from simonides.domain.ageing import Ageing, access_noted, age, seen_at, stale_from, staleness
from simonides.domain.errors import InvalidInput
from simonides.domain.memory import is_id
from simonides.domain.operations.dream import Consolidation
from simonides.domain.operations.gc import GcReport
from simonides.domain.operations.hygiene_scan import HygieneReport, Scan, StoreScan
from simonides.domain.policy.ceilings import DayUsage, Spent, UsageReport, day_of
from simonides.domain.reading.cue import Cue
from simonides.domain.reading.document import SourceReport
from simonides.domain.reading.page import Page
from simonides.domain.trust import Source
from simonides.domain.value import enum_member, from_us, to_us
from simonides.engine.consolidation import ConsolidationUndoer, Consolidator
from simonides.engine.hygiene_scan import Cycle, found_in, seen_in, stored_memories
from simonides.engine.knowledge import Library
from simonides.engine.maintenance import Collector, preview_fold
from simonides.engine.operations import metrics_of
from simonides.engine.recall import ReadJournal, between, sequence
from simonides.engine.screening import look, more_in
from simonides.engine.sessions import TaskEnd, TaskEnder
from simonides.text import check_text

MAX_SCANNED_BYTES = 16 * 1024 * 1024
"""Longest text that is looked through in one go; chosen: some ten seconds of work at worst."""

MAX_CONSOLIDATIONS = 1_000
MAX_DAYS = 3_650
MAX_WAIT_S = 3_600.0
"""Longest wait for sources that are asked to come up to date."""


class AsyncMaintenance(AsyncGroup):
    """Keeps a memory in order; ``memory.maintenance``."""

    async def gc(
        self, *, dry_run: bool = False, progress: Callable[[GcReport], None] | None = None
    ) -> GcReport:
        """Collect what has aged out of this principal's memories, its tasks' included.

        Expired memories are evicted. Stale ones are marked, and evicted a day later unless they
        were read or confirmed. Replaced and evicted versions that are older than time travel
        reaches are purged; see :class:`~simonides.types.GcReport`. What the user stated, pinned, or
        told the agent to do is evicted by its hard expiry only. A second run finds nothing to do;
        a run that was killed is continued by the next one.

        Args:
            dry_run: Only say what would be done.
            progress: Is told how far it has come, after each turn.

        Raises:
            StoreError: If the store could not; what was done until then stays.
        """
        collector = Collector(self._bound.runtime, self._bound.principal)
        owner = self._bound.principal.home.owner
        return await collector.everything([owner], dry_run=dry_run, tell=progress)

    @waits_for_model
    async def hygiene(self, *, dry_run: bool = False) -> HygieneReport:
        """Look through this principal's memories, its tasks' too, for what writes did not find.

        What was said twice is merged; what a later statement updates gives way to it; of what
        contradicts itself a clear gap of confidence decides, else a person is asked
        (``pending.list``); reviews that nobody has decided in time expire, and what waited as
        long because of what hygiene found in it is let go. What is stale is counted, and in what
        policy, as it is today, would do something about what hygiene finds. Everything that is done
        is an event, and what gave way stays in history. Run again at once it finds nothing to do.

        Where there is a language model it is asked, once, about statements that are near to each
        other in meaning and of which the rules say nothing. That it fails, or what it answers
        amiss, is among the report's ``diagnostics``; the rules' answer stands then.

        Args:
            dry_run: Only say what would be done; the model is asked for that too.

        Raises:
            StoreError: If the store could not; what was done until then stays.
        """
        cycle = Cycle(self._bound.runtime, self._bound.principal)
        return await cycle.run(self._bound.principal.home.owner, dry_run=dry_run)

    @waits_for_model
    async def consolidate(self, *, dry_run: bool = False) -> Consolidation:
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
            The diff with its reasons and evidence. Applied, it has an id for
            :meth:`undo_consolidation`; without anything to do, or dry, it has none.

        Raises:
            StoreError: If the store could not; nothing was changed.
        """
        return await Consolidator(self._bound.runtime, self._bound.principal).dream(dry_run=dry_run)

    async def undo_consolidation(self, id: str) -> Consolidation:
        """Take a consolidation back: what it changed is restored, what it added is evicted.

        Of items whose memories have changed since, or are forgotten, it says so (``left``) and
        takes back the others.

        Args:
            id: Of an applied consolidation.

        Raises:
            UndoRefused: ``unknown_event``, ``already_undone``, or ``changed_since`` if nothing of
                it can be taken back.
            StoreError: If the store could not; nothing was changed.
        """
        return await ConsolidationUndoer(self._bound.runtime, self._bound.principal).undo(id)

    async def consolidations(self, *, limit: int = 20) -> Page[Consolidation]:
        """Return the consolidations that were applied last, the newest first, without words.

        Raises:
            InvalidInput: If the limit is out of range.
            StoreError: If the store cannot be read.
        """
        most = between("limit", limit, 1, MAX_CONSOLIDATIONS)
        undoer = ConsolidationUndoer(self._bound.runtime, self._bound.principal)
        return Page(await undoer.dreams(most))

    async def scan(
        self, text: str | None = None, *, source: str = Source.USER_STATED
    ) -> Scan | StoreScan:
        """Say what hygiene finds and what policy would do about it; stores nothing.

        Args:
            text: At most 16 MiB. None looks through what is stored of this principal, its tasks and
                superseded versions included; then ids, classes and places are told, never words.
            source: Whose words a text is taken for; what a detector is asked may hang on it.

        Raises:
            InvalidInput: If it is not text that can be stored, or too long.
            StoreError: If the store cannot be read.
        """
        if text is None:
            return await self._scan_memories()
        bound = self._bound
        said = check_text("text", text, MAX_SCANNED_BYTES)
        trust = enum_member(Source, "source", source).trust
        found = (*look(said, trust), *await more_in(bound.runtime, said))
        return Scan(seen_in(found, bound.policy))

    async def _scan_memories(self) -> StoreScan:
        home = self._bound.principal.home
        looked_at, found = 0, []
        async for memory in stored_memories(self._bound.runtime, home.owner):
            is_own = memory.scope == home or home == home.owner
            if not is_own or not self._bound.lookup.admits(memory):
                continue
            if not await self._bound.lookup.agreed([memory]):
                continue
            looked_at += 1
            found += found_in(memory, self._bound.runtime.policies.policy_for(home.org))
        return StoreScan(looked_at, tuple(found))

    async def usage(self, *, days: int = 30) -> UsageReport:
        """Return what models have cost this principal's owner by day, and the ceilings in force.

        What a question under way may come to at the most is counted until it is answered.

        Args:
            days: So many days back, today included.

        Raises:
            InvalidInput: If that is out of range.
            StoreError: If the store cannot be read.
        """
        runtime, owner = self._bound.runtime, self._bound.principal.home.owner
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

    async def metrics(self) -> dict[str, Any]:
        """Return what this process has counted since it opened the store, over all principals, and
        how this one's memories stand; see docs/operations.md.

        ``writes`` by outcome, ``dedups`` by the gate that found a repetition, ``reads`` that went
        for a prompt and ``hits`` that returned something, ``turns`` kept verbatim and
        ``captured_turns``, ``contradictions``, ``pii_blocks``, ``evictions``, ``hygiene`` by
        decision, ``phase`` (tasks in each), ``sessions``, ``model``, ``latency`` (histograms,
        seconds), ``rates``, and ``alerts``: each figure that has a threshold, and whether it is
        crossed. Of this principal alone are ``scopes`` and ``staleness``.

        Raises:
            StoreError: If the store cannot be read and nothing is warm.
        """
        owner = self._bound.principal.home.owner
        view = await self._bound.lookup.fresh.stored(Cue("", 1, (owner,)))
        index = self._bound.runtime.indexes.of(owner)
        return metrics_of(self._bound.runtime, {owner: index}, view.frozen)

    async def ageing(self, which: Which) -> Ageing | None:
        """Return what time has made of one memory, and how often it was read; None if there is
        none that this principal may read.

        How often others read the org's memories is not this reader's to know: of those, the
        access says what ranking knows.
        """
        name, lookup = named(which), self._bound.lookup
        readable = await self._bound.asker.readable(None, "get")
        memory = await lookup.get(name, readable)
        if memory is None and not is_id(name):
            memory = await lookup.by_key(name, readable)
        if memory is None:
            return None
        owner, now = memory.scope.owner, self._bound.lookup.now
        await self._bound.runtime.part(ReadJournal).flush()
        (row,) = await self._bound.lookup.stored([memory.id], owner)
        if owner == self._bound.principal.home.owner:
            folded = await preview_fold(self._bound.runtime.store, owner, ())
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

    async def sources(self, *, within_s: float = 0.0) -> Page[SourceReport]:
        """Return how the sources of documents stand that this principal may read, by name.

        Args:
            within_s: Have catalogues read what has changed, and wait so many seconds at most until
                they have; 0 tells how they stand.

        Raises:
            InvalidInput: If the time is out of range.
        """
        if not _is_time(within_s):
            raise InvalidInput("within_s", f"must be a number from 0 to {MAX_WAIT_S:,.0f}")
        library, scopes = self._bound.runtime.part(Library), self._bound.principal.home.lineage
        if within_s:
            begun = library.begin("", scopes, within_s=within_s, remote=False)
            await library.end(begun)
        return Page(library.reports(scopes))

    async def end_task(self, task: str, *, promote: Sequence[str] = ()) -> TaskEnd:
        """End a task: copy what was worth it to its user, then remove the rest.

        Every agent's memories of the task go, and candidates that are held back for it. Nothing is
        blocked by that: unlike what was forgotten, it may be learned again.
        A run of it that is under way goes on; it loses what it had there.

        Args:
            task: Name of a task of this user.
            promote: Ids of memories of the task that go up first, as by ``promote``. If one
                cannot, nothing is removed and ``ended`` is false.

        Raises:
            InvalidScope: If the name is malformed, or this principal has no user.
            ScopeDenied: If this principal is at home in another task.
        """
        return await TaskEnder(self._bound.runtime, self._bound.principal).end(
            task, sequence("promote", promote)
        )


def _told(spent: Spent) -> DayUsage:
    counts = {name: spent.counts.get(name, 0) for name in ("calls", "tokens", "embedded")}
    return DayUsage(day=spent.on.isoformat(), **counts)


def _is_time(raw: object) -> bool:
    if isinstance(raw, bool) or not isinstance(raw, (int, float)):
        return False
    return 0 <= raw <= MAX_WAIT_S
