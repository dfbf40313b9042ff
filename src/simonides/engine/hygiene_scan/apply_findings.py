"""Findings about what stands, applied in one turn: merged, displaced, or put to a person.

Whoever looks outside every turn, the hygiene cycle or a dream, applies by this what it found, as
far as both memories still stand.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import NamedTuple

from simonides.domain.event import EventType
from simonides.domain.governance.contradiction import Relation, Verdict
from simonides.domain.governance.review import Review, encode_review
from simonides.domain.memory import Memory, Status
from simonides.domain.operations.dream import DreamItem, DreamStep
from simonides.domain.scope import Principal, Scope
from simonides.domain.writing.change import Change, Snapshot
from simonides.engine.core.event_recorder import EventRecorder
from simonides.engine.core.runtime import Runtime
from simonides.engine.hygiene_scan.review_rules import gone, settled
from simonides.engine.write.rules.versions import under_review
from simonides.retrieval.index.owner_index import OwnerIndex

REVIEW_EXPIRED = "review_expired"
"""Reason: nobody has decided a review in time."""

HELD_EXPIRED = "held_expired"
"""Reason: nobody has decided in time about what waited because of what hygiene found."""

REVIEW = "review"
"""What stands before the id of a review among the reasons of an item."""


class Found(NamedTuple):
    """Two memories that one of them is to give way for, or that a person is asked about.

    Attributes:
        older: Id of what was said first.
        newer: Id of what was said later.
        verdict: What the newer does to the older; neither for a repetition.
        model: Name of the language model that said so; empty for the rules.
    """

    older: str
    newer: str
    verdict: Verdict
    model: str = ""


@dataclass(slots=True)
class FindingsTurn:
    """A few findings, to be applied under the owner's turn as far as both memories still stand.

    Attributes:
        runtime: The open simonides.
        principal: Who has it done.
        owner: Whose turn it is.
        index: The owner's index.
        work: The findings, in the order in which they are applied.
        late: Reviews that nobody has decided in time.
        waited: Held candidates of which the same is true.
        gap: Difference of confidence from which on a contradiction is decided by it.
        taken: Memories that something else changes in the same turn.
        counts: What was done, by the names of a report; after :meth:`decide`, like the next two.
        items: The same one by one.
        states: What stands then, by id.
        reviews: Opened or expired.
    """

    runtime: Runtime
    principal: Principal
    owner: Scope
    index: OwnerIndex
    work: Sequence[Found]
    late: Sequence[Review]
    waited: tuple[str, ...]
    gap: float
    taken: frozenset[str] = frozenset()
    counts: dict[str, int] = field(default_factory=dict)
    items: list[DreamItem] = field(default_factory=list)
    states: dict[str, Memory] = field(default_factory=dict)
    reviews: list[Review] = field(default_factory=list)

    def decide(self, snapshot: Snapshot) -> Change | None:
        """Apply what still stands, and let go of what nobody decided in time."""
        self.index.refresh(snapshot)
        recorder = EventRecorder(self.runtime, self.principal, snapshot)
        self.apply(recorder)
        for review in self.late:
            self._expire(review, recorder)
        if self.waited:
            recorder.record(
                EventType.FORGOTTEN, self.owner, subjects=self.waited, reasons=(HELD_EXPIRED,)
            )
            self.counts["held_expired"] = len(self.waited)
        if not recorder.events:
            return None
        return Change(
            known_at=recorder.moment.known_at,
            restated=tuple(self.states.values()),
            reviews=tuple(map(encode_review, self.reviews)),
            released=self.waited,
            events=recorder.events,
        )

    def apply(self, recorder: EventRecorder) -> None:
        """Apply the findings for somebody who makes the change; asked again, it starts anew."""
        self.counts, self.items, self.states, self.reviews = {}, [], {}, []
        for found in self.work:
            self._apply(found, recorder)

    def _apply(self, found: Found, recorder: EventRecorder) -> None:
        now = recorder.moment.now
        sides = [self.index.at(now).by_id(id) for id in (found.older, found.newer)]
        older, newer = sides
        # What this very turn has changed is looked at by the next cycle.
        met = {found.older, found.newer} & (self.states.keys() | self.taken)
        if older is None or newer is None or met:
            self._count("left")
            return
        if found.verdict.relation in (Relation.NEITHER, Relation.SAME):
            is_models = found.verdict.relation is Relation.SAME
            reasons = (found.verdict.reason,) if is_models else ("said_twice",)
            details = {"model": found.model} if found.model else {}
            self._state(gone(newer, older, recorder.moment))
            self._tell(EventType.MERGED, older, newer, reasons, recorder, "duplicates", details)
            self._note(DreamStep.MERGE, (newer.id,), (older.id,), reasons)
            return
        if Status.REVIEW in (older.status, newer.status):
            return
        reasons = (found.verdict.reason,)
        details = {"model": found.model} if found.model else {}
        outcome = settled(older, newer, found.verdict.relation, self.gap, recorder.moment)
        if outcome is not None:
            is_update = found.verdict.relation is Relation.UPDATE
            self._state(outcome[1])
            counted = "updates" if is_update else "resolved"
            ends = (outcome[0], outcome[1], reasons)
            self._tell(EventType.SUPERSEDED, *ends, recorder, counted, details)
            self._note(DreamStep.SUPERSEDE, (outcome[1].id,), (outcome[0].id,), reasons)
            return
        review = Review(
            id=recorder.moment.new_id(),
            scope=newer.scope,
            reason="small_gap",
            opened_at=now,
            a=older.root,
            b=newer.root,
            proposed_by=self.principal.acting,
        )
        for side in (older, newer):
            self._state(under_review(side, recorder.moment))
        self.reviews.append(review)
        details |= {"review": review.id}
        self._tell(EventType.REVIEW, newer, older, reasons, recorder, "contradictions", details)
        self._note(DreamStep.REVIEW, (older.id, newer.id), (), (*reasons, f"{REVIEW}:{review.id}"))

    def _expire(self, review: Review, recorder: EventRecorder) -> None:
        self.reviews.append(replace(review, expired_at=recorder.moment.now))
        recorder.record(
            EventType.REVIEW,
            review.scope,
            reasons=(REVIEW_EXPIRED,),
            details={"review": review.id},
        )
        self._count("reviews_expired")

    def _note(
        self,
        step: DreamStep,
        before: tuple[str, ...],
        after: tuple[str, ...],
        reasons: tuple[str, ...],
    ) -> None:
        self.items.append(DreamItem(step=step, before=before, after=after, reasons=reasons))

    def _state(self, memory: Memory) -> None:
        self.states[memory.id] = memory

    def _tell(
        self,
        type: EventType,
        one: Memory,
        other: Memory,
        reasons: tuple[str, ...],
        recorder: EventRecorder,
        counted: str,
        details: dict[str, str] | None = None,
    ) -> None:
        recorder.record(
            type, one.scope, subjects=(one.id, other.id), reasons=reasons, details=details or {}
        )
        self._count(counted)

    def _count(self, name: str) -> None:
        self.counts[name] = self.counts.get(name, 0) + 1
