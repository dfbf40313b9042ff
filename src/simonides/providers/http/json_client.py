"""Posts JSON over HTTP and reads a JSON answer, within limits of time, size and attempts. Errors
never quote the endpoint: its answer may hold a key.
"""

from __future__ import annotations

import json
import random
import threading
import time
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from simonides.domain.errors import (
    ConfigurationError,
    ModelGarbled,
    ModelTimeout,
    ModelUnavailable,
)
from simonides.providers.http.retry_after import (
    is_transient,
    longest_wait_s,
    retry_after_s,
    why_refused,
)
from simonides.providers.model_files import require

if TYPE_CHECKING:
    import httpx2

MAX_BODY_BYTES = 16 * 1024 * 1024
"""Largest answer; 128 vectors of 4,096 components in text are about as much."""
MAX_ERROR_BYTES = 64 * 1024
"""How much of an error answer is read."""
MAX_KEPT_CONNECTIONS = 4
REST_S = 30.0
"""Pause after an endpoint failed, retries included; chosen. Without it each read would wait for the
full time-out."""


class RequestRefused(ModelUnavailable):
    """The endpoint refused the request.

    Attributes:
        status: HTTP status.
        text: The answer in lower case, to search for words; never to be shown.
    """

    def __init__(self, problem: str, status: int, text: str) -> None:
        self.status = status
        self.text = text
        super().__init__(problem)


