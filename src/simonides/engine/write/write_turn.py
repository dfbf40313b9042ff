"""The third step of a write, under the owner's turn: guards, gates, and one change set.

Judging and embedding happened before, so nothing here blocks.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial
from types import MappingProxyType
from typing import Any

from simonides.domain.codecs.candidate import decode_candidate
from simonides.domain.event import EventType
from simonides.domain.governance.consent import About
from simonides.domain.governance.contradiction import Opposed
from simonides.domain.governance.policy_dry_run import how_proposed
from simonides.domain.governance.review import encode_review
from simonides.domain.memory import Record
from simonides.domain.policy.gates import Shape
from simonides.domain.scope import Principal
from simonides.domain.writing.change import (
    Change,
    Committed,
    HeldCandidate,
    NewVersion,
    Snapshot,
    TurnRequest,
)
from simonides.domain.writing.decision import (
    Candidate,
    Commit,
    Drop,
    Hold,
    Judgement,
    Outcome,
    OutcomeKind,
    Rejected,
    Repeat,
)
from simonides.engine.core import (
    ERASED_SINCE,
    SAID_ANEW,
    Answers,
    EventRecorder,
    Runtime,
    answer_of,
    going_on,
    marks_of,
    write_name,
)
from simonides.engine.screening import is_telling, note_flags, scores_of
from simonides.engine.write.companion_writes import GONE, CompanionWrite, Decided, ExtraChanges
from simonides.engine.write.outcomes import final_outcome, held_identity, held_row, record_release
from simonides.engine.write.prepare import PreparedBatch
from simonides.engine.write.procedural_profile import archive_beyond
from simonides.engine.write.quotas import ScopeQuotas, over_quota
from simonides.engine.write.rules.changes import changes_nothing
from simonides.engine.write.rules.derivation import PURPOSES_DIFFER, inherited
from simonides.engine.write.rules.pending import Pending
from simonides.engine.write.rules.resolution import resolve
from simonides.hygiene.contradiction import opposed
from simonides.policy import approve, consent_refused, hygiene_blocked, is_blocked
from simonides.retrieval.index import Indexed, NearTexts, OwnerIndex, index_text, shape_of
from simonides.text import analyse

VECTOR_MISSING = "vector_missing"
"""Reason: the embedder failed; only keyword search finds the memory until it has a vector."""

TOMBSTONED = "tombstoned"
"""Reason: the text was forgotten, or its owner erased, so it must not be learned again."""
NOTHING_PREPARED: Mapping[str, Indexed] = MappingProxyType({})

PURPOSE_MISMATCHED = "purpose_mismatched"
"""Reason: the stored memory is for another purpose than the writer's, and is not returned."""

FEW = 4
"""Candidates that pass the gates in about a millisecond: one takes 0.2 to 0.4 ms."""


class WriteTurn:
    """One prepared batch under its owner's turn.

    Attributes:
        batch: The prepared batch.
        index: The owner's index.
        has_raced: Whether the companion's row had changed; then nothing was written.
        outcomes: One for each judgement, after :meth:`commit`.
        repeated: Place in the batch to the memory id of an earlier write with the same idempotency
            key; filled by :meth:`commit`.
    """

    def __init__(
        self,
        runtime: Runtime,
        principal: Principal,
        batch: PreparedBatch,
        companion: CompanionWrite | None = None,
    ) -> None:
        self.runtime = runtime
        self.principal = principal
        self.batch = batch
        self.index = runtime.indexes.of(batch.owner)
        self.has_raced = False
        self.outcomes: Sequence[Outcome] = ()
        self.repeated: Mapping[int, str] = {}
        self._companion = companion
        self._incarnation = batch.incarnation
        self._is_erased = False

    @property
    def request(self) -> TurnRequest:
        """What must be read under the turn."""
        candidates = [judgement.candidate for judgement in self.batch.left]
        keys = [name for c in candidates if (name := write_name(c)) is not None]
        marks = {mark for c in candidates for mark in marks_of(c)}
        foreign = any(c.scope != self.principal.home for c in candidates)
        companion = self._companion
        return TurnRequest(
            since=self.index.head,
            idempotency_keys=tuple(dict.fromkeys(keys)),
            tombstones=tuple(sorted(marks)),
            grants=foreign,
            held=companion is not None,
            session=None if companion is None else companion.session,
            is_brief=len(candidates) <= FEW,
        )

    async def commit(self) -> Committed:
        """Take the turn and write the batch, unless its owner was erased since it was judged.

        The batch's incarnation may be another owner's; it is then checked before the turn.

        Raises:
            StoreError: If the store failed; nothing was written.
        """
        store, owner, incarnation = self.runtime.store, self.batch.owner, self._incarnation
        if incarnation is not None and incarnation.owner != owner:
            (head,) = await store.heads([incarnation.owner])
            if incarnation.may_be_over(head) and await going_on(store, incarnation) is None:
                self._report_erased()
                return Committed(None, ())
            self._incarnation = None
        committed = await store.commit(owner, self.request, self.decide)
        if (
            self._is_erased
            and incarnation is not None
            and (same := await going_on(store, incarnation))
        ):
            self._incarnation = same
            committed = await store.commit(owner, self.request, self.decide)
        return committed

    def decide(self, snapshot: Snapshot) -> Change | None:
        """Update the index, then take each judgement through guards and gates.

        The store may call it again: its first call may use a predicted snapshot.
        """
        self.index.refresh(snapshot)
        self._is_erased = self._incarnation is not None and self._incarnation.may_be_over(
            snapshot.head
        )
        if self._is_erased:
            self._report_erased()
            return None
        self.has_raced = self._companion is not None and not self._companion.is_current(snapshot)
        if self.has_raced:
            self.outcomes, self.repeated = (), {}
            return None
        attempt = _Attempt(self.runtime, self.principal, self.batch, self.index, snapshot)
        change = attempt.change(self._companion)
        self.outcomes, self.repeated = attempt.outcomes, attempt.repeated
        return None if change.is_empty else change

    def _report_erased(self) -> None:
        over_quota_outcomes = self.batch.over_quota_by_place
        places = range(len(self.batch.judgements))
        self.outcomes, self.repeated = (
            [over_quota_outcomes.get(place, ERASED_SINCE) for place in places],
            {},
        )


