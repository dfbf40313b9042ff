"""The order of a write: judge, embed, take the turn, store, follow (LT-1)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from memstrata.capture.drafts import DraftRules, candidate_of, checked_candidate
from memstrata.capture.model import NO_SUCH_SCOPE, UNANCHORED, UNSUPPORTED
from memstrata.domain.change import Snapshot, TurnRequest
from memstrata.domain.codec import decode
from memstrata.domain.decision import (
    Candidate,
    Commit,
    Drop,
    Hold,
    Judgement,
    Outcome,
    Proposer,
    Repeat,
    Usage,
)
from memstrata.domain.errors import InvalidInput, ScopeDenied
from memstrata.domain.memory import Draft
from memstrata.domain.proposal import ScopeName
from memstrata.domain.scope import Principal, Scope, ScopeLevel
from memstrata.manager.services import Services
from memstrata.manager.turn import WriteTurn, marks_of
from memstrata.policy.execution import denied
from memstrata.policy.guards import may_write
from memstrata.policy.judge import judge
from memstrata.policy.rules import Policy
from memstrata.retrieval.entry import Indexed, index_text

_UNPROVEN = (UNANCHORED, UNSUPPORTED)
"""Marks of what a turn does not bear out: held, never stored at once (FX-1)."""

_EXTRACTED = (Proposer.RULES, Proposer.MODEL)
"""Who reads candidates out of a conversation; what nobody asked for outright is never an error."""

TOO_MANY = "invalid_memory_candidates:too_many_items"

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
        if candidate.proposer in _EXTRACTED:
            why = _beyond_boundaries(candidate, policy)
            if why is not None:
                return Drop(candidate, (why,))
            unproven = tuple(mark for mark in _UNPROVEN if mark in candidate.marks)
            if unproven:
                return Hold(candidate, unproven)
        return judge(candidate, policy)

    async def judged(self, candidates: Sequence[Candidate]) -> tuple[Judgement, ...]:
        """Judge the candidates of one proposal, rights included; one judgement each, in order.

        Of what the rules propose, policy admits so many (PO-1). What was extracted for a scope
        that is not the principal's to write is refused in its place, and the rest proceeds.

        Raises:
            InvalidInput: If there are more than :data:`MAX_BATCH`.
            ScopeDenied: If a caller's own candidate is for such a scope (SC-3).
        """
        _check_size(candidates)
        left = self.policy(self._principal.home).proposals.max_items
        judgements: list[Judgement] = []
        for candidate in candidates:
            if candidate.retracts is not None:
                judgements.append(Commit(candidate, ("retraction",)))
                continue
            counts = candidate.proposer is Proposer.RULES
            over = counts and left <= 0
            left -= counts
            judgement = Drop(candidate, (TOO_MANY,)) if over else self.judge(candidate)
            judgements.append(await self._permitted(judgement))
        return tuple(judgements)

    async def _permitted(self, judgement: Judgement) -> Judgement:
        if isinstance(judgement, Drop):
            return judgement
        try:
            await self.check_right(judgement.candidate.scope)
        except ScopeDenied:
            if judgement.candidate.proposer not in _EXTRACTED:
                raise
            return Drop(judgement.candidate, ("scope_not_own",))
        return judgement

    async def write(self, candidates: Sequence[Candidate]) -> tuple[Outcome, ...]:
        """Store candidates of one owner in one transaction; outcomes in their order.

        Raises:
            InvalidInput: If they belong to several owners, or are more than :data:`MAX_BATCH`.
            ScopeDenied: If the principal may not write where one of them belongs (SC-3).
            StoreError: If the store could not; then nothing was written.
        """
        if not candidates:
            return ()
        _check_size(candidates)
        owner = candidates[0].scope.owner
        for place, candidate in enumerate(candidates):
            if candidate.scope.owner != owner:
                raise InvalidInput(
                    f"drafts[{place}].scope", "a batch is one transaction and so of one owner"
                )
        for scope in {candidate.scope for candidate in candidates}:
            await self.check_right(scope)
        return await self.write_turn(owner, [self.judge(candidate) for candidate in candidates])

    async def write_judged(
        self, judgements: Sequence[Judgement], standing: frozenset[bytes] | None = None
    ) -> tuple[Outcome, ...]:
        """Store what :meth:`judged` let through, in one transaction for each owner.

        What is refused is recorded with the principal's own memories.

        Args:
            judgements: In the order of the outcomes that are returned.
            standing: The tombstones of the principal's owner that bind; None for all.
        """
        home = self._principal.home.owner
        places: dict[Scope, list[int]] = {}
        for place, judgement in enumerate(judgements):
            refused = isinstance(judgement, Drop)
            owner = home if refused else judgement.candidate.scope.owner
            places.setdefault(owner, []).append(place)
        outcomes: dict[int, Outcome] = {}
        for owner, those in places.items():
            binding = standing if owner == home else None
            written = await self.write_turn(owner, [judgements[place] for place in those], binding)
            outcomes.update(zip(those, written, strict=True))
        return tuple(outcomes[place] for place in range(len(judgements)))

    async def tombstoned(self, candidates: Sequence[Candidate]) -> frozenset[bytes]:
        """Return the fingerprints of candidates that are tombstones of the principal's owner."""
        owner = self._principal.home.owner
        marks = {m for c in candidates if c.scope.owner == owner for m in marks_of(c)}
        found: frozenset[bytes] = frozenset()

        def look(snapshot: Snapshot) -> None:
            nonlocal found
            found = snapshot.tombstoned

        head = self._services.indexes.of(owner).head
        request = TurnRequest(since=head, tombstones=tuple(sorted(marks)))
        await self._services.store.commit(owner, request, look)
        return found

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

    async def write_turn(
        self,
        owner: Scope,
        judgements: Sequence[Judgement],
        standing: frozenset[bytes] | None = None,
    ) -> tuple[Outcome, ...]:
        """Store judged candidates of one owner in one transaction; outcomes in their order.

        Args:
            owner: Whose turn it is. Rights are looked at again under it.
            judgements: What policy said.
            standing: The tombstones that bind; None for all.
        """
        services = self._services
        policy = self.policy(owner)
        texts = [index_text(j.candidate) for j in judgements if isinstance(j, Commit)]
        prepared = self._prepare(texts)
        index = services.indexes.of(owner)
        waits = any(isinstance(judgement, (Hold, Repeat)) for judgement in judgements)
        turn = WriteTurn(
            services,
            self._principal,
            owner,
            policy,
            policy.hash,
            index,
            judgements,
            prepared,
            standing=standing,
            kept=await services.store.held(owner) if waits else (),
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


def _charged(outcomes: tuple[Outcome, ...], embedded: int) -> tuple[Outcome, ...]:
    """Put the batch's embedding on the first outcome, so that the sum is right."""
    if not outcomes or not embedded:
        return outcomes
    first, usage = outcomes[0], Usage(embedded_texts=embedded)
    charged = Outcome(first.kind, first.memory, first.reasons, first.events, first.usage + usage)
    return (charged, *outcomes[1:])


def _check_size(candidates: Sequence[Candidate]) -> None:
    if len(candidates) > MAX_BATCH:
        raise InvalidInput("drafts", f"has {len(candidates)}; at most {MAX_BATCH:,} a batch")


def _beyond_boundaries(candidate: Candidate, policy: Policy) -> str | None:
    """Return why policy or execution refuses what was extracted, or None (PO-1, PO-2).

    A model's proposal has passed policy's boundary as JSON; the rules' meets the same limits here.
    """
    key = candidate.key
    if key is not None and candidate.proposer is Proposer.RULES:
        if policy.category_of_key(key) is None:
            return f"memory_key_not_allowed_policy:{key}"
        if len(candidate.content) > policy.proposals.max_value_chars:
            return "invalid_memory_candidates:value_too_long"
    scope = _SCOPE_NAMES.get(candidate.scope.level)
    if scope is None or NO_SUCH_SCOPE in candidate.marks:
        return "scope_denied_execution"
    return denied(key, scope, policy)
