"""Collects expired and aged memories of an owner, a few at a time.

One worker collects an owner, under a lease that expires if the worker dies. A run first folds the
read journal, then scans the owner's rows for due memories. It applies the rules in turns of a few
memories, so that writers wait only milliseconds. Each turn checks that its rows are unchanged;
changed rows are left to the next run. A killed run has completed some turns, and the next run does
the rest.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from datetime import datetime, timedelta
from typing import NamedTuple, TypeAlias

from simonides.domain.ageing import DAY_US
from simonides.domain.codecs.memory import decode
from simonides.domain.operations.gc import GcReport, GcRules, Rule
from simonides.domain.scope import Principal, Scope
from simonides.domain.value import from_us, to_us
from simonides.domain.writing.change import Head, JournalEntry, StoredRow, TurnRequest
from simonides.engine.consolidation import Consolidator
from simonides.engine.core import Counters, Runtime
from simonides.engine.hygiene_scan import Cycle
from simonides.engine.maintenance.access_counts import (
    Folded,
    drop_old,
    fold,
    keep_only,
    preview_fold,
)
from simonides.engine.maintenance.daily_gc import DailyGc
from simonides.engine.maintenance.gc_rules import FORESEEN, due
from simonides.engine.maintenance.gc_turn import EVENTS, ChangesSeen, CollectingTurn, Due
from simonides.engine.operations import SafetyRecordStore
from simonides.engine.recall import ReadJournal
from simonides.engine.write import settle
from simonides.retrieval.index import Summary, gc_candidates

SYSTEM = Principal(Scope.of_global(), by="system:gc")
"""Principal in the audit trail for collections that no caller requested."""

LEASE = "gc"
"""Name of the lease under which an owner is collected."""

DAILY_LEASE = "gc at most once a day"
"""Name of the lease that marks an owner as collected without a request: by the daily job or at the
end of a task, whichever comes first."""

LEASE_US = 300_000_000
"""Lifetime of the lease without renewal. Chosen: thousands of turns fit, and a dead worker's work
is resumed in minutes."""

RENEWED_US = LEASE_US // 10
"""Interval between lease renewals: each is a write as durable as a turn."""

PAGE_ROWS = 2_000
"""Rows scanned at once. Chosen: some 10 MB."""

TURN_ROWS = 500
"""Memories updated in one turn; measured: 8 ms in a file, at most 13."""

PURGED_ROWS = 500
"""Rows purged in one turn: after each such turn readers reload the owner."""

Tell: TypeAlias = Callable[[GcReport], None]
"""Receives the progress of a run after each step."""


class Plan(NamedTuple):
    """The due memories of an owner.

    Attributes:
        now: Clock of the run.
        folded: Access counts of its memories.
        due: Due memories, ordered by id.
        ids: Ids of all scanned rows.
        head: Head of the owner before the scan.
    """

    now: datetime
    folded: Folded
    due: Sequence[Due]
    ids: frozenset[str]
    head: Head | None

    @property
    def restated(self) -> Iterator[list[Due]]:
        """The memories to update, in batches of one rule each, so that one event covers a batch."""
        for rule in EVENTS:
            if not rule.purges:
                work = [each for each in self.due if each.rule is rule]
                yield from _parts(work, TURN_ROWS)

    @property
    def purged(self) -> list[Due]:
        """The memories to purge, by id."""
        return [each for each in self.due if each.rule.purges]


class Collector:
    """Collects garbage on behalf of a principal, which the audit trail names."""

    def __init__(self, runtime: Runtime, principal: Principal) -> None:
        self._runtime = runtime
        self._principal = principal
        self._base_rules = runtime.part(GcRules)
        self._counters = runtime.part(Counters)

    async def of_scopes(
        self, scopes: Sequence[str] | None, *, dry_run: bool, tell: Tell | None
    ) -> GcReport:
        """Collect the owners of some scopes, given by path, or all owners.

        Raises:
            InvalidScope: If a path is not valid.
        """
        named = None if scopes is None else [Scope.parse(path).owner for path in scopes]
        owners = None if named is None else [*dict.fromkeys(named)]
        return await self.everything(owners, dry_run=dry_run, tell=tell)

    async def everything(
        self, owners: Sequence[Scope] | None, *, dry_run: bool, tell: Tell | None
    ) -> GcReport:
        """Collect some owners or all, one after the other.

        Readers come before the owners that they read, so that users' reads of the org's memories
        count.
        """
        found = await self._runtime.store.owners() if owners is None else owners
        ordered = sorted(found, key=lambda owner: (-len(owner.lineage), owner.path))
        report = GcReport(dry_run=dry_run, of=len(ordered))
        passed_on: dict[Scope, list[JournalEntry]] = {}
        for owner in ordered:
            before = report

            def say(so_far: GcReport, before: GcReport = before) -> None:
                if tell is not None:
                    tell(before.plus(so_far))

            report = before.plus(
                await self.collect(owner, dry_run=dry_run, tell=say, passed_on=passed_on)
            )
            if tell is not None:
                tell(report)
        return report

    async def collect(
        self,
        owner: Scope,
        *,
        dry_run: bool,
        tell: Tell | None = None,
        passed_on: dict[Scope, list[JournalEntry]] | None = None,
    ) -> GcReport:
        """Collect one owner.

        Args:
            owner: Owner of the memories.
            dry_run: Only report what would be done.
            tell: Receives the progress.
            passed_on: For a dry run: entries that folding would have passed on so far; added to.
        """
        runtime = self._runtime
        await runtime.part(ReadJournal).flush()
        if dry_run:
            elsewhere = {} if passed_on is None else passed_on
            return await self._dry_run(owner, elsewhere)
        holder = runtime.ids.new(runtime.clock.now_us())
        if not await self._holds(owner, holder):
            return GcReport(owners=1, busy=1)
        try:
            return await self._collected(owner, holder, tell)
        finally:
            await runtime.store.release(owner, LEASE, holder)

    async def due_today(self, owner: Scope, tell: Tell | None = None) -> GcReport | None:
        """Collect an owner once a day; return None if it was collected today already."""
        runtime, now = self._runtime, self._runtime.clock.now_us()
        holder, period = runtime.ids.new(now), {"now": now, "until": now + DAY_US}
        if not await runtime.store.lease(owner, DAILY_LEASE, holder, **period):
            return None
        return await self.collect(owner, dry_run=False, tell=tell)

    async def _holds(self, owner: Scope, holder: str) -> bool:
        now = self._runtime.clock.now_us()
        return await self._runtime.store.lease(owner, LEASE, holder, now=now, until=now + LEASE_US)

    async def _dry_run(self, owner: Scope, passed_on: dict[Scope, list[JournalEntry]]) -> GcReport:
        runtime, now_us = self._runtime, self._runtime.clock.now_us()
        folded = await preview_fold(runtime.store, owner, passed_on.get(owner, ()))
        for other, entries in folded.passed_on().items():
            passed_on.setdefault(other, []).extend(entries)
        plan = await self._plan(owner, folded, from_us(now_us))
        report = _begun(plan, dry_run=True)
        # Whether a whole chain is purged depends on the due rows of all rules together.
        purged = await self._purgeable(owner, plan.purged)
        for rule in Rule:
            report = report.counted(rule, _count(purged if rule.purges else plan.due, rule))
        old = await drop_old(runtime.store, owner, self._horizon(plan), dry_run=True)
        return replace(report, receipts_old=old)

    async def _collected(self, owner: Scope, holder: str, tell: Tell | None) -> GcReport:
        runtime, now_us = self._runtime, self._runtime.clock.now_us()
        folded = await fold(runtime.store, owner, now_us)
        plan = await self._plan(owner, folded, from_us(now_us))
        report = _begun(plan, dry_run=False)
        report = report.counted(Rule.IN_REVIEW, _count(plan.due, Rule.IN_REVIEW))
        purged = await self._purgeable(owner, plan.purged)
        renewed_at, seen = now_us, ChangesSeen(plan.head)
        for work in (*plan.restated, *_parts(purged, PURGED_ROWS)):
            now_us = runtime.clock.now_us()
            if now_us - renewed_at >= RENEWED_US:
                if not await self._holds(owner, holder):
                    # The lease expired without renewal, and another worker took over.
                    return replace(report, busy=1)
                renewed_at = now_us
            report = await self._turn(owner, work, plan, seen, report)
            if tell is not None:
                tell(replace(report, owners=0))
        await keep_only(runtime.store, owner, folded, plan.ids, now_us)
        old = await drop_old(runtime.store, owner, self._horizon(plan), dry_run=False)
        return replace(report, receipts_old=old)

    def _rules(self, owner: Scope) -> GcRules:
        """Return the limits for an owner; categories that may direct an agent are spared."""
        categories = self._runtime.policies.policy_for(owner.org).categories
        directive = (name for name, category in categories.items() if category.directive)
        return replace(self._base_rules, spared=self._base_rules.spared | {*directive})

    def _horizon(self, plan: Plan) -> int:
        return to_us(plan.now - timedelta(days=self._base_rules.history_days))

    # -- finding due memories --------------------------------------------------------------

    async def _plan(self, owner: Scope, folded: Folded, now: datetime) -> Plan:
        rules, recipe = self._rules(owner), self._runtime.indexes.indexer.recipe
        found: list[Due] = []
        undecided: list[StoredRow] = []
        summaries: list[Summary] = []
        ids: set[str] = set()
        (head,) = await self._runtime.store.heads((owner,))
        after: str | None = ""
        while after is not None:
            rows = await self._runtime.store.rows(owner, after=after, limit=PAGE_ROWS)
            after = rows[-1].id if len(rows) == PAGE_ROWS else None
            ids.update(row.id for row in rows)
            look = gc_candidates(rows, recipe, now, rules, FORESEEN)
            summaries += look.summaries
            found += [Due.of(rows[place], rule) for place, rule in look.certain.items()]
            named = {summary.id for summary in look.summaries}
            for row in (rows[place] for place in look.due):
                if row.id in named:
                    # Only after the last page is it known whether this summary is the latest.
                    undecided.append(row)
                else:
                    found += _due(row, folded, now, rules)
        latest = {one.reader: one.id for one in sorted(summaries)}
        latest_ids = set(latest.values())
        for row in undecided:
            found += _due(row, folded, now, rules, endures=row.id in latest_ids)
        found.sort(key=lambda each: each.id)
        return Plan(now, folded, found, frozenset(ids), head)

    async def _purgeable(self, owner: Scope, work: Sequence[Due]) -> list[Due]:
        """Return the old rows that may be purged.

        A chain's last version stays as long as any other: version numbers continue from it. A first
        version can always be purged, because it is the last only where it is the only one. A row
        with derived memories stays until these are gone: forgetting follows the derivation.
        """
        store, going = self._runtime.store, {each.id for each in work}
        has_children = bool(work) and bool(await store.derived(owner))
        tops: dict[str, str | None] = {}
        purged = []
        for each in work:
            if each.root is not None and each.root not in tops:
                chain = [row.id for row in await store.history(owner, each.root)]
                tops[each.root] = None if going.issuperset(chain) else chain[-1]
            if each.root is not None and each.id == tops[each.root]:
                continue
            children = await store.derived(owner, each.id) if has_children else ()
            if all(scope == owner and child in going for scope, child in children):
                purged.append(each)
        return purged

    # -- applying the rules ----------------------------------------------------------------

    async def _turn(
        self, owner: Scope, work: Sequence[Due], plan: Plan, seen: ChangesSeen, report: GcReport
    ) -> GcReport:
        runtime, was_lost = self._runtime, seen.is_lost
        known = await self._reread(owner, work, seen) if was_lost else work
        turn = CollectingTurn(
            runtime, self._principal, owner, known, plan.folded, to_us(plan.now), seen
        )
        if known and seen.head is not None:
            request = TurnRequest(since=seen.head)
            committed = await runtime.store.commit(owner, request, turn.decide)
            seen.head = committed.head
            if seen.is_lost and not was_lost:
                return await self._turn(owner, work, plan, seen, report)
            index = runtime.indexes.warm(owner)
            if index is not None:
                index.follow(committed)
            self._counters.decided(EVENTS[each.rule] for each in turn.done)
            await settle(runtime, self._principal, owner, committed.rows)
        for rule, count in Counter(each.rule for each in turn.done).items():
            report = report.counted(rule, count)
        return replace(report, left=report.left + len(work) - len(turn.done))

    async def _reread(self, owner: Scope, work: Sequence[Due], seen: ChangesSeen) -> list[Due]:
        """Re-read the rows of a batch and return the entries whose revision is unchanged."""
        (seen.head,) = await self._runtime.store.heads((owner,))
        rows = await self._runtime.store.get(owner, [each.id for each in work])
        standing = {row.id: row.revision for row in rows}
        return [each for each in work if standing.get(each.id) == each.revision]


def _due(
    row: StoredRow, folded: Folded, now: datetime, rules: GcRules, *, endures: bool = False
) -> list[Due]:
    memory = decode(row)
    rule = due(memory, now, folded.access(row.id, to_us(now)), rules, endures=endures)
    root = None if memory.root == memory.id else memory.root
    return [] if rule is None else [Due.of(row, rule, root)]


def _parts(work: Sequence[Due], size: int) -> Iterator[list[Due]]:
    return (list(work[first : first + size]) for first in range(0, len(work), size))


def _begun(plan: Plan, *, dry_run: bool) -> GcReport:
    return GcReport(dry_run=dry_run, owners=1, rows=len(plan.ids), reads_folded=plan.folded.entries)


def _count(work: Sequence[Due], rule: Rule) -> int:
    return sum(each.rule is rule for each in work)


def schedule_daily_gc(runtime: Runtime) -> None:
    """Schedule daily collection, hygiene scan and reflection for the owners loaded here."""
    collector = Collector(runtime, SYSTEM)

    async def collect(owner: Scope, tell: Tell) -> GcReport:
        report = await collector.due_today(owner, tell) or GcReport(owners=1, busy=1)
        await Cycle(runtime, SYSTEM).run(owner, dry_run=False, recent=True)
        await Consolidator(runtime, SYSTEM, owner).reflect()
        return report

    runtime.part(DailyGc).serve(
        collect,
        runtime.indexes.owners,
        runtime.store,
        runtime.clock,
        runtime.ids,
        runtime.part(SafetyRecordStore).tidy,
    )
