"""Applies findings about stored memories in one turn: merge, supersede, or open a review.

Used by the hygiene cycle and by dreams, which look for findings outside any turn. A finding is
applied only if both memories still exist.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import NamedTuple

from simonides.domain.event import EventType
from simonides.domain.governance.contradiction import Relation, Verdict
from simonides.domain.governance.review import Review, encode_review
from simonides.domain.memory import Record, Status
from simonides.domain.operations.dream import ConsolidationItem, ConsolidationStep
from simonides.domain.scope import Principal, Scope
from simonides.domain.writing.change import Change, Snapshot
from simonides.engine.core import EventRecorder, Runtime
from simonides.engine.hygiene_scan.review_rules import gone, settled
from simonides.engine.write import under_review
from simonides.retrieval.index import OwnerIndex

REVIEW_EXPIRED = "review_expired"
"""Reason: a review was not decided in time."""

HELD_EXPIRED = "held_expired"
"""Reason: a candidate held because of a hygiene finding was not decided in time."""

REVIEW = "review"
"""Prefix of the review id among the reasons of an item."""


class Found(NamedTuple):
    """Two memories of which one gives way, or which a person must decide about.

    Attributes:
        older: Id of the memory stated first.
        newer: Id of the memory stated later.
        verdict: What the newer does to the older; ``neither`` for a repetition.
        model: Name of the language model that gave the verdict; empty for the rules.
    """

    older: str
    newer: str
    verdict: Verdict
    model: str = ""


@dataclass(slots=True)
class FindingsTurn:
    """A batch of findings, applied under the owner's turn where both memories still exist.

    Attributes:
        runtime: The open simonides.
        principal: Requests the change; named in the audit trail.
        owner: Owner whose turn it is.
        index: The owner's index.
        work: The findings, in the order in which they are applied.
        overdue_reviews: Reviews that were not decided in time.
        overdue_held: Ids of held candidates that were not decided in time.
        gap: Smallest difference in confidence that decides a contradiction.
        taken: Memories that another change of the same turn updates.
        counts: Actions by their name in a report. Set by :meth:`decide`, like the next three.
        items: The same actions, one by one.
        states: The resulting memory states, by id.
        reviews: Opened or expired reviews.
    """

    runtime: Runtime
    principal: Principal
    owner: Scope
    index: OwnerIndex
    work: Sequence[Found]
    overdue_reviews: Sequence[Review]
    overdue_held: tuple[str, ...]
    gap: float
    taken: frozenset[str] = frozenset()
    counts: dict[str, int] = field(default_factory=dict)
    items: list[ConsolidationItem] = field(default_factory=list)
    states: dict[str, Record] = field(default_factory=dict)
    reviews: list[Review] = field(default_factory=list)

    def decide(self, snapshot: Snapshot) -> Change | None:
        """Apply the findings that are still valid; expire overdue reviews and held candidates."""
        self.index.refresh(snapshot)
        recorder = EventRecorder(self.runtime, self.principal, snapshot)
        self.apply(recorder)
        for review in self.overdue_reviews:
            self._expire(review, recorder)
        if self.overdue_held:
            recorder.record(
                EventType.FORGOTTEN, self.owner, subjects=self.overdue_held, reasons=(HELD_EXPIRED,)
            )
            self.counts["held_expired"] = len(self.overdue_held)
        if not recorder.events:
            return None
        return Change(
            known_at=recorder.moment.known_at,
            restated=tuple(self.states.values()),
            reviews=tuple(map(encode_review, self.reviews)),
            released=self.overdue_held,
            events=recorder.events,
        )

    def apply(self, recorder: EventRecorder) -> None:
        """Apply the findings to a change that the caller builds; a second call starts over."""
        self.counts, self.items, self.states, self.reviews = {}, [], {}, []
        for found in self.work:
            self._apply(found, recorder)

    def _apply(self, found: Found, recorder: EventRecorder) -> None:
        now = recorder.moment.now
        sides = [self.index.at(now).by_id(id) for id in (found.older, found.newer)]
        older, newer = sides
        # The next cycle examines what this turn has changed.
        already_changed = {found.older, found.newer} & (self.states.keys() | self.taken)
        if older is None or newer is None or already_changed:
            self._count("left")
            return
        if found.verdict.relation in (Relation.NEITHER, Relation.SAME):
            is_models = found.verdict.relation is Relation.SAME
            reasons = (found.verdict.reason,) if is_models else ("said_twice",)
            details = {"model": found.model} if found.model else {}
            self._state(gone(newer, older, recorder.moment))
            self._record(EventType.MERGED, older, newer, reasons, recorder, "duplicates", details)
            self._note(ConsolidationStep.MERGE, (newer.id,), (older.id,), reasons)
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
            self._record(EventType.SUPERSEDED, *ends, recorder, counted, details)
            self._note(ConsolidationStep.SUPERSEDE, (outcome[1].id,), (outcome[0].id,), reasons)
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
        self._record(EventType.REVIEW, newer, older, reasons, recorder, "contradictions", details)
        self._note(
            ConsolidationStep.REVIEW, (older.id, newer.id), (), (*reasons, f"{REVIEW}:{review.id}")
        )

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
        step: ConsolidationStep,
        before: tuple[str, ...],
        after: tuple[str, ...],
        reasons: tuple[str, ...],
    ) -> None:
        self.items.append(ConsolidationItem(step=step, before=before, after=after, reasons=reasons))

    def _state(self, memory: Record) -> None:
        self.states[memory.id] = memory

    def _record(
        self,
        type: EventType,
        one: Record,
        other: Record,
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
