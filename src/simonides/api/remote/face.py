"""The remote face: the same objects, whose calls are answered by a server.

`simonides.open("https://…", token=…)` makes it. Nothing is kept here: what the server does not
acknowledge was not done, or raises an error that says so.
"""

from __future__ import annotations

import inspect
import json
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any
from urllib.parse import quote, urlsplit

from simonides.api.remote import wire
from simonides.api.store import Store
from simonides.core.clock import Clock, Ids, SystemClock
from simonides.core.errors import (
    ConfigurationError,
    InvalidInput,
    MissingExtra,
    NotFound,
    SimonidesError,
    StoreUnavailable,
)
from simonides.core.results import ToolReply
from simonides.core.scope import DEFAULT_ORG, GLOBAL, Principal
from simonides.life.worker import Worker

if TYPE_CHECKING:
    import httpx2

CONNECT_S, ANSWER_S = 5.0, 60.0
"""How long to wait for a connection and for an answer. Set by judgement."""


class Remote:
    """A server, in the place of an engine.

    Attributes:
        location: Its address.
        clock: Of this machine.
        ids: Makes names here.
        worker: Runs what a wrapped client adds after its answer.
    """

    def __init__(self, url: str, token: str | None, *, transport: Any = None) -> None:
        """Prepare the connection; nothing is sent.

        Args:
            url: Address of the server.
            token: The credential.
            transport: Of httpx2; None for the network.

        Raises:
            ConfigurationError: If the address or the token cannot be right.
            MissingExtra: If the HTTP client is not installed.
        """
        try:
            import httpx2
        except ImportError as error:
            raise MissingExtra("server", "a store on a server") from error
        parts = urlsplit(url)
        if not parts.hostname or parts.username or parts.password or parts.query:
            raise ConfigurationError("a server is https://name or https://name:port; no more")
        if not token or not token.isascii() or len(token.split()) != 1:
            raise ConfigurationError(f"{url} needs a token: open(url, token=…) or SIMONIDES_TOKEN")
        if parts.scheme == "http" and parts.hostname not in ("127.0.0.1", "localhost", "::1"):
            raise ConfigurationError("http:// would send the token in the clear; use https://")
        self.location = f"{parts.scheme}://{parts.netloc}{parts.path.rstrip('/')}"
        self.clock: Clock = SystemClock()
        self.ids = Ids()
        self.worker = Worker(timed=True)
        self.worker.tends = False
        self._errors, self._too_long = httpx2.HTTPError, httpx2.InvalidURL
        self._unsent = httpx2.ConnectError, httpx2.ConnectTimeout
        timeout = httpx2.Timeout(ANSWER_S, connect=CONNECT_S)
        headers = {"Authorization": f"Bearer {token}"}
        self._client: httpx2.Client = httpx2.Client(
            base_url=self.location, headers=headers, timeout=timeout, transport=transport
        )

    def call(
        self,
        method: str,
        who: Principal,
        function: Callable[..., Any],
        args: Sequence[Any],
        named: Mapping[str, Any],
    ) -> Any:
        """Let the server carry out a call of a method.

        Args:
            method: Its qualified name, such as ``Memory.recall``.
            who: The principal.
            function: The function of an engine that it would call here; it names the arguments.
            args: Arguments by position.
            named: Arguments by name.

        Raises:
            SimonidesError: What the server answered.
            StoreUnavailable: If it cannot be reached.
        """
        call = wire.calls().get(method)
        if call is None:
            problem = f"{method} works on a store of this process, not on a server"
            raise ConfigurationError(problem)
        values = _named(function, args, named) | _of(call, who)
        if method.startswith("Task."):
            del values["id"]  # the server finds the task by its name
        request = wire.request_of(call, values)
        try:
            return self._answer(call, request, who)
        except NotFound:
            if wire.may_be_none(call.verb):
                return None
            raise

    def tool(self, who: Principal, name: str, arguments: object) -> ToolReply:
        """Let the server carry out a language model's call of a tool."""
        call = wire.calls()["Tools.call"]
        request = wire.request_of(call, {"name": name, "arguments": arguments})
        reply: ToolReply = self._answer(call, request, who)
        return reply

    def _answer(self, call: wire.Call, request: wire.Request, who: Principal) -> Any:
        answer = self._sent(request, _headers(who, call))
        if not answer.is_success:
            raise self._refusal(answer)
        try:
            return wire.decoded(call.verb, answer.json())
        except (ValueError, TypeError, KeyError) as error:
            problem = "answered what this version cannot read; have both the same version?"
            raise StoreUnavailable(self.location, problem) from error

    def _sent(self, request: wire.Request, headers: Mapping[str, str]) -> httpx2.Response:
        body = None if request.body is None else json.dumps(request.body)
        more = {"Content-Type": "application/json"} if body is not None else {}
        try:
            return self._client.request(
                request.method,
                f"/v1{request.path}",
                params=request.query,
                content=body,
                headers={**headers, **more},
            )
        except self._too_long as error:
            raise InvalidInput("request", "names too much for one call") from error
        except RuntimeError as error:
            raise StoreUnavailable(self.location, "the store is closed") from error
        except self._errors as error:
            problem = f"did not answer: {error}"
            if request.method != "GET" and not isinstance(error, self._unsent):
                problem += "; it may have been done: look, or repeat it under its idempotency_key"
            raise StoreUnavailable(self.location, problem) from error

    def _refusal(self, answer: httpx2.Response) -> SimonidesError:
        try:
            problem = answer.json()
        except ValueError:
            problem = {}
        if not isinstance(problem, dict) or "code" not in problem:
            return StoreUnavailable(self.location, f"answered {answer.status_code}: not simonides?")
        return wire.error_of(problem, self.location)

    def close(self) -> None:
        """Add what a wrapped client still has to add, and let go of the connection."""
        self.worker.close()
        self._client.close()


