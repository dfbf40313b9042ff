"""Checks JSON against the part of JSON Schema that simonides asks models for. Not ``pydantic``: it
makes schemas from classes, and the schemas here are data of a few lines. An unknown keyword is an
error of the schema's author: ignoring it would leave a value unchecked.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping
from operator import ge, le
from typing import Any

_ANNOTATIONS = frozenset({"title", "description", "default", "examples"})

_TYPES: Mapping[str, Callable[[Any], bool]] = {
    "object": lambda value: isinstance(value, dict),
    "array": lambda value: isinstance(value, list),
    "string": lambda value: isinstance(value, str),
    "number": lambda value: _is_number(value),
    "integer": lambda value: _is_number(value) and (isinstance(value, int) or value.is_integer()),
    "boolean": lambda value: isinstance(value, bool),
    "null": lambda value: value is None,
}

_BOUNDS: Mapping[str, tuple[str, Callable[[Any, Any], bool], str]] = {
    "minItems": ("array", ge, "number of items must be at least"),
    "maxItems": ("array", le, "number of items must be at most"),
    "minLength": ("string", ge, "length must be at least"),
    "maxLength": ("string", le, "length must be at most"),
    "minimum": ("number", ge, "must be at least"),
    "maximum": ("number", le, "must be at most"),
}

_KEYWORDS = _BOUNDS.keys() | _ANNOTATIONS | {
    "type", "enum", "const", "required", "additionalProperties", "properties", "items",
}  # fmt: skip


def problem(value: Any, schema: Mapping[str, Any]) -> str | None:
    """Return the first way in which ``value`` does not follow ``schema``, or None if it does.

    Supported: ``type`` (one or several), ``enum``, ``const``, ``properties``, ``required``,
    ``additionalProperties`` (boolean), ``items`` (one schema), ``minItems``, ``maxItems``,
    ``minLength``, ``maxLength``, ``minimum``, ``maximum``, and annotations. A constraint of one
    type ignores values of another. Recursion follows the schema, so a deeply nested value is
    harmless.

    Returns:
        A sentence that names the place, such as ``$.items[2].key: must be string``; it never
            repeats the value.

    Raises:
        ValueError: If the schema has an unsupported keyword or type.
    """
    return next(_problems(value, schema, "$"), None)


def is_strict(schema: Any) -> bool:
    """Whether every object in a schema lists, requires and closes its properties. Providers enforce
    only such schemas; others are a hint to them.
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
    """Return a schema with only the keywords that an endpoint supports, or None if impossible. Each
    value needs one type or a list of allowed values. An unsupported ``const`` becomes a list of
    one. The caller checks the answer against the whole schema.
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


def _problems(value: Any, schema: Mapping[str, Any], path: str) -> Iterator[str]:
    _require_understood(schema, path)
    names = [schema["type"]] if isinstance(schema.get("type"), str) else schema.get("type", ())
    if names and not any(_TYPES[name](value) for name in names):
        yield f"{path}: must be {' or '.join(names)}"
    if "enum" in schema and not any(_same(value, each) for each in schema["enum"]):
        yield f"{path}: must be one of {', '.join(map(repr, schema['enum']))}"
    if "const" in schema and not _same(value, schema["const"]):
        yield f"{path}: must be {schema['const']!r}"
    for keyword, (kind, fits, words) in _BOUNDS.items():
        if keyword in schema and _TYPES[kind](value):
            size = value if kind == "number" else len(value)
            if not fits(size, schema[keyword]):
                yield f"{path}: {words} {schema[keyword]}"
    if isinstance(value, dict):
        yield from _of_object(value, schema, path)
    elif isinstance(value, list) and "items" in schema:
        for place, each in enumerate(value):
            yield from _problems(each, schema["items"], f"{path}[{place}]")


def _of_object(value: dict[str, Any], schema: Mapping[str, Any], path: str) -> Iterator[str]:
    properties = schema.get("properties", {})
    yield from (
        f"{path}: {name!r} is missing" for name in schema.get("required", ()) if name not in value
    )
    if not schema.get("additionalProperties", True) and not value.keys() <= properties.keys():
        yield f"{path}: has a property that is not in the schema"
    for name, inner in properties.items():
        if name in value:
            yield from _problems(value[name], inner, f"{path}.{name}")


def _require_understood(schema: Mapping[str, Any], path: str) -> None:
    unknown = sorted(schema.keys() - _KEYWORDS)
    if unknown:
        raise ValueError(f"schema keyword {unknown[0]!r} at {path} is not understood")
    names = schema.get("type", [])
    for name in [names] if isinstance(names, str) else names:
        if name not in _TYPES:
            raise ValueError(f"schema type {name!r} at {path} is not understood")
    if not isinstance(schema.get("additionalProperties", True), bool):
        raise ValueError(f"schema keyword 'additionalProperties' at {path} must be true or false")


def _is_number(value: Any) -> bool:
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        return False
    return isinstance(value, int) or math.isfinite(value)


def _same(value: Any, allowed: Any) -> bool:
    # In JSON true is not 1, in Python it is.
    return bool(value == allowed) and isinstance(value, bool) == isinstance(allowed, bool)
