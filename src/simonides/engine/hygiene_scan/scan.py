"""The hygiene cycle: scans stored memories for problems that writes did not find.

A cycle first scans, one page of memories at a time and off the event loop, and collects findings. A
language model, if there is one, is asked about pairs that the rules cannot relate
(:mod:`simonides.engine.hygiene_scan.contradiction_model`). Then it applies the findings in turns of
a few, each checking that both memories still exist. A killed cycle has therefore applied some
findings, and the next cycle finds the rest.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from datetime import datetime, timedelta
from functools import partial
from itertools import repeat
from types import MappingProxyType
from typing import NamedTuple, TypeAlias

from simonides.domain.ageing import seen_at
from simonides.domain.codecs.candidate import decode_held
from simonides.domain.codecs.memory import decode
from simonides.domain.event import EventType
from simonides.domain.governance.contradiction import NEITHER, Pair
from simonides.domain.governance.review import Keep, Review, decode_review
from simonides.domain.memory import Kind, Record, Status
from simonides.domain.operations.hygiene_scan import HygieneReport
from simonides.domain.policy.hygiene import Action
from simonides.domain.scope import Principal, Scope
from simonides.domain.value import from_us
from simonides.domain.writing.change import Snapshot, StoredRow, TurnRequest
from simonides.engine.core import Counters, Runtime, account_of
from simonides.engine.hygiene_scan.apply_findings import FindingsTurn, Found
from simonides.engine.hygiene_scan.contradiction_model import opinion
from simonides.engine.screening import findings_of
from simonides.engine.write import repeated, settle
from simonides.hygiene.contradiction import earlier_conflicts, undecided_pairs
from simonides.policy import Policy
from simonides.ports import LanguageModel
from simonides.retrieval.index import OwnerIndex, shape_in

PAGE = 200
"""Memories scanned at once; chosen: a quarter of a second off the event loop."""

TURN_FINDINGS = 50
"""Findings applied in one turn; chosen: some 10 ms in a file."""

RECENT = timedelta(days=2)
"""How far the daily cycle looks back; earlier cycles have scanned what is older. Two days, because
each owner's day ends at its own time and one cycle may be missed."""

KeptBoth: TypeAlias = Mapping[frozenset[str], datetime]
"""When a person last decided to keep both, by the roots of the two memories."""

_DECISIONS: Mapping[str, EventType] = MappingProxyType(
    {
        "duplicates": EventType.MERGED,
        "updates": EventType.SUPERSEDED,
        "resolved": EventType.SUPERSEDED,
    }
)
"""Event type of a decision, by the name of its count."""


class ScanResult(NamedTuple):
    """Result of scanning some rows.

    Attributes:
        counts: By the names of :class:`~simonides.domain.operations.hygiene_scan.HygieneReport`.
        found: Findings to apply.
        pairs: Near statements that the rules do not relate; only if requested.
        marks: Number of memories by hygiene mark, for marks that policy acts on.
    """

    counts: dict[str, int]
    found: list[Found]
    pairs: list[Pair]
    marks: Mapping[str, int]


