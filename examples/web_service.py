"""A web service with one store for the process and one memory for each request.

The store is shared by all threads. A memory does no I/O when it is made, so each request makes its
own. With `require_org` a request without an organisation is refused.

    python web_service.py
"""

import json
from collections.abc import Iterable
from contextlib import closing
from http.client import HTTPConnection
from threading import Thread
from urllib.parse import parse_qs
from wsgiref.simple_server import WSGIRequestHandler, make_server
from wsgiref.types import StartResponse, WSGIEnvironment

import simonides
from simonides import InvalidInput, OwnerRequired, Settings, Store


class QuietHandler(WSGIRequestHandler):
    """Keeps the example's output short."""

    def log_message(self, format: str, *args: object) -> None:
        """Log nothing."""


class App:
    """The service: `POST /` remembers the body, `GET /?q=…` recalls."""

    def __init__(self, store: Store) -> None:
        self._store = store

    def __call__(self, environ: WSGIEnvironment, start: StartResponse) -> Iterable[bytes]:
        """Answer one request."""
        try:
            status, body = "200 OK", self._answer(environ)
        except (InvalidInput, OwnerRequired) as error:
            status, body = "400 Bad Request", {"code": error.code, "hint": error.hint}
        start(status, [("Content-Type", "application/json")])
        return [json.dumps(body).encode()]

    def _answer(self, environ: WSGIEnvironment) -> dict[str, object]:
        # Your authentication sets these headers; never take them from the browser.
        memory = self._store.memory(user=environ["HTTP_X_USER"], org=environ.get("HTTP_X_ORG"))
        if environ["REQUEST_METHOD"] == "POST":
            body = environ["wsgi.input"].read(int(environ["CONTENT_LENGTH"]))
            outcome = memory.remember(body.decode())
            return {"kind": outcome.kind, "explanation": outcome.explanation}
        (query,) = parse_qs(environ["QUERY_STRING"])["q"]
        return {"memories": [hit.content for hit in memory.recall(query, limit=1)]}


def call(port: int, method: str, path: str, said: str = "", **identity: str) -> str:
    headers = {f"X-{name}": value for name, value in identity.items()}
    with closing(HTTPConnection("127.0.0.1", port)) as connection:
        connection.request(method, path, said.encode(), headers)
        response = connection.getresponse()
        return f"{response.status} {response.read().decode()}"


def main() -> None:
    with (
        simonides.open("memory.db", settings=Settings(require_org=True)) as store,
        make_server("127.0.0.1", 0, App(store), handler_class=QuietHandler) as server,
    ):
        Thread(target=server.serve_forever, daemon=True).start()
        port, question = server.server_port, "/?q=Where+do+I+deploy"
        print(call(port, "POST", "/", "Always deploy to us-east-1", user="ana", org="acme"))
        print(call(port, "GET", question, user="ana", org="acme"))
        print(call(port, "GET", question, user="ana", org="globex"))
        print(call(port, "GET", question, user="ana"))
        server.shutdown()


if __name__ == "__main__":
    main()
