"""Check JSON against the part of JSON Schema that simonides asks models for.

``pydantic`` models would bind the port to one library and to classes; the schemas here are data
of a few lines. An unknown keyword is an error of the schema's author, never ignored: what is not
understood is not checked.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import Any

_ANNOTATIONS = frozenset({"title", "description", "default", "examples"})


def problem(value: Any, schema: Mapping[str, Any], *, path: str = "$") -> str | None:
    """Return the first way in which ``value`` does not follow ``schema``, or None if it does.

    Understood: ``type`` (one or several), ``enum``, ``const``, ``properties``, ``required``,
    ``additionalProperties`` (boolean), ``items`` (one schema), ``minItems``, ``maxItems``,
    ``minLength``, ``maxLength``, ``minimum``, ``maximum``, and annotations. Constraints of one
    type do not concern values of another. Recursion follows the schema, so the depth of a value
    does no harm.

    Args:
        value: Parsed JSON.
        schema: What it should be.
        path: Where ``value`` stands, for the message.

    Returns:
        A sentence that names the place, such as ``$.items[2].key: must be string``; it never
        repeats the value.

    Raises:
        ValueError: If the schema has a keyword or a type that is not understood.
    """
    unknown = sorted(set(schema) - set(_KEYWORDS) - _ANNOTATIONS)
    if unknown:
        raise ValueError(f"schema keyword {unknown[0]!r} at {path} is not understood")
    for keyword, check in _KEYWORDS.items():
        if keyword in schema:
            found = check(value, schema[keyword], schema, path)
            if found is not None:
                return found
    return None


def is_strict(schema: Any) -> bool:
    """Whether every object in a schema names all its properties, requires them and closes.

    Providers guarantee such schemas only; others are a hint to them.
    """
    if not isinstance(schema, Mapping):
        return False
    properties = schema.get("properties", {})
    if schema.get("type") == "object" or properties:
        closed = schema.get("additionalProperties") is False
        if not closed or set(schema.get("required", ())) != set(properties):
            return False
    elif "type" not in schema and "enum" not in schema:
        return False
    inner = [*properties.values(), *([schema["items"]] if "items" in schema else [])]
    return (schema.get("type") != "array" or "items" in schema) and all(map(is_strict, inner))


def reduced(schema: Any, keywords: frozenset[str]) -> dict[str, Any] | None:
    """Return a schema with only those keywords that an endpoint knows, or None if it cannot be
    said so: each value needs one type or a list of what it may be.

    A ``const`` that is not known becomes a list of one. What is left out is not asked for; who
    asks checks the answer against the whole schema.
    """
    if not isinstance(schema, Mapping):
        return None
    kept = {name: value for name, value in schema.items() if name in keywords}
    if "const" in schema and "const" not in keywords:
        kept["enum"] = [schema["const"]]
    if not isinstance(kept.get("type"), str) and "enum" not in kept and "const" not in kept:
        return None
    inner = {name: reduced(each, keywords) for name, each in schema.get("properties", {}).items()}
    if inner:
        kept["properties"] = inner
    if "items" in schema:
        kept["items"] = reduced(schema["items"], keywords)
    is_whole = None not in inner.values() and kept.get("items", kept) is not None
    return kept if is_whole else None


def _is_number(value: Any) -> bool:
    return not isinstance(value, bool) and isinstance(value, (int, float)) and _is_finite(value)


def _is_finite(value: float) -> bool:
    return isinstance(value, int) or math.isfinite(value)


def _is_integer(value: Any) -> bool:
    return _is_number(value) and (isinstance(value, int) or value.is_integer())


_TYPES: Mapping[str, Callable[[Any], bool]] = {
    "object": lambda value: isinstance(value, dict),
    "array": lambda value: isinstance(value, list),
    "string": lambda value: isinstance(value, str),
    "number": _is_number,
    "integer": _is_integer,
    "boolean": lambda value: isinstance(value, bool),
    "null": lambda value: value is None,
}


def _type(value: Any, wanted: Any, _: Mapping[str, Any], path: str) -> str | None:
    names = [wanted] if isinstance(wanted, str) else list(wanted)
    for name in names:
        if name not in _TYPES:
            raise ValueError(f"schema type {name!r} at {path} is not understood")
    if any(_TYPES[name](value) for name in names):
        return None
    return f"{path}: must be {' or '.join(names)}"


def _same(value: Any, allowed: Any) -> bool:
    # In JSON true is not 1, in Python it is.
    return bool(value == allowed) and isinstance(value, bool) == isinstance(allowed, bool)


def _enum(value: Any, allowed: Any, _: Mapping[str, Any], path: str) -> str | None:
    if any(_same(value, each) for each in allowed):
        return None
    return f"{path}: must be one of {', '.join(map(repr, allowed))}"


def _const(value: Any, allowed: Any, _: Mapping[str, Any], path: str) -> str | None:
    return None if _same(value, allowed) else f"{path}: must be {allowed!r}"


def _required(value: Any, names: Any, _: Mapping[str, Any], path: str) -> str | None:
    if not isinstance(value, dict):
        return None
    missing = next((name for name in names if name not in value), None)
    return None if missing is None else f"{path}: {missing!r} is missing"


def _properties(value: Any, schemas: Any, _: Mapping[str, Any], path: str) -> str | None:
    if not isinstance(value, dict):
        return None
    checks = (
        problem(value[name], inner, path=f"{path}.{name}")
        for name, inner in schemas.items()
        if name in value
    )
    return next((found for found in checks if found is not None), None)


def _additional(value: Any, allowed: Any, schema: Mapping[str, Any], path: str) -> str | None:
    if not isinstance(allowed, bool):
        raise ValueError(f"schema keyword 'additionalProperties' at {path} must be true or false")
    if (
        allowed
        or not isinstance(value, dict)
        or value.keys() <= schema.get("properties", {}).keys()
    ):
        return None
    return f"{path}: has a property that is not in the schema"


def _items(value: Any, inner: Any, _: Mapping[str, Any], path: str) -> str | None:
    if not isinstance(value, list):
        return None
    checks = (problem(each, inner, path=f"{path}[{place}]") for place, each in enumerate(value))
    return next((found for found in checks if found is not None), None)


def _bound(
    measure: Callable[[Any], float | None], fits: Callable[[float, float], bool], words: str
) -> Callable[[Any, Any, Mapping[str, Any], str], str | None]:
    def check(value: Any, limit: Any, _: Mapping[str, Any], path: str) -> str | None:
        size = measure(value)
        return None if size is None or fits(size, limit) else f"{path}: {words} {limit}"

    return check


def _count(value: Any) -> float | None:
    return len(value) if isinstance(value, list) else None


def _length(value: Any) -> float | None:
    return len(value) if isinstance(value, str) else None


def _size(value: Any) -> float | None:
    return value if _is_number(value) else None


def _at_least(size: float, limit: float) -> bool:
    return size >= limit


def _at_most(size: float, limit: float) -> bool:
    return size <= limit


_KEYWORDS: Mapping[str, Callable[[Any, Any, Mapping[str, Any], str], str | None]] = {
    "type": _type,
    "enum": _enum,
    "const": _const,
    "required": _required,
    "additionalProperties": _additional,
    "minItems": _bound(_count, _at_least, "number of items must be at least"),
    "maxItems": _bound(_count, _at_most, "number of items must be at most"),
    "minLength": _bound(_length, _at_least, "length must be at least"),
    "maxLength": _bound(_length, _at_most, "length must be at most"),
    "minimum": _bound(_size, _at_least, "must be at least"),
    "maximum": _bound(_size, _at_most, "must be at most"),
    "properties": _properties,
    "items": _items,
}
