"""The work done under an owner's write turn: guards, gates, and one change set (DESIGN D2).

Judging and embedding happened before; nothing here waits for anything.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from types import MappingProxyType
from typing import Any

from simonides.domain.candidate_codec import decode_candidate
from simonides.domain.canonical import canonical_json
from simonides.domain.change import (
    Change,
    HeldCandidate,
    IdempotencyRecord,
    NewVersion,
    Snapshot,
    TurnRequest,
)
from simonides.domain.consent import NO_REFUSALS, About, Refusals
from simonides.domain.decision import (
    Candidate,
    Commit,
    Drop,
    Hold,
    Judgement,
    Outcome,
    OutcomeKind,
    Refused,
    Repeat,
)
from simonides.domain.errors import IdempotencyMismatch
from simonides.domain.event import EventType
from simonides.domain.gates import Shape
from simonides.domain.hindsight import how_proposed
from simonides.domain.memory import Memory
from simonides.domain.opposition import Opposed
from simonides.domain.review import encode_review
from simonides.domain.scope import Grant, Principal, Scope
from simonides.domain.value import shown
from simonides.hygiene.rivals import opposed
from simonides.language.analyser import analyse
from simonides.longterm.derivation import PURPOSES_DIFFER, inherited
from simonides.longterm.forgetting import SAID_ANEW
from simonides.longterm.pending import Pending
from simonides.longterm.resolution import resolve
from simonides.manager.beside import GONE, Also, Beside
from simonides.manager.judging import changes_nothing
from simonides.manager.lives import ERASED_SINCE, Life
from simonides.manager.outcomes import settled
from simonides.manager.profile import archive_beyond
from simonides.manager.room import Room, full
from simonides.manager.screening import note_flags, scores_of
from simonides.manager.scribe import Scribe
from simonides.manager.services import Services
from simonides.manager.spoken import Spoken, is_telling
from simonides.manager.waiting import Release, held_as, kept_back, let_go
from simonides.manager.write_names import marks_of, may_pass, request_of, write_name
from simonides.policy.guards import (
    approve,
    consent_refused,
    hygiene_blocked,
)
from simonides.policy.judge import is_blocked
from simonides.policy.rules import Policy
from simonides.retrieval.entry import Indexed, index_text
from simonides.retrieval.index_view import IndexView
from simonides.retrieval.nearness import NearTexts, shape_of
from simonides.retrieval.owner_index import OwnerIndex

VECTOR_MISSING = "vector_missing"
"""Reason: the embedder failed; the memory is found by its words until its vector is made."""

TOMBSTONED = "tombstoned"
"""Reason: it was forgotten, or its owner erased, and nobody may learn it from elsewhere again."""
NOTHING_PREPARED: Mapping[str, Indexed] = MappingProxyType({})

PURPOSE_MISMATCHED = "purpose_mismatched"
"""Reason: what stands was given for another purpose than the writer's, who is not shown it."""

FEW = 4
"""Candidates that are gated in about a millisecond: one takes .2 to .4."""


