"""MCP over HTTP: each request is judged by its own credential, whatever session it names."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from typing import Any

from fastapi import FastAPI, Request
from mcp.server.auth.middleware.bearer_auth import AuthenticatedUser, AuthorizationContext
from mcp.server.auth.provider import AccessToken
from mcp.server.streamable_http import StreamableHTTPServerTransport
from mcp.server.streamable_http_manager import StreamableHTTPSessionManager
from mcp.server.transport_security import TransportSecuritySettings
from starlette.routing import Route
from starlette.types import Receive, Scope, Send

from simonides.api.memory import Memory
from simonides.govern.tokens import Access, Caller
from simonides.server import callers
from simonides.server.mcp import server_of
from simonides.server.mcp_tools import Door, Tool, chosen

MOST_SESSIONS = 500
"""Open sessions of one credential, of 10,000 that the SDK keeps at a path. Set by judgement."""


def add(app: FastAPI, hosts: list[str] | None) -> list[Endpoint]:
    """Add ``/mcp``, and ``/mcp/connector`` for clients that want ``search`` and ``fetch``.

    Args:
        app: The application.
        hosts: Names under which it may be asked; None for any.
    """
    paths = {"/mcp": chosen(), "/mcp/connector": chosen(connector=True)}
    endpoints = [Endpoint(app, tools, hosts) for tools in paths.values()]
    app.router.routes += [
        Route(path, each, include_in_schema=False)
        for path, each in zip(paths, endpoints, strict=True)
    ]
    return endpoints


class Sessions(StreamableHTTPSessionManager):
    """The sessions of clients before protocol 2026-07-28: no credential can take those of all."""

    def _admit_session(
        self, requestor: AuthorizationContext | None
    ) -> StreamableHTTPServerTransport | None:
        whose = [each["client_id"] for each in self._session_owners.values()]
        if requestor is not None and whose.count(requestor["client_id"]) >= MOST_SESSIONS:
            return None
        return super()._admit_session(requestor)


class Endpoint:
    """Answers MCP at one path."""

    def __init__(self, app: FastAPI, tools: Mapping[str, Tool], hosts: list[str] | None) -> None:
        self._app, self._security = app, _security(hosts)
        self._server = server_of(self._door_of, tools)
        self._sessions: Sessions | None = None

    @asynccontextmanager
    async def running(self) -> AsyncIterator[None]:
        """Keep the sessions of clients before protocol 2026-07-28; they end with the server."""
        limit = self._app.state.limits.body_bytes
        self._sessions = Sessions(
            self._server, security_settings=self._security, max_request_body_size=limit
        )
        async with self._sessions.run():
            yield

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request of a caller that has a credential and may read."""
        request = Request(scope)
        caller = await self._app.state.callers.asking(request)
        self._app.state.rates.check(caller)
        callers.need(caller, Access.READ)
        who = self._memory(request, caller)._who
        # The session of another principal is as if there were none.
        subject = json.dumps([who.home.path, who.session, who.purpose, who.name])
        credential = json.dumps(caller.credential)
        token = AccessToken(token="", client_id=credential, subject=subject, scopes=[])
        scope["user"] = AuthenticatedUser(token)
        assert self._sessions is not None  # noqa: S101 - the lifespan has begun
        await self._sessions.handle_request(scope, receive, send)

    async def _door_of(self, request: Any) -> Door:
        caller = await self._app.state.callers.asking(request)
        return Door(self._memory(request, caller), caller.rights)

    def _memory(self, request: Request, caller: Caller) -> Memory:
        return callers.memory_of(self._app.state.store, caller, callers.named(request))


def _security(hosts: list[str] | None) -> TransportSecuritySettings | None:
    """Return what refuses pages of other sites, where the server's own names are known."""
    if hosts is None:
        return None
    names = [each for host in hosts for each in (host, f"{host}:*")]
    origins = [f"{scheme}://{name}" for scheme in ("http", "https") for name in names]
    return TransportSecuritySettings(allowed_hosts=names, allowed_origins=origins)
