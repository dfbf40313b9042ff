"""A scripted model endpoint on the loopback: real HTTP, real faults, no model.

```python
with ModelServer([failing(500), well({"items": []})]) as server:
    model = OpenAIModel(model="test", api_key="any", base_url=server.base_url)
```

It serves OpenAI's API at ``base_url``, whole and streamed, Gemini's version of it at ``gemini_url``
and Anthropic's Messages API at ``root_url``. It sends one reply of the script per request, in
order, and records the requests. After the script a function of the request may answer:
``answers=embedding_by(embedder)`` is an endpoint for embeddings, ``answers=reranking_by(score)``
one for reranking.
"""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from enum import Enum
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from types import MappingProxyType, TracebackType
from typing import Any, Self

from simonides.testing.model_dialects import (
    Content,
    Problem,
    Said,
    asked_form,
    models,
    refused_form,
    refused_keyword,
    streamed,
    written,
)

_NO_HEADERS: Mapping[str, str] = MappingProxyType({})


class Fault(Enum):
    """How a connection misbehaves."""

    NONE = 0
    HANG = 1
    """Never answers until the server closes."""
    CUT = 2
    """Closes the connection in the middle of the body."""


@dataclass(frozen=True, slots=True)
class Reply:
    """One answer of the script.

    Attributes:
        status: HTTP status.
        body: Bytes of the body, without content.
        headers: Further headers.
        delay_s: Wait before answering.
        fault: How the connection misbehaves.
        content: The answer, written in the format of the requested API.
        gate: A stream waits for it after its first event.
    """

    status: int = 200
    body: bytes = b""
    headers: Mapping[str, str] = field(default_factory=lambda: _NO_HEADERS)
    delay_s: float = 0.0
    fault: Fault = Fault.NONE
    content: Content | None = None
    gate: threading.Event | None = None

    def pieces(self, received: Received) -> list[bytes]:
        """Return the body that answers a request, in the pieces that are sent one by one."""
        if self.content is None:
            return [self.body]
        if isinstance(self.content, Said) and received.body.get("stream"):
            return streamed(self.content, received.path, received.body)
        return [written(self.content, received.path, received.body)]


@dataclass(frozen=True, slots=True)
class Received:
    """One received request: the path, the headers in lower case, and the JSON of the body."""

    path: str
    headers: Mapping[str, str]
    body: Any

    @property
    def format(self) -> str | None:
        """The requested form: ``json_schema``, ``json_object``, ``tool``, or None."""
        return asked_form(self.body)


def saying(text: str | None, *, tokens: tuple[int, int] = (10, 5)) -> Reply:
    """Answer with exactly this text (None: no content at all) and these token counts."""
    return Reply(content=Said(text, tokens))


def calling(name: str, **arguments: Any) -> Reply:
    """Answer with a call of a tool."""
    return Reply(content=Said(None, call=(name, arguments)))


def well(value: Any) -> Reply:
    """Answer with a JSON value."""
    return saying(json.dumps(value))


def fenced(value: Any) -> Reply:
    """Answer with a JSON value in a Markdown fence."""
    return saying(f"```json\n{json.dumps(value, indent=2)}\n```")


def late(value: Any, delay_s: float) -> Reply:
    """Answer well, after a delay."""
    return replace(well(value), delay_s=delay_s)


def garbage() -> Reply:
    """Answer with a text that is no JSON."""
    return saying("I would rather talk about the weather {")


def empty() -> Reply:
    """Answer with nothing."""
    return saying("")


def huge(size: int = 5 * 1024 * 1024) -> Reply:
    """Answer well-formed and much too long."""
    return saying(json.dumps({"filler": "x" * size}))


def failing(status: int, message: str = "scripted failure", **headers: str) -> Reply:
    """Answer with an error; header names have ``_`` for ``-``."""
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    return Reply(status, headers=named, content=Problem(message))


def limited(retry_after: str = "1") -> Reply:
    """Answer 429 with ``Retry-After``."""
    return failing(429, "slow down", Retry_After=retry_after)


def hanging() -> Reply:
    """Never answer."""
    return Reply(fault=Fault.HANG)


def cut() -> Reply:
    """Close the connection in the middle of the body."""
    return replace(well({}), fault=Fault.CUT)


def embeddings(rows: Iterable[Sequence[float]]) -> Reply:
    """Answer with these vectors, numbered in their order."""
    data = [
        {"object": "embedding", "index": place, "embedding": [*map(float, row)]}
        for place, row in enumerate(rows)
    ]
    return Reply(body=json.dumps({"object": "list", "data": data, "model": "scripted"}).encode())


def ranks(scores: Iterable[float]) -> Reply:
    """Answer with these relevance scores, best first, as rerankers do."""
    numbered = sorted(enumerate(scores), key=lambda pair: -pair[1])
    results = [{"index": place, "relevance_score": score} for place, score in numbered]
    return Reply(body=json.dumps({"results": results}).encode())


def embedding_by(encode: Callable[[Sequence[str]], Any]) -> Callable[[Received], Reply]:
    """Return a function that answers ``/embeddings`` with an encoder's vectors."""
    return lambda received: embeddings(encode(received.body["input"]))


