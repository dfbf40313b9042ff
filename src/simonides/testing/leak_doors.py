"""The doors by which a leak test asks a store: this process, REST and MCP.

A door takes a question and gives an answer as text; what it means is judged elsewhere.
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager, ExitStack, asynccontextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol
from urllib.parse import quote

from simonides.api.admin import Admin
from simonides.api.remote import wire
from simonides.api.store import Store
from simonides.core.errors import MissingExtra, NotFound, SimonidesError
from simonides.core.scope import Principal, Scope

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

MCP_CALLS: Mapping[str, tuple[str, ...]] = {
    "tool memory_search": ("query",), "tool memory_get": ("id",), "tool memory_add": ("text",),
    "tool memory_correct": ("id", "text"), "tool memory_forget": ("id",),
    "tool memory_digest": ("about",), "resource memory://item/": ("id",),
    "resource memory://digest": (), "resource memory://profile": (),
    "prompt recall_context": ("about",), "prompt review_pending": (),
}  # fmt: skip
"""What a client of MCP may ask, with its arguments."""

BUSY_S = 60.0
"""Longest wait when a server says that there were too many requests."""


@dataclass(frozen=True)
class Question:
    """One call of a verb.

    Attributes:
        call: Name of the call, a key of `wire.calls()`; over MCP a key of `MCP_CALLS`.
        values: Its arguments, JSON-ready.
        names: Whom it names beside the credential: ``session``, ``task``, ``user`` and so on.
        headers: Further HTTP headers.
        more: Arguments added to query, body or those of a tool, whatever the call takes.
    """

    call: str
    values: Mapping[str, Any] = field(default_factory=dict)
    names: Mapping[str, str] = field(default_factory=dict)
    headers: Mapping[str, str] = field(default_factory=dict)
    more: Mapping[str, Any] = field(default_factory=dict)

    @property
    def sent(self) -> dict[str, Any]:
        """All that the asker says."""
        parts = {"call": self.call, "values": self.values, "names": self.names}
        return {**parts, "headers": self.headers, "more": self.more}

    @property
    def http_headers(self) -> dict[str, str]:
        """The HTTP headers that name the same."""
        named = {f"Simonides-{name}": quote(each, safe="") for name, each in self.names.items()}
        return {**named, **self.headers}


class Answer(NamedTuple):
    """What a door answered.

    Attributes:
        code: ``ok``, or the code of an error, with the HTTP status over REST.
        text: The result or the error as JSON.
        seconds: How long it took.
    """

    code: str
    text: str
    seconds: float


class Door(Protocol):
    """A way to ask as one principal."""

    name: str

    def ask(self, question: Question) -> Answer:
        """Ask, and return the answer; an error is an answer."""
        ...

    def close(self) -> None:
        """Let go of connections."""
        ...


_NONE: Mapping[str, str] = {}


class Unreachable(Exception):
    """The principal has no way to this call at this door."""


# -- in this process -------------------------------------------------------------------------------


class Library:
    """Asks the verbs of the Python API in this process.

    Args:
        store: The store.
        admin_of: For an administrator: its organisation. It asks the verbs of administrators, too.
        who: The arguments of `Store.memory`.
    """

    name = "library"

    def __init__(self, store: Store, *, admin_of: str | None = None, **who: Any) -> None:
        self._store, self._who, self._admin_of = store, who, admin_of

    def close(self) -> None:
        """Do nothing: the store is its owner's."""

    def ask(self, question: Question) -> Answer:
        """Ask, and return the answer."""
        call = wire.calls()[question.call]
        self._check(call)
        begun = time.perf_counter()
        try:
            code, said = "ok", wire.encoded(call.verb, self._carried_out(call, question))
        except SimonidesError as error:
            code, said = error.code, wire.problem(error)
        seconds = time.perf_counter() - begun
        return Answer(code, json.dumps(said, ensure_ascii=False), seconds)

    def _check(self, call: wire.Call) -> None:
        group = call.verb.group
        is_tokens = group in ("admin", "token") and call.verb is not wire.FLUSH
        if group == "source" or call.verb is wire.FLUSH or (is_tokens and self._admin_of is None):
            raise Unreachable("it belongs to the store, not to a user")

    def _carried_out(self, call: wire.Call, question: Question) -> Any:
        values = dict(question.values)
        placed = {name: values.pop(name) for name in call.named if name in values}
        names: dict[str, Any] = {**self._who, **question.names}
        if "session" in placed:
            names["session"] = placed.pop("session")
        values = wire.given_in(call, values) | placed
        owner, _, method = call.verb.function.partition(":")[2].partition(".")
        if owner == "Admin":
            admin = Principal(Scope(self._admin_of), actor="leak-test", is_admin=True)
            return getattr(Admin(self._store._link, admin), method)(**values)
        return wire.carried_out(call, self._store.memory(**names), values, None)


