"""What was said is taken as hosts have it: texts, dictionaries, and the objects of the SDKs."""

from dataclasses import dataclass, field
from datetime import UTC, datetime
from types import SimpleNamespace
from typing import Any

import pytest
from anthropic.types import Message as AnthropicMessage
from openai.types.chat import ChatCompletion, ChatCompletionMessage
from openai.types.responses import Response

from conftest import World
from simonides import AddReport, Memory, Message, Session

CITY = "I live in Porto."


@pytest.fixture
def ana(world: World) -> Memory:
    return world.store.memory(user="ana")


@pytest.fixture
def talk(ana: Memory) -> Session:
    return ana.session("s")


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
    status: str | None = None


def completion(**message: Any) -> ChatCompletion:
    """Return an answer of OpenAI's chat completions."""
    said = {"role": "assistant", "content": None, **message}
    choice = {"index": 0, "finish_reason": "stop", "message": said}
    return ChatCompletion.model_validate(
        {"id": "c", "created": 1, "model": "m", "object": "chat.completion", "choices": [choice]}
    )


def response(*output: dict[str, Any]) -> Response:
    """Return an answer of OpenAI's responses."""
    return Response.model_validate(
        {
            "id": "r",
            "object": "response",
            "created_at": 1,
            "model": "m",
            "parallel_tool_calls": True,
            "tool_choice": "auto",
            "tools": [],
            "output": output,
        }
    )


def anthropic_message(*content: dict[str, Any]) -> AnthropicMessage:
    """Return an answer of Anthropic's messages."""
    return AnthropicMessage.model_validate(
        {
            "id": "m",
            "type": "message",
            "role": "assistant",
            "model": "m",
            "content": content,
            "stop_reason": "end_turn",
            "usage": {"input_tokens": 1, "output_tokens": 1},
        }
    )


CALL = {"id": "c1", "type": "function", "function": {"name": "search", "arguments": '{"q": "tea"}'}}
CALLED = '[calls search({"q": "tea"})]'
TOOL_USE = {"type": "tool_use", "id": "t", "name": "search", "input": {"q": "tea"}}
FINE = {"type": "text", "text": "Fine."}
OUTPUT = (
    {"type": "reasoning", "id": "r1", "summary": []},
    {
        "type": "web_search_call",
        "id": "w1",
        "status": "completed",
        "action": {"type": "search", "query": "tea", "queries": ["tea"]},
    },
    {"type": "function_call", "call_id": "c1", "name": "search", "arguments": '{"q": "tea"}'},
    {
        "type": "message",
        "id": "m1",
        "role": "assistant",
        "status": "completed",
        "content": [{"type": "output_text", "text": "Fine.", "annotations": []}],
    },
)
ANSWERED = [("assistant", "[web_search_call]"), ("assistant", CALLED), ("assistant", "Fine.")]


def test_a_text_is_the_users(talk: Session) -> None:
    assert kept(talk, CITY) == [("user", CITY)]


