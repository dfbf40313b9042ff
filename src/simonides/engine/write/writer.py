"""A write in three steps: judge the candidates, prepare the batch, commit it."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from functools import partial
from typing import overload

from simonides.capture import DraftRules, candidate_of, checked_candidate
from simonides.domain.codecs.memory import decode
from simonides.domain.errors import InvalidInput, ScopeDenied
from simonides.domain.governance.consent import NO_REFUSALS, Refusals, refusals_of
from simonides.domain.memory import Draft
from simonides.domain.scope import Grant, Principal, Scope
from simonides.domain.value import shown
from simonides.domain.writing.decision import (
    NO_USAGE,
    Candidate,
    Commit,
    Drop,
    Hold,
    Judgement,
    Judgements,
    Outcome,
    Proposer,
    Repeat,
    Usage,
)
from simonides.domain.writing.finding import Finding
from simonides.engine.core import (
    Counters,
    Incarnation,
    ReindexQueue,
    Runtime,
    life_of,
    may_embed,
    note_policy,
    tombstoned,
)
from simonides.engine.screening import (
    EXTRACTED,
    TOO_MANY,
    ConsentMatcher,
    judge_one,
    looks_again,
    rules_of,
    second_looks,
)
from simonides.engine.write.companion_writes import CompanionWrite
from simonides.engine.write.echo_filter import REPEATED, EchoFilter
from simonides.engine.write.evidence import settle
from simonides.engine.write.origins import with_origins
from simonides.engine.write.outcomes import Release, repeated_outcome, with_usage
from simonides.engine.write.prepare import (
    NOT_WAITING,
    IndexTexts,
    PreparedBatch,
    QuotaCheck,
    check_quotas,
    index_texts,
    within,
)
from simonides.engine.write.write_turn import WriteTurn
from simonides.policy import Policy, governing, may_write
from simonides.retrieval.index import index_text

MAX_BATCH = 10_000
"""Most drafts of one transaction; chosen: larger imports use several."""
MANY_TEXTS = 30
"""Texts that are analysed and embedded in about a millisecond, measured: 30 µs for a sentence."""


class Writer:
    """Writes for one principal.

    :meth:`judge`, :meth:`prepare` and :meth:`commit` are the steps; each takes the result of the
    one before. :meth:`write` and :meth:`write_judged` run them in order.
    """

    def __init__(
        self, runtime: Runtime, principal: Principal, incarnation: Incarnation | None = None
    ) -> None:
        self._runtime = runtime
        self._principal = principal
        self._incarnation = incarnation
        self._echoes = EchoFilter(runtime, principal)

    async def bound_to_incarnation(self) -> Writer:
        """Return a writer that stores nothing once the principal's owner is erased."""
        if self._incarnation is not None:
            return self
        incarnation = await life_of(self._runtime.store, self._principal.home.owner)
        return Writer(self._runtime, self._principal, incarnation)

    def policy(self, scope: Scope) -> Policy:
        """Return the policy in force for a scope's org."""
        return self._runtime.policies.policy_for(scope.org)

    def checked(self, candidate: Candidate) -> Candidate:
        """Check a candidate; see :func:`simonides.capture.drafts.checked_candidate`."""
        return checked_candidate(candidate, self._rules())

    def candidates(self, drafts: Sequence[Draft]) -> list[Candidate]:
        """Return drafts as candidates, in their order.

        Raises:
            InvalidInput: If a draft is not storable; the field names its place among several.
        """
        made = []
        for place, draft in enumerate(drafts):
            if not isinstance(draft, Draft):
                raise InvalidInput(f"drafts[{place}]", f"must be a Draft, not {shown(draft)}")
            try:
                made.append(self.candidate(draft))
            except InvalidInput as error:
                if len(drafts) == 1:
                    raise
                problem = str(error).removeprefix(f"{error.field}: ")
                raise InvalidInput(f"drafts[{place}].{error.field}", problem) from error
        return made

    def candidate(self, draft: Draft, *, proposer: Proposer = Proposer.CALLER) -> Candidate:
        """Check a draft; see :func:`simonides.capture.drafts.candidate_of`."""
        return candidate_of(draft, self._principal, proposer=proposer, rules=self._rules())

    def _rules(self) -> DraftRules:
        return rules_of(self.policy(self._principal.home))

    async def judge(self, candidates: Sequence[Candidate], *, fresh: bool = True) -> Judgements:
        """First step: judge each candidate of one proposal by policy.

        Policy limits the number of candidates that rules propose. An extracted candidate for a
        scope that the principal may not write to is dropped; the others proceed.

        Args:
            candidates: At most :data:`MAX_BATCH`.
            fresh: Whether echoes are found with the current prompt ledger, not one cached for up
                to 5 s.

        Raises:
            InvalidInput: If there are more than :data:`MAX_BATCH`.
            ScopeDenied: If the principal may not write to the scope of a caller's own candidate.
            StoreError: If the store cannot be read.
        """
        _check_size(candidates)
        stated = [c for c in candidates if c.retracts is None and c.proposer not in EXTRACTED]
        for scope in {candidate.scope for candidate in stated}:
            await self.check_right(scope)
        echoes = await self._echoes.among(candidates, fresh=fresh)
        findings, usage = await self._second_looks(candidates, echoes)
        left = self.policy(self._principal.home).proposals.max_items
        judged: list[Judgement] = []
        for place, candidate in enumerate(candidates):
            if place in echoes:
                judged.append(Drop(candidate, (REPEATED,)))
                continue
            if candidate.retracts is not None:
                judged.append(Commit(candidate, ("retraction",)))
                continue
            judgement = judge_one(candidate, self.policy(candidate.scope), findings.get(place))
            if candidate.proposer is Proposer.RULES:
                left -= 1
                judgement = judgement if left >= 0 else Drop(judgement.candidate, (TOO_MANY,))
            if candidate.proposer in EXTRACTED and not isinstance(judgement, Drop):
                judgement = await self._drop_if_denied(judgement)
            judged.append(judgement)
        return Judgements(tuple(judged), usage)

    async def _second_looks(
        self, candidates: Sequence[Candidate], echoes: Collection[int]
    ) -> tuple[Mapping[int, Sequence[Finding]], Usage]:
        """Return the findings of classifier and finder by candidate place, and their usage."""
        if not looks_again(self._runtime):
            return {}, NO_USAGE
        places = [
            place
            for place, each in enumerate(candidates)
            if place not in echoes and each.retracts is None
        ]
        asked = [(candidates[place], self.policy(candidates[place].scope)) for place in places]
        looked = await second_looks(self._runtime, asked)
        return dict(zip(places, looked.findings, strict=True)), looked.usage

    async def _drop_if_denied(self, judgement: Judgement) -> Judgement:
        """Drop an extracted candidate for a scope that the principal may not write to."""
        try:
            await self.check_right(judgement.candidate.scope)
        except ScopeDenied:
            return Drop(judgement.candidate, ("scope_not_own",))
        return judgement

    async def prepare(
        self,
        owner: Scope,
        judgements: Judgements,
        *,
        binding: frozenset[bytes] | None = None,
        release: Release | None = None,
        waiting: Mapping[int, str] = NOT_WAITING,
        check: QuotaCheck = QuotaCheck.ALL,
    ) -> PreparedBatch:
        """Second step: do all slow work before the owner's turn, which blocks other writers.

        Args:
            owner: Owner of the write turn. Rights are checked again under it.
            judgements: Result of :meth:`judge`.
            binding: The tombstones that bind; None for all.
            release: The decision to store a held candidate; it is then the one judgement.
            waiting: Place to id of the held candidate that a judgement stores.
            check: Which quotas are checked.

        Raises:
            StoreError: If the store failed; nothing was written.
        """
        runtime, policy, each = self._runtime, self.policy(owner), judgements.each
        over_quota = await check_quotas(runtime, owner, each, policy.quotas, check)
        if len(over_quota) < len(each) or not each:
            await note_policy(runtime, owner, policy)
        each = await with_origins(runtime, self._principal, owner, each, over_quota)
        left = within(each, over_quota)
        texts = [index_text(j.candidate) for j in left if isinstance(j, Commit)]
        ceiling = await may_embed(runtime, owner, len(set(texts)))
        indexed = await self._indexed(texts, has_vectors=ceiling is None)
        matcher = ConsentMatcher([judgement.candidate for judgement in left], owner)
        own_refusals = await self._own_refusals(owner)
        refusals = runtime.indexes.of(owner).refusals
        if matcher and (refusals or own_refusals):
            await runtime.aside(partial(matcher.refused, refusals, own_refusals))
        waits = any(isinstance(judgement, (Hold, Repeat)) for judgement in left)
        return PreparedBatch(
            owner=owner,
            policy=policy,
            judgements=each,
            over_quota_by_place=over_quota,
            indexed=indexed.entries,
            consent_matcher=matcher,
            binding=binding,
            # The grants for a global write belong to another owner, so the turn cannot read them.
            granted=await self._grants_over(owner) if owner.org is None else (),
            held_before=await runtime.store.held(owner) if waits else (),
            writer_refusals=own_refusals,
            release=release,
            waiting=waiting,
            incarnation=self._incarnation,
            usage=judgements.usage + Usage(embedded_texts=indexed.embedded),
            ceiling=ceiling,
        )

    async def _indexed(self, texts: Sequence[str], *, has_vectors: bool) -> IndexTexts:
        runtime = self._runtime
        work = partial(index_texts, runtime, texts, has_vectors=has_vectors)
        is_long = len(texts) > MANY_TEXTS or (texts and runtime.indexes.indexer.is_slow)
        return await runtime.aside(work) if is_long else work()

    async def _own_refusals(self, owner: Scope) -> Refusals:
        """Return the principal's refusals if it writes for another owner.

        The refusals of the turn's own owner are read under the turn.
        """
        home = self._principal.home.owner
        own = home == owner
        return NO_REFUSALS if own else refusals_of(await self._runtime.store.consents(home))

    @overload
    async def commit(self, batch: PreparedBatch) -> tuple[Outcome, ...]: ...

    @overload
    async def commit(
        self, batch: PreparedBatch, companion: CompanionWrite
    ) -> tuple[Outcome, ...] | None: ...

    async def commit(
        self, batch: PreparedBatch, companion: CompanionWrite | None = None
    ) -> tuple[Outcome, ...] | None:
        """Third step: take the owner's turn, and write the batch in one transaction.

        Args:
            batch: Result of :meth:`prepare`.
            companion: A write that commits with the batch.

        Returns:
            One outcome for each judgement, in their order; None if the companion's row had changed
            and nothing was written.

        Raises:
            IdempotencyMismatch: If a key names a write with other content; nothing was written.
            StoreError: If the store failed; nothing was written.
        """
        runtime = self._runtime
        if companion is None and batch.is_all_over_quota:
            over_quota = tuple(
                batch.over_quota_by_place[place] for place in range(len(batch.judgements))
            )
            return with_usage(over_quota, batch.usage, None)
        turn = WriteTurn(runtime, self._principal, batch, companion)
        committed = await turn.commit()
        turn.index.follow(committed)
        await settle(runtime, self._principal, batch.owner, committed.rows)
        runtime.part(ReindexQueue).wrote(batch.owner, turn.index)
        runtime.part(Counters).embedded(batch.usage.embedded_texts)
        if turn.has_raced:
            return None
        runtime.part(Counters).wrote(turn.outcomes, [each.candidate for each in batch.judgements])
        return with_usage(await self._with_repeated(turn), batch.usage, batch.ceiling)

    async def _with_repeated(self, turn: WriteTurn) -> tuple[Outcome, ...]:
        """Return the outcomes; those of repeated writes show the memory's current state."""
        repeated = turn.repeated
        if not repeated:
            return tuple(turn.outcomes)
        rows = await self._runtime.store.get(turn.batch.owner, list(repeated.values()))
        found = {row.id: decode(row) for row in rows}
        return tuple(
            repeated_outcome(outcome, found.get(repeated[place])) if place in repeated else outcome
            for place, outcome in enumerate(turn.outcomes)
        )

    async def write(self, candidates: Sequence[Candidate]) -> tuple[Outcome, ...]:
        """Take a caller's candidates of one owner through all three steps.

        Raises:
            InvalidInput: If they belong to several owners, or are more than :data:`MAX_BATCH`.
            ScopeDenied: If the principal may not write to the scope of one.
            StoreError: If the store failed; nothing was written.
        """
        if not candidates:
            return ()
        _check_size(candidates)
        if self._incarnation is None and self._is_slow(candidates):
            return await (await self.bound_to_incarnation()).write(candidates)
        owner = _one_owner(candidates)
        judgements = await self.judge(candidates, fresh=False)
        return await self.commit(await self.prepare(owner, judgements))

    def _is_slow(self, candidates: Sequence[Candidate]) -> bool:
        """Whether the steps are slow enough for an erasure to happen between request and turn."""
        is_slow = self._runtime.indexes.indexer.is_slow or len(candidates) > MANY_TEXTS
        return is_slow or looks_again(self._runtime)

    async def write_judged(
        self, judgements: Judgements, binding: frozenset[bytes] | None = None
    ) -> tuple[Outcome, ...]:
        """Prepare and commit judged candidates, in one transaction for each owner.

        Dropped judgements are recorded with the principal's own owner.

        Args:
            judgements: In the order of the returned outcomes.
            binding: The tombstones of the principal's owner that bind; None for all.
        """
        home, usage = self._principal.home.owner, judgements.usage
        places: dict[Scope, list[int]] = {}
        for place, judgement in enumerate(judgements.each):
            owner = home if isinstance(judgement, Drop) else judgement.candidate.scope.owner
            places.setdefault(owner, []).append(place)
        outcomes: dict[int, Outcome] = {}
        for owner, those in places.items():
            own = Judgements(tuple(judgements.each[place] for place in those), usage)
            batch = await self.prepare(owner, own, binding=binding if owner == home else None)
            outcomes.update(zip(those, await self.commit(batch), strict=True))
            usage = NO_USAGE
        return tuple(outcomes[place] for place in range(len(judgements.each)))

    async def tombstoned(self, candidates: Sequence[Candidate]) -> frozenset[bytes]:
        """Return the candidates' fingerprints that are tombstones of the principal's owner."""
        return await tombstoned(self._runtime.store, self._principal.home.owner, candidates)

    async def check_right(self, scope: Scope) -> None:
        """Raise :class:`ScopeDenied` unless the principal may write to a scope."""
        principal = self._principal
        if scope == principal.home or principal.by is not None:
            return
        if not may_write(principal, scope, await self._grants_over(scope)):
            raise ScopeDenied(
                scope.path,
                "write",
                "a principal writes to its own scope; org scope takes the org_write grant, "
                "global scope an administrator",
            )

    async def _grants_over(self, scope: Scope) -> tuple[Grant, ...]:
        """Return the grants of the principal's own org, if that org governs a scope."""
        org = governing(scope)
        own = org is not None and org.org == self._principal.home.org
        return await self._runtime.store.grants(org) if org is not None and own else ()


def _check_size(candidates: Sequence[Candidate]) -> None:
    if len(candidates) > MAX_BATCH:
        raise InvalidInput("drafts", f"has {len(candidates)}; at most {MAX_BATCH:,} a batch")


def _one_owner(candidates: Sequence[Candidate]) -> Scope:
    owner = candidates[0].scope.owner
    for place, candidate in enumerate(candidates):
        if candidate.scope.owner != owner:
            raise InvalidInput(
                f"drafts[{place}].scope",
                "belongs to another owner; a batch is one transaction of one owner",
            )
    return owner
