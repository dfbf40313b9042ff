"""The memory as tools that a language model calls."""

import json

import pytest

import simonides
from simonides.testing.model_server import ModelServer, calling, saying


@pytest.fixture
def ana():
    with simonides.testing.open() as store:
        yield store.memory(user="ana")


def test_a_model_reads_what_it_stored_and_what_the_user_said(ana):
    ana.remember("Ana lives in Berlin", key="city")
    tools = ana.tools()
    assert tools.call("remember_memory", {"content": "Ana owns a red bicycle", "key": "bicycle"})
    reply = tools.call("search_memory", '{"query": "Which bicycle does Ana own?", "limit": null}')
    assert "Ana owns a red bicycle" in reply.text
    assert reply.ok
    assert "Berlin" in tools.call("search_memory", {"query": "Where does Ana live?"}).text
    reply = tools.call("search_memory", {"query": "What is 2+2?"})
    assert reply.text == "Nothing is remembered about this."


@pytest.mark.real_encoder
def test_a_search_shows_a_standing_rule_only_where_it_bears_on_the_query(ana):
    ana.remember("Never deploy to production on Fridays", category="constraint")
    ana.remember("Ana is allergic to peanuts", importance="critical")
    ana.remember("Ana owns a red bicycle", key="bicycle")
    tools = ana.tools()
    reply = tools.call("search_memory", {"query": "Which bicycle does Ana own?"})
    assert "red bicycle" in reply.text
    assert "Fridays" not in reply.text
    assert "Always:" not in reply.text
    reply = tools.call("search_memory", {"query": "May I deploy to production on Fridays?"})
    assert "Never deploy to production on Fridays" in reply.text
    assert "peanuts" not in reply.text
    assert "peanuts" in tools.call("search_memory", {"query": "Is Ana allergic to peanuts?"}).text
    assert tools.call("search_memory", {"query": "What is 2+2?"}).text.startswith("Nothing")


def test_a_call_speaks_for_the_agent_and_never_over_the_user(ana):
    ana.remember("Ana lives in Berlin", key="city")
    tools = ana.tools("remember", "forget")
    tools.call("remember_memory", {"content": "Ana lives in Rome", "key": "city"})
    assert ana.get("city").content == "Ana lives in Berlin"
    tools.call("remember_memory", {"content": "Ana owns a red bicycle", "key": "bicycle"})
    assert ana.get("bicycle").source == "agent_inferred"
    refused = tools.call("forget_memory", {"which": "city"})
    assert not refused
    assert "only the user" in refused.text
    assert tools.call("forget_memory", {"which": "bicycle"}).ok
    assert ana.get("bicycle") is None
    assert ana.get("city") is not None


def test_an_agent_that_forgets_its_own_memory_leaves_the_users_words(ana):
    said = "I own a red bicycle. I live in Hull."
    ana.add(said)
    tools = ana.tools("remember", "forget")
    tools.call("remember_memory", {"content": "The user owns a red bicycle", "key": "bicycle"})
    assert tools.call("forget_memory", {"which": "bicycle"}).ok
    assert ana.get("bicycle") is None
    assert said in {each.content for each in ana.list()}


def test_a_model_corrects_what_it_stored_and_nothing_of_the_user(ana):
    ana.remember("Ana lives in Berlin", key="city")
    tools = ana.tools()
    tools.call("remember_memory", {"content": "Ana owns a red bicycle", "key": "bicycle"})
    before = ana.get("bicycle")
    assert tools.call("correct_memory", {"which": before.id, "content": "Ana owns a blue bicycle"})
    after = ana.get("bicycle")
    assert after.content == "Ana owns a blue bicycle"
    assert (after.root, after.source) == (before.root, "agent_inferred")
    refused = tools.call("correct_memory", {"which": "city", "content": "Ana lives in Rome"})
    assert not refused
    assert "only the user can change" in refused.text
    assert ana.get("city").content == "Ana lives in Berlin"
    reply = tools.call("correct_memory", {"which": "bicycl", "content": "Ana owns none"})
    assert "did you mean 'bicycle'?" in reply.text


def test_a_correction_without_a_key_says_what_to_do(ana):
    tools = ana.tools()
    tools.call("remember_memory", {"content": "Ana owns a red bicycle"})
    [known] = ana.list()
    reply = tools.call("correct_memory", {"which": known.id, "content": "Ana owns a blue bicycle"})
    assert not reply
    assert "forget this one" in reply.text


