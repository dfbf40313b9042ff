"""The application: routes from the list of verbs, errors as problems, limits, health.

It holds no state of a user: each request is judged by its own credential.
"""

from __future__ import annotations

import json
import math
import secrets
import time
from collections import OrderedDict
from collections.abc import AsyncIterator, Callable, Hashable
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from importlib.util import find_spec
from typing import Any

from fastapi import FastAPI, Request, Response
from fastapi.exceptions import RequestValidationError
from starlette.exceptions import HTTPException
from starlette.middleware.trustedhost import TrustedHostMiddleware
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from simonides._version import __version__
from simonides.api.remote import wire
from simonides.api.store import Store
from simonides.core.errors import InvalidInput, QuotaExceeded, SimonidesError
from simonides.govern.tokens import Caller
from simonides.server import health, oidc, pages, routes
from simonides.server.callers import Callers

MOST_BYTES = 4 << 20
"""Longest body of a request. Set by judgement."""

DESCRIPTION = """The memory of LLM agents. A request names nobody in its body: the token says who
asks. A token for any user of an organisation acts for the one in the header `Simonides-User`; the
headers `Simonides-Session`, `Simonides-Task`, `Simonides-Agent` and `Simonides-Purpose` say where.
Their values are percent-encoded UTF-8."""


@dataclass(frozen=True)
class Limits:
    """What one credential may ask of the server.

    Attributes:
        per_minute: Requests in a minute.
        seconds: Time for a read; a write is never abandoned.
        body_bytes: Length of a body.
    """

    per_minute: int = 6_000
    seconds: float = 30.0
    body_bytes: int = MOST_BYTES


def application(
    store: Store,
    callers: Callers,
    *,
    hosts: list[str] | None = None,
    limits: Limits | None = None,
    close: Callable[[], None] | None = None,
) -> FastAPI:
    """Return the application of a store.

    Args:
        store: The store.
        callers: Checks the credentials.
        hosts: Names under which it may be asked; None for any, behind a proxy that checks.
        limits: What one credential may ask.
        close: Is called when the server has answered its last request.
    """

    @asynccontextmanager
    async def lifespan(app: FastAPI) -> AsyncIterator[None]:
        async with AsyncExitStack() as running:
            for each in app.state.mcp:
                await running.enter_async_context(each.running())
            yield
        if close is not None:
            close()

    app = FastAPI(
        title="simonides",
        version=__version__,
        description=DESCRIPTION,
        docs_url=None,
        redoc_url=None,
        openapi_url="/openapi.json",
        separate_input_output_schemas=False,
        lifespan=lifespan,
    )
    app.state.store, app.state.callers, app.state.limits = store, callers, limits or Limits()
    app.state.rates = Rates(app.state.limits.per_minute)
    routes.add(app)
    health.add(app)
    oidc.add(app)
    pages.add(app)
    _describe(app)
    app.state.mcp = _mcp(app, hosts)
    app.add_exception_handler(SimonidesError, _on_error)
    app.add_exception_handler(RequestValidationError, _on_invalid)
    app.add_exception_handler(HTTPException, _on_http)
    app.add_exception_handler(Exception, _on_defect)
    app.add_middleware(Envelope, limit=app.state.limits.body_bytes)
    if hosts is not None:
        app.add_middleware(TrustedHostMiddleware, allowed_hosts=hosts)
    return app


def _mcp(app: FastAPI, hosts: list[str] | None) -> list[Any]:
    """Add what speaks MCP, where the extra is installed."""
    if find_spec("mcp") is None:
        return []
    from simonides.server import mcp_http

    return mcp_http.add(app, hosts)


def _describe(app: FastAPI) -> None:
    """Let the description of the API hold the bodies, too, and how a token is sent."""
    described = app.openapi

    def openapi() -> dict[str, Any]:
        if app.openapi_schema is None:
            parts = described()["components"]
            schemas = routes.with_properties(routes.schemas() | parts["schemas"])
            parts["schemas"] = routes.plain(schemas)
            parts["securitySchemes"] = {"token": {"type": "http", "scheme": "bearer"}}
        return described()

    app.openapi = openapi  # type: ignore[method-assign]  # the framework's own way


