"""Stores held candidates that have found support, and releases those that never will."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import NamedTuple

from simonides.domain.codecs.candidate import decode_held
from simonides.domain.event import EventType
from simonides.domain.governance.held import Held
from simonides.domain.policy.quotas import QUOTA_EXCEEDED
from simonides.domain.scope import Principal, Scope
from simonides.domain.writing.change import HeldCandidate
from simonides.domain.writing.decision import Commit, Drop, Judgement, Outcome, OutcomeKind
from simonides.engine.consolidation.promotion_rules import Fate, Verdict, verdict
from simonides.engine.core import EventRecorder, Runtime
from simonides.engine.screening import UNPROVEN_MARKS, judge_one
from simonides.policy import Policy
from simonides.text import content_hash

PROMOTED = "promoted"
LET_GO = "let_go"


@dataclass(frozen=True, slots=True)
class _ClaimGroup:
    """Held candidates of one claim, by the reason for holding each, with their verdict."""

    rows: tuple[tuple[str, Held], ...]
    verdict: Verdict

    @property
    def ids(self) -> tuple[str, ...]:
        """Ids of all the candidates."""
        return tuple(held.id for _, held in self.rows)


class Settled(NamedTuple):
    """Result of a promotion.

    Attributes:
        released: Ids of candidates that are no longer held.
        kept: Number of candidates that the session supports and that stay held.
        let_go: Number of candidates released without being stored.
    """

    released: tuple[str, ...] = ()
    kept: int = 0
    let_go: int = 0


_NOTHING = Settled()


@dataclass(slots=True)
class Promotion:
    """What happens to an owner's held candidates when a session ends.

    Attributes:
        judgements: Judgements to store.
        waiting: Id of the held candidate, by place among the judgements.
        kept: Number of candidates that the session supports and that stay held, whatever the
            outcomes.
        let_go: Number of candidates released without being judged.
        settled: The result, after :meth:`settle`.
    """

    judgements: list[Judgement] = field(default_factory=list)
    waiting: dict[int, str] = field(default_factory=dict)
    kept: int = 0
    let_go: int = 0
    settled: Settled = _NOTHING
    _groups: dict[int, _ClaimGroup] = field(default_factory=dict)
    _dropped: list[_ClaimGroup] = field(default_factory=list)

    def settle(self, outcomes: Sequence[Outcome], recorder: EventRecorder) -> Settled:
        """Decide on each candidate by the outcomes of the judgements, and record it."""
        released: list[str] = []
        kept, let_go = self.kept, self.let_go
        for group in self._dropped:
            self._record(group, (LET_GO, group.verdict.reason), (), recorder)
            released += group.ids
        for place, group in self._groups.items():
            outcome = outcomes[place]
            if _may_be_later(outcome):
                kept += len(group.ids)
                continue
            is_stored = outcome.stored or _exists_already(outcome, self.judgements[place])
            memory = () if outcome.record is None else (outcome.record.id,)
            why = (PROMOTED if is_stored else LET_GO, group.verdict.reason)
            self._record(group, why, memory, recorder)
            let_go += 0 if is_stored else len(group.ids)
            released += group.ids
        # Assigned, not accumulated: a turn may be decided twice.
        self.settled = Settled(tuple(released), kept, let_go)
        return self.settled

    def add(self, group: _ClaimGroup, judgement: Judgement | None) -> None:
        """Add the verdict on one claim."""
        match group.verdict.fate:
            case Fate.WAIT:
                self.kept += len(group.ids)
            case Fate.LET_GO:
                self.let_go += len(group.ids)
                self._dropped.append(group)
            case Fate.PROMOTE:
                place = len(self.judgements)
                if judgement is None:
                    raise AssertionError("a promoted candidate needs a judgement")
                self.judgements.append(judgement)
                self.waiting[place] = group.rows[-1][1].id
                self._groups[place] = group

    @staticmethod
    def _record(
        group: _ClaimGroup, why: tuple[str, ...], memory: tuple[str, ...], recorder: EventRecorder
    ) -> None:
        scope = group.rows[0][1].candidate.scope
        subjects = (*group.ids, *memory)
        recorder.record(EventType.DECIDED, scope, subjects=subjects, reasons=why)


class SessionPromoter:
    """Decides on the held candidates of one principal's owner."""

    def __init__(self, runtime: Runtime, principal: Principal) -> None:
        self._runtime = runtime
        self._owner = principal.home.owner

    async def promotion(self, session: str, summary: str = "") -> Promotion:
        """Return the promotion of all candidates that a session supports.

        Args:
            session: The session that ends, or has reached a checkpoint.
            summary: Its summary; empty if there is none, or none yet.

        Raises:
            StoreError: If the store failed.
        """
        rules = self._policy(self._owner).consolidation
        rows = await self._runtime.store.held(self._owner)
        promotion = Promotion()
        for group in _by_claim(rows):
            if not any(s.session == session for _, held in group for s in held.evidence):
                continue
            found = verdict(group, session, summary, rules, unproven=UNPROVEN_MARKS)
            judgement = None
            if found.fate is Fate.PROMOTE:
                judgement = self._judged(group[-1][1], found)
            promotion.add(_ClaimGroup(tuple(group), found), judgement)
        return promotion

    def _policy(self, scope: Scope) -> Policy:
        return self._runtime.policies.policy_for(scope.org)

    def _judged(self, held: Held, found: Verdict) -> Judgement:
        # The same idempotency key as a manual release, so a concurrent release finds it done.
        named = replace(held.candidate, idempotency_key=f"release:{held.id}")
        judgement = judge_one(named, self._policy(named.scope))
        if isinstance(judgement, Drop):
            return judgement
        return Commit(judgement.candidate, (PROMOTED, found.reason))


def _by_claim(rows: Sequence[HeldCandidate]) -> list[list[tuple[str, Held]]]:
    """Return the held candidates grouped by claim, in the order in which they were held."""
    groups: dict[object, list[tuple[str, Held]]] = {}
    for row in rows:
        held = decode_held(row)
        candidate = held.candidate
        claim = (candidate.place, candidate.key, content_hash(candidate.content))
        groups.setdefault(claim, []).append((row.reason, held))
    # The need for repetition prevails over other reasons for holding the claim, so it comes first.
    for group in groups.values():
        group.sort(key=lambda each: each[0] != OutcomeKind.REPEAT.value)
    return list(groups.values())


def _exists_already(outcome: Outcome, judgement: Judgement) -> bool:
    return outcome.kind is OutcomeKind.DROPPED and isinstance(judgement, Commit)


def _may_be_later(outcome: Outcome) -> bool:
    """Whether a quota is the reason that it was not stored."""
    return any(reason.startswith(f"{QUOTA_EXCEEDED}:") for reason in outcome.reasons)
