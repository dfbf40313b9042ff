"""The small JSON Schema checker: exactly the keywords that are used, nothing ignored."""

from __future__ import annotations

from typing import Any

import pytest

from simonides.providers.language_models.json_schema import is_strict, problem

ITEM = {
    "type": "object",
    "properties": {"key": {"type": "string", "maxLength": 5}, "ttl": {"type": ["number", "null"]}},
    "required": ["key"],
    "additionalProperties": False,
}
LIST = {
    "type": "object",
    "properties": {"items": {"type": "array", "items": ITEM, "maxItems": 2}},
    "required": ["items"],
}


@pytest.mark.parametrize(
    ("value", "schema"),
    [
        ({"items": []}, LIST),
        ({"items": [{"key": "a"}, {"key": "b", "ttl": 3.5}]}, LIST),
        ({"items": [{"key": "a", "ttl": None}], "more": 1}, LIST),
        (3, {"type": "integer"}),
        (3.0, {"type": "integer"}),
        (True, {"type": "boolean"}),
        ("b", {"enum": ["a", "b"]}),
        (1, {"const": 1}),
        (None, {"type": "null"}),
        ("x", {}),
        ("x", {"minimum": 5, "maxItems": 0}),
        (5, {"minimum": 5, "maximum": 5}),
    ],
)
def test_what_follows_the_schema_has_no_problem(value: Any, schema: dict[str, Any]) -> None:
    assert problem(value, schema) is None


@pytest.mark.parametrize(
    ("value", "schema", "where"),
    [
        ([], LIST, "$: must be object"),
        ({}, LIST, "$: 'items' is missing"),
        ({"items": 3}, LIST, "$.items: must be array"),
        ({"items": [{"key": "a"}] * 3}, LIST, "$.items: number of items must be at most 2"),
        ({"items": [{"key": "a"}, {}]}, LIST, "$.items[1]: 'key' is missing"),
        ({"items": [{"key": 3}]}, LIST, "$.items[0].key: must be string"),
        ({"items": [{"key": "abcdef"}]}, LIST, "$.items[0].key: length must be at most 5"),
        ({"items": [{"key": "a", "x": 1}]}, LIST, "$.items[0]: has a property that is not"),
        ({"items": [{"key": "a", "ttl": "x"}]}, LIST, "ttl: must be number or null"),
        (True, {"type": "integer"}, "must be integer"),
        (True, {"type": "number"}, "must be number"),
        (float("nan"), {"type": "number"}, "must be number"),
        (3.5, {"type": "integer"}, "must be integer"),
        (True, {"enum": [1]}, "must be one of 1"),
        (1, {"const": True}, "must be True"),
        ("", {"type": "string", "minLength": 1}, "length must be at least 1"),
        ([], {"minItems": 1}, "number of items must be at least 1"),
        (4, {"minimum": 5}, "must be at least 5"),
        (6, {"maximum": 5}, "must be at most 5"),
    ],
)
def test_the_first_problem_names_its_place(value: Any, schema: dict[str, Any], where: str) -> None:
    found = problem(value, schema)

    assert found is not None
    assert where in found


@pytest.mark.parametrize(
    "schema",
    [
        {"pattern": "a+"},
        {"anyOf": []},
        {"type": "text"},
        {"type": "object", "additionalProperties": {"type": "string"}},
        {"properties": {"a": {"format": "date"}}},
    ],
)
def test_what_is_not_understood_is_an_error_and_not_ignored(schema: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match="schema"):
        problem({"a": 1}, schema)


def test_the_value_itself_is_never_repeated() -> None:
    found = problem({"items": [{"key": "secret-value"}]}, LIST)

    assert found is not None
    assert "secret" not in found


def test_a_deep_value_does_no_harm() -> None:
    deep: Any = []
    for _ in range(100_000):
        deep = [deep]

    assert problem({"items": [{"key": "a", "ttl": None}], "deep": deep}, LIST) is None


@pytest.mark.parametrize(
    ("schema", "strict"),
    [
        (ITEM, False),
        (ITEM | {"required": ["key", "ttl"]}, True),
        (LIST, False),
        ({"type": "object"}, False),
        ({"type": "array", "items": {"type": "string"}}, True),
        ({"type": "array"}, False),
        ({"type": "string"}, True),
        ({"description": "anything"}, False),
    ],
)
def test_only_closed_schemas_are_strict(schema: dict[str, Any], strict: bool) -> None:
    assert is_strict(schema) is strict
