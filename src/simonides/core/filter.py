"""Filters on the fields of a memory: plain data, checked once and turned into a predicate.

``{"kind": "semantic", "confidence": {"$gte": 0.7}}``. A missing field equals nothing, has no order
and contains nothing, so ``$ne``, ``$nin`` and ``$not`` also match memories without the field.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from datetime import datetime
from enum import StrEnum
from functools import partial
from operator import ge, gt, le, lt
from typing import Any

from simonides.core.clock import parse_moment, to_datetime
from simonides.core.errors import InvalidInput, shown
from simonides.core.record import FIELDS as RECORD_FIELDS
from simonides.core.record import Importance, Record, Sensitivity, Trust, value_type
from simonides.core.scope import DEFAULT_ORG, parse_scope
from simonides.core.validation import enum_member, json_text, nearest, text

MAX_CONDITIONS = 256
"""Maximum number of conditions of one filter, the values of ``$in`` counted."""

MAX_DEPTH = 8
"""Deepest nesting of ``$and``, ``$or`` and ``$not``."""

Predicate = Callable[[Record], bool]

_SORTS = {
    str: "text", tuple: "texts", int: "number", float: "number", bool: "flag", datetime: "time",
}  # fmt: skip
_TYPES = {name: value_type(name) for name in RECORD_FIELDS}
FIELDS: Mapping[str, str | type[StrEnum]] = {
    **{name: _SORTS.get(each, each) for name, each in _TYPES.items() if each is not Mapping},
    "scope": "scope",
}
"""Fields of a filter with the sort of their values; besides them, ``metadata.a.b``, of JSON."""

_ORDERS = {"$gt": gt, "$gte": ge, "$lt": lt, "$lte": le}
_ORDERED = {"number", "time", "json", Importance, Sensitivity, Trust}
_CONTAINING = {"text", "texts", "json"}


def predicate_of(filter: object, *, org: str = DEFAULT_ORG) -> Predicate | None:
    """Return the predicate of a filter; None for None.

    Args:
        filter: The caller's data.
        org: Organisation of short scope paths in it.

    Raises:
        InvalidInput: If a field or operator is unknown, a value does not fit its field, or the
            filter is too large or too deep.
    """
    return None if filter is None else _Parser(org).all_of("filter", filter, 1)


class _Parser:
    """Parses one filter, counting its conditions."""

    def __init__(self, org: str) -> None:
        self._org, self._left = org, MAX_CONDITIONS

    def all_of(self, at: str, raw: object, depth: int) -> Predicate:
        if depth > MAX_DEPTH:
            raise InvalidInput(at, f"is nested deeper than {MAX_DEPTH} levels")
        if not isinstance(raw, Mapping) or not raw:
            raise InvalidInput(at, "must be a mapping with at least one {field: value}")
        parts = [self._entry(at, name, value, depth) for name, value in raw.items()]
        return lambda record: all(part(record) for part in parts)

    def _entry(self, at: str, name: object, value: object, depth: int) -> Predicate:
        if name == "$not":
            inner = self.all_of(f"{at}.$not", value, depth + 1)
            return lambda record: not inner(record)
        if name in ("$and", "$or"):
            members = enumerate(_members(f"{at}.{name}", value))
            parts = [self.all_of(f"{at}.{name}[{n}]", each, depth + 1) for n, each in members]
            joined = all if name == "$and" else any
            return lambda record: joined(part(record) for part in parts)
        is_metadata = re.fullmatch(r"metadata(\.[^.]+)+", str(name), re.DOTALL)
        if not isinstance(name, str) or not (name in FIELDS or is_metadata):
            known = [*FIELDS, "metadata.…", "$and", "$or", "$not"]
            near = nearest(name, known)
            raise InvalidInput(at, f"no field {shown(name)}{near}; use {', '.join(known)}")
        return self._of_field(f"{at}.{name}", name, value, depth)

    def _of_field(self, at: str, field: str, raw: object, depth: int) -> Predicate:
        if depth > MAX_DEPTH:
            raise InvalidInput(at, f"is nested deeper than {MAX_DEPTH} levels")
        # Metadata may equal a mapping, another field never does.
        may_equal = field not in FIELDS and not _has_operators(raw)
        operations = raw if isinstance(raw, Mapping) and raw and not may_equal else {"$eq": raw}
        parts = [
            self._operation(at, field, str(op), each, depth) for op, each in operations.items()
        ]
        return lambda record: all(part(record) for part in parts)

    def _operation(self, at: str, field: str, op: str, operand: object, depth: int) -> Predicate:
        at, sort = f"{at}.{op}", FIELDS.get(field, "json")
        known = ["$eq", "$ne", "$in", "$nin", "$exists", "$not"]
        known += [*_ORDERS] if sort in _ORDERED else []
        known += ["$contains"] if sort in _CONTAINING else []
        if op not in known:
            raise InvalidInput(at, f"no such operator{nearest(op, known)}; use {', '.join(known)}")
        if op == "$not":
            if not _has_operators(operand):
                raise InvalidInput(at, "must be a mapping of operators")
            inner = self._of_field(at, field, operand, depth + 1)
            return lambda record: not inner(record)
        if op in ("$ne", "$nin"):
            inner = self._operation(at, field, "$eq" if op == "$ne" else "$in", operand, depth)
            return lambda record: not inner(record)
        return self._comparison(at, field, op, operand)

    def _comparison(self, at: str, field: str, op: str, operand: object) -> Predicate:
        sort = FIELDS.get(field, "json")
        if op == "$exists":
            wanted = self._value(at, "flag", operand)
            return lambda record: (_read(record, field) is not None) is wanted
        if op == "$in":
            values = [self._value(at, sort, each) for each in _members(at, operand)]
            return lambda record: any(_equal(_read(record, field), each) for each in values)
        if sort == "texts":
            listed = [operand] if isinstance(operand, str) else _members(at, operand)
            words = {self._value(at, sort, each) for each in listed}
            return lambda record: words <= set(_read(record, field) or ())
        value, holds = self._value(at, sort, operand), _TESTS[op]
        return lambda record: holds(_read(record, field), value)

    def _value(self, at: str, sort: str | type[StrEnum], raw: object) -> Any:
        self._left -= 1
        if self._left < 0:
            raise InvalidInput(at, f"a filter has at most {MAX_CONDITIONS} conditions and values")
        if raw is None:
            raise InvalidInput(at, 'None is not a value; ask {"$exists": False} for what has none')
        if isinstance(sort, type):
            member = enum_member(sort, at, raw)
            return _rank(member) if sort in _ORDERED else member
        match sort:
            case "time":
                return to_datetime(parse_moment(at, raw) or 0)
            case "number" if isinstance(raw, bool) or not isinstance(raw, (int, float)):
                raise InvalidInput(at, f"must be a number, not {type(raw).__name__}")
            case "flag" if not isinstance(raw, bool):
                raise InvalidInput(at, f"must be True or False, not {type(raw).__name__}")
            case "text" | "texts":
                return text(at, raw)
            case "scope":
                return parse_scope(raw, org=self._org)
            case _:
                json_text(at, raw)
        return raw


def _read(record: Record, field: str) -> Any:
    """Return what a record has there in the form in which it is compared; None for nothing."""
    first, *path = field.split(".")
    value = getattr(record, first)
    for name in path:
        value = value.get(name) if isinstance(value, Mapping) else None
    return _rank(value) if type(value) in _ORDERED else None if value == () else value


def _equal(cell: Any, value: Any) -> bool:
    # True is no 1 in JSON.
    same = isinstance(cell, bool) == isinstance(value, bool)
    return same and bool(cell == (list(value) if isinstance(value, tuple) else value))


def _contains(cell: Any, value: Any) -> bool:
    if isinstance(cell, str):
        return isinstance(value, str) and value.casefold() in cell.casefold()
    return isinstance(cell, (list, tuple)) and any(_equal(each, value) for each in cell)


def _ordered(order: Callable[[Any, Any], bool], cell: Any, value: Any) -> bool:
    # JSON values have an order among numbers and among texts only.
    if isinstance(cell, bool) or isinstance(value, bool):
        return False
    kinds = [kind for kind in ((int, float), str, datetime) if isinstance(cell, kind)]
    return bool(kinds) and isinstance(value, kinds[0]) and order(cell, value)


_TESTS: Mapping[str, Callable[[Any, Any], bool]] = {
    "$eq": _equal,
    "$contains": _contains,
    **{name: partial(_ordered, order) for name, order in _ORDERS.items()},
}


def _rank(member: StrEnum) -> int:
    members = list(type(member))
    # Trust is declared strongest first.
    return -members.index(member) if isinstance(member, Trust) else members.index(member)


def _has_operators(raw: object) -> bool:
    """Whether a mapping holds operators; otherwise it is a value to compare metadata with."""
    return isinstance(raw, Mapping) and any(str(name).startswith("$") for name in raw)


def _members(at: str, raw: object) -> list[object]:
    if not isinstance(raw, (list, tuple, set, frozenset)):
        raise InvalidInput(at, f"must be a list, not {type(raw).__name__}")
    if not raw:
        raise InvalidInput(at, "must name at least one")
    return list(raw)
