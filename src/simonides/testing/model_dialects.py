"""The wire formats of answers and refusals of model endpoints, for a scripted server.

OpenAI's chat completions and responses, Gemini's version of the first, and Anthropic's messages;
whole or as server-sent events. The path of a request selects the format.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

MODEL = "scripted-1"
"""The name that every scripted model gives itself."""

_GEMINI = "/v1beta/openai/"


@dataclass(frozen=True, slots=True)
class Said:
    """A model's answer.

    Attributes:
        text: Its text, or None for no content at all.
        tokens: Of the question and of the answer.
        call: Name and arguments of a tool call, or None.
        pieces: Number of pieces of the text in a stream.
    """

    text: str | None
    tokens: tuple[int, int] = (10, 5)
    call: tuple[str, Mapping[str, Any]] | None = None
    pieces: int = 3

    def deltas(self) -> list[str]:
        """Return the text in pieces."""
        text = self.text or ""
        size = -(-len(text) // self.pieces) or 1
        return [text[start : start + size] for start in range(0, len(text), size)]


@dataclass(frozen=True, slots=True)
class Problem:
    """A refusal with its message."""

    message: str


Content: TypeAlias = Said | Problem


def written(content: Content, path: str, asked: Mapping[str, Any]) -> bytes:
    """Return the body of an answer in the format of a path's endpoint.

    Args:
        content: The answer.
        path: Of the request.
        asked: JSON of the request.
    """
    if isinstance(content, Problem):
        return json.dumps(_refusal(content.message, path)).encode()
    if path.endswith("/messages"):
        return json.dumps(_message(content, asked)).encode()
    if path.endswith("/responses"):
        return json.dumps(_response(content)).encode()
    return json.dumps(_completion(content)).encode()


def streamed(content: Said, path: str, asked: Mapping[str, Any]) -> list[bytes]:
    """Return the server-sent events of an answer, one for each piece."""
    if path.endswith("/messages"):
        events = _message_events(content, asked)
    elif path.endswith("/responses"):
        events = _response_events(content)
    else:
        return [*(_event(chunk) for chunk in _chunks(content)), b"data: [DONE]\n\n"]
    return [_event(event, str(event["type"])) for event in events]


def refused_keyword(path: str, asked: Mapping[str, Any]) -> str | None:
    """Return Gemini's error for a schema with an unknown keyword, or None."""
    schema = asked.get("response_format", {}).get("json_schema", {}).get("schema")
    if _GEMINI in path and schema is not None and '"additionalProperties"' in json.dumps(schema):
        return (
            'Invalid JSON payload received. Unknown name "additionalProperties" at'
            " 'generation_config.response_schema': Cannot find field."
        )
    return None


def asked_form(asked: Mapping[str, Any]) -> str | None:
    """Return the requested form: ``json_schema``, ``json_object``, ``tool``, None."""
    config = asked.get("output_config") or {}
    wanted = asked.get("response_format") or config.get("format")
    if wanted is not None:
        return str(wanted["type"])
    return "tool" if "tool_choice" in asked and "max_tokens" in asked else None


def refused_form(form: str, path: str) -> str:
    """Return the error of an endpoint that does not support a form."""
    if not path.endswith("/messages"):
        return f"'response_format' of type '{form}' is not supported"
    return "tools: not supported" if form == "tool" else "output_config: not permitted"


def _refusal(message: str, path: str) -> Any:
    if path.endswith("/messages"):
        return {"type": "error", "error": {"type": "scripted_error", "message": message}}
    error = {"message": message, "type": "scripted", "param": None, "code": None}
    if _GEMINI in path:
        return [{"error": {"code": 400, "message": message, "status": "INVALID_ARGUMENT"}}]
    return {"error": error}


def _completion(said: Said) -> dict[str, Any]:
    message: dict[str, Any] = {"role": "assistant", "content": said.text}
    if said.call is not None:
        message["tool_calls"] = [_tool_call(*said.call)]
    return {
        "id": "chatcmpl-scripted",
        "object": "chat.completion",
        "created": 0,
        "model": MODEL,
        "choices": [
            {
                "index": 0,
                "finish_reason": "stop" if said.call is None else "tool_calls",
                "message": message,
            }
        ],
        "usage": {
            "prompt_tokens": said.tokens[0],
            "completion_tokens": said.tokens[1],
            "total_tokens": sum(said.tokens),
        },
    }


def _tool_call(name: str, arguments: Mapping[str, Any]) -> dict[str, Any]:
    function = {"name": name, "arguments": json.dumps(arguments)}
    return {"id": "call_scripted", "type": "function", "function": function}


