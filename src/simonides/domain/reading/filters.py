"""Filters on the fields of a memory: a typed tree, parsed once at the edge.

A filter is plain data, ``{"kind": "semantic", "confidence": {"$gte": 0.7}}``. :func:`parse_filter`
turns it into a closed union of values for ``match``; :func:`spelled` is its inverse. A missing
field equals nothing, has no order and contains nothing. So ``$ne``, ``$nin`` and ``$not`` also
match memories without the field.
"""

from __future__ import annotations

import difflib
import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from enum import Enum, StrEnum
from types import MappingProxyType
from typing import Any, TypeAlias, TypeGuard

from simonides.domain.errors import InvalidInput
from simonides.domain.memory import Importance, Kind, Status
from simonides.domain.scope import Scope
from simonides.domain.trust import Sensitivity, Source, Trust
from simonides.domain.value import Value, enum_member, moment, plain, shown

MAX_DEPTH = 8
"""Deepest nesting of ``$and``, ``$or`` and ``$not``; chosen, as for metadata."""

MAX_CONDITIONS = 256
"""Most conditions of one filter, the values of ``$in`` counted; chosen, far above use."""

MAX_TEXT = 4096
"""Maximum length of an operand text, in characters; chosen, far above any name."""

METADATA = "metadata."


class Relation(StrEnum):
    """Order of a field's value relative to the operand."""

    GT = "$gt"
    GTE = "$gte"
    LT = "$lt"
    LTE = "$lte"


class _Node(Value):
    """Base of the filter nodes; their plain data is the caller's form."""

    __slots__ = ()

    def to_dict(self) -> dict[str, Any]:
        return spelled(self)  # type: ignore[arg-type]


@dataclass(frozen=True, slots=True)
class OneOf(_Node):
    """The field, or one of the tags, equals one of the values."""

    field: str
    values: tuple[Any, ...]


@dataclass(frozen=True, slots=True)
class Ordered(_Node):
    """The field is less or greater than a value of its own type."""

    field: str
    relation: Relation
    value: Any


@dataclass(frozen=True, slots=True)
class Contains(_Node):
    """A text contains the value as a substring; tags and lists, as a member."""

    field: str
    value: Any


@dataclass(frozen=True, slots=True)
class Exists(_Node):
    """The field has a value, or the memory has tags."""

    field: str


@dataclass(frozen=True, slots=True)
class AllOf(_Node):
    """All of two or more hold."""

    parts: tuple[Filter, ...]


@dataclass(frozen=True, slots=True)
class AnyOf(_Node):
    """One of two or more holds."""

    parts: tuple[Filter, ...]


@dataclass(frozen=True, slots=True)
class Not(_Node):
    """The part does not hold."""

    part: Filter


Filter: TypeAlias = OneOf | Ordered | Contains | Exists | AllOf | AnyOf | Not
"""A condition on a memory."""

ScopeOf: TypeAlias = Callable[[str], Scope]
"""Reads the name or the path of a scope."""


class _Sort(Enum):
    TEXT = "text"
    TIME = "time"
    NUMBER = "number"
    FLAG = "flag"
    TAGS = "tags"
    SCOPE = "scope"
    JSON = "json"


_FIELDS: Mapping[str, _Sort | type[StrEnum]] = MappingProxyType(
    {
        "kind": Kind,
        "category": _Sort.TEXT,
        "key": _Sort.TEXT,
        "tags": _Sort.TAGS,
        "source": Source,
        "status": Status,
        "confidence": _Sort.NUMBER,
        "importance": Importance,
        "sensitivity": Sensitivity,
        "speaker": _Sort.TEXT,
        "session": _Sort.TEXT,
        "trust": Trust,
        "origin": _Sort.TEXT,
        "pinned": _Sort.FLAG,
        "scope": _Sort.SCOPE,
        "created_at": _Sort.TIME,
        "updated_at": _Sort.TIME,
        "valid_from": _Sort.TIME,
        "valid_to": _Sort.TIME,
        "at": _Sort.TIME,
    }
)
FILTER_FIELDS = tuple(_FIELDS)
"""Fields that a filter may name, in addition to ``metadata.…``. ``at`` is the time when something
was said or happened: ``valid_from``, or else ``created_at``. ``origin`` is the name of the
origin."""

