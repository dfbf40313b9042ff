"""Any OpenAI-compatible endpoint as a language model, through the ``openai`` SDK (LM-1).

One question takes three loops, each bounded and all under one deadline: *attempts* (transient
failures, with backoff), *rungs* (``json_schema`` → ``json_object`` → a schema in the prompt; the
rung that an endpoint accepts is remembered) and one *repair* (the answer goes back once with what
is wrong with it). Nothing of the endpoint's own words reaches an error: they may hold a key.
"""

from __future__ import annotations

import asyncio
import importlib.util
import json
import random
import threading
import time
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from enum import Enum
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from memstrata.adapters.http_retry import (
    DEFAULT_BASE_URL,
    is_transient,
    longest_wait_s,
    retry_after_s,
    why_refused,
)
from memstrata.adapters.json_schema import is_strict
from memstrata.adapters.model_reply import Reply, checked_json, counted, parse_body, reply_in
from memstrata.domain.decision import Usage
from memstrata.domain.errors import (
    MissingExtra,
    ModelError,
    ModelGarbled,
    ModelTimeout,
    ModelUnavailable,
)
from memstrata.domain.value import plain
from memstrata.ports import Capability, ModelAnswer

if TYPE_CHECKING:
    import openai

MAX_BODY_BYTES = 1024 * 1024
"""Largest HTTP body that is read; chosen: far above any answer that we ask for."""
MAX_REPAIR_CHARS = 8_000
"""How much of a wrong answer is shown to the model again; chosen, about 2,000 tokens."""

_ABOUT_FORMAT = ("response_format", "json_schema", "json_object", "structured output", "json mode")


class Rung(Enum):
    """How structure is asked for, most binding first."""

    SCHEMA = "json_schema"
    OBJECT = "json_object"
    PROMPT = "prompted"


