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

from simonides.capture import checked_metadata, flag, name_or_none
from simonides.domain.conversation.add_report import SkippedMessage
from simonides.domain.conversation.message import Message
from simonides.domain.errors import InvalidInput
from simonides.domain.memory import Importance
from simonides.domain.value import enum_member, moment, shown
from simonides.text import check_text

MAX_MESSAGES = 10_000
"""Most messages of one call; chosen: a conversation of years."""

MAX_TEXT_BYTES = 64 * 1024
"""Longest text of a message that is stored."""

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
_SILENT = (
    "thinking",
    "redacted_thinking",
    "reasoning",
    "item_reference",
    "mcp_list_tools",
    "mcp_approval_request",
    "mcp_approval_response",
)
_CALLS = ("tool_use", "server_tool_use", "mcp_tool_use")
_RESULTS = ("tool_result", "mcp_tool_result")
_ATTRIBUTES = ("type", "text", "refusal", "id", "name", "input", "arguments", "content", "is_error")


@dataclass(frozen=True, slots=True)
class ParsedMessages:
    """Messages that were read.

    Attributes:
        messages: In their order.
        skipped: Those that were left out, with their places in the request.
        places: The place of each message in the request, ``messages[2]``.
    """

    messages: tuple[Message, ...]
    skipped: tuple[SkippedMessage, ...] = ()
    places: tuple[str, ...] = ()


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
    given, at, me = _listed(raw), moment("at", at), name_or_none("me", me)
    if len(given) > MAX_MESSAGES:
        raise InvalidInput("messages", f"at most {MAX_MESSAGES:,} in one call")
    messages: list[Message] = []
    skipped: list[SkippedMessage] = []
    places: list[str] = []
    for index, each in enumerate(given):
        place = f"messages[{index}]"
        for message in _messages_of(each, place):
            reason = _reason_to_skip(message)
            if reason is None:
                messages.append(_placed(message, at, me))
                places.append(place)
            else:
                skipped.append(SkippedMessage(index, reason))
    return ParsedMessages(tuple(messages), tuple(skipped), tuple(places))


def storable_messages(
    raw: Any,
    *,
    at: datetime | str | None = None,
    me: str | None = None,
    max_metadata_bytes: int,
) -> ParsedMessages:
    """Read messages that are to be stored, and check every field of them.

    Raises:
        InvalidInput: If a message cannot be read or stored; names its place.
    """
    parsed = parse_messages(raw, at=at, me=me)
    checked = tuple(
        _storable(message, place, max_metadata_bytes)
        for message, place in zip(parsed.messages, parsed.places, strict=True)
    )
    return replace(parsed, messages=checked)


def _storable(message: Message, place: str, max_metadata_bytes: int) -> Message:
    return replace(
        message,
        content=check_text(f"{place}.content", message.content, MAX_TEXT_BYTES),
        name=name_or_none(f"{place}.name", message.name),
        at=moment(f"{place}.at", message.at),
        failed=flag(f"{place}.failed", message.failed),
        importance=enum_member(Importance, f"{place}.importance", message.importance),
        key=name_or_none(f"{place}.key", message.key),
        metadata=checked_metadata(message.metadata, max_metadata_bytes, f"{place}.metadata"),
    )


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
    if isinstance(raw, str):
        yield Message("user", raw)
    elif isinstance(raw, Message):
        if not isinstance(raw.content, str):
            raise InvalidInput(f"{place}.content", f"must be text, not {shown(raw.content)}")
        yield replace(raw, role=_role(raw.role, f"{place}.role"))
    else:
        data = _as_mapping(raw, place)
        if data.get("object") == "response" and "role" not in data:
            for index, item in enumerate(data.get("output") or ()):
                yield from _messages_of(item, f"{place}.output[{index}]")
        elif "role" not in data and _is_item(data.get("type")):
            yield _item(data, place)
        else:
            yield from _chat_message(data, place)


def _is_item(kind: object) -> bool:
    """Whether a response item of this type is a call, a result, or nothing that was said."""
    return isinstance(kind, str) and (kind in _SILENT or kind.endswith(("_call", "_call_output")))


