"""Sends one request through a vendor's SDK, bounded in time and size, and translates its errors.
One generator makes the SDKs of OpenAI and Anthropic, so they share error names and the way to
stream a body. Subclasses have the differences.
"""

from __future__ import annotations

import asyncio
import importlib
import importlib.util
import threading
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from types import ModuleType
from typing import Any, ClassVar
from urllib.parse import urlsplit

from simonides.domain.errors import MissingExtra, ModelGarbled, ModelUnavailable
from simonides.domain.writing.decision import Usage
from simonides.providers.http.retry_after import is_transient, retry_after_s, why_refused
from simonides.providers.language_models.reply import Reply
from simonides.providers.language_models.request import OutputMode, Question
from simonides.providers.language_models.structured_output import (
    OutputModeRefused,
    TemperatureRefused,
    Transient,
)

MAX_BODY_BYTES = 1024 * 1024
"""Largest HTTP body; chosen: far above any expected answer."""


class SdkEndpoint(ABC):
    """A vendor's API through its SDK, which the first request imports.

    Attributes:
        sdk: Name of the SDK's module, and of the extra that installs it.
        refusal_words: For each output mode, words that a refusal of it contains.
    """

    sdk: ClassVar[str]
    refusal_words: ClassVar[Mapping[OutputMode, tuple[str, ...]]]

    def __init__(self, *, label: str, model: str, base_url: str) -> None:
        """Configure the endpoint; opens no connection.

        Args:
            label: Its name in errors.
            model: Name that the endpoint knows.
            base_url: Root of the API.

        Raises:
            MissingExtra: If the SDK is not installed.
        """
        if importlib.util.find_spec(self.sdk) is None:
            raise MissingExtra(self.sdk, f"a language model ({label})")
        self._label = label
        self._model = model
        self._base_url = base_url
        self._client: Any = None
        self._client_lock = threading.Lock()

    def __repr__(self) -> str:
        return f"{self._label}(model={self._model!r}, host={urlsplit(self._base_url).hostname!r})"

    @abstractmethod
    def output_modes(self, question: Question) -> tuple[OutputMode, ...]:
        """See
        :meth:`simonides.providers.language_models.structured_output.Endpoint.output_modes`.
        """

    @abstractmethod
    def read(self, body: bytes) -> tuple[Usage, Callable[[], Reply]]:
        """See :meth:`simonides.providers.language_models.structured_output.Endpoint.read`."""

    @abstractmethod
    def _new_client(self, sdk: Any, http_client: Any) -> Any:
        """Return a client of the SDK that retries nothing and reads no environment."""

    @abstractmethod
    def _call(self, client: Any) -> Callable[..., Any]:
        """Return the SDK function that sends a request and streams its response."""

    @abstractmethod
    def _arguments(
        self, question: Question, mode: OutputMode, *, fixed_temperature: bool
    ) -> dict[str, Any]:
        """Return the arguments of a request."""

    async def ready(self) -> None:
        """Import the SDK and make the client, on a thread: it can take over a second."""
        if self._client is None:
            await asyncio.to_thread(self._make_client)

    async def close(self) -> None:
        """Release the client; twice does no harm."""
        client, self._client = self._client, None
        if client is not None:
            await client.close()

    async def send(
        self, question: Question, mode: OutputMode, *, limit_s: float, fixed_temperature: bool
    ) -> bytes:
        """See :meth:`simonides.providers.language_models.structured_output.Endpoint.send`."""
        sdk, client = importlib.import_module(self.sdk), self._make_client()
        httpx2 = importlib.import_module("httpx2")
        arguments = self._arguments(question, mode, fixed_temperature=fixed_temperature)
        try:
            return await self._body(client, arguments, limit_s)
        except sdk.APIStatusError as error:
            raise self._translated(error, mode, fixed_temperature=fixed_temperature) from None
        except (sdk.APITimeoutError, httpx2.TimeoutException):
            raise Transient(f"no answer within {limit_s:.1f} s") from None
        except (sdk.APIConnectionError, httpx2.TransportError, httpx2.StreamError):
            raise Transient("the connection failed") from None

    async def _body(self, client: Any, arguments: dict[str, Any], limit_s: float) -> bytes:
        """Read the body of a response up to the limit."""
        chunks: list[bytes] = []
        size = 0
        async with self._call(client)(timeout=limit_s, **arguments) as response:
            async for chunk in response.iter_bytes():
                size += len(chunk)
                if size > MAX_BODY_BYTES:
                    raise ModelGarbled("invalid_schema", f"longer than {MAX_BODY_BYTES:,} bytes")
                chunks.append(chunk)
        return b"".join(chunks)

    def _make_client(self) -> Any:
        with self._client_lock:
            if self._client is None:
                sdk = importlib.import_module(self.sdk)
                self._client = self._new_client(sdk, _http_client(sdk))
            return self._client

    def _translated(self, error: Any, mode: OutputMode, *, fixed_temperature: bool) -> Exception:
        status = error.status_code
        if is_transient(status):
            return Transient(f"status {status}", self._after_s(error))
        refusal = self._refusal_text(error).lower()
        if status in (400, 422):
            if any(word in refusal for word in self.refusal_words.get(mode, ())):
                return OutputModeRefused()
            if fixed_temperature and "temperature" in refusal:
                return TemperatureRefused()
        why = "credentials refused" if "api key not valid" in refusal else why_refused(status)
        return ModelUnavailable(f"{why} ({status}) by {self!r}")

    def _refusal_text(self, error: Any) -> str:
        """Return a refusal's text, to search for words; never to be shown."""
        return f"{getattr(error, 'param', None) or ''} {error.message}"

    def _after_s(self, error: Any) -> float | None:
        """Return the wait that the endpoint requests, in seconds; None without one."""
        return retry_after_s(error.response.headers)


def _http_client(sdk: ModuleType) -> Any:
    """Return the SDK's kind of HTTP client, with capped bodies and no kept connections. A kept
    connection would belong to an event loop that may have ended. An answer takes seconds, so a
    handshake costs little.
    """
    import httpx2

    limits = httpx2.Limits(max_keepalive_connections=0)
    return sdk.DefaultAsyncHttpxClient(limits=limits, transport=_capped_transport(limits))


def _capped_transport(limits: Any) -> Any:
    """Return a transport that cuts long bodies: the SDK reads error bodies whole."""
    import httpx2

    class _Capped(httpx2.AsyncByteStream):
        def __init__(self, stream: Any) -> None:
            self._stream = stream

        async def __aiter__(self) -> Any:
            size = 0
            async for chunk in self._stream:
                size += len(chunk)
                # Twice the limit: a good answer's reader must reach its own limit first.
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