def _chunks(said: Said) -> list[dict[str, Any]]:
    head = {"id": "chatcmpl-scripted", "object": "chat.completion.chunk", "created": 0}

    def chunk(delta: Mapping[str, Any], reason: str | None = None) -> dict[str, Any]:
        choice = {"index": 0, "delta": delta, "finish_reason": reason}
        return head | {"model": MODEL, "choices": [choice]}

    words = [chunk({"role": "assistant", "content": piece}) for piece in said.deltas()]
    return [*words, chunk({}, "stop")]


def _response(said: Said) -> dict[str, Any]:
    text = {"type": "output_text", "text": said.text or "", "annotations": []}
    item = {
        "id": "msg_scripted",
        "type": "message",
        "role": "assistant",
        "status": "completed",
        "content": [text],
    }
    return {
        "id": "resp_scripted",
        "object": "response",
        "created_at": 0,
        "model": MODEL,
        "status": "completed",
        "output": [item],
        "parallel_tool_calls": False,
        "tool_choice": "auto",
        "tools": [],
    }


def _response_events(said: Said) -> list[dict[str, Any]]:
    whole = _response(said)
    (item,) = whole["output"]
    (part,) = item["content"]
    begun = whole | {"status": "in_progress", "output": []}
    of_item = {"output_index": 0, "item_id": item["id"]}
    of_part = of_item | {"content_index": 0}
    empty = {"item": item | {"status": "in_progress", "content": []}, "output_index": 0}
    pieces = [
        {"type": "response.output_text.delta", "delta": piece, "logprobs": [], **of_part}
        for piece in said.deltas()
    ]
    events: Sequence[dict[str, Any]] = [
        {"type": "response.created", "response": begun},
        {"type": "response.output_item.added", **empty},
        {"type": "response.content_part.added", "part": part | {"text": ""}, **of_part},
        *pieces,
        {"type": "response.content_part.done", "part": part, **of_part},
        {"type": "response.output_item.done", "item": item, "output_index": 0},
        {"type": "response.completed", "response": whole},
    ]
    return [event | {"sequence_number": number} for number, event in enumerate(events)]


def _message(said: Said, asked: Mapping[str, Any]) -> dict[str, Any]:
    return {
        "id": "msg_scripted",
        "type": "message",
        "role": "assistant",
        "model": MODEL,
        "content": _blocks(said, asked),
        "stop_reason": "end_turn" if said.call is None else "tool_use",
        "stop_sequence": None,
        "usage": {"input_tokens": said.tokens[0], "output_tokens": said.tokens[1]},
    }


def _blocks(said: Said, asked: Mapping[str, Any]) -> list[dict[str, Any]]:
    call, text = said.call, said.text
    if call is None and asked_form(asked) == "tool":
        parsed = _object_in(text)
        if parsed is not None:
            call, text = (str(asked["tool_choice"].get("name")), parsed), None
    blocks: list[dict[str, Any]] = [] if text is None else [{"type": "text", "text": text}]
    if call is not None:
        name, given = call
        blocks.append({"type": "tool_use", "id": "toolu_scripted", "name": name, "input": given})
    return blocks


def _object_in(text: str | None) -> dict[str, Any] | None:
    try:
        value = json.loads(text or "")
    except ValueError:
        return None
    return value if isinstance(value, dict) else None


def _message_events(said: Said, asked: Mapping[str, Any]) -> list[dict[str, Any]]:
    whole = _message(said, asked)
    begun = whole | {"content": [], "stop_reason": None}
    pieces = [
        {
            "type": "content_block_delta",
            "index": 0,
            "delta": {"type": "text_delta", "text": piece},
        }
        for piece in said.deltas()
    ]
    end = {"stop_reason": "end_turn", "stop_sequence": None}
    return [
        {"type": "message_start", "message": begun},
        {"type": "content_block_start", "index": 0, "content_block": {"type": "text", "text": ""}},
        *pieces,
        {"type": "content_block_stop", "index": 0},
        {"type": "message_delta", "delta": end, "usage": {"output_tokens": said.tokens[1]}},
        {"type": "message_stop"},
    ]


def _event(data: Mapping[str, Any], name: str | None = None) -> bytes:
    head = "" if name is None else f"event: {name}\n"
    return f"{head}data: {json.dumps(data)}\n\n".encode()


def models() -> bytes:
    """Return the list of an endpoint's models, for ``GET …/models``."""
    entry = {"id": MODEL, "object": "model", "type": "model", "display_name": "Scripted"}
    times = {"created": 0, "created_at": "2026-01-01T00:00:00Z", "owned_by": "nobody"}
    return json.dumps({"object": "list", "data": [entry | times], "has_more": False}).encode()
