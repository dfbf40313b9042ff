"""Dreams: consolidation as a proposed diff, applied in one transaction and undone by one call.

``plan → one turn: guards, gates, validity checks → items``. A dry run decides on the current state
and writes nothing. A dream uses the same scan and application as the hygiene cycle. The cycle
applies a few findings at a time, unattended; a dream applies all at once, reversibly.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable
from dataclasses import dataclass, field, replace
from datetime import datetime
from types import MappingProxyType

from simonides.domain.event import EventType
from simonides.domain.governance.review import encode_review
from simonides.domain.memory import Record, Status
from simonides.domain.moment import Moment
from simonides.domain.operations.dream import (
    Consolidation,
    ConsolidationItem,
    ConsolidationStatus,
    ConsolidationStep,
)
from simonides.domain.scope import Principal, Scope
from simonides.domain.writing.change import Change, Snapshot
from simonides.domain.writing.decision import Commit, Judgement, Judgements, Outcome, OutcomeKind
from simonides.engine.consolidation.plan import Plan, Planner
from simonides.engine.core import EventRecorder, Runtime
from simonides.engine.hygiene_scan import FindingsTurn
from simonides.engine.recall import Lookup
from simonides.engine.screening import judge_one
from simonides.engine.write import (
    EVIDENCE_GONE,
    PreparedBatch,
    QuotaCheck,
    Writer,
    WriteTurn,
    fallen_among,
    is_standing,
    settle,
    withdrawn,
)
from simonides.policy import Policy
from simonides.retrieval.index import OwnerIndex

MOST = 100
"""Most findings of one dream; chosen: a transaction of some 50 ms, and a diff that a person can
read."""

RULES_CAP = "beyond_rules_cap"
"""Reason: the user has more active rules than the cap allows."""

_NEW = (OutcomeKind.CREATED, OutcomeKind.COEXISTS)
_REFUSED = (OutcomeKind.BLOCKED, OutcomeKind.DROPPED)


class Consolidator:
    """Runs dreams about one owner, by default the principal's own."""

    def __init__(self, runtime: Runtime, principal: Principal, owner: Scope | None = None) -> None:
        self._runtime = runtime
        self._principal = principal
        self._owner = principal.home.owner if owner is None else owner
        self._writer = Writer(runtime, principal)
        self._lookup = Lookup(runtime, principal)

    async def dream(self, *, dry_run: bool) -> Consolidation:
        """See :meth:`simonides.api.AsyncMemory.dream`."""
        return await self._run(await self._planner().plan(), dry_run=dry_run)

    async def reflect(self) -> Consolidation:
        """Make insights if enough is new, and withdraw insights that lost their evidence.

        Used at the end of a session and once a day, when other jobs already look for repetitions
        and contradictions. If too little is new, it only reads the owner's memories.

        Raises:
            StoreError: If the store failed; nothing was changed.
        """
        return await self._run(await self._planner().reflection(), dry_run=False)

    def _planner(self) -> Planner:
        policy = self._runtime.policies.policy_for(self._owner.org)
        return Planner(self._runtime, self._principal, self._owner, policy)

    async def _run(self, plan: Plan, *, dry_run: bool) -> Consolidation:
        runtime, owner = self._runtime, self._owner
        policy = runtime.policies.policy_for(owner.org)
        judged = [judge_one(each, self._writer.policy(each.scope)) for each in plan.insights]
        fit = Judgements(tuple(each for each in judged if isinstance(each, Commit)))
        batch = await self._writer.prepare(owner, fit, check=QuotaCheck.NONE)
        write = WriteTurn(runtime, self._principal, batch)
        turn = _DreamTurn(runtime, self._principal, owner, policy, write.index, plan, batch)
        turn.refused = [_left_out(each) for each in judged if not isinstance(each, Commit)]
        if dry_run:
            if write.index.head is not None:
                head = write.index.head
                turn.decide(Snapshot(head=head, complete=False, rows=()))
        else:
            request = replace(write.request, is_brief=False)
            committed = await runtime.store.commit(owner, request, turn.decide)
            write.index.follow(committed)
            await settle(runtime, self._principal, owner, committed.rows)
        return self._result(turn, plan, dry_run=dry_run)

    def _result(self, turn: _DreamTurn, plan: Plan, *, dry_run: bool) -> Consolidation:
        applied = not dry_run and turn.id != ""
        return Consolidation(
            id=turn.id if applied else "",
            status=ConsolidationStatus.APPLIED if applied else ConsolidationStatus.PROPOSED,
            owner=self._owner.path,
            at=turn.at,
            items=tuple(self._with_texts(item, turn) for item in turn.items),
            more=max(len(plan.found) - MOST, 0),
            memories=plan.memories,
            reflected=plan.reflected,
            usage=plan.usage,
            diagnostics=plan.diagnostics,
        )

    def _with_texts(self, item: ConsolidationItem, turn: _DreamTurn) -> ConsolidationItem:
        """Return an item with the texts of its memories that this principal may read."""
        named = (*item.ids, *item.evidence)
        seen = [memory for id in named if (memory := turn.known.get(id)) is not None]
        shown = {memory.id: memory.content for memory in seen if self._lookup.admits(memory)}
        return replace(item, texts=MappingProxyType(shown))