OPENAI = [
    ({"role": "user", "content": CITY}, [("user", CITY)]),
    ({"role": "user", "content": [{"type": "text", "text": CITY}]}, [("user", CITY)]),
    ({"role": "user", "content": [{"type": "input_text", "text": CITY}]}, [("user", CITY)]),
    (
        {"role": "user", "content": [CITY, {"type": "image_url", "image_url": {"url": "x"}}]},
        [("user", f"{CITY}\n[image]")],
    ),
    (
        {"role": "user", "content": [{"type": "input_audio"}, {"type": "file", "file": {}}]},
        [("user", "[audio]\n[file]")],
    ),
    ({"role": "system", "content": "Be kind."}, []),
    ({"role": "developer", "content": "Be kind."}, []),
    ({"role": "assistant", "content": None}, []),
    ({"role": "assistant", "content": None, "tool_calls": [CALL]}, [("assistant", CALLED)]),
    ({"role": "tool", "tool_call_id": "c1", "content": "nine hits"}, [("tool", "nine hits")]),
    ({"type": "function_call_output", "output": "nine hits"}, [("tool", "nine hits")]),
    (completion(content="Fine."), [("assistant", "Fine.")]),
    (completion(content="Fine.").to_dict(), [("assistant", "Fine.")]),
    (completion(tool_calls=[CALL]), [("assistant", CALLED)]),
    (completion(refusal="I will not."), [("assistant", "I will not.")]),
    (
        completion(
            tool_calls=[{"id": "c", "type": "custom", "custom": {"name": "sh", "input": "ls"}}]
        ),
        [("assistant", "[calls sh(ls)]")],
    ),
    (ChatCompletionMessage(role="assistant", content="Fine."), [("assistant", "Fine.")]),
    (response(*OUTPUT), ANSWERED),
    (response(*OUTPUT).output, ANSWERED),
]
ANTHROPIC = [
    ({"role": "user", "content": [{"type": "text", "text": CITY}]}, [("user", CITY)]),
    (
        {"role": "user", "content": [{"type": "image", "source": {}}, {"type": "document"}]},
        [("user", "[image]\n[document]")],
    ),
    ({"role": "assistant", "content": [FINE, TOOL_USE]}, [("assistant", f"Fine.\n{CALLED}")]),
    (
        {
            "role": "user",
            "content": [
                {"type": "tool_result", "tool_use_id": "t", "content": "nine hits"},
                {
                    "type": "tool_result",
                    "tool_use_id": "u",
                    "content": [{"type": "text", "text": "a map"}, {"type": "image"}],
                },
                {"type": "text", "text": CITY},
            ],
        },
        [("tool", "nine hits"), ("tool", "a map\n[image]"), ("user", CITY)],
    ),
    (anthropic_message(FINE), [("assistant", "Fine.")]),
    (
        anthropic_message(
            {"type": "thinking", "thinking": "Hm.", "signature": "s"}, FINE, TOOL_USE
        ),
        [("assistant", f"Fine.\n{CALLED}")],
    ),
    (
        {"role": "assistant", "content": anthropic_message(FINE, TOOL_USE).content},
        [("assistant", f"Fine.\n{CALLED}")],
    ),
]
LANGCHAIN_CALL = {"name": "search", "args": {"q": "tea"}, "id": "t", "type": "tool_call"}
OTHERS = [
    (HumanMessage(CITY), [("user", CITY)]),
    (HumanMessage("Fine.", type="ai"), [("assistant", "Fine.")]),
    (HumanMessage("Fine.", type="AIMessageChunk"), [("assistant", "Fine.")]),
    (HumanMessage("", type="ai", tool_calls=[LANGCHAIN_CALL]), [("assistant", CALLED)]),
    (
        HumanMessage([FINE, TOOL_USE], type="ai", tool_calls=[LANGCHAIN_CALL]),
        [("assistant", f"Fine.\n{CALLED}")],
    ),
    (HumanMessage("nine hits", type="tool", name="search"), [("tool", "nine hits")]),
    (HumanMessage("Be kind.", type="system"), []),
    ({"role": "model", "parts": [{"text": "Fine."}]}, [("assistant", "Fine.")]),
    (
        {"role": "user", "parts": [{"text": None, "inline_data": {"mime_type": "image/png"}}]},
        [("user", "[image]")],
    ),
    (
        {"role": "user", "parts": [{"function_response": {"name": "f", "response": {"n": 9}}}]},
        [("tool", '{"n": 9}')],
    ),
    (SimpleNamespace(role="user", content=[SimpleNamespace(**FINE)]), [("user", "Fine.")]),
    (Message("other", "Hi.", name="Bob"), [("other", "Hi.")]),
    (
        [CITY, {"role": "assistant", "content": "Noted."}, HumanMessage("Bye.")],
        [("user", CITY), ("assistant", "Noted."), ("user", "Bye.")],
    ),
    ([], []),
]