_RANKED = (Importance, Sensitivity)
_EQUAL = ("$eq", "$ne", "$in", "$nin", "$exists")
_ORDER = tuple(relation.value for relation in Relation)
_JOINING = ("$and", "$or")


def parse_filter(
    raw: object, scope_of: ScopeOf, *, at: str = "filter", max_depth: int = MAX_DEPTH
) -> Filter | None:
    """Return the tree of a filter, or None without conditions.

    Args:
        raw: A mapping of fields to values or to operators with their operands.
        scope_of: Parses the operands of ``scope``.
        at: Name of the filter in errors.
        max_depth: Deepest nesting.

    Raises:
        InvalidInput: If a field or an operator is unknown, an operand is of the wrong type, or
            the filter is nested too deep or too long; names the place.
        InvalidScope: If a scope is malformed.
    """
    if raw is None:
        return None
    if not isinstance(raw, Mapping):
        raise InvalidInput(at, f"must be a mapping, not {type(raw).__name__}")
    return _Parser(scope_of, max_depth).conditions(at, raw, 1) if raw else None


def both(first: Filter | None, second: Filter | None) -> Filter | None:
    """Return the conjunction of two filters; None is no condition."""
    if first is None or second is None:
        return second if first is None else first
    return AllOf((first, second))


def spelled(filter: Filter) -> dict[str, Any]:
    """Return a filter as JSON-ready data, with implied operators written out.

    :func:`parse_filter` returns an equal tree; it may need a larger ``max_depth``.
    """
    match filter:
        case OneOf(field, values):
            return {field: {"$in": [plain(value) for value in values]}}
        case Ordered(field, relation, value):
            return {field: {relation.value: plain(value)}}
        case Contains(field, value):
            return {field: {"$contains": plain(value)}}
        case Exists(field):
            return {field: {"$exists": True}}
        case AllOf(parts):
            return {"$and": [spelled(part) for part in parts]}
        case AnyOf(parts):
            return {"$or": [spelled(part) for part in parts]}
        case Not(part):
            return {"$not": spelled(part)}


