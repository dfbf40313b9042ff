"""One turn of collecting: a rule applied to a few memories that stand as they were read."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from simonides.domain.event import EventType
from simonides.domain.operations.gc import Rule, code_of_ids
from simonides.domain.scope import Principal, Scope
from simonides.domain.writing.change import (
    Change,
    Head,
    NewState,
    Snapshot,
    StoredRow,
)
from simonides.engine.core.event_recorder import EventRecorder
from simonides.engine.core.runtime import Runtime
from simonides.engine.maintenance.access_counts import Folded
from simonides.engine.maintenance.gc_rules import restated

EVENTS: Mapping[Rule, EventType] = {
    Rule.HARD_EXPIRED: EventType.EVICTED,
    Rule.SOFT_EXPIRED: EventType.EVICTED,
    Rule.STALE_EVICTED: EventType.EVICTED,
    Rule.STALE_MARKED: EventType.STALE_MARKED,
    Rule.QUEUED: EventType.STALE_MARKED,
    Rule.RESTORED: EventType.RESTORED,
    Rule.READ_NOTED: EventType.READ_NOTED,
    Rule.SUPERSEDED_OLD: EventType.PURGED,
    Rule.EVICTED_OLD: EventType.PURGED,
}


class Due(NamedTuple):
    """A memory that a rule applies to, as it stood when it was looked at.

    Attributes:
        id: Of the memory.
        revision: Of its row.
        rule: Which.
        state: As it is packed; empty where the memory is to be purged.
        root: Of its chain; None for the first version of one.
    """

    id: str
    revision: int
    rule: Rule
    state: bytes
    root: str | None = None

    @classmethod
    def of(cls, row: StoredRow, rule: Rule, root: str | None = None) -> Due:
        """Note that a rule applies to a row."""
        return cls(row.id, row.revision, rule, b"" if rule.purges else row.state, root)


@dataclass(slots=True)
class RunSight:
    """What a run has seen since it looked at the rows: what each turn shows adds to it, so that
    none reads its rows once more.

    Attributes:
        head: Up to where it has seen everything.
        moved: By id, the revisions of rows that changed since they were looked at.
        is_lost: Whether somebody else had rows removed, or the owner begun anew: what changed
            then cannot be told from a head any more, and each turn looks at its rows itself.
    """

    head: Head | None
    moved: dict[str, int] = field(default_factory=dict)
    is_lost: bool = False


@dataclass(slots=True)
class CollectingTurn:
    """A few memories to be collected under the owner's turn, as far as they stand as read: all by
    one rule, or all to be purged.

    Attributes:
        runtime: The open simonides.
        principal: Whom the trail names.
        owner: Whose memories.
        work: What is due.
        folded: How memories were read.
        now_us: Clock of the run.
        sight: What the run has seen since it looked; added to.
        done: What of the work was.
    """

    runtime: Runtime
    principal: Principal
    owner: Scope
    work: Sequence[Due]
    folded: Folded
    now_us: int
    sight: RunSight
    done: list[Due] = field(default_factory=list)

    def decide(self, snapshot: Snapshot) -> Change | None:
        """Return the change, for :meth:`~simonides.ports.MemoryStore.commit`."""
        self.done = self._unchanged(snapshot)
        if not self.done:
            return None
        recorder = EventRecorder(self.runtime, self.principal, snapshot)
        states = tuple(self._states())
        for rule in Rule:
            if ids := [each.id for each in self.done if each.rule is rule]:
                details: dict[str, object] = {"count": len(ids)}
                if not rule.purges:
                    details["memories"] = code_of_ids(ids)
                # Without their ids: nothing would erase those of what is purged, and forgetting
                # one of many would erase what the trail says of the others.
                recorder.record(EVENTS[rule], self.owner, reasons=(rule,), details=details)
        return Change(
            known_at=recorder.moment.known_at,
            states=states,
            forgotten=tuple(each.id for each in self.done if each.rule.purges),
            events=recorder.events,
        )

    def _states(self) -> Iterator[NewState]:
        for id, _, rule, state, _ in self.done:
            if not rule.purges:
                yield NewState(id, restated(state, rule, self.folded.access(id, self.now_us)))

    def _unchanged(self, snapshot: Snapshot) -> list[Due]:
        if snapshot.complete:
            self.sight.is_lost = True
            return []
        moved = self.sight.moved
        moved |= {row.id: row.revision for row in snapshot.rows}
        return [each for each in self.work if moved.get(each.id, each.revision) == each.revision]