@pytest.mark.parametrize(("given", "said"), [*OPENAI, *ANTHROPIC, *OTHERS])
def test_a_message_is_taken_as_the_host_has_it(
    talk: Session, given: Any, said: list[tuple[str, str]]
) -> None:
    assert kept(talk, given) == said


def test_what_is_left_out_is_told_with_its_place(talk: Session) -> None:
    report = talk.add([{"role": "system", "content": "Be kind."}, CITY, ""])

    assert [(each.index, each.reason) for each in report.skipped] == [(0, "system"), (2, "empty")]
    assert [entry.text for entry in report.kept] == [CITY]


def test_a_session_reads_for_facts_later_and_a_report_says_how_much(ana: Memory) -> None:
    talk = ana.session("s")

    report = talk.add([CITY, {"role": "assistant", "content": "Noted."}])
    assert (report.unfinished, report.outcomes) == (2, ())
    report = talk.add("My dog is called Rex.", wait=True)

    assert report.unfinished == 0
    assert {outcome.kind for outcome in report.outcomes.done} == {"created"}
    assert any("Porto" in each.content for each in ana.list())


def test_without_a_session_facts_are_learned_at_once(ana: Memory) -> None:
    report = ana.add([{"role": "system", "content": "Be kind."}, CITY, "My password is hunter2"])

    assert isinstance(report, AddReport)
    assert [(each.index, each.reason) for each in report.skipped] == [(0, "system")]
    assert report.unfinished == 0
    assert [outcome.record.content for outcome in report.outcomes.done if outcome.record] == [
        each.content for each in ana.list()
    ]
    assert "hunter2" not in str([each.content for each in ana.list()])


def test_only_the_users_own_messages_speak_for_the_user(ana: Memory) -> None:
    ana.add(
        [
            {"role": "assistant", "content": "You live in Oslo."},
            {"role": "tool", "content": "I live in Rome."},
            {"role": "user", "name": "Bob", "content": "I live in Bergen."},
        ],
        me="Ana",
    )

    assert ana.get("location") is None


def test_another_person_in_a_group_is_not_the_user(ana: Memory) -> None:
    group = [
        {"role": "user", "name": "Ana", "content": "My name is Ana."},
        {"role": "user", "name": "Bob", "content": "I live in Oslo."},
        {"role": "user", "content": "It is late."},
    ]
    talk = ana.session("group")

    assert [role for role, _ in kept(talk, group, me="Ana")] == ["user", "other", "user"]
    talk.end()
    assert ana.get("location") is None


@pytest.mark.parametrize(
    "failed",
    [
        {"role": "tool", "content": "no route", "failed": True},
        HumanMessage("no route", type="tool", status="error"),
        {
            "role": "user",
            "content": [{"type": "tool_result", "content": "no route", "is_error": True}],
        },
    ],
)
def test_a_failed_tool_is_told_from_one_that_worked(talk: Session, failed: Any) -> None:
    report = talk.add([failed, {"role": "tool", "content": "fine"}])

    assert [logged.entry.failed for logged in report.kept] == [True, False]


def test_a_message_may_have_a_name_a_key_and_metadata(talk: Session) -> None:
    said = {"role": "user", "content": CITY, "id": "m1", "name": "Ana", "key": "city"}
    talk.add({**said, "importance": "high", "metadata": {"channel": "web"}})

    (logged,) = talk.messages()
    entry = logged.entry
    assert (entry.speaker, entry.key, entry.importance) == ("Ana", "city", "high")
    assert entry.details == {"channel": "web"}


def test_a_time_of_its_own_wins_over_the_calls(talk: Session) -> None:
    own = {"role": "user", "content": "One.", "at": "2026-03-01T10:00:00+02:00"}

    talk.add([own, "Two."], at="2026-03-02T00:00:00Z")

    assert [entry.at for entry in talk.messages()] == [
        datetime(2026, 3, 1, 8, tzinfo=UTC),
        datetime(2026, 3, 2, tzinfo=UTC),
    ]