# -- over HTTP -------------------------------------------------------------------------------------


class Rest:
    """Asks a server with a token.

    Args:
        url: The server's address.
        token: The credential.
        headers: Of each request.
    """

    name = "rest"

    def __init__(self, url: str, token: str, headers: Mapping[str, str] = _NONE) -> None:
        try:
            import httpx2
        except ImportError as error:
            raise MissingExtra("server", "a leak test of a server") from error
        sent = {"Authorization": f"Bearer {token}", **headers}
        self._client = httpx2.Client(base_url=url.rstrip("/"), headers=sent, timeout=60.0)

    def close(self) -> None:
        """Let go of the connection."""
        self._client.close()

    def ask(self, question: Question) -> Answer:
        """Ask, and return the answer."""
        call = wire.calls()[question.call]
        try:
            request = wire.request_of(call, question.values)
        except NotFound as error:
            raise Unreachable("a path cannot name it") from error
        body = None if request.body is None else json.dumps(request.body | dict(question.more))
        kind = {} if body is None else {"Content-Type": "application/json"}
        query = request.query | dict(question.more)
        for _ in range(3):
            begun = time.perf_counter()
            answer = self._client.request(
                request.method,
                f"/v1{request.path}",
                params=query,
                content=body,
                headers=kind | question.http_headers,
            )
            seconds = time.perf_counter() - begun
            if answer.status_code != 429:
                break
            time.sleep(min(float(answer.headers.get("Retry-After", "1")), BUSY_S))
        try:
            said = answer.json()
        except ValueError:
            said = {"text": answer.text}
        code = "ok" if answer.is_success else f"{answer.status_code} {said.get('code', '')}".strip()
        return Answer(code, json.dumps(said, ensure_ascii=False), seconds)


# -- over MCP --------------------------------------------------------------------------------------


class Mcp:
    """Asks a server with a token, by the client of the MCP SDK.

    Args:
        url: The server's address.
        token: The credential.
        headers: Of each request.
    """

    name = "mcp"

    def __init__(self, url: str, token: str, headers: Mapping[str, str] = _NONE) -> None:
        try:
            import httpx2
            from anyio.from_thread import start_blocking_portal
            from mcp import Client, MCPError
            from mcp.client.streamable_http import streamable_http_client
        except ImportError as error:
            raise MissingExtra("mcp", "a leak test over MCP") from error

        @asynccontextmanager
        async def connected() -> AsyncIterator[Client]:
            transport = streamable_http_client(f"{url.rstrip('/')}/mcp", http_client=self._http)
            async with self._http, Client(transport) as client:
                yield client

        sent = {"Authorization": f"Bearer {token}", **headers}
        self._http = httpx2.AsyncClient(headers=sent, timeout=60)
        self._failed: type[Exception] = MCPError
        self._stack = ExitStack()
        self._portal = self._stack.enter_context(start_blocking_portal())
        running: AbstractContextManager[Any] = self._portal.wrap_async_context_manager(connected())
        self._client: Any = self._stack.enter_context(running)

    def close(self) -> None:
        """Let go of the connection."""
        self._stack.close()

    def ask(self, question: Question) -> Answer:
        """Ask, and return the answer."""
        work = self._work(question)
        begun = time.perf_counter()
        try:
            said = self._portal.call(work)
            code = "refused" if getattr(said, "is_error", False) else "ok"
            text = said.model_dump_json()
        except self._failed as error:
            code, text = "error", json.dumps({"detail": str(error)}, ensure_ascii=False)
        return Answer(code, text, time.perf_counter() - begun)

    def _work(self, question: Question) -> Callable[[], Any]:
        kind, name = question.call.split(" ")
        given = {**question.values, **question.more}

        async def work() -> Any:
            before = self._http.headers.copy()
            self._http.headers.update(question.http_headers)
            try:
                if kind == "tool":
                    return await self._client.call_tool(name, given)
                if kind == "prompt":
                    return await self._client.get_prompt(name, given)
                return await self._client.read_resource(name + quote(given.get("id", ""), safe=""))
            finally:
                self._http.headers = before

        return work
