"""The order of a write: judge, embed, take the turn, store, follow (LT-1)."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from functools import partial
from typing import NamedTuple

from simonides.capture.drafts import DraftRules, candidate_of, checked_candidate
from simonides.domain.codec import decode
from simonides.domain.consent import NO_REFUSALS, Refusals, refusals_of
from simonides.domain.decision import (
    NO_USAGE,
    Candidate,
    Commit,
    Drop,
    Hold,
    Judgement,
    Outcome,
    OutcomeKind,
    Proposer,
    Repeat,
    Usage,
)
from simonides.domain.errors import InvalidInput, ScopeDenied
from simonides.domain.findings import Finding
from simonides.domain.memory import Draft
from simonides.domain.scope import Grant, Principal, Scope
from simonides.domain.value import shown
from simonides.manager.beside import Beside
from simonides.manager.borrowing import with_origins
from simonides.manager.completing import EMBEDDER
from simonides.manager.counting import Counters
from simonides.manager.echoes import REPEATED, Echoes
from simonides.manager.evidence import settle
from simonides.manager.judging import EXTRACTED, TOO_MANY, judge_one, rules_of
from simonides.manager.lives import Life, life_of, taken
from simonides.manager.outcomes import as_it_is, charged
from simonides.manager.policy_trail import note_policy
from simonides.manager.rates import Rates, is_limited
from simonides.manager.room import exceeded
from simonides.manager.second_looks import looks_again, second_looks
from simonides.manager.services import ReindexQueue, Services, ails, may_embed
from simonides.manager.spoken import Spoken
from simonides.manager.turn import WriteTurn
from simonides.manager.waiting import Release
from simonides.manager.write_names import tombstoned
from simonides.policy.guards import governing, may_write
from simonides.policy.rules import Policy
from simonides.retrieval.entry import Indexed, index_text

MAX_BATCH = 10_000
"""Most drafts of one transaction; chosen: larger imports come in several."""
MANY_TEXTS = 30
"""Texts that are analysed and embedded in about a millisecond, measured: 30 µs for a sentence."""


class Prepared(NamedTuple):
    """Texts of a batch as the index sees them, and why they have no vectors if they have none."""

    by_text: dict[str, Indexed]
    lost: Exception | None
    bare: bool = False


class Writer:
    """Takes proposals of one principal to their outcomes."""

    def __init__(self, services: Services, principal: Principal, life: Life | None = None) -> None:
        self._services = services
        self._principal = principal
        self._life = life
        self._echoes = Echoes(services, principal)
        self._counters, self._rates = services.part(Counters), services.part(Rates)
        self._reindexing = services.part(ReindexQueue)
        self._spent = NO_USAGE  # what second looks have cost and no outcome has told yet

    async def in_this_life(self) -> Writer:
        """Return a writer that stores nothing once the principal's owner is erased (FX-3)."""
        if self._life is not None:
            return self
        life = await life_of(self._services.store, self._principal.home.owner)
        return Writer(self._services, self._principal, life)

    def policy(self, scope: Scope) -> Policy:
        """Return the policy in force for a scope's org."""
        return self._services.policies.policy_for(scope.org)

    def checked(self, candidate: Candidate) -> Candidate:
        """Check a candidate; see :func:`simonides.capture.drafts.checked_candidate`."""
        return checked_candidate(candidate, self._rules())

    def candidates(self, drafts: Sequence[Draft]) -> list[Candidate]:
        """Return drafts as candidates, in their order.

        Raises:
            InvalidInput: If one is not storable; of several the field names the place.
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

    def judge(self, candidate: Candidate, found: Sequence[Finding] | None = None) -> Judgement:
        """Look a candidate through, then judge it, both by the policy of its scope.

        See :func:`judge_one`.

        Args:
            candidate: What is proposed.
            found: What was found in it already; None has it looked through.
        """
        return judge_one(candidate, self.policy(candidate.scope), found)

    async def _looks(
        self, candidates: Sequence[Candidate], echoes: Collection[int]
    ) -> dict[int, Sequence[Finding]]:
        """Return what others find in candidates, by place; nothing where nobody else looks."""
        if not looks_again(self._services):
            return {}
        places = [
            place
            for place, each in enumerate(candidates)
            if place not in echoes and each.retracts is None
        ]
        asked = [(candidates[place], self.policy(candidates[place].scope)) for place in places]
        looked = await second_looks(self._services, asked)
        self._spent += looked.usage
        return dict(zip(places, looked.findings, strict=True))

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
        echoes = await self._echoes.among(candidates, fresh=True)
        looks = await self._looks(candidates, echoes)
        judgements: list[Judgement] = []
        for place, candidate in enumerate(candidates):
            if place in echoes:
                judgements.append(Drop(candidate, (REPEATED,)))
                continue
            if candidate.retracts is not None:
                judgements.append(Commit(candidate, ("retraction",)))
                continue
            counts = candidate.proposer is Proposer.RULES
            over = counts and left <= 0
            left -= counts
            judgement = self.judge(candidate, looks.get(place))
            if over:
                judgement = Drop(judgement.candidate, (TOO_MANY,))
            judgements.append(await self._permitted(judgement))
        return tuple(judgements)

    async def _permitted(self, judgement: Judgement) -> Judgement:
        if isinstance(judgement, Drop):
            return judgement
        try:
            await self.check_right(judgement.candidate.scope)
        except ScopeDenied:
            if judgement.candidate.proposer not in EXTRACTED:
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
        if self._life is None and self._takes_time(candidates):
            return await (await self.in_this_life()).write(candidates)
        owner = candidates[0].scope.owner
        for place, candidate in enumerate(candidates):
            if candidate.scope.owner != owner:
                raise InvalidInput(
                    f"drafts[{place}].scope", "a batch is one transaction and so of one owner"
                )
        for scope in {candidate.scope for candidate in candidates}:
            await self.check_right(scope)
        echoes = await self._echoes.among(candidates, fresh=False)
        looks = await self._looks(candidates, echoes)
        judgements = [
            Drop(candidate, (REPEATED,))
            if place in echoes
            else self.judge(candidate, looks.get(place))
            for place, candidate in enumerate(candidates)
        ]
        return await self.write_turn(owner, judgements)

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
        return await tombstoned(self._services.store, self._principal.home.owner, candidates)

    async def check_right(self, scope: Scope) -> None:
        """Raise :class:`ScopeDenied` unless the principal may write to a scope (SC-3)."""
        principal = self._principal
        if scope == principal.home or principal.by is not None:
            return
        if not may_write(principal, scope, await self._grants_over(scope)):
            raise ScopeDenied(
                scope.path,
                "write",
                "a principal writes to its own scope; org scope takes the org_write grant, "
                "global an administrator",
            )

    async def _grants_over(self, scope: Scope) -> tuple[Grant, ...]:
        """Return the grants of the principal's own org, if that org governs a scope."""
        org = governing(scope)
        own = org is not None and org.org == self._principal.home.org
        return await self._services.store.grants(org) if org is not None and own else ()

    async def write_turn(
        self,
        owner: Scope,
        judgements: Sequence[Judgement],
        standing: frozenset[bytes] | None = None,
        release: Release | None = None,
        beside: Beside | None = None,
    ) -> tuple[Outcome, ...]:
        """Store judged candidates of one owner in one transaction; outcomes in their order.

        Args:
            owner: Whose turn it is. Rights are looked at again under it.
            judgements: What policy said.
            standing: The tombstones that bind; None for all.
            release: The decision to store what waited; then it is the one judgement.
            beside: What a session's turn writes with it; if that has raced there are no outcomes.
        """
        if is_limited(self.policy(owner).quotas):
            return await self._limited(owner, judgements, standing, release, beside)
        return await self._turn(owner, judgements, standing, release, beside)

    async def _limited(
        self,
        owner: Scope,
        judgements: Sequence[Judgement],
        standing: frozenset[bytes] | None,
        release: Release | None,
        beside: Beside | None,
    ) -> tuple[Outcome, ...]:
        """Write those that are neither too many for a minute nor too much for the org (PO-6)."""
        services, quotas = self._services, self.policy(owner).quotas
        asked = [place for place, each in enumerate(judgements) if not isinstance(each, Drop)]
        over: dict[int, Outcome] = {}
        if (limit := quotas.org_bytes) is not None and asked:
            # Content stands for all that is stored of it until the next sweep.
            sizes = [len(judgements[place].candidate.content.encode()) for place in asked]
            taken = await self._rates.room_of(
                services.store, owner.org, limit, sizes, services.clock
            )
            reasons = exceeded("org_bytes", limit, taken.retry_after_s)
            heavy = Outcome(OutcomeKind.BLOCKED, None, reasons)
            over = dict.fromkeys(asked[taken.granted :], heavy)
            asked = asked[: taken.granted]
        # What a session says was let in when it was said; its end is no flood.
        counts = beside is None or beside.is_limited
        if counts and (limit := quotas.writes_per_minute) is not None and asked:
            now_us = services.clock.now_us()
            taken = self._rates.take(owner, len(asked), limit, now_us)
            reasons = exceeded("writes_per_minute", limit, taken.retry_after_s)
            late = Outcome(OutcomeKind.BLOCKED, None, reasons)
            over |= dict.fromkeys(asked[taken.granted :], late)
        self._counters.turned_away(len(over))
        left = [place for place in range(len(judgements)) if place not in over]
        if not left and beside is None:
            return tuple(over[place] for place in range(len(judgements)))
        if beside is not None:
            beside.moved_to(left)
        those = [judgements[place] for place in left]
        written = await self._turn(owner, those, standing, release, beside)
        if beside is not None and beside.raced:
            return ()
        outcomes = over | dict(zip(left, written, strict=True))
        return tuple(outcomes[place] for place in range(len(judgements)))

    async def _turn(
        self,
        owner: Scope,
        judgements: Sequence[Judgement],
        standing: frozenset[bytes] | None,
        release: Release | None,
        beside: Beside | None,
    ) -> tuple[Outcome, ...]:
        services = self._services
        prepared, turn, over = await self.prepared(owner, judgements, standing, release, beside)
        committed = await taken(services.store, owner, turn)
        turn.index.follow(committed)
        await settle(services, self._principal, owner, committed.rows)
        if turn.outcomes:  # none where what the turn was to go with has moved on
            self._counters.wrote(turn.outcomes, [each.candidate for each in judgements])
        self._reindexing.wrote(owner, turn.index)
        outcomes = await self._with_repeated(owner, turn)
        embedded = 0 if prepared.lost or prepared.bare else len(prepared.by_text)
        self._counters.embedded(embedded)
        spent, self._spent = self._spent, NO_USAGE
        return charged(outcomes, spent + Usage(embedded_texts=embedded), over)

    async def prepared(
        self,
        owner: Scope,
        judgements: Sequence[Judgement],
        standing: frozenset[bytes] | None = None,
        release: Release | None = None,
        beside: Beside | None = None,
    ) -> tuple[Prepared, WriteTurn, str | None]:
        """Return what :meth:`write_turn` takes: texts, analysed and embedded, the turn, and the
        ceiling that was in the way of vectors, or None.
        """
        services = self._services
        policy = self.policy(owner)
        await note_policy(services, owner, policy)
        judgements = await with_origins(services, self._principal, owner, judgements)
        texts = [index_text(j.candidate) for j in judgements if isinstance(j, Commit)]
        over = await may_embed(services, owner, len(set(texts)))
        prepare = partial(self._prepare, texts, bare=over is not None)
        is_long = len(texts) > MANY_TEXTS or (texts and services.indexes.indexer.is_slow)
        prepared = await services.aside(prepare) if is_long else prepare()
        index = services.indexes.of(owner)
        spoken = Spoken([judgement.candidate for judgement in judgements], owner)
        told = await self._told(owner)
        if spoken and (index.refusals or told):
            # Before the turn, in which others wait.
            await services.aside(partial(spoken.refused, index.refusals, told))
        waits = any(isinstance(judgement, (Hold, Repeat)) for judgement in judgements)
        turn = WriteTurn(
            services,
            self._principal,
            owner,
            policy,
            policy.hash,
            index,
            judgements,
            prepared.by_text,
            spoken,
            standing=standing,
            # A global write goes by grants that stand with another owner than whose turn it is.
            granted=await self._grants_over(owner) if owner.org is None else (),
            kept=await services.store.held(owner) if waits else (),
            told=told,
            release=release,
            beside=beside,
            life=self._life,
        )
        return prepared, turn, over

    def _takes_time(self, candidates: Sequence[Candidate]) -> bool:
        """Whether an owner may well be erased between asking to have it stored and the turn."""
        is_slow = self._services.indexes.indexer.is_slow or len(candidates) > MANY_TEXTS
        return is_slow or looks_again(self._services)

    async def _told(self, owner: Scope) -> Refusals:
        """Return what the principal refused, where it writes for others; its own comes with the
        turn.
        """
        home = self._principal.home.owner
        own = home == owner
        return NO_REFUSALS if own else refusals_of(await self._services.store.consents(home))

    def _prepare(self, texts: Sequence[str], *, bare: bool) -> Prepared:
        distinct = list(dict.fromkeys(texts))
        if bare:
            entries = self._services.indexes.indexer.bare(distinct)
            return Prepared(dict(zip(distinct, entries, strict=True)), None, bare=True)
        entries, lost = self._services.indexes.indexer.prepare_anyway(distinct)
        if distinct:
            ails(self._services, EMBEDDER, lost)
        return Prepared(dict(zip(distinct, entries, strict=True)), lost)

    async def _with_repeated(self, owner: Scope, turn: WriteTurn) -> tuple[Outcome, ...]:
        if not turn.repeated:
            return tuple(turn.outcomes)
        rows = await self._services.store.get(owner, list(turn.repeated.values()))
        found = {row.id: decode(row) for row in rows}
        return tuple(
            as_it_is(outcome, found.get(turn.repeated[place]))
            if place in turn.repeated
            else outcome
            for place, outcome in enumerate(turn.outcomes)
        )


def _check_size(candidates: Sequence[Candidate]) -> None:
    if len(candidates) > MAX_BATCH:
        raise InvalidInput("drafts", f"has {len(candidates)}; at most {MAX_BATCH:,} a batch")
