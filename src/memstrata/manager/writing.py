"""The order of a write: judge, embed, take the turn, store, follow (LT-1)."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import replace

from memstrata.capture.drafts import DraftRules, candidate_of, checked_candidate
from memstrata.capture.model import UNANCHORED, UNSUPPORTED
from memstrata.domain.candidate_codec import decode_candidate, encode_candidate
from memstrata.domain.change import Change, OutboxItem, Snapshot, TurnRequest
from memstrata.domain.codec import canonical_json, decode
from memstrata.domain.decision import (
    Candidate,
    Commit,
    Drop,
    Hold,
    Judgement,
    Outcome,
    Proposer,
    Usage,
)
from memstrata.domain.errors import InvalidInput, ScopeDenied
from memstrata.domain.event import EventType
from memstrata.domain.memory import Draft
from memstrata.domain.proposal import ScopeName
from memstrata.domain.scope import Principal, Scope, ScopeLevel
from memstrata.manager.scribe import Scribe
from memstrata.manager.services import Services
from memstrata.manager.turn import WriteTurn
from memstrata.policy.execution import denied
from memstrata.policy.guards import may_write
from memstrata.policy.judge import judge
from memstrata.policy.rules import Policy
from memstrata.retrieval.entry import Indexed, index_text

_UNPROVEN = (UNANCHORED, UNSUPPORTED)
"""Marks of what a turn does not bear out: held, never stored at once (FX-1)."""

_SCOPE_NAMES = {
    ScopeLevel.USER: ScopeName.USER,
    ScopeLevel.SESSION: ScopeName.USER,
    ScopeLevel.ORG: ScopeName.WORKSPACE,
    ScopeLevel.TASK: ScopeName.TASK,
}

MAX_BATCH = 10_000
"""Most drafts of one transaction; chosen: larger imports come in several."""


class Writer:
    """Takes proposals of one principal to their outcomes."""

    def __init__(self, services: Services, principal: Principal) -> None:
        self._services = services
        self._principal = principal

    def policy(self, scope: Scope) -> Policy:
        """Return the policy in force for a scope's org."""
        return self._services.policies.policy_for(scope.org)

    def checked(self, candidate: Candidate) -> Candidate:
        """Check a candidate; see :func:`memstrata.capture.drafts.checked_candidate`."""
        return checked_candidate(candidate, self._rules())

    def candidate(self, draft: Draft, *, proposer: Proposer = Proposer.CALLER) -> Candidate:
        """Check a draft; see :func:`memstrata.capture.drafts.candidate_of`."""
        return candidate_of(draft, self._principal, proposer=proposer, rules=self._rules())

    def _rules(self) -> DraftRules:
        policy = self.policy(self._principal.home)
        return DraftRules(
            content_bytes=policy.callers.max_content_bytes,
            metadata_bytes=policy.callers.max_metadata_bytes,
            category_of_kind=policy.category_of_kind,
        )

    def judge(self, candidate: Candidate) -> Judgement:
        """Judge a candidate: by execution where it was extracted, then by policy (PO-2, CO-2).

        What execution denies binds proposals of rules and models, not what a caller writes.
        """
        policy = self.policy(candidate.scope)
        if candidate.proposer in (Proposer.RULES, Proposer.MODEL):
            scope = _SCOPE_NAMES.get(candidate.scope.level)
            why = (
                "scope_denied_execution" if scope is None else denied(candidate.key, scope, policy)
            )
            if why is not None:
                return Drop(candidate, (why,))
            unproven = tuple(mark for mark in _UNPROVEN if mark in candidate.marks)
            if unproven:
                return Hold(candidate, unproven)
        return judge(candidate, policy)

    async def write(self, candidates: Sequence[Candidate]) -> tuple[Outcome, ...]:
        """Store candidates of one owner in one transaction; outcomes in their order.

        Raises:
            InvalidInput: If they belong to several owners, or are more than :data:`MAX_BATCH`.
            ScopeDenied: If the principal may not write where one of them belongs (SC-3).
            StoreError: If the store could not; then nothing was written.
        """
        if not candidates:
            return ()
        if len(candidates) > MAX_BATCH:
            raise InvalidInput("drafts", f"has {len(candidates)}; at most {MAX_BATCH:,} a batch")
        owner = candidates[0].scope.owner
        for place, candidate in enumerate(candidates):
            if candidate.scope.owner != owner:
                raise InvalidInput(
                    f"drafts[{place}].scope", "a batch is one transaction and so of one owner"
                )
        for scope in {candidate.scope for candidate in candidates}:
            await self.check_right(scope)
        return await self._write_turn(owner, candidates)

    async def check_right(self, scope: Scope) -> None:
        """Raise :class:`ScopeDenied` unless the principal may write to a scope (SC-3)."""
        principal = self._principal
        if scope == principal.home or principal.by is not None:
            return
        own_org = scope.level is ScopeLevel.ORG and scope.org == principal.home.org
        grants = await self._services.store.grants(scope) if own_org else ()
        if not may_write(principal, scope, grants):
            raise ScopeDenied(
                scope.path,
                "write",
                "a principal writes to its own scope; org scope takes the org_write grant, "
                "global an administrator",
            )

    async def _write_turn(
        self, owner: Scope, candidates: Sequence[Candidate]
    ) -> tuple[Outcome, ...]:
        services = self._services
        policy = self.policy(owner)
        judgements = tuple(self.judge(candidate) for candidate in candidates)
        texts = [index_text(j.candidate) for j in judgements if isinstance(j, Commit)]
        prepared = self._prepare(texts)
        index = services.indexes.of(owner)
        turn = WriteTurn(
            services, self._principal, policy, policy.hash, index, judgements, prepared
        )
        committed = await services.store.commit(owner, turn.request, turn.decide)
        index.follow(committed)
        outcomes = await self._with_repeated(owner, turn)
        return _charged(outcomes, len(prepared))

    def _prepare(self, texts: Sequence[str]) -> dict[str, Indexed]:
        distinct = list(dict.fromkeys(texts))
        prepared = self._services.indexes.indexer.prepare(distinct)
        return dict(zip(distinct, prepared, strict=True))

    async def _with_repeated(self, owner: Scope, turn: WriteTurn) -> tuple[Outcome, ...]:
        if not turn.repeated:
            return tuple(turn.outcomes)
        rows = await self._services.store.get(owner, list(turn.repeated.values()))
        found = {row.id: decode(row) for row in rows}
        return tuple(
            replace(outcome, memory=found.get(turn.repeated.get(place, "")))
            if place in turn.repeated
            else outcome
            for place, outcome in enumerate(turn.outcomes)
        )

    # -- promotion: the one way across (SC-6) ----------------------------------------------

    async def promote(self, candidate: Candidate, source: Scope) -> Outcome:
        """Copy a memory upward: ``candidate`` is the copy, for its new scope.

        Within one owner it is one transaction. Across owners the work is committed with the
        source first and then carried out in the target's own turn, under a key that makes a
        second delivery harmless.
        """
        if candidate.scope.owner == source.owner:
            (outcome,) = await self._write_turn(source.owner, [candidate])
            return outcome
        body = {
            "home": self._principal.home.path,
            "by": self._principal.by,
            "candidate": encode_candidate(candidate).decode(),
        }
        id = self._services.ids.new(self._services.clock.now_us())
        item = OutboxItem(id, candidate.scope.path, canonical_json(body))
        await self._services.store.commit(
            source.owner, TurnRequest(), lambda snapshot: self._send(snapshot, item, candidate)
        )
        outcomes = await self.deliver(source.owner)
        if item.id in outcomes:
            return outcomes[item.id]
        # Another process delivered it first; the write's key makes this say what came of it.
        (outcome,) = await self._write_turn(candidate.scope.owner, [candidate])
        return outcome

    def _send(self, snapshot: Snapshot, item: OutboxItem, candidate: Candidate) -> Change:
        scribe = Scribe(self._services, self._principal, snapshot)
        scribe.record(
            EventType.PROMOTED,
            self._principal.home,
            subjects=candidate.parents,
            details={"to": item.target},
        )
        return Change(known_at=scribe.moment.known_at, events=scribe.events, outbox=(item,))

    async def deliver(self, source: Scope) -> dict[str, Outcome]:
        """Carry out the work that an owner has committed for others; outcomes by item id.

        Each item is written in the name of who sent it, whose right is looked at again.
        """
        outcomes = {}
        for pending in await self._services.store.outbox(source=source):
            body = json.loads(pending.item.body)
            sender = Principal(Scope.parse(body["home"]), by=body["by"])
            candidate = decode_candidate(body["candidate"].encode())
            writer = Writer(self._services, sender)
            (outcome,) = await writer._write_turn(candidate.scope.owner, [candidate])
            outcomes[pending.item.id] = outcome
            await self._services.store.settle(source, [pending.item.id])
        return outcomes


def _charged(outcomes: tuple[Outcome, ...], embedded: int) -> tuple[Outcome, ...]:
    """Put the batch's embedding on the first outcome, so that the sum is right."""
    if not outcomes or not embedded:
        return outcomes
    first, usage = outcomes[0], Usage(embedded_texts=embedded)
    charged = Outcome(first.kind, first.memory, first.reasons, first.events, first.usage + usage)
    return (charged, *outcomes[1:])