class _Attempt:
    """Decides one batch on one snapshot.

    Attributes:
        outcomes: One for each judgement decided on so far.
        repeated: As for :class:`WriteTurn`.
    """

    def __init__(
        self,
        runtime: Runtime,
        principal: Principal,
        batch: PreparedBatch,
        index: OwnerIndex,
        snapshot: Snapshot,
    ) -> None:
        self._runtime, self._principal, self._batch = runtime, principal, batch
        self._index, self._snapshot = index, snapshot
        self._recorder = EventRecorder(runtime, principal, snapshot)
        own_texts = NearTexts() if len(batch.judgements) > 1 else None
        self._pending = Pending(index.at(self._recorder.moment.now), own_texts)
        self._quotas = ScopeQuotas(index, batch.policy.quotas, self._recorder)
        self._refused_texts = batch.consent_matcher.refused(index.refusals, batch.writer_refusals)
        self._waiting = {
            held_identity(decode_candidate(row.body), row.reason) for row in batch.held_before
        }
        self._held: list[HeldCandidate] = []
        self._answers = Answers(snapshot.idempotent)
        self._revived: list[bytes] = []
        self.outcomes: list[Outcome] = []
        self.repeated: dict[int, str] = {}

    def change(self, companion: CompanionWrite | None) -> Change:
        """Decide on each judgement, and return the change to commit."""
        for place, judgement in enumerate(self._batch.judgements):
            self.outcomes.append(self._decided(place, judgement))
        recorder, pending = self._recorder, self._pending
        rules = self._batch.policy.consolidation.procedural_rules
        archive_beyond(rules, self._batch.owner, self._index, pending, recorder)
        self._index.expect(pending.shapes)
        added = tuple(self._first_entry(memory) for memory in pending.added)
        final = {memory.id: memory for memory in pending.restated}
        final |= {new.memory.id: new.memory for new in added}
        now = recorder.moment.now
        self.outcomes[:] = [final_outcome(outcome, final, now) for outcome in self.outcomes]
        released = self._released()
        extra = ExtraChanges()
        if companion is not None:
            decided = Decided(self.outcomes, self._snapshot.held, self._held, recorder)
            extra = companion.changes(decided)
        return Change(
            known_at=recorder.moment.known_at,
            added=added,
            restated=pending.restated,
            reindexed=tuple(
                indexed_version(self._runtime, memory, self._batch.indexed)
                for memory in pending.retagged
            ),
            held=(*self._held, *extra.held),
            released=(*released, *extra.released),
            session_steps=extra.steps,
            reviews=tuple(
                encode_review(replace(review, proposed_by=self._principal.acting))
                for review in pending.reviews
            ),
            events=recorder.events,
            idempotency=self._answers.records,
            revived=tuple(self._revived),
        )

    def _decided(self, place: int, judgement: Judgement) -> Outcome:
        """Return the outcome of one judgement.

        No decision is needed if the judgement is over a quota, its held candidate is gone, or its
        idempotency key was used before.
        """
        if place in self._batch.over_quota_by_place:
            return self._batch.over_quota_by_place[place]
        waiting = self._batch.waiting.get(place)
        if waiting is not None and all(held.id != waiting for held in self._snapshot.held):
            return GONE
        candidate = judgement.candidate
        known = self._answers.known(candidate)
        if known is not None and not self._refusal(candidate):
            outcome, memory_id = answer_of(known)
            if memory_id is not None:
                self.repeated[place] = memory_id
            return outcome
        outcome = self._settle(judgement)
        self._answers.remember(candidate, outcome)
        return outcome

    def _settle(self, judgement: Judgement) -> Outcome:
        match judgement:
            case Commit():
                return self._commit(judgement)
            case Hold():
                return self._hold(judgement, OutcomeKind.HELD)
            case Repeat():
                return self._hold(judgement, OutcomeKind.REPEAT)
            case Drop():
                kind = OutcomeKind.BLOCKED if is_blocked(judgement) else OutcomeKind.DROPPED
                return self._refuse(judgement.candidate, kind, judgement.reasons)

    def _commit(self, judgement: Commit) -> Outcome:
        pending, recorder, batch = self._pending, self._recorder, self._batch
        snapshot, principal = self._snapshot, self._principal
        candidate = inherited(judgement.candidate, pending, recorder.moment.now)
        if candidate is not judgement.candidate:
            judgement = replace(judgement, candidate=candidate)
        tombstones = snapshot.tombstoned and snapshot.tombstoned.intersection(marks_of(candidate))
        verdict = approve(
            judgement,
            policy=batch.policy,
            principal=principal,
            grants=(*snapshot.grants, *batch.granted),
            tombstoned=self._binds(tombstones),
            refused=self._refusal(candidate),
            released=batch.release is not None,
        )
        if isinstance(verdict, Rejected):
            return self._refuse(candidate, OutcomeKind.BLOCKED, verdict.reasons)
        if PURPOSES_DIFFER in candidate.marks:
            return self._refuse(candidate, OutcomeKind.BLOCKED, (PURPOSES_DIFFER,))
        shape = self._shape(candidate)
        look = partial(_opposed, pending)
        if idle := changes_nothing(candidate, pending, look, shape):
            return self._refuse(candidate, OutcomeKind.DROPPED, (idle,))
        # A caller or user who states a forgotten text again lifts the block.
        self._revived.extend(sorted(tombstones))
        resolution = resolve(verdict, pending, recorder.moment, batch.policy.long_term, shape, look)
        if by := self._refusal(resolution.record):
            # The text is already stored, under a category that was refused.
            return self._refuse(candidate, OutcomeKind.BLOCKED, (consent_refused(by),))
        evictions = self._quotas.admit(resolution, pending, shape)
        if evictions is None:
            reasons = over_quota(resolution.record, self._quotas)
            return self._refuse(candidate, OutcomeKind.BLOCKED, reasons)
        memory, reasons = resolution.record, (*verdict.reasons, *resolution.reasons)
        reasons = (*reasons, SAID_ANEW) if tombstones else reasons
        if resolution.added:
            reasons = (*reasons, *self._missing_vector(candidate))
        is_meant = memory in resolution.added or memory.purpose in (None, principal.purpose)
        if not is_meant:
            reasons = (*reasons, PURPOSE_MISMATCHED)
        if resolution.kind is OutcomeKind.DROPPED and candidate.is_turn:
            return Outcome(resolution.kind, memory if is_meant else None, reasons)
        review = {} if resolution.review is None else {"review": resolution.review.id}
        concerned = (memory, *resolution.added, *resolution.restated)
        event = recorder.record(
            EventType(resolution.kind.value),
            candidate.scope,
            subjects=tuple(dict.fromkeys(m.id for m in concerned)),
            reasons=reasons,
            details=self._details(candidate)
            | {"version": memory.version, "confidence": memory.confidence, **review}
            | {"source": candidate.source.value, "trust": memory.trust.value},
        )
        flagged = (
            note_flags(candidate, memory, batch.policy, recorder) if candidate.findings else ()
        )
        reasons = (*reasons, *(reason for each in flagged for reason in each.reasons))
        shown = memory if is_meant else None
        return Outcome(resolution.kind, shown, reasons, (event, *evictions, *flagged))

    def _refusal(self, said: Candidate | Record) -> About | None:
        """Return which consent of the owner or the writer refuses a text; None if none does."""
        by = self._index.refusals.against(said) or self._batch.writer_refusals.against(said)
        return self._refused_texts.get(said.content) if by is None and is_telling(said) else by

    def _binds(self, tombstones: frozenset[bytes]) -> bool:
        binding = self._batch.binding
        return bool(tombstones if binding is None else tombstones & binding)

    def _hold(self, judgement: Hold | Repeat, kind: OutcomeKind) -> Outcome:
        candidate = judgement.candidate
        if by := self._refusal(candidate):
            return self._refuse(candidate, OutcomeKind.BLOCKED, (consent_refused(by),))
        if self._binds(self._snapshot.tombstoned.intersection(marks_of(candidate))):
            return self._refuse(candidate, OutcomeKind.BLOCKED, (TOMBSTONED,))
        if found := hygiene_blocked(candidate, self._batch.policy):
            return self._refuse(candidate, OutcomeKind.BLOCKED, found)
        name = held_identity(candidate, kind.value)
        if name in self._waiting:
            return Outcome(kind, None, (*judgement.reasons, "already_held"))
        self._waiting.add(name)
        held = held_row(judgement, kind, self._principal, self._recorder)
        self._held.append(held)
        event = self._recorder.record(
            EventType(kind.value),
            candidate.scope,
            subjects=(held.id,),
            reasons=judgement.reasons,
            details=self._details(candidate),
        )
        return Outcome(kind, None, judgement.reasons, (event,))

    def _released(self) -> tuple[str, ...]:
        """Return the id of the held candidate that this batch ends, if it does."""
        release = self._batch.release
        if release is None or self.repeated:
            return ()
        if record_release(release, self.outcomes[0], self._batch.judgements[0], self._recorder):
            return (release.id,)
        self._answers.clear()  # It stays held; a later release must not get this answer.
        return ()

    def _refuse(self, candidate: Candidate, kind: OutcomeKind, reasons: tuple[str, ...]) -> Outcome:
        # A refused write to another owner is recorded with the principal's own scope.
        own = candidate.scope.owner == self._batch.owner
        details = self._details(candidate)
        if TOMBSTONED in reasons:
            # Otherwise the audit trail would store a forgotten key again.
            details["key"] = None
        event = self._recorder.record(
            EventType(kind.value),
            candidate.scope if own else self._principal.home,
            reasons=reasons,
            details=details,
        )
        return Outcome(kind, None, reasons, (event,))

    def _details(self, candidate: Candidate) -> dict[str, Any]:
        # A key with a hygiene finding may hold a secret; the finding's mark names it instead.
        key = None if any(f.field == "key" for f in candidate.findings) else candidate.key
        named = {"key": key, "category": candidate.category}
        scores = scores_of(candidate) if candidate.findings else {}
        return {**named, "policy": self._batch.policy.hash, **how_proposed(candidate), **scores}

    def _first_entry(self, memory: Record) -> NewVersion:
        """Return the entry of a new version, with the model of its vector or None without one."""
        make = self._runtime.indexes.indexer
        new = indexed_version(self._runtime, memory, self._batch.indexed)
        if new.embedder == make.embedder:
            return new
        return new._replace(memory=replace(memory, embedding_model=None))

    def _shape(self, candidate: Candidate) -> Shape | None:
        """Return the terms and vector for comparing free text, from its prepared index entry."""
        if candidate.key is not None or candidate.is_turn:
            return None
        indexed = self._batch.indexed[index_text(candidate)]
        # The index text includes speaker and tags, which may differ in a repetition.
        bare = candidate.speaker is None and not candidate.tags
        terms = indexed.terms if bare else analyse(candidate.content)
        return shape_of(candidate.place, candidate.kind, terms, indexed.vector)

    def _missing_vector(self, candidate: Candidate) -> tuple[str, ...]:
        """Return the reason that a stored text has no vector yet; empty if it has one."""
        indexed = self._batch.indexed.get(index_text(candidate))
        wanted = self._runtime.indexes.indexer.embedder
        return (VECTOR_MISSING,) if indexed is not None and indexed.embedder != wanted else ()


def indexed_version(
    runtime: Runtime, memory: Record, prepared: Mapping[str, Indexed] = NOTHING_PREPARED
) -> NewVersion:
    """Return a memory with its index entry, which is made here unless it was prepared."""
    make, text = runtime.indexes.indexer, index_text(memory)
    indexed = prepared.get(text)
    if indexed is None:
        # A slow embedder must not block the turn: the vector is made later.
        (indexed,) = make.bare([text]) if make.is_slow else make.prepare_anyway([text]).entries
    return NewVersion(memory, make.entry(memory, indexed), indexed.analyser, indexed.embedder)


def _opposed(
    view: Pending, candidate: Candidate, shape: Shape, different: Record | None
) -> Opposed | None:
    return opposed(candidate, view, shape, different)
