"""Plans a consolidation: finds what it would change for one owner, outside any turn.

The scan of the hygiene cycle finds repeated, superseded and contradicting memories. It asks a model
where the rules cannot tell. Insights are made from the remaining memories, if enough is new. Both
report their cost.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime

from simonides.domain.codecs.memory import decode_all, status_of
from simonides.domain.errors import ModelError
from simonides.domain.event import EventType
from simonides.domain.memory import Kind, Origin, Record
from simonides.domain.scope import Principal, Scope
from simonides.domain.trust import Trust
from simonides.domain.value import from_us
from simonides.domain.writing.decision import NO_USAGE, Candidate, Usage
from simonides.domain.writing.finding import Concern
from simonides.engine.capture import failure_of
from simonides.engine.consolidation.reflection import (
    Insight,
    ask_insights,
    by_rules,
    evidence_among,
    insights_in,
    weight_since,
)
from simonides.engine.core import Runtime, account_of
from simonides.engine.hygiene_scan import Cycle, Found
from simonides.engine.screening import look
from simonides.engine.write import INSIGHT, derived
from simonides.policy import Policy
from simonides.ports import LanguageModel

PAGE = 1_000
"""Links of the audit trail read at a time, from the newest back."""


@dataclass(frozen=True, slots=True)
class Plan:
    """What a dream would do, before any decision.

    Attributes:
        found: Memories that give way, or that a person must decide about.
        insights: Candidates for new memories, with the evidence of each.
        standing: Active insights.
        surplus: The oldest rules, beyond the cap.
        reflected: Whether there was enough new content.
        memories: Number of memories scanned.
        usage: Cost of the model.
        diagnostics: Why the model was not used, or what was wrong in its answers.
    """

    found: tuple[Found, ...] = ()
    insights: tuple[Candidate, ...] = ()
    standing: tuple[Record, ...] = ()
    surplus: tuple[Record, ...] = ()
    reflected: bool = False
    memories: int = 0
    usage: Usage = NO_USAGE
    diagnostics: tuple[str, ...] = ()


@dataclass(slots=True)
class Planner:
    """Scans one owner's memories for what a dream can change."""

    runtime: Runtime
    principal: Principal
    owner: Scope
    policy: Policy
    model: LanguageModel | None = field(init=False)

    def __post_init__(self) -> None:
        self.model = account_of(self.runtime, self.owner)

    async def plan(self) -> Plan:
        """Scan, and ask the model if there is one: two questions at most.

        Raises:
            StoreError: If the store cannot be read.
        """
        cycle = Cycle(self.runtime, self.principal)
        found, report = await cycle.found(self.owner, model=self.model)
        memories = await self._memories()
        met = {id for each in found for id in (each.older, each.newer)}
        free = [memory for memory in memories if memory.id not in met]
        plan = Plan(
            found=tuple(found),
            standing=tuple(memory for memory in memories if memory.category == INSIGHT),
            surplus=_surplus(free, self.policy.consolidation.procedural_rules),
            memories=len(memories),
            usage=report.usage,
            diagnostics=report.diagnostics,
        )
        return await self._reflected(plan, free)

    async def reflection(self) -> Plan:
        """Plan only insights to make and to withdraw: one question at most.

        Raises:
            StoreError: If the store cannot be read.
        """
        index = self.runtime.indexes.of(self.owner)
        index.refresh(await self.runtime.store.snapshot(self.owner, since=index.head))
        memories = await self._memories()
        standing = tuple(memory for memory in memories if memory.category == INSIGHT)
        return await self._reflected(Plan(standing=standing, memories=len(memories)), memories)

    @property
    def now(self) -> datetime:
        """The clock."""
        return from_us(self.runtime.clock.now_us())

    async def _memories(self) -> list[Record]:
        index = self.runtime.indexes.of(self.owner)
        snapshot = await self.runtime.store.snapshot(self.owner)
        live = [row for row in snapshot.rows if status_of(row.state).is_live]
        refusals = index.refusals
        return [memory for memory in decode_all(live) if not refusals.against(memory)]

    async def _reflected(self, plan: Plan, memories: Sequence[Record]) -> Plan:
        """Add insights, if policy wants any and enough is new."""
        rules = self.policy.reflection
        at_home = self.principal.home == self.owner or self.principal.by is not None
        if rules.threshold is None or not rules.insights or not at_home:
            return plan
        if weight_since(memories, None) < rules.threshold:
            return plan
        if weight_since(memories, await self._reflected_last()) < rules.threshold:
            return plan
        shown = evidence_among(memories, self.policy.digest.sensitivities, rules.shown, self.now)
        if len(shown) < rules.evidence:
            return replace(plan, reflected=True)
        proposed, plan = await self._proposed(plan, shown)
        known = {memory.id: memory for memory in shown}
        made = [self._candidate(each, known) for each in proposed]
        return replace(plan, insights=tuple(made), reflected=True)

    async def _reflected_last(self) -> datetime | None:
        """Return the time of the last reflection, from the audit trail."""
        (head,) = await self.runtime.store.heads([self.owner])
        last = 0 if head is None else head.seq
        while last > 0:
            first = max(last - PAGE, 0)
            links = await self.runtime.store.links(self.owner, after=first, limit=last - first)
            for link in reversed(links):
                if link.payload is None or b'"dreamed"' not in link.payload:
                    continue
                event = json.loads(link.payload)
                if event["type"] == EventType.DREAMED and event["details"]["reflected"]:
                    return datetime.fromisoformat(event["at"])
            last = first
        return None

    async def _proposed(
        self, plan: Plan, shown: Sequence[Record]
    ) -> tuple[tuple[Insight, ...], Plan]:
        rules = self.policy.reflection
        by_rule = by_rules(shown, most=rules.insights)
        if self.model is None:
            return by_rule, plan
        try:
            answer = await ask_insights(self.model, shown, deadline_s=self.policy.budgets.seconds)
        except ModelError as error:
            told = (*plan.diagnostics, f"reflection:{failure_of(error)}")
            spent = plan.usage + (error.usage or NO_USAGE)
            return by_rule, replace(plan, usage=spent, diagnostics=told)
        given, wrong = insights_in(answer.value, shown, least=rules.evidence, most=rules.insights)
        safe = tuple(each for each in given if not _commands(each.text))
        wrong = (*wrong, "reflection:commands") if len(safe) < len(given) else wrong
        plan = replace(
            plan, usage=plan.usage + answer.usage, diagnostics=(*plan.diagnostics, *wrong)
        )
        # Shared values are proposed in both cases; the model's insights come first.
        return (*safe, *by_rule)[: rules.insights], plan

    def _candidate(self, insight: Insight, known: dict[str, Record]) -> Candidate:
        model = self.model.model_id if self.model and insight.rule == "model" else None
        ends = [known[id].hard_expires_at for id in insight.evidence]
        left = min((end - self.now for end in ends if end is not None), default=None)
        return derived(
            insight.text,
            self.owner,
            insight.evidence,
            kind=Kind.SEMANTIC,
            category=INSIGHT,
            model=model,
            origin=Origin(model=model),
            metadata={"rule": insight.rule},
            ttl_days=None if left is None else left.total_seconds() / 86_400,
        )


def _surplus(memories: Sequence[Record], most: int | None) -> tuple[Record, ...]:
    """Return the rules beyond the cap. Pinned rules stay, then the ones stated or confirmed last.

    Writes respect the cap, but a changed policy may have a lower one.
    """
    if most is None:
        return ()
    rules = [memory for memory in memories if memory.kind is Kind.PROCEDURAL]
    rules.sort(key=lambda each: (each.pinned, each.updated_at, each.id), reverse=True)
    return tuple(memory for memory in rules[most:] if not memory.pinned)


def _commands(text: str) -> bool:
    """Whether an insight contains instructions to its reader."""
    return any(each.concern is Concern.POISON for each in look(text, Trust.EXTERNAL))
