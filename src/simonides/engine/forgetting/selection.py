"""What is to be forgotten, and how it is known."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime

from simonides.domain.memory import Memory, Status
from simonides.domain.scope import Scope
from simonides.domain.writing.decision import Candidate


@dataclass(frozen=True, slots=True)
class ForgetSelection:
    """What is to go.

    Attributes:
        place: Where.
        roots: Chains that go, whatever is added to them meanwhile.
        came_from: What single versions go, by where they came from; their promoted copies go too,
            wherever these lie. None where chains go.
        by_key: Whether their keys are blocked too.
        everything: Whether all of the place goes, what is added or held back there included.
        hears: Whether the principal's agent belongs to an audience: another's is not its to remove.
        dry_run: Whether to count only.
        lost: Ids of memories that cannot be read any more, and go by their names or their place.
        unread: Ids of those that cannot be read, may have been meant by a filter, and stay.
    """

    place: Scope
    roots: frozenset[str]
    by_key: bool
    everything: bool
    hears: Callable[[Memory | Candidate], bool]
    came_from: Callable[[Memory | Candidate], bool] | None = None
    dry_run: bool = False
    lost: frozenset[str] = frozenset()
    unread: frozenset[str] = frozenset()

    def takes(self, one: Memory | Candidate) -> bool:
        """Whether a version, or a candidate that waits, goes."""
        if self.came_from is not None:
            return self.came_from(one) and self.hears(one)
        if isinstance(one, Memory) and one.root in self.roots:
            return True
        return self.everything and one.scope == self.place and self.hears(one)


def as_memory(candidate: Candidate, now: datetime) -> Memory:
    """Return what waits as filters see it."""
    return Memory.of(
        scope=candidate.scope,
        kind=candidate.kind,
        category=candidate.category,
        key=candidate.key,
        source=candidate.source,
        trust=candidate.label.trust,
        sensitivity=candidate.sensitivity,
        confidence=candidate.confidence,
        importance=candidate.importance,
        tags=candidate.tags,
        metadata=candidate.metadata,
        speaker=candidate.speaker,
        origin=candidate.origin,
        pinned=candidate.pinned,
        status=Status.HELD,
        created_at=now,
        updated_at=now,
        valid_from=candidate.valid_from,
    )