def test_a_model_reads_the_profile(ana):
    tools = ana.tools("get_profile")
    assert tools.call("get_profile_memory", "").text == "Nothing is remembered yet."
    ana.remember("Ana lives in Berlin", key="city")
    ana.remember("Never deploy on Fridays", category="constraint")
    assert tools.call("get_profile_memory", {}).text == ana.profile().text
    assert "It takes nothing" in tools.call("get_profile_memory", {"user": "ben"}).text
    for vendor in ("openai", "responses", "anthropic", "gemini"):
        [definition] = tools.definitions(vendor)
        assert "get_profile_memory" in json.dumps(definition)


def test_a_secret_is_refused_with_the_reason(ana):
    reply = ana.tools().call("remember_memory", {"content": "The key is AKIA2E0A8F3B244C9986"})
    assert not reply.ok
    assert "AKIA" not in reply.text


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        ({"question": "bicycle"}, "query: is missing. It takes query"),
        ({"query": "a", "quantity": 3}, "quantity: is not a field. It takes query"),
        ({"query": ""}, "query: must not be empty"),
        ({"query": 7}, "query: must be"),
        ({"query": "a", "limit": 21}, "limit: must be less than or equal to 20"),
        ({"query": "a" * 2_001}, "query: String should have at most 2000"),
        ({"query": "\ud800"}, "query: holds a lone surrogate"),
        ({"query": "nul \0"}, "NUL"),
        ("{", "arguments: must be a JSON object"),
        ("[" * 60_000, "arguments: must be a JSON object"),
        ("[]", "arguments: must be a JSON object"),
        ("", "query: is missing"),
        ('{"query": "' + "a" * 70_000 + '"}', "at most 65,536 characters"),
        (None, "arguments: must be a JSON object"),
    ],
)
def test_wrong_arguments_get_a_reply_that_says_what_to_do(ana, arguments, says):
    reply = ana.tools().call("search_memory", arguments)
    assert not reply
    assert says.lower() in str(reply).lower()


def test_a_missing_memory_is_named_in_the_reply(ana):
    ana.remember("Ana lives in Berlin", key="city")
    reply = ana.tools().call("forget_memory", {"which": "locatoin"})
    assert "did you mean 'location'?" in reply.text


def test_unknown_names_raise_with_the_nearest(ana):
    for wrong in (
        lambda: ana.tools("serch"),
        lambda: ana.tools().definitions("opnai"),
        lambda: ana.tools().call("serch_memory", {}),
        lambda: ana.tools("search").call("forget_memory", {}),
    ):
        with pytest.raises(simonides.InvalidInput, match=r"is not one of .*(search|openai)"):
            wrong()


def test_definitions_have_the_shape_of_each_vendor(ana):
    tools = ana.tools("search")
    [chat] = tools.definitions()
    [responses] = tools.definitions("responses")
    [claude] = tools.definitions("anthropic")
    [gemini] = tools.definitions("gemini")
    schema = chat["function"]["parameters"]
    assert schema["required"] == ["query"]
    assert schema["additionalProperties"] is False
    assert set(schema["properties"]) == {"query", "limit", "layer"}
    assert "title" not in json.dumps(schema)
    assert chat["function"]["name"] == responses["name"] == claude["name"] == "search_memory"
    assert schema == responses["parameters"] == claude["input_schema"]
    assert schema == gemini["parameters_json_schema"]
    assert {tool["function"]["name"] for tool in ana.tools().definitions()} == {
        "search_memory", "remember_memory", "forget_memory", "correct_memory",
        "get_profile_memory",
    }  # fmt: skip


def test_the_sdks_take_the_definitions_and_give_calls_back(ana):
    import anthropic
    import openai

    tools = ana.tools()
    call = calling("remember_memory", content="Ana owns a red bicycle")
    with ModelServer(call, call, saying("Done.")) as server:
        gpt = openai.OpenAI(api_key="none", base_url=server.base_url)
        claude = anthropic.Anthropic(api_key="none", base_url=server.root_url)
        asked = [{"role": "user", "content": "I bought a red bicycle"}]
        message = gpt.chat.completions.create(
            model="m", messages=asked, tools=tools.definitions("openai")
        ).choices[0].message  # fmt: skip
        function = message.tool_calls[0].function
        assert tools.call(function.name, function.arguments).text == "Stored."
        [use] = claude.messages.create(
            model="m", max_tokens=9, messages=asked, tools=tools.definitions("anthropic")
        ).content  # fmt: skip
        assert tools.call(use.name, use.input)
    assert "search_memory" in str(server.received[1].body["tools"])


def test_tools_can_be_awaited():
    import asyncio

    async def asked():
        async with simonides.aopen(":memory:") as store:
            tools = store.memory(user="ana").tools("search", "remember")
            assert len(tools.definitions()) == 2
            return await tools.call("remember_memory", {"content": "Ana owns a red bicycle"})

    assert asyncio.run(asked()).ok