def _left_out(judgement: Judgement) -> ConsolidationItem:
    candidate = judgement.candidate
    why = judgement.reasons[0] if judgement.reasons else "not_committed"
    evidence, text = candidate.parents, candidate.content
    return ConsolidationItem(step=ConsolidationStep.INSIGHT, evidence=evidence, text=text, left=why)


@dataclass(slots=True)
class _DreamTurn:
    """A plan, applied under the owner's turn where it is still valid.

    Attributes:
        refused: Insights that policy refused.
        id: Id of the audit event; empty if nothing was done.
        at: When it was decided.
        items: Actions done and left out, set by :meth:`decide`.
        known: The affected memories, before the change.
    """

    runtime: Runtime
    principal: Principal
    owner: Scope
    policy: Policy
    index: OwnerIndex
    plan: Plan
    batch: PreparedBatch
    refused: list[ConsolidationItem] = field(default_factory=list)
    id: str = ""
    at: datetime | None = None
    items: list[ConsolidationItem] = field(default_factory=list)
    known: dict[str, Record] = field(default_factory=dict)
    _states: dict[str, Record] = field(default_factory=dict)

    def decide(self, snapshot: Snapshot) -> Change | None:
        """Build one change from all that is still valid."""
        self.id, self.items, self.known, self._states = "", [*self.refused], {}, {}
        self.index.refresh(snapshot)
        insights = self._insights(snapshot)
        known_at = None if insights is None else insights.known_at
        recorder = EventRecorder(self.runtime, self.principal, snapshot, known_at)
        taken = frozenset(insights.restated_ids if insights is not None else ())
        findings = self._findings(recorder, taken)
        self._archive(recorder, taken)
        self._withdraw(recorder, taken)
        self.at = recorder.moment.now
        if not (self._done or self.plan.reflected):
            return None
        self._record_event(recorder)
        change = Change(
            known_at=recorder.moment.known_at,
            restated=tuple(self._states.values()),
            reviews=tuple(map(encode_review, findings.reviews)),
            events=recorder.events,
        )
        return change if insights is None else insights.plus(change)

    @property
    def _done(self) -> list[ConsolidationItem]:
        return [item for item in self.items if item.left is None]

    def _record_event(self, recorder: EventRecorder) -> None:
        """Record the ids and reasons of all actions; undo reads them."""
        # No subjects: forgetting one memory would erase the event, which undo needs for the others.
        # The event holds ids only, which may outlive a forgotten memory.
        details = {"items": [item.told for item in self._done], "reflected": self.plan.reflected}
        self.id = recorder.record(EventType.DREAMED, self.owner, details=details).id

    def _findings(self, recorder: EventRecorder, taken: frozenset[str]) -> FindingsTurn:
        gap, work = self.policy.gates.confidence_gap, self.plan.found[:MOST]
        self._remember_affected(id for each in work for id in (each.older, each.newer))
        turn = FindingsTurn(
            self.runtime, self.principal, self.owner, self.index, work, (), (), gap, taken
        )
        turn.apply(recorder)
        self._states |= turn.states
        self.items += turn.items
        met = {id for item in turn.items for id in item.ids}
        for each in work:
            if not {each.older, each.newer} <= met:
                reasons = (each.verdict.reason if each.verdict.rule else "said_twice",)
                step = ConsolidationStep.SUPERSEDE if each.verdict.rule else ConsolidationStep.MERGE
                item = ConsolidationItem(step=step, before=(each.newer,), after=(each.older,))
                self.items.append(replace(item, reasons=reasons, left="changed_since"))
        return turn

    def _archive(self, recorder: EventRecorder, taken: Collection[str]) -> None:
        """Archive the rules beyond the cap; nothing is deleted."""
        for planned in self.plan.surplus:
            rule = self.index.at(recorder.moment.now).by_id(planned.id)
            if rule is None or rule.id in self._states or rule.id in taken:
                continue
            self._remember_affected([rule.id])
            self._states[rule.id] = _ended(rule, Status.ARCHIVED, recorder.moment)
            recorder.record(
                EventType.ARCHIVED, rule.scope, subjects=(rule.id,), reasons=(RULES_CAP,)
            )
            item = ConsolidationItem(
                step=ConsolidationStep.ARCHIVE, before=(rule.id,), reasons=(RULES_CAP,)
            )
            self.items.append(item)

    def _withdraw(self, recorder: EventRecorder, taken: Collection[str]) -> None:
        """Withdraw insights that lost their evidence, including through this dream."""
        moment, least = recorder.moment, self.policy.reflection.evidence
        found = [self.index.at(moment.now).by_id(each.id) for each in self.plan.standing]
        standing = [each for each in found if is_standing(each, moment.now)]
        ending = [id for id, state in self._states.items() if state.status is not Status.ACTIVE]
        free = [m for m in standing if m is not None and m.id not in {*self._states, *taken}]
        for insight in fallen_among(self.index, free, least, moment, ending):
            self._remember_affected([insight.id])
            self._states[insight.id] = withdrawn(insight, moment)
            ids, why = (insight.id,), (EVIDENCE_GONE,)
            recorder.record(EventType.EVICTED, self.owner, subjects=ids, reasons=why)
            self.items.append(
                ConsolidationItem(step=ConsolidationStep.WITHDRAW, before=ids, reasons=why)
            )

    def _insights(self, snapshot: Snapshot) -> Change | None:
        """Pass insights through guards and gates; keep only new ones that conflict with nothing."""
        now, proposed = self._now(snapshot), self.batch.judgements
        fit = [each for each in proposed if self._has_evidence(each, now)]
        left = [(each, "evidence_moved") for each in proposed if each not in fit]
        while True:
            batch = replace(self.batch, judgements=tuple(fit))
            turn = WriteTurn(self.runtime, self.principal, batch)
            change = turn.decide(snapshot) if fit else None
            pairs = list(zip(fit, turn.outcomes, strict=False)) if change else []
            # A repetition, or a contradiction of a user's statement, is not an insight.
            stray = [pair for pair in pairs if pair[1].kind not in (*_NEW, *_REFUSED)]
            if not stray:
                break
            left += [(judgement, f"not_new:{outcome.kind}") for judgement, outcome in stray]
            gone = [judgement for judgement, _ in stray]
            fit = [each for each in fit if each not in gone]
        self.items += [self._insight(*pair) for pair in pairs]
        self.items += [replace(_left_out(judgement), left=why) for judgement, why in left]
        return change

    def _insight(self, judgement: Judgement, outcome: Outcome) -> ConsolidationItem:
        candidate = judgement.candidate
        self._remember_affected(candidate.parents)
        if outcome.kind in _REFUSED or outcome.record is None:
            why = outcome.reasons[0] if outcome.reasons else str(outcome.kind)
            return replace(_left_out(judgement), left=why)
        self.known[outcome.record.id] = outcome.record
        return ConsolidationItem(
            step=ConsolidationStep.INSIGHT,
            after=(outcome.record.id,),
            reasons=(f"rule:{candidate.metadata['rule']}", *outcome.reasons),
            evidence=candidate.parents,
            text=outcome.record.content,
        )

    def _has_evidence(self, judgement: Judgement, now: datetime) -> bool:
        parents = judgement.candidate.parents
        return all(is_standing(self.index.at(now).by_id(id), now) for id in parents)

    def _now(self, snapshot: Snapshot) -> datetime:
        return EventRecorder(self.runtime, self.principal, snapshot).moment.now

    def _remember_affected(self, ids: Iterable[str]) -> None:
        for id in ids:
            memory = self.index.found(id)
            if memory is not None:
                self.known[id] = memory


def _ended(memory: Record, status: Status, moment: Moment) -> Record:
    return replace(memory, status=status, updated_at=moment.now, known_from=moment.now)
