"""What the user says in a conversation, and a digest put in front of it; no client, no server."""

from __future__ import annotations

import copy
from types import SimpleNamespace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from simonides.integrations.wrap_messages import (
    CHAT,
    MAX_SAID_CHARS,
    RESPONSES,
    SILENCE,
    Place,
    said_in,
    shortened,
    with_digest,
)


def user(*content: Any, **more: Any) -> dict[str, Any]:
    only_text = len(content) == 1 and isinstance(content[0], str)
    return {"role": "user", "content": content[0] if only_text else list(content), **more}


def assistant(content: Any = "Fine.") -> dict[str, Any]:
    return {"role": "assistant", "content": content}


SYSTEM = {"role": "system", "content": "Be kind."}
IMAGE = {"type": "image_url", "image_url": {"url": "data:,"}}
RESULT = {"type": "tool_result", "tool_use_id": "t", "content": "Call me Rex."}


def text(words: str) -> dict[str, str]:
    return {"type": "text", "text": words}


@pytest.mark.parametrize(
    ("conversation", "new", "before"),
    [
        ([], [], []),
        ([SYSTEM], [], []),
        ([SYSTEM, user("a")], ["a"], []),
        ([user("a"), assistant(), user("b")], ["b"], ["a"]),
        ([user("a"), user("b")], ["a", "b"], []),
        ([user("a"), SYSTEM, user("b")], ["a", "b"], []),
        # An answer that is already begun is none.
        ([user("a"), assistant("{")], ["a"], []),
        # What a tool says is not the user's, and answers what the user said.
        ([user("a"), assistant(), {"role": "tool", "content": "c"}], [], ["a"]),
        ([user("a"), assistant(), user(RESULT)], [], ["a"]),
        ([user("a"), assistant(), user(RESULT, text("b"))], ["b"], ["a"]),
        ([user("a"), {"type": "function_call_output", "output": "b"}], [], ["a"]),
        # An image says nothing, and answers nothing.
        ([user("a"), user(IMAGE)], ["a"], []),
        ([user(IMAGE, text("a"), text("b"))], ["a\nb"], []),
        ([user("  ")], [], []),
        ([user(text(""))], [], []),
    ],
)
def test_only_what_nobody_has_answered_is_new(
    conversation: list[Any], new: list[str], before: list[str]
) -> None:
    speech = said_in(conversation)

    assert [utterance.text for utterance in speech.new] == new
    assert list(speech.before) == before


def test_what_is_no_conversation_says_nothing() -> None:
    for strange in (None, 3, {"role": "user"}, object(), "  ", [None], [3], [{"role": "user"}]):
        assert said_in(strange) in (SILENCE, said_in([]))


def test_messages_as_objects_are_read_as_well() -> None:
    said = SimpleNamespace(role="user", content="a", model_dump=lambda **_: {})

    assert said_in([said]).query == "a"
    # What could not be sent anew with a digest in it is left alone.
    assert said_in([SimpleNamespace(role="user", content="a")]).place is None


def test_the_name_of_a_message_is_the_speakers() -> None:
    (utterance,) = said_in([user("a", name="Ana")]).new

    assert utterance.speaker == "Ana"


def test_the_query_is_the_users_last_word_also_after_a_tool() -> None:
    tool = {"role": "tool", "content": "c"}

    assert said_in([user("a"), assistant(), user("b")]).query == "b"
    assert said_in([user("a"), assistant(), tool]).query == "a"
    assert said_in([SYSTEM]).query == ""


def test_a_very_long_text_counts_by_head_and_tail() -> None:
    long = "a" * 40_000 + "z" * 40_000

    assert len(shortened(long)) <= MAX_SAID_CHARS
    assert shortened(long)[0] + shortened(long)[-1] == "az"
    assert len(shortened("\U0001f600" * 80_000).encode()) <= 64 * 1024


def test_a_digest_is_a_part_before_the_users_first_words() -> None:
    told = with_digest([SYSTEM, user(RESULT, text("a"))], 1, "D", CHAT, Place.PART)

    assert told == [SYSTEM, user(RESULT, text("D"), text("a"))]


def test_a_digest_may_be_a_message_of_its_own() -> None:
    told = with_digest([SYSTEM, user("a"), assistant("{")], 1, "D", CHAT, Place.MESSAGE)

    assert told == [SYSTEM, user("D"), user("a"), assistant("{")]


def test_a_text_as_input_becomes_a_turn_with_the_digest() -> None:
    told = with_digest("a", 0, "D", RESPONSES, Place.PART)

    parts = [{"type": "input_text", "text": "D"}, {"type": "input_text", "text": "a"}]
    assert told == [{"role": "user", "content": parts}]


PART = st.sampled_from([text("a"), text("b"), IMAGE, RESULT, {"type": "input_text", "text": "c"}])
MESSAGE = st.one_of(
    st.just(SYSTEM),
    st.text(max_size=3).map(user),
    st.lists(PART, max_size=3).map(lambda parts: {"role": "user", "content": parts}),
    st.text(max_size=3).map(assistant),
    st.just({"type": "function_call_output", "output": "x"}),
)


@given(st.lists(MESSAGE, max_size=6))
def test_a_digest_adds_one_part_and_changes_nothing_else(conversation: list[Any]) -> None:
    before = copy.deepcopy(conversation)
    speech = said_in(conversation)
    if speech.place is None:
        return

    told = with_digest(conversation, speech.place, "D", CHAT, Place.PART)

    assert conversation == before
    assert told[: speech.place] == before[: speech.place]
    assert told[speech.place + 1 :] == before[speech.place + 1 :]
    was, now = before[speech.place]["content"], told[speech.place]["content"]
    parts = [text(was)] if isinstance(was, str) else was
    without = [part for part in now if part != text("D")]
    assert (without, len(now)) == (parts, len(parts) + 1)
    assert said_in(told).query.endswith(speech.query)
