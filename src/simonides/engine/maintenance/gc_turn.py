"""One garbage collection turn: applies rules to memories that are unchanged since the scan."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from simonides.domain.event import EventType
from simonides.domain.operations.gc import Rule, code_of_ids
from simonides.domain.scope import Principal, Scope
from simonides.domain.writing.change import Change, Head, NewState, Snapshot, StoredRow
from simonides.engine.core import EventRecorder, Runtime
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
    """A memory that a rule applies to, as scanned.

    Attributes:
        id: Id of the memory.
        revision: Revision of its row.
        rule: The rule.
        state: Packed state; empty if the memory is to be purged.
        root: Root of its chain; None for the first version of a chain.
    """

    id: str
    revision: int
    rule: Rule
    state: bytes
    root: str | None = None

    @classmethod
    def of(cls, row: StoredRow, rule: Rule, root: str | None = None) -> Due:
        """Build it from a row and the rule that applies to it."""
        return cls(row.id, row.revision, rule, b"" if rule.purges else row.state, root)


@dataclass(slots=True)
class ChangesSeen:
    """Changes seen since the scan. Each turn adds to it, so that no turn reads its rows again.

    Attributes:
        head: Head up to which all changes are known.
        moved: By id, the revisions of rows that changed since the scan.
        is_lost: Whether rows were removed by another worker, or the owner began a new incarnation.
            A head then cannot show the changes, so each turn reads its rows itself.
    """

    head: Head | None
    moved: dict[str, int] = field(default_factory=dict)
    is_lost: bool = False


@dataclass(slots=True)
class CollectingTurn:
    """A few memories to collect under the owner's turn, if unchanged: all by one rule, or all to
    purge.

    Attributes:
        runtime: The open simonides.
        principal: Principal named in the audit trail.
        owner: Owner of the memories.
        work: The due memories.
        folded: Access counts of the memories.
        now_us: Clock of the run.
        seen: Changes seen since the scan; added to.
        done: The memories that were collected.
    """

    runtime: Runtime
    principal: Principal
    owner: Scope
    work: Sequence[Due]
    folded: Folded
    now_us: int
    seen: ChangesSeen
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
                # Not as subjects. The ids of purged memories could never be erased, and forgetting
                # one memory would erase the event for all the others.
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
            self.seen.is_lost = True
            return []
        moved = self.seen.moved
        moved |= {row.id: row.revision for row in snapshot.rows}
        return [each for each in self.work if moved.get(each.id, each.revision) == each.revision]
