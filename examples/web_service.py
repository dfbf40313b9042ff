"""A web service with one store for the process and one memory for each request.

The store is shared by all threads. A memory does no I/O when it is made, so each request makes its
own. With `require_org` a request without an organisation is refused.

    python web_service.py
"""

import json
from collections.abc import Iterable
from threading import Thread
from urllib.error import HTTPError
from urllib.parse import parse_qs, urlencode
from urllib.request import Request, urlopen
from wsgiref.simple_server import WSGIRequestHandler, make_server
from wsgiref.types import StartResponse, WSGIEnvironment

import simonides
from simonides import Settings, SimonidesError, Store


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
        except SimonidesError as error:
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


def call(url: str, *, said: str = "", **identity: str) -> str:
    headers = {f"X-{name}": value for name, value in identity.items()}
    try:
        with urlopen(Request(url, data=said.encode() or None, headers=headers)) as response:
            return f"{response.status} {response.read().decode()}"
    except HTTPError as refusal:
        with refusal:
            return f"{refusal.code} {refusal.read().decode()}"


def main() -> None:
    with (
        simonides.open("memory.db", settings=Settings(require_org=True)) as store,
        make_server("127.0.0.1", 0, App(store), handler_class=QuietHandler) as server,
    ):
        Thread(target=server.serve_forever, daemon=True).start()
        url = f"http://127.0.0.1:{server.server_port}/"
        question = f"{url}?{urlencode({'q': 'Where do I deploy?'})}"
        print(call(url, said="Always deploy to us-east-1", user="ana", org="acme"))
        print(call(question, user="ana", org="acme"))
        print(call(question, user="ana", org="globex"))
        print(call(question, user="ana"))
        server.shutdown()


if __name__ == "__main__":
    main()