def reranking_by(
    score: Callable[[str, Sequence[str]], Iterable[float]],
) -> Callable[[Received], Reply]:
    """Return a function that answers ``/rerank`` with a function's scores."""
    return lambda received: ranks(score(received.body["query"], received.body["documents"]))


class ModelServer:
    """The endpoint, from entering the context to leaving it.

    Attributes:
        received: Every request, in order.
    """

    def __init__(
        self,
        script: Iterable[Reply] = (),
        *,
        refuses: Iterable[str] = (),
        answers: Callable[[Received], Reply] | None = None,
    ) -> None:
        """Set the script.

        Args:
            script: One reply per request; after the last every request gets status 418, or the
                reply of ``answers``.
            refuses: Forms, see :attr:`Received.format`, that are answered with 400 without using
                the script.
            answers: Answers requests after the script.
        """
        self.received: list[Received] = []
        self._script = list(script)
        self._refuses = frozenset(refuses)
        self._answers = answers
        self._lock = threading.Lock()
        self._closing = threading.Event()
        self._server: _Server | None = None
        self._thread: threading.Thread | None = None

    @property
    def base_url(self) -> str:
        """Root of the API, ``http://127.0.0.1:{port}/v1``."""
        return f"{self.root_url}/v1"

    @property
    def gemini_url(self) -> str:
        """Root of Gemini's OpenAI-compatible API."""
        return f"{self.root_url}/v1beta/openai/"

    @property
    def root_url(self) -> str:
        """Base URL for Anthropic's SDK, which appends paths, ``http://127.0.0.1:{port}``."""
        if self._server is None:
            raise RuntimeError("the server runs only inside its context")
        return f"http://127.0.0.1:{self._server.server_address[1]}"

    def __enter__(self) -> Self:
        self._closing.clear()
        self._server = _Server(self)
        self._thread = threading.Thread(
            target=self._server.serve_forever, kwargs={"poll_interval": 0.02}, name="model-server"
        )
        self._thread.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._closing.set()
        if self._server is not None and self._thread is not None:
            self._server.shutdown()
            self._thread.join()
            # Waits for the handlers, which the event above has released.
            self._server.server_close()
        self._server = self._thread = None

    def answer(self, received: Received) -> Reply:
        """Record a request and return its reply."""
        with self._lock:
            self.received.append(received)
            kind = received.format
            if kind in self._refuses:
                return failing(400, refused_form(str(kind), received.path))
            if (unknown := refused_keyword(received.path, received.body)) is not None:
                return failing(400, unknown)
            if self._script:
                return self._script.pop(0)
        return (
            failing(418, "the script is over") if self._answers is None else self._answers(received)
        )

    def wait(self, seconds: float | None) -> bool:
        """Wait, at most until the server stops; return whether it is stopping."""
        return self._closing.wait(seconds)

    def wait_for(self, gate: threading.Event) -> None:
        """Wait for a gate, at most until the server stops."""
        while not gate.wait(0.02) and not self._closing.is_set():
            continue


class _Server(ThreadingHTTPServer):
    daemon_threads = False

    def __init__(self, script: ModelServer) -> None:
        self.script = script
        super().__init__(("127.0.0.1", 0), _Handler)


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server: _Server

    def do_GET(self) -> None:
        is_known = self.path.partition("?")[0].endswith("/models")
        body = models() if is_known else b"{}"
        self._begin(Reply(200 if is_known else 404), "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def do_POST(self) -> None:
        try:
            self._reply()
        except ConnectionError:
            # The client gave up waiting, as several replies intend.
            self.close_connection = True

    def _reply(self) -> None:
        length = int(self.headers.get("Content-Length", "0"))
        headers = {name.lower(): value for name, value in self.headers.items()}
        body = json.loads(self.rfile.read(length) or b"{}")
        received = Received(self.path, headers, body)
        reply = self.server.script.answer(received)
        wait_s = None if reply.fault is Fault.HANG else reply.delay_s
        if wait_s != 0 and self.server.script.wait(wait_s):
            self.close_connection = True
            return
        self._send(reply, reply.pieces(received))

    def _send(self, reply: Reply, pieces: Sequence[bytes]) -> None:
        is_stream = len(pieces) > 1
        self._begin(reply, "text/event-stream" if is_stream else "application/json")
        if not is_stream:
            self.send_header("Content-Length", str(len(pieces[0])))
        self.end_headers()
        whole = b"".join(pieces)
        if reply.fault is Fault.CUT:
            self.wfile.write(whole[: len(whole) // 2])
            return
        for place, piece in enumerate(pieces):
            self.wfile.write(piece)
            self.wfile.flush()
            if place == 0 and reply.gate is not None:
                self.server.script.wait_for(reply.gate)

    def _begin(self, reply: Reply, kind: str) -> None:
        self.close_connection = True
        self.send_response(reply.status)
        self.send_header("Content-Type", kind)
        self.send_header("Connection", "close")
        for name, value in reply.headers.items():
            self.send_header(name, value)

    def log_message(self, format: str, *args: Any) -> None:
        """Log nothing: tests read the received requests."""
