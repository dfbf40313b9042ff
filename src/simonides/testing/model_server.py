"""A scripted endpoint of a language model on 127.0.0.1: real HTTP, no model.

```python
with ModelServer(failing(500), saying("Noted.")) as server:
    client = openai.OpenAI(api_key="none", base_url=server.base_url)
```

It serves OpenAI's chat completions and responses at `base_url`, and Anthropic's messages at
`root_url`, whole and streamed.
"""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, Self

PIECES = 3
"""Pieces of a streamed text. Set by judgement."""


@dataclass(frozen=True)
class Received:
    """A request.

    Attributes:
        path: Such as ``/v1/chat/completions``.
        raw: Its body, byte for byte.
    """

    path: str
    raw: bytes

    @property
    def body(self) -> Any:
        """The body as JSON."""
        return json.loads(self.raw)


@dataclass(frozen=True)
class Reply:
    """An answer, in the format of whichever API is asked.

    Attributes:
        text: What the model says, or the message of an error.
        call: Name and arguments of a tool that it calls, or None.
        status: HTTP status; from 400 on the answer is an error.
        delay_s: Seconds until it is sent; None means never.
        gate: A stream waits for it after its first piece of text.
    """

    text: str = ""
    call: tuple[str, Mapping[str, Any]] | None = None
    status: int = 200
    delay_s: float | None = 0.0
    gate: threading.Event | None = None


def saying(text: str, gate: threading.Event | None = None) -> Reply:
    """Answer with a text."""
    return Reply(text, gate=gate)


def calling(name: str, **arguments: Any) -> Reply:
    """Answer with a call of a tool."""
    return Reply(call=(name, arguments))


def failing(status: int) -> Reply:
    """Answer with an error."""
    return Reply("scripted failure", status=status)


def hanging() -> Reply:
    """Give no answer until the server stops."""
    return Reply(delay_s=None)


class ModelServer:
    """The endpoint; it runs while its context lasts.

    Attributes:
        received: Every request, in order.
    """

    def __init__(
        self, *script: Reply, answers: Callable[[Received], Reply] = lambda _: failing(418)
    ) -> None:
        """Set the script.

        Args:
            script: The answers, one for each request.
            answers: Answers requests after the script.
        """
        self.received: list[Received] = []
        self._script, self._answers = iter(script), answers
        self._stopping = threading.Event()
        self._http = ThreadingHTTPServer(("127.0.0.1", 0), type("_", (_Handler,), {"told": self}))
        self.root_url = f"http://127.0.0.1:{self._http.server_address[1]}"
        self.base_url = f"{self.root_url}/v1"

    def __enter__(self) -> Self:
        self._thread = threading.Thread(target=self._http.serve_forever, args=(0.02,))
        self._thread.start()
        return self

    def __exit__(self, *error: object) -> None:
        self._stopping.set()
        self._http.shutdown()
        self._thread.join()
        self._http.server_close()

    def reply_to(self, received: Received) -> Reply | None:
        """Note a request and return its answer when it is time; None if the server stops."""
        self.received.append(received)
        reply = next(self._script, None) or self._answers(received)
        return None if self._stopping.wait(reply.delay_s) else reply

    def wait_for(self, gate: threading.Event) -> None:
        """Wait until the gate opens, or the server stops."""
        while not gate.wait(0.02) and not self._stopping.is_set():
            pass


class _Handler(BaseHTTPRequestHandler):
    told: ModelServer

    def do_POST(self) -> None:
        raw = self.rfile.read(int(self.headers.get("Content-Length", 0)))
        received = Received(self.path.partition("?")[0], raw)
        reply = self.told.reply_to(received)
        if reply is None:
            return
        api = received.path.rpartition("/")[2]
        with suppress(ConnectionError):  # the client waits no longer
            self._send(reply, api, received.body)

    def _send(self, reply: Reply, api: str, asked: dict[str, Any]) -> None:
        is_stream = reply.status < 400 and asked.get("stream")
        self.send_response(reply.status)
        kind = "text/event-stream" if is_stream else "application/json"
        self.send_header("Content-Type", kind)
        self.end_headers()
        error = {"type": "error", "error": {"type": "scripted", "message": reply.text}}
        model = {"model": asked.get("model", "scripted")}
        whole = error if reply.status >= 400 else _WHOLE[api](reply) | model
        if not is_stream:
            self.wfile.write(json.dumps(whole).encode())
        for event in _STREAMED[api](reply, whole) if is_stream else ():
            name = f"event: {event['type']}\n" if "type" in event else ""
            self.wfile.write(f"{name}data: {json.dumps(event)}\n\n".encode())
            if reply.gate is not None and "delta" in str(event.get("type", "delta")):
                self.told.wait_for(reply.gate)
        if is_stream and api == "completions":
            self.wfile.write(b"data: [DONE]\n\n")

    def log_message(self, format: str, *args: Any) -> None:
        """Log nothing."""