def _named(
    function: Callable[..., Any], args: Sequence[Any], named: Mapping[str, Any]
) -> dict[str, Any]:
    """Return the arguments of an engine's function by name, without engine and principal."""
    signature = inspect.signature(function)
    _, _, *given = signature.bind(None, None, *args, **named).arguments.items()
    values: dict[str, Any] = {}
    for name, value in given:
        is_rest = signature.parameters[name].kind is inspect.Parameter.VAR_KEYWORD
        values |= value if is_rest else {name: value}
    return values


def _of(call: wire.Call, who: Principal) -> dict[str, Any]:
    """Return what a path names that is not an argument."""
    if call.verb is wire.BEGIN:
        return {"name": who.home.task}
    places = {"session": who.session, "task": who.home.task}
    org = {"org": who.home.org} if call.verb.group == "source" else {}
    return org | {name: places[name] for name in call.named if name in places}


def _headers(who: Principal, call: wire.Call) -> dict[str, str]:
    """Return whom a call is for, as headers."""
    home = who.home
    names = {
        "user": home.user,
        "org": None if home.org == DEFAULT_ORG else home.org,
        "visitor": home.session,
        "session": None if home.session else who.session,
        "task": None if "task" in call.named or call.verb is wire.BEGIN else home.task,
        "agent": who.agent,
        "purpose": who.purpose,
        "actor": who.actor,
        "private": "true" if who.is_private else None,
        "level": _level(who),
    }
    return {f"Simonides-{n}": quote(v, safe="") for n, v in names.items() if v is not None}


def _level(who: Principal) -> str | None:
    """Return the scope that an administrator acts on: of an organisation, or of all."""
    if not who.is_admin:
        return None
    return "global" if who.home == GLOBAL else "org"


class RemoteStore(Store):
    """A store on a server; it has the same objects."""

    def __init__(self, remote: Remote) -> None:
        self._link = self._remote = remote

    def flush(self) -> None:
        """Let the server do what waits; the token must be an administrator's.

        Raises:
            ScopeDenied: If it is not.
            StoreUnavailable: If the server cannot be reached.
        """
        self._remote.call("Store.flush", Principal(GLOBAL, is_admin=True), _nothing, (), {})

    def close(self) -> None:
        """Add what waits to be added, and let go of the connection. A second call does nothing."""
        self._remote.close()

    def __repr__(self) -> str:
        return f"<Store {self._remote.location}>"


def _nothing(engine: object, who: object) -> None:
    """Have no arguments."""
