"""Reads the messages that a caller adds, in the shapes of today's SDKs.

Known are OpenAI's chat messages and response items, Anthropic's, Gemini's and LangChain's messages,
each as a dictionary or as an object with the same attributes.
"""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC, datetime
from itertools import groupby
from typing import Any, NamedTuple

from simonides.core.clock import zoned_moment
from simonides.core.errors import InvalidInput, shown
from simonides.core.validation import MAX_JSON_DEPTH, nearest, result_text
from simonides.core.validation import text as validated

MAX_TEXT_BYTES = 1 << 20
"""Longest text of one message, in UTF-8. Set by judgement."""

MAX_NAME_CHARS = 256
"""Longest name or id; the same as in a stored record."""

_PLAIN_ROLES = ("user", "assistant", "tool", "system")
_ROLES = {role: role for role in _PLAIN_ROLES} | {
    "human": "user", "ai": "assistant", "model": "assistant",
    "function": "tool", "developer": "system",
}  # fmt: skip
_KEYS = (
    "role type content parts name id tool_calls function_call tool_call_id call_id tool_use_id"
    " output refusal audio data text function_response inline_data file_data filename title thought"
    " file response mime_type display_name function said"
).split()
"""What is read of an object."""

_TIMES = ("at", "created_at", "timestamp", "create_time", "date")
"""Where a message has its time; the first one counts."""

_LEAST_MS = 1e11
"""From here on a number is milliseconds since 1970, not seconds: in seconds it is the year 5138."""

_HUMP = re.compile(r"(?<=[a-z])(?=[A-Z])")
_TEXTS = {"text": "text", "input_text": "text", "output_text": "text", "refusal": "refusal"}
_THOUGHTS = ("thinking", "redacted_thinking", "reasoning", "item_reference", "compaction")
_CALLS = ("tool_use", "_call", "_approval_request", "_approval_response", "_call_chunk")
_RESULTS = ("tool_result", "_call_output")
_MARKS = {
    "image_url": "image", "input_image": "image", "input_audio": "audio",
    "input_file": "file", "document": "file", "container_upload": "file",
}  # fmt: skip
_NAMED = ("file", "image", "audio", "video")
_UNSAFE = re.compile(r"[\[\]\s]+")


class Message(NamedTuple):
    """One message of a conversation.

    Attributes:
        role: ``user``, ``assistant``, ``tool`` or ``system``.
        text: Its text. A part that is not text leaves a mark such as ``[image]``; a call of a tool
            leaves nothing.
        name: The speaker, if the message names one.
        at: When it was said, with the offset of its zone, if the message has a time.
        id: The caller's id. The second and later messages that one given message becomes have
            ``.1``, ``.2`` … appended.
        origin: Name of the tool, of a tool's result.
        said: What the user typed of it, where the program knows that; the rest is another's.
        reasons: What was noticed: ``empty``, it has no content; ``replaced_characters``, it held
            half a character or NUL.
    """

    role: str
    text: str
    name: str | None = None
    at: datetime | None = None
    id: str | None = None
    origin: str | None = None
    said: str | None = None
    reasons: tuple[str, ...] = ()


class _Piece(NamedTuple):
    text: str
    origin: str | None = None
    is_result: bool = False


def read_messages(given: object) -> list[Message]:
    """Return the messages that a caller gives, oldest first; none is left out.

    Args:
        given: A text, which is a user's message; a message; or a sequence of these. Results of
            tools inside a message become messages of their own.

    Raises:
        InvalidInput: If a message cannot be read; the field is its path, for example
            ``messages[3].content``.
    """
    if isinstance(given, bytes | bytearray | memoryview | set | frozenset):
        raise InvalidInput("messages", f"must be texts or messages, not {type(given).__name__}")
    is_sequence = isinstance(given, Sequence) and not isinstance(given, str)
    items = list(given) if is_sequence else [given]  # type: ignore[call-overload]  # a sequence
    if not items:
        raise InvalidInput("messages", "is empty; give at least one message")
    called: dict[str, str] = {}
    messages: list[Message] = []
    for index, each in enumerate(items):
        messages.extend(_read(each, f"messages[{index}]", called))
    return messages