class Cycle:
    """Scans the memories of an owner on behalf of a principal."""

    def __init__(self, runtime: Runtime, principal: Principal) -> None:
        self._runtime = runtime
        self._principal = principal
        self._counters = runtime.part(Counters)

    async def run(
        self,
        owner: Scope,
        *,
        dry_run: bool,
        recent: bool = False,
        since: datetime | None = None,
        among: Sequence[str] | None = None,
        model: LanguageModel | None = None,
    ) -> HygieneReport:
        """Scan one owner's memories and apply the findings.

        Args:
            owner: The owner to scan.
            dry_run: Only report what would be done.
            recent: Compare only memories of the last days, with all that were stated before them.
            since: Compare only memories recorded since this time, by the rules alone: no model is
                asked.
            among: Compare only memories with these ids, with all that were stated before them.
                Reviews and held candidates are then left alone.
            model: Model account to use; None opens one.

        Raises:
            StoreError: If the store failed; changes made until then stay.
        """
        runtime = self._runtime
        found, report = await self.found(
            owner,
            recent=recent,
            since=since,
            among=among,
            model=model,
            minds=not recent and since is None and among is None,
        )
        report = replace(report, dry_run=dry_run)
        index, policy = runtime.indexes.of(owner), runtime.policies.policy_for(owner.org)
        overdue_reviews = None
        if among is None:
            reviews = map(decode_review, await runtime.store.reviews(owner))
            overdue_reviews = [
                each for each in reviews if each.is_overdue(self._now, policy.review_days)
            ]
        return await self._applied(owner, index, policy, report, found, overdue_reviews)

    async def found(
        self,
        owner: Scope,
        *,
        recent: bool = False,
        since: datetime | None = None,
        among: Sequence[str] | None = None,
        model: LanguageModel | None = None,
        minds: bool = False,
    ) -> tuple[list[Found], HygieneReport]:
        """Scan one owner's memories and change nothing.

        Args:
            owner: As for :meth:`run`, like the next four.
            recent: See :meth:`run`.
            since: See :meth:`run`.
            among: See :meth:`run`.
            model: See :meth:`run`.
            minds: Whether to count memories that policy would act on, which is half of the work.

        Returns:
            The findings, and a report that counts the scanned memories.
        """
        runtime = self._runtime
        index = runtime.indexes.of(owner)
        index.refresh(await runtime.store.snapshot(owner, since=index.head))
        policy = runtime.policies.policy_for(owner.org)
        reviews = [decode_review(each) for each in await runtime.store.reviews(owner)]
        look = partial(
            scan_rows,
            index,
            now=self._now,
            since=self._now - RECENT if recent else since,
            kept=_kept_both(reviews),
            has_model=bool(
                since is None and runtime.models.meter and policy.hygiene.model_pairs > 0
            ),
            acting_policy=policy if minds else None,
        )
        report = HygieneReport(owners=1)
        stored = await (self._rows(owner) if among is None else runtime.store.get(owner, among))
        rows = [row for row in stored if index.holds(row.id)]
        found: list[Found] = []
        pairs: list[Pair] = []
        for first in range(0, len(rows), PAGE):
            page = index.current(rows[first : first + PAGE])
            seen = await runtime.aside(partial(look, page))
            report = report.plus(**seen.counts).seen(seen.marks)
            found += seen.found
            pairs += seen.pairs
        asked = model or account_of(runtime, owner)
        report = await self._ask_model(asked, policy, report, found, pairs)
        return found, report

    async def _ask_model(
        self,
        model: LanguageModel | None,
        policy: Policy,
        report: HygieneReport,
        found: list[Found],
        pairs: Sequence[Pair],
    ) -> HygieneReport:
        """Add the model's verdicts on pairs without a finding yet."""
        if model is None or not pairs:
            return report
        already_found = {id for each in found for id in (each.older, each.newer)}
        left = [pair for pair in pairs if already_found.isdisjoint({pair.older.id, pair.newer.id})]
        said = await opinion(self._runtime, policy, left, report, model)
        found += [
            Found(pair.older.id, pair.newer.id, verdict, model.model_id)
            for pair, verdict in said.found
        ]
        return said.report

    @property
    def _now(self) -> datetime:
        return from_us(self._runtime.clock.now_us())

    async def _rows(self, owner: Scope) -> Sequence[StoredRow]:
        rows: list[StoredRow] = []
        after: str | None = ""
        while after is not None:
            page = await self._runtime.store.rows(owner, after=after, limit=2_000)
            after = page[-1].id if len(page) == 2_000 else None
            rows += page
        return rows

    async def _applied(
        self,
        owner: Scope,
        index: OwnerIndex,
        policy: Policy,
        report: HygieneReport,
        found: Sequence[Found],
        overdue_reviews: Sequence[Review] | None,
    ) -> HygieneReport:
        """Apply the findings; if ``overdue_reviews`` is given, expire these and overdue held
        candidates.
        """
        runtime, days = self._runtime, policy.review_days
        kept_days = policy.consolidation.held_days
        held = () if overdue_reviews is None else await runtime.store.held(owner)
        overdue_held = tuple(
            row.id for row in held if decode_held(row).is_overdue(self._now, days, kept_days)
        )
        for first in range(0, max(len(found), 1), TURN_FINDINGS):
            work = found[first : first + TURN_FINDINGS]
            turn = FindingsTurn(
                runtime,
                self._principal,
                owner,
                index,
                work,
                overdue_reviews if overdue_reviews and first == 0 else (),
                overdue_held if first == 0 else (),
                policy.gates.confidence_gap,
            )
            if report.dry_run:
                head = index.head
                if head is not None:
                    turn.decide(Snapshot(head=head, complete=False, rows=()))
            elif work or turn.overdue_reviews or turn.overdue_held:
                request = TurnRequest(since=index.head)
                committed = await runtime.store.commit(owner, request, turn.decide)
                index.follow(committed)
                await settle(runtime, self._principal, owner, committed.rows)
                many = sum(turn.counts.get(name, 0) for name in ("contradictions", "resolved"))
                self._counters.decided(_decisions(turn.counts), contradictions=many)
            report = report.plus(**turn.counts)
        return report