class JsonEndpoint:
    """A base URL for JSON posts; calls block the calling thread.

    It may be used from several threads at once. Connections are kept between calls.

    Attributes:
        host: Of the base URL; named in errors and reports.
    """

    def __init__(
        self,
        *,
        base_url: str,
        api_key: str,
        purpose: str,
        timeout_s: float,
        max_retries: int = 3,
        monotonic: Callable[[], float] = time.monotonic,
        sleep: Callable[[float], None] = time.sleep,
        jitter: Callable[[], float] = random.random,
    ) -> None:
        """Configure the endpoint; opens no connection and reads no environment.

        Args:
            base_url: Root of the API, ``…/v1``.
            api_key: Sent as a bearer token; empty sends none.
            purpose: What it is for, in errors.
            timeout_s: Longest time for one question, attempts and waits included, in seconds.
            max_retries: Attempts beyond the first after a transient failure.
            monotonic: Clock of the deadline, seconds.
            sleep: Waits between attempts.
            jitter: A number from 0 to 1 for each wait.

        Raises:
            MissingExtra: If the extra ``openai`` is not installed.
            ConfigurationError: If the base URL is not HTTP.
        """
        require("openai", purpose, "httpx2")
        parts = urlsplit(base_url)
        if parts.scheme not in ("http", "https") or not parts.hostname:
            raise ConfigurationError(f"{purpose}: the base URL must be http(s)://host…/v1")
        self.host = parts.hostname
        self._base_url = base_url.rstrip("/")
        self._api_key = api_key
        self._purpose = purpose
        self._timeout_s = timeout_s
        self._max_retries = max_retries
        self._monotonic = monotonic
        self._sleep = sleep
        self._jitter = jitter
        self._client_lock = threading.Lock()
        self._client: httpx2.Client | None = None
        self._paused_until: float | None = None

    def __repr__(self) -> str:
        return f"JsonEndpoint(purpose={self._purpose!r}, host={self.host!r})"

    def ask(self, path: str, question: Mapping[str, Any]) -> Any:
        """Post a question and return the JSON of the answer, unchecked.

        Args:
            path: Below the base URL, with its slash.
            question: JSON-ready; lone surrogates in it are replaced.

        Raises:
            ModelTimeout: Time-out, connection failure, 408, 409, 429 or 5xx after the attempts, and
                at once for :data:`REST_S` seconds after that.
            RequestRefused: Any other status but 200.
            ModelGarbled: If the answer is not JSON or too long.
        """
        body = json.dumps(question, ensure_ascii=False).encode("utf-8", "replace")
        began = self._monotonic()
        if self._paused_until is not None and began < self._paused_until:
            raise ModelTimeout(
                f"{self!r} did not answer recently; next attempt in"
                f" {self._paused_until - began:.0f} s"
            )
        try:
            answer = self._attempts(path, body, began + self._timeout_s)
        except ModelTimeout:
            self._paused_until = self._monotonic() + REST_S
            raise
        self._paused_until = None
        return answer

    def _attempts(self, path: str, body: bytes, ends_at: float) -> Any:
        attempt = 0
        while True:
            try:
                return self._attempt(path, body, ends_at)
            except _Transient as failure:
                wait_s = failure.after_s
                if wait_s is None:
                    wait_s = longest_wait_s(attempt) * self._jitter()
                if attempt >= self._max_retries or wait_s >= ends_at - self._monotonic():
                    tried = f"after {attempt + 1} attempts at {self!r}"
                    raise ModelTimeout(f"{failure.what}, {tried}") from None
            attempt += 1
            self._sleep(wait_s)

    def close(self) -> None:
        """Release the connections; twice does no harm."""
        with self._client_lock:
            client, self._client = self._client, None
        if client is not None:
            client.close()

    def _attempt(self, path: str, body: bytes, ends_at: float) -> Any:
        import httpx2

        left_s = ends_at - self._monotonic()
        if left_s <= 0:
            raise ModelTimeout(f"no time left to ask {self!r}")
        try:
            with self._ready().stream(
                "POST", self._base_url + path, content=body, timeout=left_s
            ) as response:
                status, headers = response.status_code, response.headers
                most = MAX_BODY_BYTES if status == 200 else MAX_ERROR_BYTES
                body = self._read(response, most, ends_at)
        except httpx2.TimeoutException:
            raise _Transient(f"no answer within {left_s:.1f} s") from None
        except (httpx2.TransportError, httpx2.StreamError):
            raise _Transient("the connection failed") from None
        if is_transient(status):
            raise _Transient(f"status {status}", retry_after_s(headers))
        if status != 200:
            words = body[:MAX_ERROR_BYTES].decode("utf-8", "replace").lower()
            raise RequestRefused(f"{why_refused(status)} ({status}) by {self!r}", status, words)
        return self._parsed(body)

    def _read(self, response: httpx2.Response, most: int, ends_at: float) -> bytes:
        """Read a body up to a length; the library's own time-out covers only each part of it."""
        chunks: list[bytes] = []
        size = 0
        for chunk in response.iter_bytes():
            chunks.append(chunk)
            size += len(chunk)
            if size > most:
                break
            if self._monotonic() > ends_at:
                raise _Transient("the answer did not end in time")
        return b"".join(chunks)

    def _parsed(self, body: bytes) -> Any:
        if len(body) > MAX_BODY_BYTES:
            raise ModelGarbled("invalid_schema", f"{self!r} sent over {MAX_BODY_BYTES:,} bytes")
        if not body:
            raise ModelGarbled("empty", f"{self!r} answered nothing")
        try:
            return json.loads(body)
        except (ValueError, RecursionError):
            raise ModelGarbled("invalid_json", f"the reply of {self!r} is not JSON") from None

    def _ready(self) -> httpx2.Client:
        with self._client_lock:
            if self._client is None:
                import httpx2

                headers = {"Content-Type": "application/json", "Accept-Encoding": "identity"}
                if self._api_key:
                    headers["Authorization"] = f"Bearer {self._api_key}"
                limits = httpx2.Limits(max_keepalive_connections=MAX_KEPT_CONNECTIONS)
                self._client = httpx2.Client(headers=headers, limits=limits)
            return self._client


class _Transient(Exception):
    """A failure that may pass; ``after_s`` is the wait that the server requests."""

    def __init__(self, what: str, after_s: float | None = None) -> None:
        super().__init__(what)
        self.what = what
        self.after_s = after_s
