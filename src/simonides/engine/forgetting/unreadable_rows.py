"""Decodes rows before their deletion as far as possible; undecodable rows are deleted too."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import TypeVar

from simonides.domain.codecs.candidate import decode_candidate
from simonides.domain.codecs.checksums import is_whole
from simonides.domain.codecs.memory import salvage
from simonides.domain.errors import StoreCorrupt
from simonides.domain.memory import Record
from simonides.domain.scope import Scope
from simonides.domain.writing.change import HeldCandidate, PendingOutbox, StoredRow
from simonides.domain.writing.decision import Candidate
from simonides.engine.edit import decoded_item
from simonides.retrieval.index import ENTRY, ENTRY_COLUMNS, scope_tag

_SCOPE = (ENTRY_COLUMNS.names or ()).index("scope")

A = TypeVar("A")
B = TypeVar("B")


@dataclass(frozen=True, slots=True)
class DecodableRows:
    """The decodable rows of an owner.

    Attributes:
        memories: Decodable versions.
        candidates: Decodable held candidates.
        work: Decodable outbox items. The others can never be delivered: the delivery cannot decode
            them either.
        unreadable: Number of rows of all three kinds that cannot be decoded.
    """

    memories: tuple[Record, ...]
    candidates: tuple[Candidate, ...]
    work: tuple[PendingOutbox, ...]
    unreadable: int


def decodable_rows(
    rows: Iterable[StoredRow], held: Iterable[HeldCandidate], work: Iterable[PendingOutbox]
) -> DecodableRows:
    """Decode rows; undecodable ones are only counted."""
    memories = [salvage(row) for row in rows]
    candidates = [_decoded_or_none(lambda one: decode_candidate(one.body), one) for one in held]
    carried = [(one, _decoded_or_none(lambda one: decoded_item(one.item), one)) for one in work]
    readable = [None if what is None else one for one, what in carried]
    read = (memories, candidates, readable)
    return DecodableRows(
        tuple(one for one in memories if one is not None),
        tuple(one for one in candidates if one is not None),
        tuple(one for one in readable if one is not None),
        sum(one is None for each in read for one in each),
    )


def may_belong_to(row: StoredRow, place: Scope) -> bool:
    """Whether an unreadable memory belongs to a scope, according to its index entry.

    If the entry is damaged too, the memory counts as the user's own, not as a task's.
    """
    if not is_whole(row.entry, row.id) or len(row.entry) < ENTRY.size:
        return place == place.owner
    return bool(ENTRY.unpack_from(row.entry)[_SCOPE] == scope_tag(place))


def _decoded_or_none(read: Callable[[A], B], one: A) -> B | None:
    try:
        return read(one)
    except StoreCorrupt:
        return None
