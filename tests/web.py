"""A website on the loopback: real HTTP, with pages that a test names, and what it was asked."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Mapping
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from types import TracebackType
from typing import Any, NamedTuple, Self
from urllib.parse import urlsplit


class Answer(NamedTuple):
    """What a path answers; ``before`` is called first, ``after`` writes more of the body."""

    status: int = 200
    headers: Mapping[str, str] = {}
    body: bytes = b""
    before: Callable[[], object] = int
    after: Callable[[Any], object] | None = None


def said(kind: str, body: bytes, **headers: str) -> Answer:
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    return Answer(200, {"Content-Type": kind, "Content-Length": str(len(body)), **named}, body)


def listed(results: object, kind: str = "application/json") -> Answer:
    return said(kind, json.dumps(results).encode())


def sent_to(url: str, status: int = 302) -> Answer:
    return Answer(status, {"Location": url, "Content-Length": "0"})


class Site:
    """Serves answers by path on 127.0.0.1 until it is closed.

    Attributes:
        asked: Path with its query, and headers in lower case, of each request.
    """

    def __init__(self, answers: Mapping[str, Answer], *, context: Any = None) -> None:
        self.asked: list[tuple[str, dict[str, str]]] = []
        site = self

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                site.asked.append((self.path, {k.lower(): v for k, v in self.headers.items()}))
                answer = answers.get(urlsplit(self.path).path, Answer(404))
                answer.before()
                self.send_response(answer.status)
                for name, value in answer.headers.items():
                    self.send_header(name, value)
                self.end_headers()
                self.wfile.write(answer.body)
                if answer.after is not None:
                    answer.after(self.wfile)

            def log_message(self, format: str, *args: object) -> None:
                del format, args

        class Server(ThreadingHTTPServer):
            daemon_threads = True

            def handle_error(self, request: object, client_address: object) -> None:
                """Say nothing of clients that go away: that is what they are to do."""

        self._server = Server(("127.0.0.1", 0), Handler)
        if context is not None:
            self._server.socket = context.wrap_socket(self._server.socket, server_side=True)
        self.port = self._server.server_address[1]
        self.host = f"127.0.0.1:{self.port}"
        self.url = f"http://{self.host}"
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.01,))
        self._thread.start()

    def close(self) -> None:
        if self._thread.is_alive():
            self._server.shutdown()
            self._thread.join()
            self._server.server_close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()