def scan_rows(
    index: OwnerIndex,
    rows: Sequence[StoredRow],
    *,
    now: datetime,
    since: datetime | None,
    kept: KeptBoth,
    has_model: bool,
    acting_policy: Policy | None,
) -> ScanResult:
    """Scan some rows.

    Args:
        index: Index of their owner.
        rows: Current rows, with entries of the current recipe.
        now: The clock.
        since: Only memories recorded from then on are compared with earlier ones; None for all.
        kept: Pairs that a person decided to keep, which are not reported again.
        has_model: Whether to collect pairs for a model.
        acting_policy: Policy that selects the hygiene findings that count; None to look for none.
    """
    counts = dict.fromkeys(("memories", "stale", *(["sensitive"] if acting_policy else [])), 0)
    found: list[Found] = []
    pairs: list[Pair] = []
    marked = Counter[str]()
    view = index.at(now)
    for row in rows:
        memory = decode(row)
        refused = index.refusals.against(memory)
        if memory.kind is Kind.EPISODIC or memory.is_expired(now) or refused:
            continue
        counts["memories"] += 1
        counts["stale"] += seen_at(memory, now).status is Status.STALE
        if acting_policy is not None:
            marks = _acted_on(memory, acting_policy)
            marked.update(marks)
            counts["sensitive"] += bool(marks)
        shape = shape_in(row)
        if shape is None or (since is not None and memory.created_at < since):
            continue
        same = repeated(memory, view, shape)
        if same is not None:
            found.append(Found(same.id, memory.id, NEITHER))
            continue
        found += [
            Found(other.id, memory.id, verdict)
            for other, verdict in earlier_conflicts(memory, view, shape)
            if not _is_kept(other, memory, kept)
        ]
        if has_model:
            near = undecided_pairs(memory, view, shape)
            pairs += [pair for pair in near if not _is_kept(pair.older, pair.newer, kept)]
    return ScanResult(counts, found, pairs, marked)


def _decisions(counts: Mapping[str, int]) -> Iterator[EventType]:
    for name, type in _DECISIONS.items():
        yield from repeat(type, counts.get(name, 0))


def _acted_on(memory: Record, policy: Policy) -> set[str]:
    """Return the marks that policy would act on if the memory were written today."""
    action_on = policy.hygiene.action_on
    return {f.mark for f in findings_of(memory) if action_on(f) is not Action.ALLOW}


def _kept_both(reviews: Sequence[Review]) -> KeptBoth:
    decided = [each for each in reviews if each.kept is Keep.BOTH and each.decided_at is not None]
    decided.sort(key=lambda each: each.decided_at or each.opened_at)
    return {frozenset((each.a, each.b)): each.decided_at or each.opened_at for each in decided}


def _is_kept(older: Record, newer: Record, kept: KeptBoth) -> bool:
    """Whether a person kept both memories in exactly these versions."""
    at = kept.get(frozenset((older.root, newer.root)))
    return at is not None and max(older.created_at, newer.created_at) <= at