class _Parser:
    """Parses one filter, counting its conditions."""

    def __init__(self, scope_of: ScopeOf, max_depth: int) -> None:
        self._scope_of = scope_of
        self._max_depth = max_depth
        self._left = MAX_CONDITIONS

    def conditions(self, at: str, raw: object, depth: int) -> Filter:
        """Parse a mapping of fields and joining operators, joined by AND."""
        if not isinstance(raw, Mapping) or not raw:
            raise InvalidInput(at, "must be a mapping with at least one field")
        return _joined(AllOf, [self._entry(at, *entry, depth) for entry in raw.items()])

    def _entry(self, at: str, name: object, value: object, depth: int) -> Filter:
        if depth > self._max_depth:
            raise InvalidInput(at, f"is nested deeper than {self._max_depth} levels")
        if name == "$not":
            return Not(self.conditions(f"{at}.$not", value, depth + 1))
        if name in _JOINING:
            inside = f"{at}.{name}"
            parts = [
                self.conditions(f"{inside}[{place}]", part, depth + 1)
                for place, part in enumerate(_members(inside, value))
            ]
            return _joined(AllOf if name == "$and" else AnyOf, parts)
        field = _field(at, name)
        return self._of_field(f"{at}.{shown(field)[1:-1]}", field, value, depth)

    def _of_field(self, at: str, field: str, value: object, depth: int) -> Filter:
        if not _has_operators(value):
            return self._operation(at, field, "$eq", value, depth)
        if depth > self._max_depth:
            raise InvalidInput(at, f"is nested deeper than {self._max_depth} levels")
        parts = []
        for name, operand in value.items():
            if not isinstance(name, str) or not name.startswith("$"):
                raise InvalidInput(at, f"{shown(name)} is not an operator; operators start with $")
            parts.append(self._operation(f"{at}.{shown(name)[1:-1]}", field, name, operand, depth))
        return _joined(AllOf, parts)

    def _operation(self, at: str, field: str, name: str, operand: object, depth: int) -> Filter:
        self._count(at)
        if name == "$not":
            if not _has_operators(operand):
                raise InvalidInput(at, "must be a mapping of operators")
            return Not(self._of_field(at, field, operand, depth + 1))
        _check_operator(at, field, name)
        match name:
            case "$ne":
                return Not(self._equal(at, field, operand))
            case "$nin":
                return Not(self._one_of(at, field, operand))
            case "$in":
                return self._one_of(at, field, operand)
            case "$exists":
                return _existing(at, field, operand)
            case "$contains":
                return self._containing(at, field, operand)
            case "$eq":
                return self._equal(at, field, operand)
            case _:
                return Ordered(field, Relation(name), self._comparable(at, field, operand))

    def _equal(self, at: str, field: str, operand: object) -> Filter:
        if _sort_of(field) is _Sort.TAGS:
            return self._containing(at, field, operand)
        return OneOf(field, (self._value(at, field, operand),))

    def _one_of(self, at: str, field: str, operand: object) -> Filter:
        values = [
            self._value(f"{at}[{place}]", field, value)
            for place, value in enumerate(_members(at, operand))
        ]
        return OneOf(field, tuple(values))

    def _containing(self, at: str, field: str, operand: object) -> Filter:
        asked = [operand]
        if _sort_of(field) is _Sort.TAGS and not isinstance(operand, str):
            asked = _members(at, operand)
        return _joined(AllOf, [Contains(field, self._value(at, field, one)) for one in asked])

    def _comparable(self, at: str, field: str, operand: object) -> Any:
        value = self._value(at, field, operand)
        if _sort_of(field) is _Sort.JSON and (
            isinstance(value, bool) or not isinstance(value, (int, float, str))
        ):
            raise InvalidInput(at, f"must be a number or text, not {type(operand).__name__}")
        return value

    def _value(self, at: str, field: str, operand: object) -> Any:
        self._count(at)
        if operand is None:
            raise InvalidInput(at, 'None is no value; for what has none ask {"$exists": False}')
        sort = _sort_of(field)
        if isinstance(sort, type):
            return enum_member(sort, at, operand)
        match sort:
            case _Sort.TIME:
                return moment(at, operand)
            case _Sort.NUMBER:
                return _number(at, operand)
            case _Sort.FLAG:
                if not isinstance(operand, bool):
                    raise InvalidInput(at, f"must be True or False, not {type(operand).__name__}")
                return operand
            case _Sort.TEXT | _Sort.TAGS:
                return _text(at, operand)
            case _Sort.SCOPE:
                return self._scope_of(_text(at, operand))
            case _Sort.JSON:
                return _frozen(at, operand, 1)

    def _count(self, at: str) -> None:
        self._left -= 1
        if self._left < 0:
            raise InvalidInput(at, f"a filter has at most {MAX_CONDITIONS} conditions and values")


def _joined(kind: type[AllOf] | type[AnyOf], parts: Sequence[Filter]) -> Filter:
    return parts[0] if len(parts) == 1 else kind(tuple(parts))


def _field(at: str, name: object) -> str:
    if isinstance(name, str):
        if name in _FIELDS:
            return str(name)
        if name.startswith(METADATA) and all(name.split(".")):
            return _text(at, name)
    allowed = f"{', '.join(FILTER_FIELDS)}, metadata.…, $and, $or or $not"
    raise InvalidInput(at, f"no field {shown(name)}{_nearest(name, _FIELDS)}; use {allowed}")