def _item(data: Mapping[str, Any], place: str) -> Message:
    kind = str(data["type"])
    if kind in _SILENT:
        return Message("assistant", "")
    if kind.endswith("_output"):
        return Message("tool", _text(data.get("output"), f"{place}.output"), _name(data, place))
    is_named = kind in ("function_call", "custom_tool_call", "mcp_call")
    return Message("assistant", _call(data, place) if is_named else f"[{kind}]")


def _chat_message(data: Mapping[str, Any], place: str) -> Iterator[Message]:
    role = _role(data.get("role") or data.get("type"), f"{place}.role")
    content = data.get("content", data.get("parts"))
    if content is None:
        content = data.get("refusal")
    optional = {name: data[name] for name in _OPTIONAL if data.get(name) is not None}
    if role == "tool" and data.get("status") == "error":
        optional.setdefault("failed", True)
    results, rest = _split_results(content, f"{place}.content")
    yield from results
    text = _text(rest, f"{place}.content") if rest or not results else ""
    # LangChain has a call both among the parts and beside them.
    calls = [call for call in _calls_in(data, place) if call not in text]
    if calls or text or not results:
        said = " ".join(filter(None, (text, *calls)))
        yield Message(role, said, _name(data, place), **optional)


def _as_mapping(raw: Any, place: str) -> Mapping[str, Any]:
    choices = raw.get("choices") if isinstance(raw, Mapping) else getattr(raw, "choices", None)
    if choices is not None and not isinstance(raw, type):
        raw = _message_of_choice(choices, place)
    data = _dumped(raw)
    if data is not None:
        return data
    if (hasattr(raw, "content") or hasattr(raw, "parts")) and not isinstance(raw, type):
        names = ("role", "type", "content", "parts", "name", "id", "tool_calls", "status")
        return {name: getattr(raw, name) for name in names if hasattr(raw, name)}
    allowed = "a text, a dictionary with role and content, a Message, or an SDK's message"
    raise InvalidInput(place, f"must be {allowed}, not {shown(raw)}")


def _message_of_choice(choices: Any, place: str) -> Any:
    """Return the message of a completion's first choice."""
    if not isinstance(choices, Sequence) or not choices:
        raise InvalidInput(place, "is a completion without choices")
    first = choices[0]
    message = first.get("message") if isinstance(first, Mapping) else getattr(first, "message", 0)
    if not message:
        raise InvalidInput(place, "is a part of a stream; add the message when it is whole")
    return message


def _dumped(raw: Any) -> Mapping[str, Any] | None:
    """Return the fields of a dictionary or of an SDK's object; None for anything else."""
    if isinstance(raw, Mapping):
        return raw
    for method in () if isinstance(raw, type) else ("model_dump", "dict", "to_dict"):
        dump = getattr(raw, method, None)
        data = dump() if callable(dump) else None
        if isinstance(data, Mapping):
            return data
    return None


def _role(raw: object, place: str) -> str:
    # LangChain calls a message that was streamed a chunk.
    named = raw.lower().removesuffix("messagechunk") if isinstance(raw, str) else ""
    role = ROLES.get(named)
    if role is None:
        raise InvalidInput(place, f"must be one of {', '.join(ROLES)}, not {shown(raw)}")
    return role


def _name(data: Mapping[str, Any], place: str) -> str | None:
    name = data.get("name")
    if name is not None and not isinstance(name, str):
        raise InvalidInput(f"{place}.name", f"must be text, not {shown(name)}")
    return name or None


def _split_results(content: Any, place: str) -> tuple[list[Message], Any]:
    """Return the tool results among the parts of a message, and its other content."""
    if isinstance(content, str) or not isinstance(content, Sequence):
        return [], content
    results: list[Message] = []
    rest: list[Any] = []
    for index, each in enumerate(content):
        part = _part(each, f"{place}[{index}]")
        result = _result_of(part, f"{place}[{index}]")
        if result is None:
            rest.append(part)
        else:
            results.append(result)
    return results, rest