def _read(given: object, at: str, called: dict[str, str]) -> Iterator[Message]:
    if isinstance(given, str):
        text, reasons = _repaired(given, at)
        yield Message("user", text, reasons=reasons)
        return
    fields = _fields(given, at)
    kind = fields.get("type")
    if isinstance(fields.get("data"), Mapping) and "content" not in fields:
        fields = {"type": kind, **fields["data"]}  # LangChain's messages_to_dict
    _note_calls(fields, called)
    name, id = (_label(fields.get(key), f"{at}.{key}") for key in ("name", "id"))
    moment = _moment(fields, at)
    if fields.get("role") is None and _is_item(kind):
        pieces, role = _pieces([fields], at, called), "assistant"
        name = None
    else:
        role = _role(fields, at)
        pieces = _content(fields, at, role, called)
    if role == "tool":
        origin = name or called.get(str(fields.get("tool_call_id")))
        pieces = [piece if piece.is_result else _Piece(piece.text, origin) for piece in pieces]
        name = None
    joint = "" if role == "assistant" else "\n"
    is_empty = not pieces and fields.get("content") is None
    # Each result is a message; other parts that follow each other are one.
    numbered = enumerate(pieces or [_Piece("")])
    runs = (list(run) for _, run in groupby(numbered, lambda each: each[1].is_result and each))
    for number, run in enumerate(runs):
        first = run[0][1]
        text = joint.join(piece.text for _, piece in run if piece.text)
        text, reasons = _repaired(text, f"{at}.content")
        yield Message(
            role="tool" if first.is_result else role,
            text=text,
            name=None if first.is_result else name,
            at=moment,
            id=f"{id}.{number}" if id and number else id,
            origin=first.origin,
            said=_typed(fields.get("said"), f"{at}.said") if role == "user" else None,
            reasons=("empty",) if is_empty else reasons,
        )


def _fields(given: object, at: str) -> Mapping[str, Any]:
    if isinstance(given, Mapping):
        return {_HUMP.sub("_", str(key)).lower(): value for key, value in given.items()}
    fields = {key: value for key in _KEYS if (value := getattr(given, key, None)) is not None}
    if isinstance(given, bytes | Sequence) or not fields:
        raise InvalidInput(at, f"must be a text or a message, not {type(given).__name__}")
    times = {key: getattr(given, key, None) for key in _TIMES}
    fields |= {key: value for key, value in times.items() if not callable(value)}
    return fields | ({"content": None} if getattr(given, "content", "") is None else {})


def _moment(fields: Mapping[str, Any], at: str) -> datetime | None:
    """Return when a message was said; a number counts the seconds since 1970."""
    key = next((key for key in _TIMES if fields.get(key) is not None), "at")
    raw, path = fields.get(key), f"{at}.{key}"
    if key != "at" and isinstance(raw, int | float) and not isinstance(raw, bool):
        try:
            moment = datetime.fromtimestamp(raw / 1_000 if raw > _LEAST_MS else raw, UTC)
            raw = moment.astimezone()  # a number has no zone, so it is in the machine's
        except (OverflowError, OSError, ValueError) as error:
            raise InvalidInput(path, "is outside the years 1 to 9999") from error
    return zoned_moment(path, raw)


def _note_calls(fields: Mapping[str, Any], called: dict[str, str]) -> None:
    # Results of most SDKs name only the call's id; the call names the tool.
    inner = (fields.get(key) for key in ("tool_calls", "content"))
    for each in (fields, *(call for calls in inner if isinstance(calls, list) for call in calls)):
        function = _get(each, "function")
        name = _get(each if function is None else function, "name")
        id = _get(each, "call_id") or _get(each, "id")
        if isinstance(id, str) and isinstance(name, str):
            called.setdefault(id, name)


def _get(given: object, key: str) -> Any:
    return given.get(key) if isinstance(given, Mapping) else getattr(given, key, None)


def _is_item(kind: object) -> bool:
    return isinstance(kind, str) and (kind in _THOUGHTS or kind.endswith((*_CALLS, *_RESULTS)))


def _role(fields: Mapping[str, Any], at: str) -> str:
    raw = fields.get("role") or fields.get("type")
    if raw is None:
        raise _missing("role", fields, at)
    plain = str(raw).removesuffix("Chunk").removesuffix("Message").lower()
    if plain not in _ROLES:
        problem = f"{shown(raw)} is not one of {', '.join(_PLAIN_ROLES)}{nearest(raw, _ROLES)}"
        raise InvalidInput(f"{at}.role", problem)
    return _ROLES[plain]


def _content(fields: Mapping[str, Any], at: str, role: str, called: dict[str, str]) -> list[_Piece]:
    key = "parts" if fields.get("content") is None and "parts" in fields else "content"
    content = fields.get(key)
    if content is None and role == "assistant":
        if fields.get("tool_calls") or fields.get("function_call"):
            return [_Piece("")]
        content = fields.get("refusal") or ("[audio]" if fields.get("audio") else None)
    if isinstance(content, str):
        return [_Piece(content)]
    if isinstance(content, list | tuple):
        return _pieces(content, f"{at}.{key}", called)
    if key not in fields:
        raise _missing("content", fields, at)
    if content is None:
        return []
    problem = f"must be a text or a list of parts, not {type(content).__name__}"
    raise InvalidInput(f"{at}.{key}", problem)


