"""What was said is taken as hosts have it: texts, dictionaries, and the objects of the SDKs."""

from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any

import pytest
from anthropic.types import Message as AnthropicMessage
from openai.types.chat import ChatCompletion, ChatCompletionMessage

from conftest import World
from simonides import InvalidInput, Message, Session

CITY = "I live in Porto."


@pytest.fixture
def talk(world: World) -> Session:
    return world.store.memory(user="ana").session("s")


def kept(talk: Session, given: Any, **how: Any) -> list[tuple[str, str]]:
    """Return who said what, as the log has it."""
    talk.add(given, **how)
    return [(entry.role or "", entry.text) for entry in talk.messages()]


@dataclass
class HumanMessage:
    """A message as LangChain has it."""

    content: Any
    type: str = "human"
    name: str | None = None
    tool_calls: list[Any] = field(default_factory=list)


def test_a_text_is_the_users(talk: Session) -> None:
    assert kept(talk, CITY) == [("user", CITY)]


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"role": "user", "content": CITY}, [("user", CITY)]),
        ({"role": "user", "content": [{"type": "text", "text": CITY}]}, [("user", CITY)]),
        ({"role": "user", "content": [{"type": "input_text", "text": CITY}]}, [("user", CITY)]),
        (
            {"role": "user", "content": [CITY, {"type": "image_url", "image_url": {"url": "x"}}]},
            [("user", f"{CITY}\n[image]")],
        ),
        ({"role": "system", "content": "Be kind."}, []),
        ({"role": "developer", "content": "Be kind."}, []),
        ({"role": "assistant", "content": None}, []),
        (
            {
                "role": "assistant",
                "content": None,
                "tool_calls": [{"function": {"name": "search", "arguments": '{"q": "tea"}'}}],
            },
            [("assistant", '[calls search({"q": "tea"})]')],
        ),
        ({"role": "tool", "tool_call_id": "c1", "content": "nine hits"}, [("tool", "nine hits")]),
        ({"type": "function_call_output", "output": "nine hits"}, [("tool", "nine hits")]),
        (
            {
                "role": "assistant",
                "content": [
                    {"type": "text", "text": "I look."},
                    {"type": "tool_use", "id": "t", "name": "search", "input": {"q": "tea"}},
                ],
            },
            [("assistant", 'I look.\n[calls search({"q": "tea"})]')],
        ),
        (
            {
                "role": "user",
                "content": [
                    {"type": "tool_result", "tool_use_id": "t", "content": "nine hits"},
                    {"type": "text", "text": CITY},
                ],
            },
            [("tool", "nine hits"), ("user", CITY)],
        ),
        ({"role": "model", "parts": [{"text": "Fine."}]}, [("assistant", "Fine.")]),
        (HumanMessage(CITY), [("user", CITY)]),
        (HumanMessage("Fine.", type="ai"), [("assistant", "Fine.")]),
        (Message("other", "Hi.", name="Bob"), [("other", "Hi.")]),
        (ChatCompletionMessage(role="assistant", content="Fine."), [("assistant", "Fine.")]),
        (
            ChatCompletion.model_validate(
                {
                    "id": "c",
                    "created": 1,
                    "model": "m",
                    "object": "chat.completion",
                    "choices": [
                        {
                            "index": 0,
                            "finish_reason": "stop",
                            "message": {"role": "assistant", "content": "Fine."},
                        }
                    ],
                }
            ),
            [("assistant", "Fine.")],
        ),
        (
            AnthropicMessage.model_validate(
                {
                    "id": "m",
                    "type": "message",
                    "role": "assistant",
                    "model": "m",
                    "content": [{"type": "text", "text": "Fine."}],
                    "stop_reason": "end_turn",
                    "usage": {"input_tokens": 1, "output_tokens": 1},
                }
            ),
            [("assistant", "Fine.")],
        ),
        (
            [CITY, {"role": "assistant", "content": "Noted."}],
            [("user", CITY), ("assistant", "Noted.")],
        ),
        ([], []),
    ],
)  # fmt: skip
def test_a_message_is_taken_as_the_host_has_it(
    talk: Session, given: Any, said: list[tuple[str, str]]
) -> None:
    assert kept(talk, given) == said


def test_what_is_left_out_is_told_with_its_place(talk: Session) -> None:
    report = talk.add([{"role": "system", "content": "Be kind."}, CITY, ""])

    assert [(each.index, each.reason) for each in report.skipped] == [(0, "system"), (2, "empty")]
    assert [entry.text for entry in report.kept] == [CITY]


def test_another_person_in_a_group_is_not_the_user(world: World) -> None:
    memory = world.store.memory(user="ana")
    group = [
        {"role": "user", "name": "Ana", "content": "My name is Ana."},
        {"role": "user", "name": "Bob", "content": "I live in Oslo."},
    ]
    talk = memory.session("group")

    assert [role for role, _ in kept(talk, group, me="Ana")] == ["user", "other"]
    talk.end()
    assert memory.get("location") is None


def test_a_time_of_its_own_wins_over_the_calls(talk: Session) -> None:
    own = {"role": "user", "content": "One.", "at": "2026-03-01T10:00:00+02:00"}

    talk.add([own, "Two."], at="2026-03-02T00:00:00Z")

    assert [entry.at for entry in talk.messages()] == [
        datetime(2026, 3, 1, 8, tzinfo=UTC),
        datetime(2026, 3, 2, tzinfo=UTC),
    ]


@pytest.mark.parametrize(
    ("bad", "place"),
    [
        (7, "messages[1]"),
        (b"bytes", "messages[1]"),
        ({"content": "no role"}, "messages[1].role"),
        ({"role": "boss", "content": "x"}, "messages[1].role"),
        ({"role": "user", "content": 7}, "messages[1].content"),
        (Message("boss", "x"), "messages[1]"),
        ({"role": "user", "content": "x", "at": "yesterday"}, "messages[1].at"),
        ({"role": "user", "content": "a\0b"}, ""),
        ({"role": "user", "content": "\ud800"}, ""),
        (object(), "messages[1]"),
    ],
)
def test_a_message_that_cannot_be_read_names_its_place_and_nothing_is_kept(
    talk: Session, bad: Any, place: str
) -> None:
    with pytest.raises(InvalidInput) as caught:
        talk.add(["Hello.", bad])

    assert caught.value.field.startswith(place)
    assert talk.messages() == ()
