"""Merge rules for two stores of one owner: the state of a memory, and the winner of a conflict.

Both rules depend on the memories alone, so that order, time and repetition of exchanges do not
matter:

* :func:`joined` chooses the state of a memory that both sides have. A change on one side only wins.
  If both sides changed it, the later change wins; at equal times, the state further on in the life
  cycle.
* :func:`settled` chooses the winner of a conflict: one chain, one key, one turn, one functional
  slot or one text. A memory that supersedes another one wins. Then, in this order: an explicit
  correction, a source that is not external, the higher confidence, the newer memory. The recorded
  confidence counts, not the decayed one: otherwise the result would depend on the day of the
  exchange. The losers are superseded and stay in history.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import NamedTuple

from simonides.domain.codecs.memory import encode_state
from simonides.domain.memory import Kind, Record, Status
from simonides.domain.trust import Trust
from simonides.domain.value import EPOCH
from simonides.domain.writing.decision import TURN_CATEGORY
from simonides.text import normalise

_COURSE = (
    Status.ACTIVE,
    Status.HELD,
    Status.STALE,
    Status.REVIEW,
    Status.ARCHIVED,
    Status.SUPERSEDED,
    Status.EVICTED,
    Status.TOMBSTONED,
)
"""The life cycle. Of two states with the same time the later one here wins: ageing and garbage
collection do not update the time of a memory.
"""

_PLACE = {status: place for place, status in enumerate(_COURSE)}


def joined(
    here: Record, there: Record, *, changed_here: bool = True, changed_there: bool = True
) -> Record:
    """Return a memory of this side with the state that both sides agree on.

    Its version number stays: each store numbers versions in the order of arrival.

    Args:
        here: The memory on this side.
        there: The memory on the other side.
        changed_here: Whether this side changed it since the last exchange.
        changed_there: Whether the other side changed it since.
    """
    if changed_here is changed_there:
        other_counts = _lateness(there) > _lateness(here)
    else:
        other_counts = changed_there
    chosen = in_state_of(here, there) if other_counts else here
    reads = [at for at in (here.last_accessed_at, there.last_accessed_at) if at is not None]
    return replace(chosen, last_accessed_at=max(reads, default=None))


def in_state_of(here: Record, there: Record) -> Record:
    """Return a memory of this side with every mutable attribute of the other side's.

    Its transaction times and its number of known versions stay.
    """
    return replace(
        here,
        status=there.status,
        source=there.source,
        trust=there.trust,
        importance=there.importance,
        pinned=there.pinned,
        confidence=there.confidence,
        tags=there.tags,
        superseded_by=there.superseded_by,
        last_accessed_at=there.last_accessed_at,
        updated_at=there.updated_at,
        soft_expires_at=there.soft_expires_at,
        hard_expires_at=there.hard_expires_at,
        verified_at=there.verified_at,
        valid_to=there.valid_to,
    )


def is_same_state(one: Record, other: Record) -> bool:
    """Whether two sides have a memory in the same state."""
    return _packed(one) == _packed(other)


def _packed(memory: Record) -> bytes:
    return encode_state(replace(memory, versions=1))


def _lateness(memory: Record) -> tuple[datetime, int, datetime, bytes]:
    verified = memory.verified_at or EPOCH
    # The encoded state breaks ties, so that both sides choose the same.
    read_or_not = replace(memory, last_accessed_at=None)
    return (memory.updated_at, _PLACE[memory.status], verified, _packed(read_or_not))


class Conflict(NamedTuple):
    """A conflict between memories, with its winner.

    Attributes:
        about: ``chain``, ``key``, ``turn``, ``slot`` or ``text``.
        winner: The memory that stays.
        losers: The superseded memories, in their new state.
    """

    about: str
    winner: Record
    losers: tuple[Record, ...]


@dataclass(frozen=True, slots=True)
class Lineage:
    """Supersession links between memories.

    Attributes:
        supersedes: From the id of a version to the id of the version that it replaced.
    """

    supersedes: Mapping[str, str | None]

    def ancestors(self, id: str) -> set[str]:
        """Return the ids of all versions that a version replaced, directly or indirectly."""
        found: set[str] = set()
        before = self.supersedes.get(id)
        while before is not None and before not in found:
            found.add(before)
            before = self.supersedes.get(before)
        return found


def settled(
    memories: Iterable[Record], lineage: Lineage, functional: frozenset[str] = frozenset()
) -> tuple[Conflict, ...]:
    """Return the conflicts among memories of one owner.

    Afterwards at most one live memory is left of each chain, key, verbatim turn, functional slot
    and unkeyed text.

    Args:
        memories: Memories that may conflict; only live ones count.
        lineage: Of these memories and their predecessors.
        functional: Normalised predicates with one value per subject.
    """
    live = {memory.id: memory for memory in memories if memory.status.is_live}
    conflicts: list[Conflict] = []
    for about, name_of in _names(functional).items():
        groups: dict[Hashable, list[Record]] = {}
        for memory in live.values():
            if (name := name_of(memory)) is not None:
                groups.setdefault(name, []).append(memory)
        for group in groups.values():
            if len(group) > 1 and not (about == "slot" and all(m.key is not None for m in group)):
                conflict = _conflict(about, group, lineage)
                conflicts.append(conflict)
                for loser in conflict.losers:
                    del live[loser.id]
    return tuple(conflicts)


def _conflict(about: str, group: Sequence[Record], lineage: Lineage) -> Conflict:
    replaced = {id for memory in group for id in lineage.ancestors(memory.id)}
    winner = max((m for m in group if m.id not in replaced), key=strength)
    losers = sorted((m for m in group if m.id != winner.id), key=lambda memory: memory.id)
    return Conflict(about, winner, tuple(gave_way(loser, winner) for loser in losers))


def strength(memory: Record) -> tuple[bool, bool, float, datetime, str]:
    """Return the sort key that decides a conflict; greater is stronger."""
    return (
        memory.source.is_correction,
        memory.trust is not Trust.EXTERNAL,
        round(memory.confidence, 9),
        memory.updated_at,
        memory.id,
    )


def gave_way(loser: Record, winner: Record) -> Record:
    """Return the superseded state of a memory that lost a conflict.

    ``updated_at`` stays, so that a repeated merge has the same result.
    """
    began = loser.valid_from or EPOCH
    return replace(
        loser,
        status=Status.SUPERSEDED,
        superseded_by=winner.id,
        valid_to=began if winner.valid_from is None else max(began, winner.valid_from),
    )


def _names(functional: frozenset[str]) -> Mapping[str, Callable[[Record], Hashable | None]]:
    """Return the functions that compute what memories conflict about, in the order of checking."""

    def slot(memory: Record) -> Hashable | None:
        if memory.triple is None or _turn(memory) is not None:
            return None
        predicate = normalise(memory.triple.predicate)
        if predicate not in functional:
            return None
        return memory.place, memory.kind, normalise(memory.triple.subject), predicate

    return {
        "chain": lambda memory: memory.root,
        "key": lambda memory: None if memory.key is None else (memory.place, memory.key),
        "turn": _turn,
        "slot": slot,
        "text": _text,
    }


def _turn(memory: Record) -> Hashable | None:
    origin = memory.origin
    is_turn = memory.kind is Kind.EPISODIC and memory.category == TURN_CATEGORY
    if not is_turn or origin.session is None or origin.turn is None:
        return None
    return memory.place, origin.session, origin.turn


def _text(memory: Record) -> Hashable | None:
    if memory.key is not None or _turn(memory) is not None:
        return None
    return memory.place, memory.kind, memory.content_hash
