"""A scripted model keeps a memory over MCP: it learns, finds, corrects, forgets and answers."""

import asyncio

import pytest
from test_mcp import MODES, TOOLS, answering, called, over_http

LOCKER = "My locker at the station is number 17"


async def played(client, turn):
    """Carry out the calls that a model makes in a turn; return its answer, and the tools called."""
    offered = {each.name: each.input_schema for each in (await client.list_tools()).tools}
    names, answer = [], None
    while True:
        try:
            name, given = turn.send(answer)
        except StopIteration as end:
            return end.value, names
        assert set(given) <= set(offered[name]["properties"]), "a model sends what is described"
        result, text = await called(client, name, **given)
        answer = result.structured_content or {}, text
        names.append(name)


# Each turn is what a model does when the user says something: it calls tools, and answers.


def learns():
    """Learn from: "I would rather have an aisle seat"."""
    _, known = yield "memory_digest", {"about": "booking a flight"}
    assert "seat" not in known
    values, _ = yield "memory_add", {"text": "Ana prefers aisle seats on flights"}
    return values["done"]


def finds():
    """Answer: "Which seat do I like?"."""
    values, _ = yield "memory_search", {"query": "Which seat does Ana prefer on flights?"}
    [hit] = [each for each in values["results"] if "seat" in each["text"]]
    shown, _ = yield "memory_get", {"id": hit["id"]}
    return f"{shown['text']} [{hit['id']}]"


def corrects():
    """Hear: "No, I like window seats now"."""
    values, _ = yield "memory_search", {"query": "seat preference"}
    [hit] = [each for each in values["results"] if "seat" in each["text"]]
    text = "Ana prefers window seats on flights"
    values, _ = yield "memory_correct", {"id": hit["id"], "text": text}
    return values["done"]


def forgets():
    """Hear: "Forget my locker"."""
    values, _ = yield "memory_search", {"query": "locker number"}
    [hit] = [each for each in values["results"] if "locker" in each["text"]]
    values, text = yield "memory_forget", {"id": hit["id"]}
    return values["done"], text


def answers():
    """Answer: "Book me a flight; and where did I leave my bag?"."""
    _, known = yield "memory_digest", {"about": "booking a flight: seat; the locker at the station"}
    return known


@pytest.mark.parametrize("mode", MODES)
def test_a_model_learns_finds_corrects_forgets_and_answers(url, token, store, mode):
    ana = store.memory(user="ana", org="acme")
    locker = ana.remember(LOCKER).record
    ask, asked = answering("delete")

    async def story():
        secret, said, used = token(), {}, []
        for turn in (
            learns,
            finds,
            corrects,
            forgets,
            answers,
        ):  # each in a conversation of its own
            async with over_http(url, secret, mode=mode, elicitation_callback=ask) as client:
                said[turn.__name__], names = await played(client, turn())
                used += names
        return said, used

    said, used = asyncio.run(story())
    assert said["learns"]
    assert said["finds"].startswith("Ana prefers aisle seats on flights [")
    assert said["corrects"]
    assert said["forgets"] == (True, "The user was asked: delete. Forgotten.")
    assert "window seats" in said["answers"]
    assert "aisle" not in said["answers"]
    assert "locker" not in said["answers"]
    assert set(used) == set(TOOLS), "each of the tools is of use"
    [question] = asked
    assert LOCKER in question, "only for the user's own the person is asked"
    assert ana.get(locker.id) is None
    assert [each.content for each in ana.list()] == ["Ana prefers window seats on flights"]