# -- errors ----------------------------------------------------------------------------------------


def answer(error: SimonidesError, status: int | None = None) -> Response:
    """Return the answer for an error: a problem with advice."""
    body = wire.problem(error)
    body["status"] = status or body["status"]
    headers = {}
    if (seconds := getattr(error, "retry_after_s", None)) is not None:
        headers["Retry-After"] = str(math.ceil(seconds))
    elif body["status"] == 503 and error.retryable:
        headers["Retry-After"] = "1"
    return Response(
        json.dumps(body, ensure_ascii=False), body["status"], headers, "application/problem+json"
    )


async def _on_error(request: Request, error: Exception) -> Response:
    assert isinstance(error, SimonidesError)  # noqa: S101 - registered for this class only
    response = answer(error)
    if response.status_code == 401:
        response.headers["WWW-Authenticate"] = oidc.challenge(request)
    return response


async def _on_invalid(_: Request, error: Exception) -> Response:
    assert isinstance(error, RequestValidationError)  # noqa: S101 - registered for this class only
    return answer(routes.invalid_request(error))


async def _on_http(request: Request, error: Exception) -> Response:
    """Answer what the framework refuses itself: an unknown path, a method, a body in no UTF-8."""
    assert isinstance(error, HTTPException)  # noqa: S101 - registered for this class only
    response = answer(InvalidInput("request", str(error.detail)), error.status_code)
    response.headers.update(error.headers or {})
    if error.status_code == 405:
        response.headers["Allow"] = ", ".join(routes.methods_of(request))
    return response


async def _on_defect(_: Request, error: Exception) -> Response:
    """Answer where the program itself has failed; the server logs it with its trace."""
    return answer(SimonidesError(f"the server failed: {type(error).__name__}"))


# -- limits ----------------------------------------------------------------------------------------


class Rates:
    """Counts the requests of each credential in the last minute."""

    def __init__(self, most: int) -> None:
        self._most = most
        self._begun: OrderedDict[Hashable, tuple[float, int]] = OrderedDict()

    def check(self, caller: Caller) -> None:
        """Count a request.

        Raises:
            QuotaExceeded: If there were too many in the minute that runs.
        """
        name, now = caller.credential, time.monotonic()
        begun, count = self._begun.get(name, (now, 0))
        if now - begun >= 60:
            begun, count = now, 0
        if count >= self._most:
            raise QuotaExceeded("requests_per_minute", self._most, max(begun + 60 - now, 1.0))
        self._begun[name] = begun, count + 1
        self._begun.move_to_end(name)
        while len(self._begun) > 10_000:
            self._begun.popitem(last=False)


class Envelope:
    """Gives each answer an id, and refuses a body that is too long before it is read.

    A path is matched as it was sent: what is encoded in it, such as a slash within a key, is part
    of a name.
    """

    def __init__(self, app: ASGIApp, limit: int) -> None:
        self._app, self._limit = app, limit

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass a request on."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        scope["path"] = scope.get("raw_path", scope["path"].encode()).decode("ascii", "replace")
        id, taken = secrets.token_hex(8), 0

        async def numbered(message: Message) -> None:
            if message["type"] == "http.response.start":
                message["headers"] = [*message["headers"], (b"x-request-id", id.encode())]
            await send(message)

        async def bounded() -> Message:
            nonlocal taken
            message = await receive()
            taken += len(message.get("body", b""))
            if taken > self._limit:
                raise _TooLong
            return message

        try:
            length = _length(scope["headers"])
            if length > self._limit:
                raise _TooLong
            await self._app(scope, bounded, numbered)
        except _TooLong:
            error = InvalidInput("body", f"may have at most {self._limit:,} bytes")
            await answer(error, 413)(scope, receive, numbered)


class _TooLong(Exception):
    """A body is longer than allowed."""


def _length(headers: list[tuple[bytes, bytes]]) -> int:
    given = dict(headers).get(b"content-length", b"0")
    return int(given) if given.isdigit() else 0