@dataclass(slots=True)
class WriteTurn:
    """One batch of judged candidates of one owner, to be decided under its turn.

    Attributes:
        services: The open simonides.
        principal: Who writes.
        owner: Whose turn it is.
        policy: The org's policy.
        policy_hash: Its hash, computed once.
        index: The owner's index.
        judgements: What policy said, in the order of the batch.
        prepared: Index text to its analysed and embedded form.
        spoken: What the verbatim turns of the batch speak of.
        standing: The tombstones that bind; None for all. Those that this very operation set do
            not bind what is said after it.
        granted: Grants of the org that governs the owner, where that is another owner.
        kept: What is held back for this owner already.
        told: What the principal refused, where it writes for another owner than its own.
        release: The decision to store what waited, which the one judgement then is about.
        beside: What a turn of a session writes with it, if that stands where it stood.
        life: In which the judgements were made; None where nothing came between.
        is_over: Whether it was over, or may have been; then nothing was written.
        outcomes: One per judgement, after :meth:`decide`.
        repeated: Place in the batch to the id of the memory that an earlier write under the same
            idempotency key left; filled by :meth:`decide`.
    """

    services: Services
    principal: Principal
    owner: Scope
    policy: Policy
    policy_hash: str
    index: OwnerIndex
    judgements: Sequence[Judgement]
    prepared: Mapping[str, Indexed]
    spoken: Spoken
    standing: frozenset[bytes] | None = None
    granted: tuple[Grant, ...] = ()
    kept: Sequence[HeldCandidate] = ()
    told: Refusals = NO_REFUSALS
    release: Release | None = None
    beside: Beside | None = None
    life: Life | None = None
    is_over: bool = False
    outcomes: list[Outcome] = field(default_factory=list)
    repeated: dict[int, str] = field(default_factory=dict)
    _held: list[HeldCandidate] = field(default_factory=list)
    _records: dict[str, IdempotencyRecord] = field(default_factory=dict)
    _revived: list[bytes] = field(default_factory=list)
    _waiting: set[tuple[object, ...]] = field(default_factory=set)
    _unsaid: Mapping[str, About] = field(default_factory=dict)
    _room: Room = field(init=False)

    @property
    def request(self) -> TurnRequest:
        """What must be read under the turn."""
        candidates = [judgement.candidate for judgement in self.judgements]
        keys = [name for c in candidates if (name := write_name(c)) is not None]
        marks = {mark for c in candidates for mark in marks_of(c)}
        foreign = any(c.scope != self.principal.home for c in candidates)
        return TurnRequest(
            since=self.index.head,
            idempotency_keys=tuple(dict.fromkeys(keys)),
            tombstones=tuple(sorted(marks)),
            grants=foreign,
            held=self.beside is not None,
            session=None if self.beside is None else self.beside.session,
            is_brief=len(candidates) <= FEW,
        )

    def decide(self, snapshot: Snapshot) -> Change | None:
        """Bring the index up to date, then take each judgement through guards and gates.

        Asked again, it starts anew: a store may have foreseen wrongly what stands.
        """
        for said in (self.outcomes, self.repeated, self._held, self._records, self._revived):
            said.clear()
        self.index.refresh(snapshot)
        self.is_over = self.life is not None and self.life.may_be_over(snapshot.head)
        if self.is_over:
            self.end()
            return None
        beside = self.beside
        if beside is not None and beside.has_raced(snapshot):
            return None
        scribe = Scribe(self.services, self.principal, snapshot)
        own_texts = NearTexts() if len(self.judgements) > 1 else None
        pending = Pending(IndexView(self.index, scribe.moment.now), own_texts)
        self._room = Room(self.index, self.policy.quotas, scribe)
        self._unsaid = self.spoken.refused(self.index.refusals, self.told)
        self._waiting = {held_as(decode_candidate(row.body), row.reason) for row in self.kept}
        for place, judgement in enumerate(self.judgements):
            if beside is not None and beside.is_gone(place, snapshot):
                self.outcomes.append(GONE)
                continue
            known = self._known(snapshot, judgement.candidate)
            if known is not None and not self._refusal(judgement.candidate):
                self._repeat(place, known)
                continue
            outcome = self._settle(judgement, snapshot, pending, scribe)
            self._remember_key(judgement.candidate, outcome)
            self.outcomes.append(outcome)
        rules = self.policy.consolidation.procedural_rules
        archive_beyond(rules, self.owner, self.index, pending, scribe)
        self.index.expect(pending.shapes)
        added = tuple(self._first_entry(memory) for memory in pending.added)
        final = {memory.id: memory for memory in pending.restated}
        final |= {new.memory.id: new.memory for new in added}
        now = scribe.moment.now
        self.outcomes[:] = [settled(outcome, final, now) for outcome in self.outcomes]
        gone = self._let_go(scribe)
        also = (
            Also() if beside is None else beside.finish(self.outcomes, self._held, snapshot, scribe)
        )
        change = Change(
            known_at=scribe.moment.known_at,
            added=added,
            restated=pending.restated,
            reindexed=tuple(
                indexed_version(self.services, memory, self.prepared) for memory in pending.retagged
            ),
            held=(*self._held, *also.held),
            released=(*gone, *also.released),
            session_steps=also.steps,
            reviews=tuple(
                encode_review(replace(review, proposed_by=self.principal.acting))
                for review in pending.reviews
            ),
            events=scribe.events,
            idempotency=tuple(self._records.values()),
            revived=tuple(self._revived),
        )
        return None if change.is_empty else change

    def end(self) -> None:
        """Refuse all that is left to be written: the life that it belongs to is over."""
        self.outcomes[:] = [ERASED_SINCE] * len(self.judgements)

    def _settle(
        self, judgement: Judgement, snapshot: Snapshot, pending: Pending, scribe: Scribe
    ) -> Outcome:
        match judgement:
            case Commit():
                return self._commit(judgement, snapshot, pending, scribe)
            case Hold():
                return self._keep_back(judgement, OutcomeKind.HELD, snapshot, scribe)
            case Repeat():
                return self._keep_back(judgement, OutcomeKind.REPEAT, snapshot, scribe)
            case Drop():
                kind = OutcomeKind.BLOCKED if is_blocked(judgement) else OutcomeKind.DROPPED
                return self._refuse(judgement.candidate, kind, judgement.reasons, scribe)

    def _commit(
        self, judgement: Commit, snapshot: Snapshot, pending: Pending, scribe: Scribe
    ) -> Outcome:
        candidate = inherited(judgement.candidate, pending, scribe.moment.now)
        if candidate is not judgement.candidate:
            judgement = replace(judgement, candidate=candidate)
        buried = snapshot.tombstoned and snapshot.tombstoned.intersection(marks_of(candidate))
        verdict = approve(
            judgement,
            policy=self.policy,
            principal=self.principal,
            grants=(*snapshot.grants, *self.granted),
            tombstoned=self._binds(buried),
            refused=self._refusal(candidate),
            released=self.release is not None,
        )
        if isinstance(verdict, Refused):
            return self._refuse(candidate, OutcomeKind.BLOCKED, verdict.reasons, scribe)
        if PURPOSES_DIFFER in candidate.marks:
            return self._refuse(candidate, OutcomeKind.BLOCKED, (PURPOSES_DIFFER,), scribe)
        shape = self._shape(candidate)
        look = partial(_opposed, pending)
        if idle := changes_nothing(candidate, pending, look, shape):
            return self._refuse(candidate, OutcomeKind.DROPPED, (idle,), scribe)
        # Who says what was forgotten anew, a caller or the user who goes on, lifts the block.
        self._revived.extend(sorted(buried))
        resolution = resolve(verdict, pending, scribe.moment, self.policy.long_term, shape, look)
        if by := self._refusal(resolution.memory):
            # What is said stands already, under a category that was refused.
            return self._refuse(candidate, OutcomeKind.BLOCKED, (consent_refused(by),), scribe)
        evictions = self._room.made(resolution, pending, shape)
        if evictions is None:
            reasons = full(resolution.memory, self._room)
            return self._refuse(candidate, OutcomeKind.BLOCKED, reasons, scribe)
        memory, reasons = resolution.memory, (*verdict.reasons, *resolution.reasons)
        reasons = (*reasons, SAID_ANEW) if buried else reasons
        if resolution.added:
            reasons = (*reasons, *self._lacking(candidate))
        is_meant = memory in resolution.added or memory.purpose in (None, self.principal.purpose)
        if not is_meant:
            reasons = (*reasons, PURPOSE_MISMATCHED)
        if resolution.kind is OutcomeKind.DROPPED and candidate.is_turn:
            return Outcome(resolution.kind, memory if is_meant else None, reasons)
        review = {} if resolution.review is None else {"review": resolution.review.id}
        concerned = (memory, *resolution.added, *resolution.restated)
        event = scribe.record(
            EventType(resolution.kind.value),
            candidate.scope,
            subjects=tuple(dict.fromkeys(m.id for m in concerned)),
            reasons=reasons,
            details=self._details(candidate)
            | {"version": memory.version, "confidence": memory.confidence, **review}
            | {"source": candidate.source.value, "trust": memory.trust.value},
        )
        flagged = note_flags(candidate, memory, self.policy, scribe) if candidate.findings else ()
        told = (*reasons, *(reason for each in flagged for reason in each.reasons))
        shown = memory if is_meant else None
        return Outcome(resolution.kind, shown, told, (event, *evictions, *flagged))

    def _refusal(self, said: Candidate | Memory) -> About | None:
        """Return by what the owner, or who writes, refused to have something remembered."""
        by = self.index.refusals.against(said) or self.told.against(said)
        return self._unsaid.get(said.content) if by is None and is_telling(said) else by

    def _binds(self, buried: frozenset[bytes]) -> bool:
        return bool(buried if self.standing is None else buried & self.standing)

    def _keep_back(
        self, judgement: Hold | Repeat, kind: OutcomeKind, snapshot: Snapshot, scribe: Scribe
    ) -> Outcome:
        candidate = judgement.candidate
        if by := self._refusal(candidate):
            return self._refuse(candidate, OutcomeKind.BLOCKED, (consent_refused(by),), scribe)
        if self._binds(snapshot.tombstoned.intersection(marks_of(candidate))):
            return self._refuse(candidate, OutcomeKind.BLOCKED, (TOMBSTONED,), scribe)
        if found := hygiene_blocked(candidate, self.policy):
            return self._refuse(candidate, OutcomeKind.BLOCKED, found, scribe)
        name = held_as(candidate, kind.value)
        if name in self._waiting:
            return Outcome(kind, None, (*judgement.reasons, "already_held"))
        self._waiting.add(name)
        held = kept_back(judgement, kind, self.principal, scribe)
        self._held.append(held)
        event = scribe.record(
            EventType(kind.value),
            candidate.scope,
            subjects=(held.id,),
            reasons=judgement.reasons,
            details=self._details(candidate),
        )
        return Outcome(kind, None, judgement.reasons, (event,))

    def _let_go(self, scribe: Scribe) -> tuple[str, ...]:
        if self.release is None or self.repeated:
            return ()
        if let_go(self.release, self.outcomes[0], self.judgements[0], scribe):
            return (self.release.id,)
        self._records.clear()  # It waits on, and whoever releases it again is not answered by this.
        return ()

    def _refuse(
        self, candidate: Candidate, kind: OutcomeKind, reasons: tuple[str, ...], scribe: Scribe
    ) -> Outcome:
        # What was meant for elsewhere is told where the principal is at home.
        own = candidate.scope.owner == self.owner
        details = self._details(candidate)
        if TOMBSTONED in reasons:
            # The trail would learn anew what was forgotten.
            details["key"] = None
        event = scribe.record(
            EventType(kind.value),
            candidate.scope if own else self.principal.home,
            reasons=reasons,
            details=details,
        )
        return Outcome(kind, None, reasons, (event,))

    def _details(self, candidate: Candidate) -> dict[str, Any]:
        # What hygiene found there is told by its mark alone (HY-1).
        key = None if any(f.field == "key" for f in candidate.findings) else candidate.key
        named = {"key": key, "category": candidate.category}
        scores = scores_of(candidate) if candidate.findings else {}
        return {**named, "policy": self.policy_hash, **how_proposed(candidate), **scores}

    def _first_entry(self, memory: Memory) -> NewVersion:
        """Return a version that is new, which says whose vector it has."""
        make = self.services.indexes.indexer
        new = indexed_version(self.services, memory, self.prepared)
        if new.embedder == make.embedder:
            return new
        return new._replace(memory=replace(memory, embedding_model=None))

    def _shape(self, candidate: Candidate) -> Shape | None:
        """Return what free text is compared by, of the entry that it gets anyway."""
        if candidate.key is not None or candidate.is_turn:
            return None
        indexed = self.prepared[index_text(candidate)]
        # A speaker and tags are found by too, but a repetition may have others.
        bare = candidate.speaker is None and not candidate.tags
        terms = indexed.terms if bare else analyse(candidate.content)
        return shape_of(candidate.place, candidate.kind, terms, indexed.vector)

    def _lacking(self, candidate: Candidate) -> tuple[str, ...]:
        """Return, as a reason, that what is stored has no vector yet (LT-11)."""
        indexed = self.prepared.get(index_text(candidate))
        wanted = self.services.indexes.indexer.embedder
        return (VECTOR_MISSING,) if indexed is not None and indexed.embedder != wanted else ()

    def _known(self, snapshot: Snapshot, candidate: Candidate) -> IdempotencyRecord | None:
        name = write_name(candidate)
        if name is None:
            return None
        record = self._records.get(name) or snapshot.idempotent.get(name)
        if record is not None and record.request != request_of(candidate):
            raise IdempotencyMismatch(
                "idempotency_key",
                f"{shown(candidate.idempotency_key)} already names a write with other content",
            )
        return record

    def _repeat(self, place: int, record: IdempotencyRecord) -> None:
        answer = json.loads(record.answer)
        if answer["memory"] is not None:
            self.repeated[place] = answer["memory"]
        kind, reasons = OutcomeKind(answer["kind"]), tuple(answer["reasons"])
        self.outcomes.append(Outcome(kind, None, reasons))

    def _remember_key(self, candidate: Candidate, outcome: Outcome) -> None:
        name = write_name(candidate)
        if name is None or may_pass(candidate, outcome):
            return
        answer = {
            "kind": outcome.kind.value,
            "memory": None if outcome.memory is None else outcome.memory.id,
            "reasons": list(outcome.reasons),
        }
        self._records[name] = IdempotencyRecord(name, request_of(candidate), canonical_json(answer))


def indexed_version(
    services: Services, memory: Memory, prepared: Mapping[str, Indexed] = NOTHING_PREPARED
) -> NewVersion:
    """Return a memory with its index entry, made under the turn unless it was prepared."""
    make, text = services.indexes.indexer, index_text(memory)
    indexed = prepared.get(text)
    if indexed is None:
        # Nothing slow waits inside the turn: a vector that takes time is made later.
        (indexed,) = make.bare([text]) if make.is_slow else make.prepare_anyway([text]).entries
    return NewVersion(memory, make.entry(memory, indexed), indexed.analyser, indexed.embedder)


def _opposed(
    view: Pending, candidate: Candidate, shape: Shape, beside: Memory | None
) -> Opposed | None:
    return opposed(candidate, view, shape, beside)