class OpenAIModel:
    """A chat model behind the ``/chat/completions`` of some base URL.

    It must be driven by an event loop and may be used from several, one after the other:
    connections are not kept between calls. Instances may be shared between tasks.

    Attributes:
        model_id: Name of the model.
    """

    capabilities: frozenset[Capability] = frozenset()

    def __init__(
        self,
        *,
        model: str,
        api_key: str,
        base_url: str | None = None,
        timeout_s: float = 60.0,
        max_retries: int = 3,
        monotonic: Callable[[], float] = time.monotonic,
        sleep: Callable[[float], Awaitable[None]] = asyncio.sleep,
        jitter: Callable[[], float] = random.random,
    ) -> None:
        """Configure the model; opens no connection and reads no environment.

        Args:
            model: Name that the endpoint knows.
            api_key: Credentials; local servers take any text.
            base_url: Root of the API, ``…/v1``; None is OpenAI's.
            timeout_s: Longest wait for one request.
            max_retries: Attempts beyond the first after a transient failure.
            monotonic: Clock of the deadline, seconds.
            sleep: Waits between attempts.
            jitter: A number from 0 to 1 for each wait.

        Raises:
            MissingExtra: If the ``openai`` package is not installed.
        """
        if importlib.util.find_spec("openai") is None:
            raise MissingExtra("openai", "an OpenAI-compatible language model")
        self.model_id = model
        self._api_key = api_key
        self._base_url = base_url or DEFAULT_BASE_URL
        self._timeout_s = timeout_s
        self._max_retries = max_retries
        self._monotonic = monotonic
        self._sleep = sleep
        self._jitter = jitter
        self._client: openai.AsyncOpenAI | None = None
        self._making = threading.Lock()
        self._rung = Rung.SCHEMA
        self._fixed_temperature = True

    @property
    def most_requests(self) -> int:
        """Requests that one question may come to at the most: asked and repaired, and asked again
        on each rung below and without a temperature, each with its retries.
        """
        return (self._max_retries + 1) * (2 + len(Rung) - 1 + 1)

    def __repr__(self) -> str:
        return f"OpenAIModel(model={self.model_id!r}, host={urlsplit(self._base_url).hostname!r})"

    async def complete_json(
        self,
        *,
        system: str,
        user: str,
        schema: Mapping[str, Any],
        name: str,
        deadline_s: float,
    ) -> ModelAnswer:
        """Ask for JSON that follows a schema; see :meth:`memstrata.ports.LanguageModel`.

        Retries, rungs and repair share ``deadline_s``. Usage counts every request that was sent,
        and an error carries it too.
        """
        question = _Question(system, user, plain(schema), name)
        call = _Call(self._monotonic() + deadline_s)
        try:
            return await self._answered(question, call, schema)
        except ModelError as error:
            error.usage = call.usage
            raise

    async def _answered(
        self, question: _Question, call: _Call, schema: Mapping[str, Any]
    ) -> ModelAnswer:
        """Ask, and once more with what is wrong with the answer."""
        reply = await self._ask(question, call)
        try:
            value = checked_json(reply.text, schema)
        except ModelGarbled as first:
            again = question.repaired(reply.text, str(first))
            reply = await self._ask(again, call)
            value = checked_json(reply.text, schema)
        return ModelAnswer(value, call.usage, reply.model or self.model_id)

    async def close(self) -> None:
        """Release the client; twice does no harm."""
        client, self._client = self._client, None
        if client is not None:
            await client.close()

    # -- rungs and attempts ----------------------------------------------------------------

    async def _ask(self, question: _Question, call: _Call) -> Reply:
        """Ask on the rung that worked last, stepping down where the endpoint refuses it."""
        while True:
            rung = self._rung
            fixed = self._fixed_temperature
            try:
                return await self._attempt(question, rung, call)
            except _RungRefused:
                # Another task may have stepped down meanwhile: one step per refused rung.
                if self._rung is rung:
                    self._rung = list(Rung)[list(Rung).index(rung) + 1]
            except _TemperatureRefused:
                if not fixed:
                    raise ModelUnavailable("the endpoint refuses the request (400)") from None
                self._fixed_temperature = False

    async def _attempt(self, question: _Question, rung: Rung, call: _Call) -> Reply:
        """Ask until an answer comes, waiting between transient failures."""
        attempt = 0
        while True:
            try:
                return await self._request(question, rung, call)
            except _Transient as failure:
                wait_s = failure.after_s
                if wait_s is None:
                    wait_s = longest_wait_s(attempt) * self._jitter()
                left_s = call.ends_at - self._monotonic()
                if attempt >= self._max_retries or wait_s >= left_s:
                    raise ModelTimeout(
                        f"{failure.what}, after {attempt + 1} attempts at {self!r}"
                    ) from None
            attempt += 1
            await self._sleep(wait_s)

    async def _request(self, question: _Question, rung: Rung, call: _Call) -> Reply:
        client = await self._ready(call)
        import httpx2
        import openai

        left_s = call.ends_at - self._monotonic()
        if left_s <= 0:
            raise ModelTimeout(f"no time left to ask {self!r}")
        call.usage += Usage(model_calls=1)
        limit_s = min(left_s, self._timeout_s)
        try:
            async with asyncio.timeout(limit_s):
                body = await self._body(client, question, rung, limit_s)
        except openai.APIStatusError as error:
            raise self._translated(error, rung) from None
        except (TimeoutError, openai.APITimeoutError, httpx2.TimeoutException):
            raise _Transient(f"no answer within {limit_s:.1f} s") from None
        except (openai.APIConnectionError, httpx2.TransportError, httpx2.StreamError):
            raise _Transient("the connection failed") from None
        completion = parse_body(body)
        call.usage += counted(completion)
        return reply_in(completion)

    async def _body(
        self, client: openai.AsyncOpenAI, question: _Question, rung: Rung, limit_s: float
    ) -> bytes:
        """Send one request and read its body, but never more of it than is allowed."""
        extra: dict[str, Any] = (
            {} if rung is Rung.PROMPT else {"response_format": question.format(rung)}
        )
        if self._fixed_temperature:
            extra["temperature"] = 0
        chunks: list[bytes] = []
        size = 0
        async with client.chat.completions.with_streaming_response.create(
            model=self.model_id,
            messages=question.messages(rung),
            timeout=limit_s,
            **extra,
        ) as response:
            async for chunk in response.iter_bytes():
                size += len(chunk)
                if size > MAX_BODY_BYTES:
                    raise ModelGarbled("invalid_schema", f"longer than {MAX_BODY_BYTES:,} bytes")
                chunks.append(chunk)
        return b"".join(chunks)

    async def _ready(self, call: _Call) -> openai.AsyncOpenAI:
        """Return the client, made on the first call.

        Importing the SDK takes a second and more on a busy machine, so it happens on a thread and
        is not waited for beyond the deadline; the next call finds it done, or waits again.
        """
        if self._client is None:
            try:
                async with asyncio.timeout(max(call.ends_at - self._monotonic(), 0)):
                    await asyncio.to_thread(self._make_client)
            except TimeoutError:
                raise ModelTimeout(f"no time left to ask {self!r}") from None
        return self._make_client()

    def _make_client(self) -> openai.AsyncOpenAI:
        with self._making:
            if self._client is None:
                self._client = self._new_client()
            return self._client

    def _new_client(self) -> openai.AsyncOpenAI:
        import httpx2
        import openai

        # No connection outlives its call, so that none is left to a loop that has ended. An
        # answer takes seconds; a handshake does not matter beside it.
        limits = httpx2.Limits(max_keepalive_connections=0)
        client = openai.AsyncOpenAI(
            # Without a key the SDK would look into the environment.
            api_key=self._api_key or "none",
            base_url=self._base_url,
            max_retries=0,
            timeout=self._timeout_s,
            default_headers={"Accept-Encoding": "identity"},
            http_client=openai.DefaultAsyncHttpxClient(
                limits=limits, transport=_capped_transport(limits)
            ),
        )
        # The SDK takes these from the environment when they are not given.
        client.organization = client.project = None
        return client

    def _translated(self, error: openai.APIStatusError, rung: Rung) -> Exception:
        status = error.status_code
        if is_transient(status):
            return _Transient(f"status {status}", retry_after_s(error.response.headers))
        said = f"{error.param or ''} {error.message}".lower()
        if status in (400, 422):
            if rung is not Rung.PROMPT and any(word in said for word in _ABOUT_FORMAT):
                return _RungRefused()
            if self._fixed_temperature and "temperature" in said:
                return _TemperatureRefused()
        return ModelUnavailable(f"{why_refused(status)} ({status}) by {self!r}")