def _result_of(part: Any, place: str) -> Message | None:
    if not isinstance(part, Mapping):
        return None
    if part.get("type") in _RESULTS:
        text = _text(part.get("content"), f"{place}.content")
        return Message("tool", text, _name(part, place), failed=bool(part.get("is_error")))
    answer = part.get("function_response", part.get("functionResponse"))
    if isinstance(answer, Mapping):
        given = answer.get("response")
        text = given if isinstance(given, str) else _json(given, f"{place}.function_response")
        return Message("tool", text, _name(answer, place))
    return None


def _part(part: Any, place: str) -> Any:
    """Return a part of a content as text or a mapping; an object of no known shape as it is.

    Raises:
        InvalidInput: If it is plain data that is neither.
    """
    if isinstance(part, str):
        return part
    data = _dumped(part)
    if data is not None:
        return data
    if part is None or isinstance(part, (bool, int, float, bytes, bytearray, list, tuple, set)):
        raise InvalidInput(place, f"must be text or a part of a message, not {shown(part)}")
    return {name: getattr(part, name) for name in _ATTRIBUTES if hasattr(part, name)} or part


def _text(content: Any, place: str) -> str:
    """Return the text of a content; parts that are not text leave a mark."""
    if content is None:
        return ""
    if isinstance(content, str):
        return content
    if isinstance(content, Mapping):
        return _text_of_part(content, place)
    if isinstance(content, Sequence) and not isinstance(content, (bytes, bytearray)):
        said = (
            _text_of_part(_part(each, f"{place}[{index}]"), f"{place}[{index}]")
            for index, each in enumerate(content)
        )
        return "\n".join(filter(None, said))
    raise InvalidInput(place, f"must be text or a list of parts, not {shown(content)}")


def _text_of_part(part: Any, place: str) -> str:
    if isinstance(part, str):
        return part
    if not isinstance(part, Mapping):
        return f"[{type(part).__name__}]"
    kind = part.get("type")
    text = part.get("text", part.get("refusal"))
    if kind is None or kind in _TEXT_TYPES:
        if isinstance(text, str):
            return text
        if kind is not None or text is not None:
            raise InvalidInput(f"{place}.text", f"must be text, not {shown(text)}")
    call = part if kind in _CALLS else part.get("function_call", part.get("functionCall"))
    if isinstance(call, Mapping):
        return _call(call, place)
    return "" if kind in _SILENT else f"[{_mark(kind, part)}]"


def _mark(kind: object, part: Mapping[str, Any]) -> str:
    """Return the name of a part that is not text, such as ``image``."""
    blob = part.get("inline_data", part.get("file_data"))
    if kind is None and isinstance(blob, Mapping):
        medium = str(blob.get("mime_type")).partition("/")[0]
        return _MARKS.get(medium, "file")
    return _MARKS.get(str(kind), str(kind or "data")[:MAX_CALL_CHARS])


def _calls_in(data: Mapping[str, Any], place: str) -> list[str]:
    calls = data.get("tool_calls") or ()
    if isinstance(calls, str) or not isinstance(calls, Sequence):
        raise InvalidInput(f"{place}.tool_calls", f"must be a list, not {shown(calls)}")
    found = []
    for index, each in enumerate(calls):
        where = f"{place}.tool_calls[{index}]"
        call = _part(each, where)
        if not isinstance(call, Mapping):
            raise InvalidInput(where, f"must be a tool call, not {shown(each)}")
        found.append(_call(call, where))
    return found


def _call(call: Mapping[str, Any], place: str) -> str:
    """Return the mark of a tool call, such as ``[calls search({"q": "tea"})]``."""
    inner = next(
        (call[n] for n in ("function", "custom") if isinstance(call.get(n), Mapping)), call
    )
    given = inner.get("arguments", inner.get("input", inner.get("args", "")))
    if not isinstance(given, str):
        given = _json(given, place)
    name = inner.get("name") or "a tool"
    if not isinstance(name, str):
        raise InvalidInput(f"{place}.name", f"must be text, not {shown(name)}")
    return f"[calls {name[:MAX_CALL_CHARS]}({given[:MAX_CALL_CHARS]})]"


def _json(value: Any, place: str) -> str:
    try:
        return json.dumps(value, ensure_ascii=False, default=str)
    except (TypeError, ValueError, RecursionError) as error:
        raise InvalidInput(place, "holds data that JSON cannot carry") from error