def _nearest(name: object, known: Iterable[str]) -> str:
    near = difflib.get_close_matches(name, list(known), n=1) if isinstance(name, str) else []
    return f"; did you mean {near[0]!r}?" if near else ""


def _sort_of(field: str) -> _Sort | type[StrEnum]:
    return _FIELDS.get(field, _Sort.JSON)


def _operators(field: str) -> tuple[str, ...]:
    sort = _sort_of(field)
    if isinstance(sort, type):
        return (*_EQUAL, *_ORDER) if sort in _RANKED else _EQUAL
    more = {
        _Sort.TEXT: ("$contains",),
        _Sort.TAGS: ("$contains",),
        _Sort.TIME: _ORDER,
        _Sort.NUMBER: _ORDER,
        _Sort.JSON: (*_ORDER, "$contains"),
    }
    return (*_EQUAL, *more.get(sort, ()))


def _check_operator(at: str, field: str, name: str) -> None:
    known = _operators(field)
    if name not in known:
        advice = _nearest(name, known)
        allowed = ", ".join((*known, "$not"))
        raise InvalidInput(at, f"no operator {shown(name)} here{advice}; use {allowed}")


def _has_operators(value: object) -> TypeGuard[Mapping[Any, Any]]:
    """Whether a mapping holds operators; otherwise it is a value to compare metadata with."""
    if not isinstance(value, Mapping):
        return False
    return any(isinstance(name, str) and name.startswith("$") for name in value)


def _members(at: str, raw: object) -> list[object]:
    if isinstance(raw, (str, bytes, Mapping)) or not isinstance(raw, (list, tuple, set, frozenset)):
        raise InvalidInput(at, f"must be a list, not {type(raw).__name__}")
    if not raw:
        raise InvalidInput(at, "must name at least one")
    return sorted(raw, key=repr) if isinstance(raw, (set, frozenset)) else list(raw)


def _existing(at: str, field: str, operand: object) -> Filter:
    if not isinstance(operand, bool):
        raise InvalidInput(at, f"must be True or False, not {type(operand).__name__}")
    return Exists(field) if operand else Not(Exists(field))


def _number(at: str, raw: object) -> float | int:
    if isinstance(raw, bool) or not isinstance(raw, (int, float)):
        raise InvalidInput(at, f"must be a number, not {type(raw).__name__}")
    # A larger number fits no double, and JSON cannot carry it.
    if not abs(raw) <= 1e308 or math.isnan(raw):
        raise InvalidInput(at, "must be a finite number")
    return raw


def _text(at: str, raw: object) -> str:
    if not isinstance(raw, str):
        raise InvalidInput(at, f"must be text, not {type(raw).__name__}")
    if len(raw) > MAX_TEXT:
        raise InvalidInput(at, f"has {len(raw):,} characters; at most {MAX_TEXT:,} are allowed")
    if any("\ud800" <= char <= "\udfff" for char in raw):
        raise InvalidInput(at, "holds a lone surrogate")
    return str(raw)


def _frozen(at: str, raw: object, depth: int) -> Any:
    """Return an immutable JSON value: lists as tuples, mappings read-only."""
    if depth > MAX_DEPTH:
        raise InvalidInput(at, f"is nested deeper than {MAX_DEPTH} levels")
    if raw is None or isinstance(raw, bool):
        return raw
    if isinstance(raw, str):
        return _text(at, raw)
    if isinstance(raw, (int, float)):
        return _number(at, raw)
    if isinstance(raw, (list, tuple)):
        return tuple(_frozen(at, inner, depth + 1) for inner in raw)
    if isinstance(raw, Mapping):
        inside = {_text(at, name): _frozen(at, inner, depth + 1) for name, inner in raw.items()}
        return MappingProxyType(inside)
    raise InvalidInput(at, f"{type(raw).__name__} is not a JSON value")
