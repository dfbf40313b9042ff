"""The selection of memories to forget."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime

from simonides.domain.memory import Record, Status
from simonides.domain.scope import Scope
from simonides.domain.writing.decision import Candidate


@dataclass(frozen=True, slots=True)
class ForgetSelection:
    """Selects the versions and held candidates to delete.

    Attributes:
        place: The scope.
        roots: Selected chains, versions added meanwhile included.
        by_key: Whether their keys are blocked too.
        everything: Whether all of the scope is selected, new and held candidates included.
        hears: Whether the principal's agent belongs to the audience; others' are not selected.
        came_from: Selects single versions by origin; their promoted copies are deleted too, in any
            scope. None: whole chains are deleted.
        dry_run: Whether to count only.
        lost: Ids of undecodable memories that are selected by id, key or scope.
        unread: Ids of undecodable memories that a filter may mean; they stay.
    """

    place: Scope
    roots: frozenset[str]
    by_key: bool
    everything: bool
    hears: Callable[[Record | Candidate], bool]
    came_from: Callable[[Record | Candidate], bool] | None = None
    dry_run: bool = False
    lost: frozenset[str] = frozenset()
    unread: frozenset[str] = frozenset()

    def selects(self, one: Record | Candidate) -> bool:
        """Whether a version or a held candidate is selected."""
        if self.came_from is not None:
            return self.came_from(one) and self.hears(one)
        if isinstance(one, Record) and one.root in self.roots:
            return True
        return self.everything and one.scope == self.place and self.hears(one)


def as_memory(candidate: Candidate, now: datetime) -> Record:
    """Return a held candidate in the form that filters read."""
    return Record.of(
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
