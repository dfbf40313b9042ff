"""Whether the server lives and can answer, what it has counted, and what changes."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import AsyncIterator, Hashable
from typing import Any

import anyio
from anyio import to_thread
from fastapi import FastAPI, Request, Response
from fastapi.responses import PlainTextResponse
from sse_starlette import EventSourceResponse

from simonides.api.store import Store
from simonides.core.errors import InvalidInput, QuotaExceeded, Unauthenticated
from simonides.core.outcome import Event
from simonides.core.scope import GLOBAL, Principal
from simonides.govern import audit
from simonides.govern.tokens import Access
from simonides.server import callers
from simonides.server.routes import ANSWERS

LOOKS_S = 0.5
"""How often the stream of events looks for new ones. Set by judgement."""

MOST_STREAMS = 100
"""Open streams of one credential. Set by judgement."""


def add(app: FastAPI) -> None:
    """Add the routes of health, figures and events."""
    _add_health(app)
    _add_events(app)


def _add_health(app: FastAPI) -> None:
    store: Store = app.state.store

    @app.get("/livez", tags=["health"], summary="Whether the server runs.")
    async def livez() -> dict[str, bool]:
        return {"alive": True}

    @app.get("/readyz", tags=["health"], summary="Whether the store answers.", responses=ANSWERS)
    async def readyz() -> Response:
        await to_thread.run_sync(audit.length, store._engine, Principal(GLOBAL))
        return Response('{"ready": true}', media_type="application/json")

    @app.get(
        "/metrics",
        tags=["health"],
        summary="What this process has counted, for Prometheus.",
        response_class=PlainTextResponse,
        responses=ANSWERS,
    )
    async def metrics(request: Request) -> Response:
        caller = await app.state.callers.asking(request)
        callers.check_whole(caller)
        admin = callers.admin_of(store, caller, callers.named(request))
        text = await to_thread.run_sync(lambda: admin.metrics().prometheus())
        return Response(text, media_type="text/plain; version=0.0.4; charset=utf-8")


def _add_events(app: FastAPI) -> None:
    store: Store = app.state.store
    open_streams = Counter[Hashable]()

    @app.get(
        "/v1/events",
        tags=["audit"],
        summary="What changes for the owner, as it happens.",
        response_class=EventSourceResponse,
        responses=ANSWERS | {200: {"content": {"text/event-stream": {}}}},
    )
    async def events(request: Request) -> Response:
        """Stream the audit events of the owner, without content, as server-sent events.

        It begins after the event that the header `Last-Event-ID` names, else with what comes.
        """
        caller = await app.state.callers.asking(request)
        app.state.rates.check(caller)
        callers.need(caller, Access.READ)
        memory = callers.memory_of(store, caller, callers.named(request))
        last = request.headers.get("last-event-id")
        if last is not None and not (last.isdecimal() and len(last) <= 18):
            raise InvalidInput("Last-Event-ID", "is the number of an event")
        engine, who = store._engine, memory._who
        if open_streams[caller.credential] >= MOST_STREAMS:
            raise QuotaExceeded("streams", MOST_STREAMS, 1.0)
        seen = await to_thread.run_sync(audit.length, engine, who) if last is None else int(last)

        async def changes() -> AsyncIterator[dict[str, Any]]:
            at = seen
            open_streams[caller.credential] += 1
            try:
                while not await request.is_disconnected():
                    await app.state.callers.asking(request)
                    page: list[Event] = await to_thread.run_sync(
                        audit.events_after, engine, who, at
                    )
                    for each in page:
                        at = each.seq
                        data = json.dumps(each.to_dict())
                        yield {"id": str(at), "event": each.type.value, "data": data}
                    if not page:
                        await anyio.sleep(LOOKS_S)
            except Unauthenticated:
                return  # the token has ended, and the stream with it
            finally:
                open_streams[caller.credential] -= 1

        return EventSourceResponse(changes())
