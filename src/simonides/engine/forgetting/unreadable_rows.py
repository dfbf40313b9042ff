"""What can be read of what is removed: what cannot be goes all the same."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import TypeVar

from simonides.domain.codecs.candidate import decode_candidate
from simonides.domain.codecs.checksums import is_whole
from simonides.domain.codecs.memory import salvage
from simonides.domain.errors import StoreCorrupt
from simonides.domain.memory import Memory
from simonides.domain.scope import Scope
from simonides.domain.writing.change import HeldCandidate, PendingOutbox, StoredRow
from simonides.domain.writing.decision import Candidate
from simonides.engine.edit.outbox import unpacked
from simonides.retrieval.index.entry import ENTRY, ENTRY_COLUMNS, scope_tag

_SCOPE = (ENTRY_COLUMNS.names or ()).index("scope")

A = TypeVar("A")
B = TypeVar("B")


@dataclass(frozen=True, slots=True)
class DecodableRows:
    """What could be read of an owner.

    Attributes:
        memories: Every version that could.
        candidates: What waits, as far as it could.
        work: What is on its way to others, as far as it could. Nobody carries out the rest: it
            cannot be read there, either.
        unreadable: How many of all of these could not.
    """

    memories: tuple[Memory, ...]
    candidates: tuple[Candidate, ...]
    work: tuple[PendingOutbox, ...]
    unreadable: int


def salvaged(
    rows: Iterable[StoredRow], held: Iterable[HeldCandidate], work: Iterable[PendingOutbox]
) -> DecodableRows:
    """Read what can be read; raises nothing for what cannot."""
    memories = [salvage(row) for row in rows]
    candidates = [_or_none(lambda one: decode_candidate(one.body), one) for one in held]
    carried = [(one, _or_none(lambda one: unpacked(one.item), one)) for one in work]
    readable = [None if what is None else one for one, what in carried]
    read = (memories, candidates, readable)
    return DecodableRows(
        tuple(one for one in memories if one is not None),
        tuple(one for one in candidates if one is not None),
        tuple(one for one in readable if one is not None),
        sum(one is None for each in read for one in each),
    )


def may_lie(row: StoredRow, place: Scope) -> bool:
    """Whether a memory that cannot be read lies in a place, as its index entry says; where that
    is damaged too, it is the user's, and no task's to remove.
    """
    if not is_whole(row.entry, row.id) or len(row.entry) < ENTRY.size:
        return place == place.owner
    return bool(ENTRY.unpack_from(row.entry)[_SCOPE] == scope_tag(place))


def _or_none(read: Callable[[A], B], one: A) -> B | None:
    try:
        return read(one)
    except StoreCorrupt:
        return None
