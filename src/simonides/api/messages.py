"""Reads the messages that a caller adds: texts, dictionaries, and objects of the SDKs.

Understood are OpenAI's chat and response items, Anthropic's and Gemini's messages, LangChain's
messages, and :class:`simonides.Message`. A part that is not text leaves a mark, ``[image]``.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from datetime import datetime
from typing import Any

from simonides.domain.conversation.add_report import SkippedMessage
from simonides.domain.conversation.message import Message
from simonides.domain.errors import InvalidInput
from simonides.domain.value import moment, shown

MAX_MESSAGES = 10_000
"""Most messages of one call; chosen: a conversation of years."""

MAX_CALL_CHARS = 200
"""Longest arguments of a tool call in its mark; chosen: enough to recognise the call."""

ROLES = {
    "user": "user",
    "human": "user",
    "assistant": "assistant",
    "ai": "assistant",
    "model": "assistant",
    "tool": "tool",
    "function": "tool",
    "ipython": "tool",
    "other": "other",
    "system": "system",
    "developer": "system",
}
"""Names of roles in the SDKs, and what they are here."""

_OPTIONAL = tuple(
    field.name for field in fields(Message) if field.name not in ("role", "content", "name")
)
_TEXT_TYPES = ("text", "input_text", "output_text", "refusal")
_MARKS = {
    "image_url": "image",
    "input_image": "image",
    "image": "image",
    "input_audio": "audio",
    "audio": "audio",
    "video": "video",
    "file": "file",
    "input_file": "file",
    "document": "document",
}
_SILENT = ("thinking", "redacted_thinking", "reasoning")


@dataclass(frozen=True, slots=True)
class ParsedMessages:
    """Messages that were read.

    Attributes:
        messages: In their order.
        skipped: Those that were left out, with their places in the request.
    """

    messages: tuple[Message, ...]
    skipped: tuple[SkippedMessage, ...] = ()


def parse_messages(
    raw: Any, *, at: datetime | str | None = None, me: str | None = None
) -> ParsedMessages:
    """Read one message or several.

    Args:
        raw: A text, which is the user's; a message; or a sequence of these, oldest first.
        at: Time of the messages without a time of their own.
        me: Name of the user; a user message under another name becomes ``other``.

    Raises:
        InvalidInput: If a message cannot be read; names its place.
    """
    given, at = _listed(raw), moment("at", at)
    if len(given) > MAX_MESSAGES:
        raise InvalidInput("messages", f"at most {MAX_MESSAGES:,} in one call")
    messages: list[Message] = []
    skipped: list[SkippedMessage] = []
    for index, each in enumerate(given):
        for message in _messages_of(each, f"messages[{index}]"):
            reason = _reason_to_skip(message)
            if reason is None:
                messages.append(_placed(message, at, me))
            else:
                skipped.append(SkippedMessage(index, reason))
    return ParsedMessages(tuple(messages), tuple(skipped))


def _listed(raw: Any) -> Sequence[Any]:
    if isinstance(raw, (str, Mapping, Message)) or not isinstance(raw, Sequence):
        return (raw,)
    if isinstance(raw, (bytes, bytearray)):
        raise InvalidInput("messages", "must be text or messages, not bytes")
    return raw


def _reason_to_skip(message: Message) -> str | None:
    if message.role == "system":
        return "system"
    return None if message.content.strip() else "empty"


def _placed(message: Message, at: datetime | str | None, me: str | None) -> Message:
    is_other = me is not None and message.name not in (None, me) and message.role == "user"
    return replace(
        message,
        role="other" if is_other else message.role,
        at=at if message.at is None else message.at,
    )


def _messages_of(raw: Any, place: str) -> Iterator[Message]:
    """Read one message; a message with several tool results is several."""
    if isinstance(raw, Message):
        yield replace(raw, role=_role(raw.role, place))
        return
    if isinstance(raw, str):
        yield Message("user", raw)
        return
    data = _as_mapping(raw, place)
    kind = data.get("type")
    if kind in ("function_call", "custom_tool_call"):
        yield Message("assistant", _call(data))
        return
    if kind in ("function_call_output", "custom_tool_call_output"):
        yield Message("tool", _text(data.get("output"), f"{place}.output"), _name(data))
        return
    if kind in _SILENT:
        yield Message("assistant", "")
        return
    role = _role(data.get("role") or kind, f"{place}.role")
    content = data.get("content", data.get("parts"))
    optional = {name: data[name] for name in _OPTIONAL if data.get(name) is not None}
    results, rest = _split_results(content)
    for result in results:
        inner = _text(result.get("content"), f"{place}.content")
        failed = bool(result.get("is_error"))
        yield Message("tool", inner, _name(result), failed=failed)
    text = _text(rest, f"{place}.content") if rest or not results else ""
    calls = " ".join(_call(each) for each in _calls_in(data))
    if calls or text or not results:
        yield Message(role, " ".join(filter(None, (text, calls))), _name(data), **optional)


def _as_mapping(raw: Any, place: str) -> Mapping[str, Any]:
    if isinstance(raw, Mapping):
        return raw
    if hasattr(raw, "choices"):
        choices = raw.choices
        if not choices:
            raise InvalidInput(place, "is a completion without choices")
        return _as_mapping(choices[0].message, place)
    for method in ("model_dump", "dict", "to_dict"):
        dump = getattr(raw, method, None)
        if callable(dump):
            data = dump()
            if isinstance(data, Mapping):
                return data
    if hasattr(raw, "content") or hasattr(raw, "parts"):
        names = ("role", "type", "content", "parts", "name", "id", "tool_calls")
        return {name: getattr(raw, name) for name in names if hasattr(raw, name)}
    allowed = "a text, a dictionary with role and content, a Message, or an SDK's message"
    raise InvalidInput(place, f"must be {allowed}, not {shown(raw)}")


def _role(raw: object, place: str) -> str:
    role = ROLES.get(raw.lower()) if isinstance(raw, str) else None
    if role is None:
        raise InvalidInput(place, f"must be one of {', '.join(ROLES)}, not {shown(raw)}")
    return role


def _name(data: Mapping[str, Any]) -> str | None:
    name = data.get("name")
    return name if isinstance(name, str) and name else None


def _split_results(content: Any) -> tuple[list[Mapping[str, Any]], Any]:
    """Return the tool results among the parts of a message, and its other content."""
    if isinstance(content, str) or not isinstance(content, Sequence):
        return [], content
    results: list[Mapping[str, Any]] = []
    rest: list[Any] = []
    for part in content:
        data = _part(part)
        if isinstance(data, Mapping) and data.get("type") == "tool_result":
            results.append(data)
        else:
            rest.append(data)
    return results, rest


def _part(part: Any) -> Any:
    dump = getattr(part, "model_dump", None)
    return dump() if callable(dump) else part


def _text(content: Any, place: str) -> str:
    """Return the text of a content; parts that are not text leave a mark."""
    if content is None:
        return ""
    if isinstance(content, str):
        return content
    if isinstance(content, Mapping):
        return _text_of_part(content)
    if isinstance(content, Sequence) and not isinstance(content, (bytes, bytearray)):
        said = (each if isinstance(each, str) else _text_of_part(_part(each)) for each in content)
        return "\n".join(filter(None, said))
    raise InvalidInput(place, f"must be text or a list of parts, not {shown(content)}")


def _text_of_part(part: Any) -> str:
    if not isinstance(part, Mapping):
        return f"[{type(part).__name__}]"
    kind = part.get("type")
    text = part.get("text", part.get("refusal"))
    if isinstance(text, str) and (kind is None or kind in _TEXT_TYPES):
        return text
    if kind in _SILENT:
        return ""
    if kind == "tool_use" or "function_call" in part:
        return _call(part.get("function_call", part))
    return f"[{_MARKS.get(str(kind), str(kind or 'data'))}]"


def _calls_in(data: Mapping[str, Any]) -> Sequence[Mapping[str, Any]]:
    calls = data.get("tool_calls")
    if isinstance(calls, str) or not isinstance(calls, Sequence):
        return ()
    return [each for each in map(_part, calls) if isinstance(each, Mapping)]


def _call(call: Mapping[str, Any]) -> str:
    """Return the mark of a tool call, such as ``[calls search({"q": "tea"})]``."""
    function = call.get("function")
    inner = function if isinstance(function, Mapping) else call
    given = inner.get("arguments", inner.get("input", inner.get("args", "")))
    if not isinstance(given, str):
        given = json.dumps(given, ensure_ascii=False, default=str)
    return f"[calls {inner.get('name', 'a tool')}({given[:MAX_CALL_CHARS]})]"