def _pieces(text: str) -> list[str]:
    size = -(-len(text) // PIECES) or 1
    return [text[start : start + size] for start in range(0, len(text), size)]


def _completion(reply: Reply) -> dict[str, Any]:
    message: dict[str, Any] = {"role": "assistant", "content": reply.text}
    if reply.call is not None:
        function = {"name": reply.call[0], "arguments": json.dumps(reply.call[1])}
        tool_call = {"index": 0, "id": "call_1", "type": "function", "function": function}
        message |= {"content": None, "tool_calls": [tool_call]}
    reason = "stop" if reply.call is None else "tool_calls"
    return {
        "id": "chatcmpl-1",
        "object": "chat.completion",
        "created": 0,
        "choices": [{"index": 0, "finish_reason": reason, "message": message}],
        "usage": {"prompt_tokens": 10, "completion_tokens": 5, "total_tokens": 15},
    }


def _chunks(reply: Reply, whole: dict[str, Any]) -> Iterator[dict[str, Any]]:
    [choice] = whole["choices"]
    first, *rest = [{"content": piece} for piece in _pieces(reply.text)] or [choice["message"]]
    head = whole | {"object": "chat.completion.chunk", "usage": None}
    for delta in ({"role": "assistant"} | first, *rest):
        yield head | {"choices": [{"index": 0, "delta": delta, "finish_reason": None}]}
    end = {"index": 0, "delta": {}, "finish_reason": choice["finish_reason"]}
    yield head | {"choices": [end]}


def _response(reply: Reply) -> dict[str, Any]:
    text = {"type": "output_text", "text": reply.text, "annotations": []}
    item: dict[str, Any] = {"type": "message", "role": "assistant", "content": [text]}
    if reply.call is not None:
        called = {"name": reply.call[0], "arguments": json.dumps(reply.call[1])}
        item = {"type": "function_call", "call_id": "call_1", **called}
    return {
        "id": "resp_1",
        "object": "response",
        "created_at": 0,
        "status": "completed",
        "output": [item | {"id": "item_1", "status": "completed"}],
        "usage": {"input_tokens": 10, "output_tokens": 5, "total_tokens": 15},
    }


def _response_events(reply: Reply, whole: dict[str, Any]) -> Iterator[dict[str, Any]]:
    [item] = whole["output"]
    of_part = {"output_index": 0, "item_id": item["id"], "content_index": 0}
    events: list[dict[str, Any]] = [
        {"type": "response.created", "response": whole | {"status": "in_progress", "output": []}},
        {"type": "response.output_item.added", "item": item | {"content": []}, "output_index": 0},
    ]
    if reply.call is None:
        [part] = item["content"]
        added = {"type": "response.content_part.added", "part": part | {"text": ""}}
        delta = {"type": "response.output_text.delta", "logprobs": []}
        texts = [delta | {"delta": piece} for piece in _pieces(reply.text)]
        events += [event | of_part for event in (added, *texts)]
    events.append({"type": "response.output_item.done", "item": item, "output_index": 0})
    events.append({"type": "response.completed", "response": whole})
    yield from (event | {"sequence_number": number} for number, event in enumerate(events))


def _message(reply: Reply) -> dict[str, Any]:
    block: dict[str, Any] = {"type": "text", "text": reply.text}
    if reply.call is not None:
        block = {"type": "tool_use", "id": "toolu_1", "name": reply.call[0], "input": reply.call[1]}
    return {
        "id": "msg_1",
        "type": "message",
        "role": "assistant",
        "content": [block],
        "stop_reason": "end_turn" if reply.call is None else "tool_use",
        "stop_sequence": None,
        "usage": {"input_tokens": 10, "output_tokens": 5},
    }


def _message_events(reply: Reply, whole: dict[str, Any]) -> Iterator[dict[str, Any]]:
    [block] = whole["content"]
    deltas = [{"type": "text_delta", "text": piece} for piece in _pieces(reply.text)]
    if reply.call is not None:
        deltas = [{"type": "input_json_delta", "partial_json": json.dumps(reply.call[1])}]
    empty = block | {"text" if reply.call is None else "input": "" if reply.call is None else {}}
    yield {"type": "message_start", "message": whole | {"content": [], "stop_reason": None}}
    yield {"type": "content_block_start", "index": 0, "content_block": empty}
    for delta in deltas:
        yield {"type": "content_block_delta", "index": 0, "delta": delta}
    yield {"type": "content_block_stop", "index": 0}
    end = {"stop_reason": whole["stop_reason"], "stop_sequence": None}
    yield {"type": "message_delta", "delta": end, "usage": {"output_tokens": 5}}
    yield {"type": "message_stop"}


_WHOLE = {"completions": _completion, "responses": _response, "messages": _message}
_STREAMED = {"completions": _chunks, "responses": _response_events, "messages": _message_events}
