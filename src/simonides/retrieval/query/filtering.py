"""Evaluates filters over columns, and over the decoded memory where columns do not suffice.

Columns answer yes, no or perhaps for each row. Only rows for which the whole filter stays at
perhaps are decoded.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from datetime import datetime
from typing import Any, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from simonides.domain.ageing import seen_at
from simonides.domain.codecs.memory import (
    IMPORTANCE_CODES,
    KIND_CODES,
    NEVER,
    SENSITIVITY_CODES,
    SOURCE_CODES,
    STATUS_CODES,
    TRUST_CODES,
    code_of,
    decode,
)
from simonides.domain.memory import Importance, Record
from simonides.domain.reading.filters import (
    METADATA,
    AllOf,
    AnyOf,
    Contains,
    Exists,
    Filter,
    Not,
    OneOf,
    Ordered,
    Relation,
)
from simonides.domain.trust import Sensitivity
from simonides.domain.value import from_us, to_us
from simonides.domain.writing.change import StoredRow
from simonides.retrieval.index import ageing
from simonides.retrieval.index.entry import name_tag, scope_tag, tag
from simonides.retrieval.index.segment import RECALLED, Frozen, Segment

Bools = NDArray[np.bool_]


class Columns(NamedTuple):
    """Rows as columns of equal length.

    Attributes:
        entry: Of :data:`~simonides.retrieval.index.entry.ENTRY_COLUMNS`.
        state: Of :data:`~simonides.retrieval.index.entry.STATE_COLUMNS`.
        now_us: The clock: a filter tests a memory as readers see it at that time.
        endures: Which rows do not expire; None for none.
    """

    entry: NDArray[np.void]
    state: NDArray[np.void]
    now_us: int
    endures: Bools | None = None

    def seen(self, place: int, row: StoredRow) -> Record:
        """Return the memory of one of these rows as readers see it."""
        lasts = self.endures is not None and bool(self.endures[place])
        return seen_at(decode(row), from_us(self.now_us), endures=lasts)


class Decided(NamedTuple):
    """The result of a filter on columns alone.

    Attributes:
        surely: Whether the filter certainly holds.
        perhaps: Whether it may hold; includes the rows of ``surely``.
    """

    surely: Bools
    perhaps: Bools


def passing(filter: Filter, columns: Columns, row: Callable[[int], StoredRow]) -> Bools:
    """Return for which rows a filter holds.

    Args:
        filter: The condition.
        columns: The rows.
        row: Returns a row by its place in the columns; called only for undecided rows.
    """
    surely, perhaps = decided(filter, columns)
    passed = surely.copy()
    for place in np.flatnonzero(perhaps & ~surely).tolist():
        passed[place] = holds(filter, columns.seen(place, row(place)))
    return passed


def decided(filter: Filter, columns: Columns) -> Decided:
    """Return the result of a filter on columns alone.

    Names are compared by their 64-bit tags, like scopes and purposes everywhere.
    """
    match filter:
        case AllOf(parts):
            surely, perhaps = zip(*(decided(part, columns) for part in parts), strict=True)
            return Decided(np.logical_and.reduce(surely), np.logical_and.reduce(perhaps))
        case AnyOf(parts):
            surely, perhaps = zip(*(decided(part, columns) for part in parts), strict=True)
            return Decided(np.logical_or.reduce(surely), np.logical_or.reduce(perhaps))
        case Not(part):
            inner = decided(part, columns)
            return Decided(~inner.perhaps, ~inner.surely)
        case OneOf("speaker", values):
            tags = [tag(speaker.casefold()) for speaker in values]
            return Decided(_none(columns), any_equal(columns.entry["speaker"], tags))
        case Exists("speaker"):
            return _certain(columns.entry["speaker"] != 0)
        case OneOf() | Ordered() | Exists() if filter.field in _COLUMNS:
            return _certain(_on_column(filter, _COLUMNS[filter.field], columns))
        case OneOf() | Ordered() | Exists() | Contains():
            return Decided(_none(columns), ~_none(columns))


def holds(filter: Filter | None, memory: Record) -> bool:
    """Return whether a filter holds for a memory; None always holds."""
    match filter:
        case None:
            return True
        case AllOf(parts):
            return all(holds(part, memory) for part in parts)
        case AnyOf(parts):
            return any(holds(part, memory) for part in parts)
        case Not(part):
            return not holds(part, memory)
        case Exists(field):
            return _value(memory, field) not in (None, ())
        case OneOf("tags", values):
            return not set(values).isdisjoint(memory.tags)
        case OneOf(field, values):
            found = _value(memory, field)
            return any(_same(found, value) for value in values)
        case Ordered(field, relation, value):
            return _in_order(_value(memory, field), relation, value)
        case Contains(field, value):
            return _contains(_value(memory, field), value)


class _Column(NamedTuple):
    """How columns represent a field.

    Attributes:
        read: Returns the values of all rows.
        code: Returns the column value of a field value.
        absent: The column value that marks absence, or None where the field is always set.
    """

    read: Callable[[Columns], NDArray[Any]]
    code: Callable[[Any], int | float]
    absent: int | None = None


def _at(columns: Columns) -> NDArray[np.int64]:
    said = columns.entry["valid_from"]
    return np.where(said == NEVER, columns.entry["created"], said)


_COLUMNS: Mapping[str, _Column] = {
    "kind": _Column(lambda c: c.entry["kind"], lambda kind: code_of(KIND_CODES, kind)),
    "category": _Column(lambda c: c.entry["category"], name_tag),
    "key": _Column(lambda c: c.entry["key"], name_tag, 0),
    "session": _Column(lambda c: c.entry["session"], tag, 0),
    "scope": _Column(lambda c: c.entry["scope"], scope_tag),
    "sensitivity": _Column(
        lambda c: c.entry["sensitivity"], lambda level: code_of(SENSITIVITY_CODES, level)
    ),
    "source": _Column(lambda c: c.state["source"], lambda name: code_of(SOURCE_CODES, name)),
    "trust": _Column(lambda c: c.state["trust"], lambda label: code_of(TRUST_CODES, label)),
    "status": _Column(
        lambda c: ageing.status(c.state, c.now_us, c.endures),
        lambda name: code_of(STATUS_CODES, name),
    ),
    "importance": _Column(
        lambda c: c.state["importance"], lambda level: code_of(IMPORTANCE_CODES, level)
    ),
    "pinned": _Column(lambda c: c.state["pinned"], int),
    "confidence": _Column(lambda c: ageing.confidence(c.entry, c.state, c.now_us), float),
    "created_at": _Column(lambda c: c.entry["created"], to_us),
    "updated_at": _Column(lambda c: c.state["updated"], to_us),
    "valid_from": _Column(lambda c: c.entry["valid_from"], to_us, NEVER),
    "valid_to": _Column(lambda c: c.state["valid_to"], to_us, NEVER),
    "at": _Column(_at, to_us),
}


def _on_column(leaf: OneOf | Ordered | Exists, column: _Column, columns: Columns) -> Bools:
    values = column.read(columns)
    is_there = np.ones(len(values), np.bool_) if column.absent is None else values != column.absent
    match leaf:
        case Exists():
            return is_there
        case OneOf(_, wanted):
            return is_there & any_equal(values, [column.code(value) for value in wanted])
        case Ordered(_, relation, value):
            ordered: Bools = _RELATIONS[relation](values, column.code(value))
            return is_there & ordered


_RELATIONS: Mapping[Relation, Callable[[Any, Any], Any]] = {
    Relation.GT: lambda found, value: found > value,
    Relation.GTE: lambda found, value: found >= value,
    Relation.LT: lambda found, value: found < value,
    Relation.LTE: lambda found, value: found <= value,
}


FEW_VALUES = 2
"""Up to so many values are compared in place; measured."""


def any_equal(column: NDArray[Any], wanted: Sequence[int | float]) -> Bools:
    """Whether each value is one of a few; np.isin sorts, which is slower here."""
    found = np.zeros(len(column), np.bool_)
    # A field of a row is far from the next row's: one copy costs less than many such walks.
    column = np.ascontiguousarray(column) if len(wanted) > FEW_VALUES else column
    for value in wanted:
        found |= column == column.dtype.type(value)
    return found


def _none(columns: Columns) -> Bools:
    return np.zeros(len(columns.entry), np.bool_)


def _certain(passed: Bools) -> Decided:
    return Decided(passed, passed)


def _value(memory: Record, field: str) -> Any:
    """Return a field's value, None if it is absent."""
    if field.startswith(METADATA):
        return _in_metadata(memory.metadata, field)
    match field:
        case "session":
            return memory.origin.session
        case "origin":
            return memory.origin.name
        case "at":
            return memory.valid_from or memory.created_at
        case _:
            return getattr(memory, field)