def _missing(key: str, fields: Mapping[str, Any], at: str) -> InvalidInput:
    others = [str(each) for each in fields if each not in ("type", "name", key)]
    similar = difflib.get_close_matches(key, others, n=1)
    wrong = "text" if key == "content" and "text" in fields else "".join(similar)
    hint = f": it belongs in {key!r}, not in {shown(wrong)}" if wrong else ""
    return InvalidInput(f"{at}.{key}", f"is missing{hint}")


def _pieces(parts: Sequence[object], at: str, called: dict[str, str]) -> list[_Piece]:
    if at.count("[") > MAX_JSON_DEPTH:
        raise InvalidInput(at, f"is nested more than {MAX_JSON_DEPTH} deep")
    return [_piece(part, f"{at}[{index}]", called) for index, part in enumerate(parts)]


def _piece(given: object, at: str, called: dict[str, str]) -> _Piece:
    if isinstance(given, str):
        return _Piece(given)
    part = _fields(given, at)
    kind = str(part.get("type") or "")
    if part.get("function_response") is not None:
        answer = _fields(part["function_response"], at)
        output = _output(answer.get("response"), at, called)
        return _Piece(output, answer.get("name"), is_result=True)
    if kind.endswith(_RESULTS):
        id = part.get("tool_use_id") or part.get("call_id") or part.get("tool_call_id")
        output = _output(part.get("content", part.get("output")), at, called)
        return _Piece(output, called.get(str(id)), is_result=True)
    if part.get("function_call") is not None or part.get("thought") is True or _is_item(kind):
        return _Piece("")
    key = _TEXTS.get(kind) or ("text" if not kind and part.get("text") is not None else None)
    if key is None:
        return _Piece(_mark(part, kind, at))
    if not isinstance(part.get(key), str):
        problem = f"must be a text, not {type(part.get(key)).__name__}"
        raise InvalidInput(f"{at}.{key}", problem)
    return _Piece(part[key])


def _output(output: object, at: str, called: dict[str, str]) -> str:
    if isinstance(output, Mapping) and len(output) == 1:
        (output,) = output.values()
    if output is None or isinstance(output, str):
        return output or ""
    if isinstance(output, list | tuple) and all(
        isinstance(_get(each, "type"), str) for each in output
    ):
        return "\n".join(piece.text for piece in _pieces(output, at, called))
    return result_text(at, output)


def _mark(part: Mapping[str, Any], kind: str, at: str) -> str:
    inner = part.get("inline_data") or part.get("file_data") or part.get("file")
    file = part if inner is None or isinstance(inner, str) else _fields(inner, at)
    mime = str(file.get("mime_type") or "")
    if not kind and (mime or "file" in part):
        kind = mime.split("/")[0] if mime.startswith(("image/", "audio/", "video/")) else "file"
    if not kind:
        raise InvalidInput(at, "is not part of a message: it has neither a type nor a text")
    mark = _MARKS.get(kind, kind)
    name = str(file.get("filename") or file.get("title") or file.get("display_name") or "")
    # A name must not end its mark: what follows would read as the user's words.
    plain = _UNSAFE.sub(" ", name)[:MAX_NAME_CHARS].strip() if mark in _NAMED else ""
    return f"[{mark} {plain}]" if plain else f"[{mark}]"


def _typed(raw: object, at: str) -> str | None:
    if raw is not None and not isinstance(raw, str):
        raise InvalidInput(at, f"must be what the user typed, not {type(raw).__name__}")
    return raw if raw is None else _repaired(raw, at)[0]


def _label(raw: object, at: str) -> str | None:
    if raw is None:
        return None
    if not isinstance(raw, str) or not raw or len(raw) > MAX_NAME_CHARS:
        problem = f"must be a text of 1 to {MAX_NAME_CHARS} characters, not {shown(raw)}"
        raise InvalidInput(at, problem)
    return validated(at, raw)


def _repaired(text: str, at: str) -> tuple[str, tuple[str, ...]]:
    """Return a text that can be stored, and what was done to it.

    Two halves of a character become the character; half a one, and NUL, become U+FFFD.
    """
    whole = text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")
    whole = whole.replace("\0", "\ufffd")
    size = len(whole.encode())
    if size > MAX_TEXT_BYTES:
        raise InvalidInput(at, f"has {size:,} bytes; at most {MAX_TEXT_BYTES:,} are read")
    is_hurt = whole.count("\ufffd") > text.count("\ufffd")
    return whole, ("replaced_characters",) if is_hurt else ()
