"""Collecting what has aged out of an owner's memories, a few at a time.

One worker an owner, by a lease that a dead one's runs out of. A run first folds the journal of
reads, then looks through the owner's rows and notes which are due, then applies the rules in turns
of a few memories, so that writers wait for milliseconds. Each turn looks again at whether its rows
still stand as they were read; what changed meanwhile is left to the next run. So a run that is
killed has done some turns and not others, and the next goes on from what stands.
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
from simonides.domain.writing.change import (
    Head,
    JournalEntry,
    StoredRow,
    TurnRequest,
)
from simonides.engine.consolidation.dream import Dreamer
from simonides.engine.core.counters import Counters
from simonides.engine.core.runtime import Runtime
from simonides.engine.hygiene_scan.scan import Cycle
from simonides.engine.maintenance.access_counts import (
    Folded,
    drop_old,
    fold,
    keep_only,
    looked_at,
)
from simonides.engine.maintenance.daily_gc import DailyGc
from simonides.engine.maintenance.gc_rules import FORESEEN, due
from simonides.engine.maintenance.gc_turn import (
    EVENTS,
    CollectingTurn,
    Due,
    RunSight,
)
from simonides.engine.operations.safety_records import SafetyRecordStore
from simonides.engine.recall.read_journal import ReadJournal
from simonides.engine.write.evidence import settle
from simonides.retrieval.index.gc_candidates import Summary, gc_candidates

SYSTEM = Principal(Scope.of_global(), by="system:gc")
"""Who collects where nobody in particular does, in the audit trail."""

LEASE = "gc"
"""Name of the lease under which an owner is collected."""

OF_THE_DAY = "gc at most once a day"
"""Name of the lease that is left behind by whoever collects an owner unasked: the daily care, or a
task at its end, whichever comes first."""

LEASE_US = 300_000_000
"""How long a worker that says nothing keeps it. Chosen: thousands of turns, and a dead one's work
is taken up again in minutes."""

RENEWED_US = LEASE_US // 10
"""How often a worker says that it lives: each time is a write as durable as a turn."""

PAGE_ROWS = 2_000
"""Rows that are looked at in one go. Chosen: some 10 MB."""

TURN_ROWS = 500
"""Memories that are restated in one turn; measured: 8 ms in a file, at most 13."""

PURGED_ROWS = 500
"""Rows that are purged in one turn: each such turn has readers load the owner anew."""

Tell: TypeAlias = Callable[[GcReport], None]
"""Is told how far a run has come, after each step."""


class Plan(NamedTuple):
    """What is due of an owner.

    Attributes:
        now: Clock of the run.
        folded: How its memories were read.
        due: In the order of their ids.
        ids: Of all rows looked at.
        head: Where the owner stood before any of them was looked at.
    """

    now: datetime
    folded: Folded
    due: Sequence[Due]
    ids: frozenset[str]
    head: Head | None

    @property
    def restated(self) -> Iterator[list[Due]]:
        """What is to be restated, in turns: each of one rule, so that one event tells of it all."""
        for rule in EVENTS:
            if not rule.purges:
                work = [each for each in self.due if each.rule is rule]
                yield from _parts(work, TURN_ROWS)

    @property
    def purged(self) -> list[Due]:
        """What is to be purged, by id."""
        return [each for each in self.due if each.rule.purges]


class Collector:
    """Collects for somebody."""

    def __init__(self, runtime: Runtime, principal: Principal) -> None:
        """Build it; the trail names the principal."""
        self._runtime = runtime
        self._principal = principal
        self._base_rules = runtime.part(GcRules)
        self._counters = runtime.part(Counters)

    async def of_scopes(
        self, scopes: Sequence[str] | None, *, dry_run: bool, tell: Tell | None
    ) -> GcReport:
        """Collect the owners of some scopes, by their paths, or all there are.

        Raises:
            InvalidScope: If a path is none.
        """
        named = None if scopes is None else [Scope.parse(path).owner for path in scopes]
        owners = None if named is None else [*dict.fromkeys(named)]
        return await self.everything(owners, dry_run=dry_run, tell=tell)

    async def everything(
        self, owners: Sequence[Scope] | None, *, dry_run: bool, tell: Tell | None
    ) -> GcReport:
        """Collect some owners or all, one after the other.

        Those who read before those that were read: what users read of the org's counts there.
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
            owner: Whose memories.
            dry_run: Only say what would be done.
            tell: Is told how far it has come.
            passed_on: For a dry run: what folding would have passed on so far; added to.
        """
        runtime = self._runtime
        await runtime.part(ReadJournal).flush()
        if dry_run:
            elsewhere = {} if passed_on is None else passed_on
            return await self._foreseen(owner, elsewhere)
        holder = runtime.ids.new(runtime.clock.now_us())
        if not await self._holds(owner, holder):
            return GcReport(owners=1, busy=1)
        try:
            return await self._collected(owner, holder, tell)
        finally:
            await runtime.store.release(owner, LEASE, holder)

    async def due_today(self, owner: Scope, tell: Tell | None = None) -> GcReport | None:
        """Collect an owner, unless that was done today already; then there is no report."""
        runtime, now = self._runtime, self._runtime.clock.now_us()
        holder, lasts = runtime.ids.new(now), {"now": now, "until": now + DAY_US}
        if not await runtime.store.lease(owner, OF_THE_DAY, holder, **lasts):
            return None
        return await self.collect(owner, dry_run=False, tell=tell)

    async def _holds(self, owner: Scope, holder: str) -> bool:
        now = self._runtime.clock.now_us()
        return await self._runtime.store.lease(owner, LEASE, holder, now=now, until=now + LEASE_US)

    async def _foreseen(self, owner: Scope, passed_on: dict[Scope, list[JournalEntry]]) -> GcReport:
        runtime, now_us = self._runtime, self._runtime.clock.now_us()
        folded = await looked_at(runtime.store, owner, passed_on.get(owner, ()))
        for other, entries in folded.passed_on().items():
            passed_on.setdefault(other, []).extend(entries)
        plan = await self._plan(owner, folded, from_us(now_us))
        report = _begun(plan, dry_run=True)
        # Whether a chain goes whole depends on all that goes, under whichever rule.
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
        said, sight = now_us, RunSight(plan.head)
        for work in (*plan.restated, *_parts(purged, PURGED_ROWS)):
            now_us = runtime.clock.now_us()
            if now_us - said >= RENEWED_US:
                if not await self._holds(owner, holder):
                    # Somebody took over because this worker said nothing for minutes.
                    return replace(report, busy=1)
                said = now_us
            report = await self._turn(owner, work, plan, sight, report)
            if tell is not None:
                tell(replace(report, owners=0))
        await keep_only(runtime.store, owner, folded, plan.ids, now_us)
        old = await drop_old(runtime.store, owner, self._horizon(plan), dry_run=False)
        return replace(report, receipts_old=old)

    def _rules(self, owner: Scope) -> GcRules:
        """Return the numbers for an owner; what its policy lets direct an agent is spared."""
        categories = self._runtime.policies.policy_for(owner.org).categories
        directive = (name for name, category in categories.items() if category.directive)
        return replace(self._base_rules, spared=self._base_rules.spared | {*directive})

    def _horizon(self, plan: Plan) -> int:
        return to_us(plan.now - timedelta(days=self._base_rules.history_days))

    # -- what is due -----------------------------------------------------------------------

    async def _plan(self, owner: Scope, folded: Folded, now: datetime) -> Plan:
        rules, recipe = self._rules(owner), self._runtime.indexes.indexer.recipe
        found: list[Due] = []
        unsure: list[StoredRow] = []
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
                    # Whether it is the latest, the last page tells.
                    unsure.append(row)
                else:
                    found += _due(row, folded, now, rules)
        latest = {one.reader: one.id for one in sorted(summaries)}
        lasting = set(latest.values())
        for row in unsure:
            found += _due(row, folded, now, rules, endures=row.id in lasting)
        found.sort(key=lambda each: each.id)
        return Plan(now, folded, found, frozenset(ids), head)

    async def _purgeable(self, owner: Scope, work: Sequence[Due]) -> list[Due]:
        """Return those of some old rows that may go.

        The last version of a chain stays as long as any: versions are numbered on from it. (A
        first one may always go: it is the last only where it is the only one.) So does one that
        something was derived from, until that is gone: forgetting goes by it.
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

    # -- doing it --------------------------------------------------------------------------

    async def _turn(
        self, owner: Scope, work: Sequence[Due], plan: Plan, sight: RunSight, report: GcReport
    ) -> GcReport:
        runtime, was_lost = self._runtime, sight.is_lost
        known = await self._seen_again(owner, work, sight) if was_lost else work
        turn = CollectingTurn(
            runtime, self._principal, owner, known, plan.folded, to_us(plan.now), sight
        )
        if known and sight.head is not None:
            request = TurnRequest(since=sight.head)
            committed = await runtime.store.commit(owner, request, turn.decide)
            sight.head = committed.head
            if sight.is_lost and not was_lost:
                return await self._turn(owner, work, plan, sight, report)
            index = runtime.indexes.warm(owner)
            if index is not None:
                index.follow(committed)
            self._counters.decided(EVENTS[each.rule] for each in turn.done)
            await settle(runtime, self._principal, owner, committed.rows)
        for rule, count in Counter(each.rule for each in turn.done).items():
            report = report.counted(rule, count)
        return replace(report, left=report.left + len(work) - len(turn.done))

    async def _seen_again(self, owner: Scope, work: Sequence[Due], sight: RunSight) -> list[Due]:
        """Return what of some work stands as it was read, looked at anew."""
        (sight.head,) = await self._runtime.store.heads((owner,))
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


def keep_house(runtime: Runtime) -> None:
    """Have the owners that are warm in this process collected, looked through and reflected on,
    once a day.
    """
    collector = Collector(runtime, SYSTEM)

    async def collect(owner: Scope, tell: Tell) -> GcReport:
        report = await collector.due_today(owner, tell) or GcReport(owners=1, busy=1)
        await Cycle(runtime, SYSTEM).run(owner, dry_run=False, recent=True)
        await Dreamer(runtime, SYSTEM, owner).reflect()
        return report

    runtime.part(DailyGc).serve(
        collect,
        runtime.indexes.owners,
        runtime.store,
        runtime.clock,
        runtime.ids,
        runtime.part(SafetyRecordStore).tidy,
    )
