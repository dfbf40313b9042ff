"""A message that cannot be read or stored names its place, and nothing of the call is kept."""

from typing import Any

import pytest
from openai.types.chat import ChatCompletionChunk, ChatCompletionMessage

from conftest import World
from simonides import InvalidInput, Memory, Message

CITY = "I live in Porto."


@pytest.fixture
def ana(world: World) -> Memory:
    return world.store.memory(user="ana")


def nested(depth: int) -> dict[str, Any]:
    """Return data that is nested too deep for JSON."""
    outer: dict[str, Any] = {}
    inner = outer
    for _ in range(depth):
        inner["a"] = {}
        inner = inner["a"]
    return outer


CHUNK = ChatCompletionChunk.model_validate(
    {
        "id": "c",
        "created": 1,
        "model": "m",
        "object": "chat.completion.chunk",
        "choices": [{"index": 0, "delta": {"content": "Fi"}}],
    }
)


def said(**fields: Any) -> dict[str, Any]:
    return {"role": "user", "content": "x", **fields}


@pytest.mark.parametrize("verb", ["memory", "session"])
@pytest.mark.parametrize(
    ("bad", "place"),
    [
        (7, ""),
        (None, ""),
        (b"bytes", ""),
        (object(), ""),
        (["user", "x"], ""),
        (ChatCompletionMessage, ""),
        (CHUNK, ""),
        ({"choices": []}, ""),
        ({}, ".role"),
        ({"content": "no role"}, ".role"),
        (said(role="boss"), ".role"),
        (said(role=["user"]), ".role"),
        (Message("boss", "x"), ".role"),
        (said(content=7), ".content"),
        (said(content=b"x"), ".content"),
        (said(content="a\0b"), ".content"),
        (said(content="\ud800"), ".content"),
        (said(content="x" * 70_000), ".content"),
        (said(content=[{"type": "text", "text": "x" * 70_000}]), ".content"),
        (said(content=["x", None]), ".content[1]"),
        (said(content=[[["x"]]]), ".content[0]"),
        (said(content=[{"type": "text", "text": 7}]), ".content[0].text"),
        (said(content=[{"type": "tool_result", "content": 7}]), ".content[0].content"),
        (said(content=[{"type": "tool_use", "input": nested(50_000)}]), ".content[0]"),
        (said(role="assistant", tool_calls=7), ".tool_calls"),
        (said(role="assistant", tool_calls=[7]), ".tool_calls[0]"),
        (Message("user", 7), ".content"),  # type: ignore[arg-type]
        (Message("user", "a\0b"), ".content"),
        (said(name=7), ".name"),
        (said(name="\ud800"), ".name"),
        (said(name="x" * 600), ".name"),
        (said(at="yesterday"), ".at"),
        (said(at=7), ".at"),
        (said(key=7), ".key"),
        (said(failed="no"), ".failed"),
        (said(importance="huge"), ".importance"),
        (said(metadata=7), ".metadata"),
        (said(metadata={"a": float("nan")}), ".metadata.a"),
        (said(metadata=nested(100)), ".metadata"),
        (said(metadata={"a": "x" * 20_000}), ".metadata"),
    ],
)
def test_a_message_that_cannot_be_read_names_its_place_and_nothing_is_kept(
    ana: Memory, verb: str, bad: Any, place: str
) -> None:
    talk = ana.session("s")
    memory = ana if verb == "memory" else talk

    with pytest.raises(InvalidInput) as caught:
        # What is skipped counts in the place.
        memory.add([{"role": "system", "content": "Be kind."}, CITY, bad])

    assert caught.value.field.startswith(f"messages[2]{place}")
    assert len(str(caught.value)) < 300
    assert (talk.messages(), ana.list()) == ((), ())


@pytest.mark.parametrize("verb", ["memory", "session"])
@pytest.mark.parametrize(
    ("how", "field"),
    [
        ({"at": "yesterday"}, "at"),
        ({"at": 7}, "at"),
        ({"me": 7}, "me"),
        ({"me": "\ud800"}, "me"),
        ({"wait": "no"}, "wait"),
    ],
)
def test_a_wrong_argument_is_named_and_nothing_is_kept(
    ana: Memory, verb: str, how: dict[str, Any], field: str
) -> None:
    talk = ana.session("s")

    with pytest.raises(InvalidInput) as caught:
        (ana if verb == "memory" else talk).add(CITY, **how)

    assert caught.value.field == field
    assert (talk.messages(), ana.list()) == ((), ())


def test_a_call_has_a_bound(ana: Memory) -> None:
    talk = ana.session("s")

    with pytest.raises(InvalidInput, match="10,000"):
        talk.add(["x"] * 10_001)
    assert talk.messages() == ()