def _in_metadata(metadata: Mapping[str, Any], field: str) -> Any:
    found: object = metadata
    for step in field.removeprefix(METADATA).split("."):
        found = found.get(step) if isinstance(found, Mapping) else None
    return found


def _same(found: object, value: object) -> bool:
    """Whether two JSON or field values are equal; true is not 1."""
    if found is None or isinstance(found, bool) != isinstance(value, bool):
        return False
    if isinstance(found, (list, tuple)) and isinstance(value, tuple):
        pairs = zip(found, value, strict=False)
        return len(found) == len(value) and all(_alike(*pair) for pair in pairs)
    if isinstance(found, Mapping) and isinstance(value, Mapping):
        named = found.keys() == value.keys()
        return named and all(_alike(inner, value[name]) for name, inner in found.items())
    return found == value


def _alike(found: object, value: object) -> bool:
    """Like :func:`_same` within a list or mapping, where null is an ordinary value."""
    return value is None if found is None else _same(found, value)


def _in_order(found: object, relation: Relation, value: Any) -> bool:
    if isinstance(found, (Importance, Sensitivity)):
        order = list(type(found))
        return bool(_RELATIONS[relation](order.index(found), order.index(value)))
    for sort in (str, (int, float), datetime):
        if isinstance(found, sort) and isinstance(value, sort) and not isinstance(found, bool):
            return bool(_RELATIONS[relation](found, value))
    return False


def _contains(found: object, value: object) -> bool:
    if isinstance(found, str):
        return isinstance(value, str) and value in found
    if isinstance(found, (list, tuple)):
        return any(_alike(inner, value) for inner in found)
    return False


Enduring: TypeAlias = Sequence[tuple[Segment, int]]
"""Segments, each with the place of a row that does not expire."""


def enduring(index: Frozen) -> Enduring:
    """Return the places of the latest session summary of each reader.

    Only live summaries without a hard expiry count; the latest is by time of recording, then by id.
    Filters of a cue are ignored, so that no filter makes an older summary the latest.
    """
    newest: dict[int, tuple[int, str, Segment, int]] = {}
    for segment, alive in zip(index.segments, index.alive, strict=True):
        for place in segment.summaries.tolist():
            is_live = RECALLED[segment.state["status"][place]]
            if not is_live or not (alive is None or alive[place]):
                continue
            reader, created = (
                int(segment.entry["place"][place]),
                int(segment.entry["created"][place]),
            )
            row = (created, segment.rows[place].id, segment, place)
            if reader not in newest or newest[reader][:2] < row[:2]:
                newest[reader] = row
    return [row[2:] for row in newest.values()]
