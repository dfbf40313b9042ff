"""Decoder for the plain data of values (``Value.to_dict``), with validation."""

from __future__ import annotations

import dataclasses
import types
from collections.abc import Callable, Mapping
from datetime import datetime
from enum import StrEnum
from functools import lru_cache
from types import MappingProxyType
from typing import Any, Union, get_args, get_origin, get_type_hints

from simonides.domain.errors import InvalidInput
from simonides.domain.reading.filters import MAX_DEPTH, OneOf, parse_filter
from simonides.domain.scope import Scope
from simonides.domain.value import Value, enum_member, moment, shown

# `spelled` writes out implied operators, so each level may have become two or three.
_FILTER_DEPTH = 4 * MAX_DEPTH

_PLAIN: Mapping[type, tuple[type, ...]] = {str: (str,), int: (int,), float: (int, float)}


def read_value(kind: type, at: str, raw: object) -> Any:
    """Return a frozen dataclass of the domain from its plain data.

    Args:
        kind: The class; its fields may be values, enumerations, times, scopes, filters, plain
            types, and tuples, sets or mappings of them.
        at: Name of the value in errors.
        raw: Output of ``to_dict``.

    Raises:
        InvalidInput: Naming the field that is missing, unknown or of the wrong type.
        InvalidScope: If a scope is malformed.
    """
    if not isinstance(raw, Mapping):
        raise InvalidInput(at, f"must be a mapping, not {type(raw).__name__}")
    hints = _hints(kind)
    strange = [name for name in raw if name not in hints]
    if strange:
        raise InvalidInput(at, f"has no field {shown(strange[0])}")
    missing = [name for name in hints if name not in raw]
    if missing:
        raise InvalidInput(f"{at}.{missing[0]}", "is missing")
    return kind(**{name: _read(hint, f"{at}.{name}", raw[name]) for name, hint in hints.items()})


@lru_cache(maxsize=64)
def _hints(kind: type) -> Mapping[str, Any]:
    hints = get_type_hints(kind)
    return {field.name: hints[field.name] for field in dataclasses.fields(kind) if field.init}


def _read(hint: Any, at: str, raw: object) -> Any:
    origin = get_origin(hint)
    if origin in (Union, types.UnionType):
        return _read_union(get_args(hint), at, raw)
    if origin in _MEMBERS:
        return _MEMBERS[origin](get_args(hint), at, raw)
    if hint is datetime:
        return _time(at, raw)
    if hint is Scope:
        return Scope.parse(_checked(str, at, raw))
    if issubclass(hint, StrEnum):
        return enum_member(hint, at, raw)
    if issubclass(hint, Value):
        return read_value(hint, at, raw)
    return _checked(hint, at, raw)


def _read_union(kinds: tuple[Any, ...], at: str, raw: object) -> Any:
    if raw is None and type(None) in kinds:
        return None
    if OneOf in kinds:
        return parse_filter(raw, Scope.parse, at=at, max_depth=_FILTER_DEPTH)
    (kind,) = [kind for kind in kinds if kind is not type(None)]
    return _read(kind, at, raw)


def _time(at: str, raw: object) -> datetime:
    found = moment(at, raw)
    if found is None:
        raise InvalidInput(at, "must be a time in ISO 8601")
    return found


def _list(at: str, raw: object) -> list[object]:
    if not isinstance(raw, (list, tuple)):
        raise InvalidInput(at, f"must be a list, not {type(raw).__name__}")
    return list(raw)


def _tuple(kinds: tuple[Any, ...], at: str, raw: object) -> tuple[Any, ...]:
    return tuple(_read(kinds[0], f"{at}[{n}]", one) for n, one in enumerate(_list(at, raw)))


def _frozenset(kinds: tuple[Any, ...], at: str, raw: object) -> frozenset[Any]:
    return frozenset(_tuple(kinds, at, raw))


def _mapping(kinds: tuple[Any, ...], at: str, raw: object) -> Mapping[str, Any]:
    if not isinstance(raw, Mapping):
        raise InvalidInput(at, f"must be a mapping, not {type(raw).__name__}")
    read = {_checked(str, at, name): _read(kinds[1], at, value) for name, value in raw.items()}
    return MappingProxyType(read)


_MEMBERS: Mapping[Any, Callable[[tuple[Any, ...], str, object], Any]] = {
    tuple: _tuple,
    frozenset: _frozenset,
    Mapping: _mapping,
}


def _checked(kind: type, at: str, raw: object) -> Any:
    if kind is bool or isinstance(raw, bool):
        if kind is not bool or not isinstance(raw, bool):
            raise InvalidInput(at, f"must be {kind.__name__}, not {type(raw).__name__}")
        return raw
    if not isinstance(raw, _PLAIN[kind]):
        raise InvalidInput(at, f"must be {kind.__name__}, not {type(raw).__name__}")
    return float(raw) if kind is float and isinstance(raw, int) else raw
