"""A model gets tools for memory; it can do with them what its user allows, and no more."""

import json
from typing import Any

import pytest
from anthropic.types import ToolParam
from openai.types.chat import ChatCompletionToolParam
from pydantic import TypeAdapter

from conftest import World
from simonides import Draft, InvalidInput, Memory

ALL = ("search", "remember", "get", "list", "forget")


@pytest.fixture
def ana(world: World) -> Memory:
    memory = world.store.memory(user="ana")
    memory.remember("Always deploy to us-east-1", key="region", category="preference")
    return memory


@pytest.mark.parametrize(
    ("format", "type_"), [("openai", ChatCompletionToolParam), ("anthropic", ToolParam)]
)
def test_definitions_are_what_the_sdk_takes(ana: Memory, format: str, type_: Any) -> None:
    definitions = ana.tools(*ALL).definitions(format)

    assert len(definitions) == len(ALL)
    for definition in definitions:
        TypeAdapter(type_).validate_python(definition)


def test_every_vendor_gets_the_same_names_and_arguments(ana: Memory) -> None:
    tools = ana.tools(*ALL)
    plain = {
        "openai-responses": "parameters",
        "anthropic": "input_schema",
        "gemini": "parameters_json_schema",
        "mcp": "inputSchema",
    }

    schemas = {
        format: [(each["name"], each[schema]) for each in tools.definitions(format)]
        for format, schema in plain.items()
    }
    functions = [each["function"] for each in tools.definitions("openai")]
    schemas["openai"] = [(each["name"], each["parameters"]) for each in functions]

    assert all(each == schemas["openai"] for each in schemas.values())
    assert [name for name, _ in schemas["mcp"]] == [
        "search_memory", "remember_memory", "get_memory", "list_memory", "forget_memory",
    ]  # fmt: skip


def test_a_tool_or_format_that_is_none_is_an_error(ana: Memory) -> None:
    with pytest.raises(InvalidInput, match="search"):
        ana.tools("delete_everything")
    with pytest.raises(InvalidInput, match="anthropic"):
        ana.tools("search").definitions("cobol")


@pytest.mark.parametrize("wrapped", [dict, json.dumps])
def test_a_call_takes_data_or_json(ana: Memory, wrapped: Any) -> None:
    tools = ana.tools(*ALL)

    assert "us-east-1" in tools.call("search_memory", wrapped({"query": "deploy"})).text
    assert "us-east-1" in tools.call("get_memory", wrapped({"which": "region"})).text
    assert "us-east-1" in tools.call("list_memory", wrapped({})).text


def test_what_a_model_remembers_is_the_models(ana: Memory) -> None:
    reply = ana.tools("remember").call("remember_memory", {"content": "The build takes 9 min"})

    assert not reply.refused
    (record,) = [each for each in ana.list() if "build" in each.content]
    assert (record.source, record.trust) == ("agent_inferred", "agent")


def test_a_model_deletes_what_it_noted_and_not_what_the_user_said(ana: Memory) -> None:
    tools = ana.tools("remember", "forget")
    tools.call("remember_memory", {"content": "The build takes 9 min", "key": "build"})

    assert tools.call("forget_memory", {"which": "region"}).refused == "users_own"
    assert not tools.call("forget_memory", {"which": "build"}).refused
    assert [each.key for each in ana.list()] == ["region"]


@pytest.mark.parametrize(
    ("name", "arguments", "told"),
    [
        ("search_memory", {}, "query"),
        ("search_memory", {"query": ""}, "query"),
        ("search_memory", {"query": "x", "depth": 3}, "unknown_argument. It takes query"),
        ("search_memory", {"query": "x", "layer": "l9"}, "layer (l2)"),
        ("search_memory", {"query": "x", "top_k": 0}, "top_k"),
        ("search_memory", "{not json", "query"),
        ("search_memory", [1], "query"),
        ("get_memory", {}, "which"),
        ("get_memory", {"which": 7}, "which"),
        ("get_memory", {"which": "region", "all": True}, "unknown_argument. It takes which"),
        ("get_memory", {"which": "nothing"}, "nothing"),
        ("remember_memory", {"content": ""}, "content"),
        ("remember_memory", {"content": "x", "key": "A b"}, "key"),
        ("remember_memory", {"content": "My password is hunter2"}, "secret"),
        ("list_memory", {"limit": True}, "limit"),
        ("drop_tables", {}, "no tool"),
    ],
)
def test_a_bad_call_is_a_refusal_that_the_model_can_mend(
    ana: Memory, name: str, arguments: Any, told: str
) -> None:
    before = ana.list()

    reply = ana.tools(*ALL).call(name, arguments)

    assert reply.refused
    assert told in reply.text
    assert ana.list() == before


@pytest.mark.parametrize(("named", "layer"), [("memory", "l2"), ("session", "l1")])
def test_a_layer_has_its_name_and_its_number(ana: Memory, named: str, layer: str) -> None:
    talk = ana.session("s")
    talk.add("The boat is called Albatross.")
    tools = talk.tools("search")

    texts = {
        tools.call("search_memory", {"query": "boat deploy", "layer": each}).text
        for each in (named, layer)
    }

    assert len(texts) == 1


def test_no_tool_shows_what_is_anothers_or_sensitive_or_paused(world: World, ana: Memory) -> None:
    ana.remember(Draft("Ana takes lithium", key="medicine", sensitivity="sensitive"))
    bob, tools = world.store.memory(user="bob").tools(*ALL), ana.tools(*ALL)

    calls = [("search_memory", {"query": "deploy lithium"}), ("list_memory", {})]
    calls += [("get_memory", {"which": key}) for key in ("region", "medicine")]
    for name, arguments in calls:
        assert "us-east-1" not in bob.call(name, arguments).text
        assert "lithium" not in tools.call(name, arguments).text
    ana.privacy.pause_recall()
    for name, arguments in calls:
        assert "us-east-1" not in tools.call(name, arguments).text