class _Transient(Exception):
    """A failure that may pass; ``after_s`` is what the server asked to wait."""

    def __init__(self, what: str, after_s: float | None = None) -> None:
        super().__init__(what)
        self.what = what
        self.after_s = after_s


class _RungRefused(Exception):
    """The endpoint does not know this way of asking for structure."""


class _TemperatureRefused(Exception):
    """The model does not take a temperature."""


@dataclass(slots=True)
class _Call:
    """One question's budget and what it has cost so far."""

    ends_at: float
    usage: Usage = field(default_factory=Usage)


@dataclass(frozen=True, slots=True)
class _Question:
    """What is asked, in the words of each rung."""

    system: str
    user: str
    schema: Any
    name: str
    exchange: tuple[dict[str, str], ...] = ()

    def messages(self, rung: Rung) -> Any:
        system = self.system
        if rung is not Rung.SCHEMA:
            shown = json.dumps(self.schema, ensure_ascii=False, sort_keys=True)
            system += (
                f"\n\nReply with one JSON value and nothing else. It follows this schema:\n{shown}"
            )
        return [
            {"role": "system", "content": _encodable(system)},
            {"role": "user", "content": _encodable(self.user)},
            *self.exchange,
        ]

    def format(self, rung: Rung) -> dict[str, Any]:
        if rung is Rung.OBJECT:
            return {"type": "json_object"}
        wanted = {"name": self.name, "schema": self.schema, "strict": is_strict(self.schema)}
        return {"type": "json_schema", "json_schema": wanted}

    def repaired(self, answer: str, wrong: str) -> _Question:
        """Return the question with the wrong answer and what is wrong with it behind it."""
        exchange = (
            {"role": "assistant", "content": _encodable(answer[:MAX_REPAIR_CHARS]) or "(empty)"},
            {
                "role": "user",
                "content": f"That cannot be used: {wrong}. Reply again, corrected, with JSON only.",
            },
        )
        return _Question(self.system, self.user, self.schema, self.name, exchange)


def _encodable(text: str) -> str:
    # A lone surrogate cannot be sent; it comes in with broken text and escaped JSON.
    return text.encode("utf-8", "replace").decode("utf-8")


def _capped_transport(limits: Any) -> Any:
    """Return a transport whose bodies break off: the SDK reads the bodies of errors whole."""
    import httpx2

    class _Capped(httpx2.AsyncByteStream):
        def __init__(self, stream: Any) -> None:
            self._stream = stream

        async def __aiter__(self) -> Any:
            size = 0
            async for chunk in self._stream:
                size += len(chunk)
                # Twice the limit: the reader of a good answer meets its own limit first.
                if size > 2 * MAX_BODY_BYTES:
                    raise httpx2.ReadError("body too long")
                yield chunk

        async def aclose(self) -> None:
            await self._stream.aclose()

    class _Transport(httpx2.AsyncHTTPTransport):
        async def handle_async_request(self, request: Any) -> Any:
            response = await super().handle_async_request(request)
            response.stream = _Capped(response.stream)
            return response

    return _Transport(limits=limits)
