"""A search over HTTP as a source of knowledge: one question, one bounded answer.

The answer is untrusted: a list in JSON or a page, cut into passages and quoted. Only listed hosts
are contacted, and :mod:`simonides.providers.http.ssrf_guard` checks their addresses, redirects
included. Nothing is cached.
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from email.message import Message
from typing import TYPE_CHECKING, Any, NamedTuple
from urllib.parse import quote, urljoin

from simonides.domain.errors import ConfigurationError, SourceUnavailable
from simonides.domain.reading.document import (
    MAX_NAME,
    Found,
    Passage,
    Skipped,
    source_name,
)
from simonides.ports import Capability
from simonides.providers.http.ssrf_guard import (
    AllowedHosts,
    Forbidden,
    Resolve,
    Target,
    system_addresses,
)
from simonides.providers.knowledge.blocks import Document, markdown, plain
from simonides.providers.knowledge.chunking import passages
from simonides.providers.knowledge.documents import (
    Unreadable,
    blocks_of,
    read_html,
    text_of,
)
from simonides.providers.model_files import require
from simonides.text import storable

if TYPE_CHECKING:
    import ssl

    import httpx2

PLACEHOLDER = "{query}"
MAX_BYTES = 1024 * 1024
"""Largest answer that is read; chosen: a long page."""
MAX_QUERY_CHARS = 500
"""Characters of a query that are sent; chosen: what search services read."""
MAX_RESULTS = 50
"""Results used of one answer; chosen."""
MAX_RESULT_CHARS = 20_000
"""Characters used of one result's text; chosen."""
MAX_PASSAGES = 200
"""Passages of one answer; chosen: each is embedded while the caller waits."""
MAX_REDIRECTS = 3
_REDIRECTS = frozenset({301, 302, 303, 307, 308})
_ACCEPT = "application/json, text/html;q=0.9, text/markdown;q=0.8, text/plain;q=0.7"
_LISTS = ("results", "items")


class _Answer(NamedTuple):
    url: str
    kind: str
    charset: str | None
    body: bytes


class HttpSource:
    """A search service or a page, as :class:`~simonides.ports.KnowledgeSource`.

    It answers a GET with JSON (a list of ``{"title": …, "url": …, "text": …}``, or an object with
    such a list under ``results`` or ``items``) or with a page of HTML, Markdown or plain text. The
    first 500 characters of each query are sent to it: use only a service that may know them.
    """

    capabilities = frozenset({Capability.REMOTE})

    def __init__(
        self,
        url: str,
        *,
        hosts: Sequence[str],
        name: str | None = None,
        headers: Mapping[str, str] | None = None,
        timeout_s: float = 5.0,
        max_bytes: int = MAX_BYTES,
        allow_loopback: bool = False,
        resolve: Resolve = system_addresses,
        verify: ssl.SSLContext | bool = True,
        monotonic: Callable[[], float] = time.monotonic,
    ) -> None:
        """Configure the source; opens no connection and reads no environment.

        Args:
            url: ``https://…/search?q={query}``; without ``{query}`` a page that does not depend on
                it.
            hosts: Allowed hosts, the URL's own and those of redirects; see
                :class:`~simonides.providers.http.ssrf_guard.AllowedHosts`.
            name: Used to cite it; None takes the host's.
            headers: Sent along, such as a key; to the URL's own host, scheme and port alone.
            timeout_s: Longest time for one answer, redirects included, in seconds.
            max_bytes: Largest answer.
            allow_loopback: Whether loopback addresses are allowed, for tests.
            resolve: Resolves host names.
            verify: TLS authorities; False disables the check of certificates.
            monotonic: Clock of the deadline, seconds.

        Raises:
            MissingExtra: If the extra ``documents`` is not installed.
            ConfigurationError: If the URL or a host is invalid, or the URL's host is not on the
                list.
        """
        require("documents", "a source over HTTP", "httpx2")
        self._hosts = AllowedHosts(hosts, allow_loopback=allow_loopback)
        try:
            host = self._hosts.target(url.replace(PLACEHOLDER, "")).host
        except Forbidden as problem:
            raise ConfigurationError(f"url: {problem}") from None
        if PLACEHOLDER in url.partition("://")[2].partition("/")[0]:
            raise ConfigurationError("url: the query cannot be part of the host")
        self.name = name or source_name(host)
        self._url = url
        self._headers = dict(headers or {})
        self._timeout_s = timeout_s
        self._max_bytes = max_bytes
        self._resolve = resolve
        self._verify = verify
        self._monotonic = monotonic

    def __repr__(self) -> str:
        return f"HttpSource(name={self.name!r})"

    def look(self, query: str, *, within_s: float) -> Found:
        """See the port."""
        import httpx2

        ends_at = self._monotonic() + min(within_s, self._timeout_s)
        sent = storable(query[:MAX_QUERY_CHARS])
        try:
            with self._client() as client:
                answer = self._answer(
                    client, self._url.replace(PLACEHOLDER, quote(sent, safe="")), ends_at
                )
            return self._found(answer)
        except Forbidden as problem:
            raise SourceUnavailable(self.name, str(problem)) from None
        except Unreadable as problem:
            raise SourceUnavailable(self.name, f"the answer is {problem.reason}") from None
        except (httpx2.HTTPError, httpx2.StreamError, httpx2.InvalidURL, OSError) as error:
            # Only the error's name: its text may hold the query and the key.
            raise SourceUnavailable(self.name, type(error).__name__) from None

    def close(self) -> None:
        """See the port; nothing is held between queries."""

    def _client(self) -> httpx2.Client:
        import httpx2

        # No proxy from the environment: it would connect to an unchecked address. No connection is
        # kept: one to an address must not serve another host that shares it.
        return httpx2.Client(
            trust_env=False,
            follow_redirects=False,
            verify=self._verify,
            limits=httpx2.Limits(max_keepalive_connections=0),
        )

    def _answer(self, client: httpx2.Client, url: str, ends_at: float) -> _Answer:
        origin = self._hosts.target(url)
        target = origin
        for _ in range(MAX_REDIRECTS + 1):
            with self._request(client, target, origin, ends_at) as response:
                if response.status_code not in _REDIRECTS:
                    return self._read(response, url, ends_at)
                url = urljoin(url, response.headers.get("location", ""))
            was_safe = target.parts.scheme == "https"
            target = self._hosts.target(url)
            if was_safe and target.parts.scheme != "https":
                raise Forbidden("a redirect leads from https to http")
        raise Forbidden(f"more than {MAX_REDIRECTS} redirects")

    def _request(
        self, client: httpx2.Client, target: Target, origin: Target, ends_at: float
    ) -> Any:
        """Open a request to a checked address of a target."""
        address = self._hosts.address(target, self._resolve)
        left_s = self._left(ends_at)
        parts, at = target.parts, f"[{address}]" if ":" in address else address
        path = (parts.path or "/") + (f"?{parts.query}" if parts.query else "")
        own = (parts.scheme, target.host, target.port)
        is_own = own == (origin.parts.scheme, origin.host, origin.port)
        named = f"[{target.host}]" if ":" in target.host else target.host
        return client.stream(
            "GET",
            f"{parts.scheme}://{at}:{target.port}{path}",
            headers={
                **(self._headers if is_own else {}),
                "Host": named if parts.port is None else f"{named}:{target.port}",
                "Accept": _ACCEPT,
                "Accept-Encoding": "identity",
                "User-Agent": "simonides",
            },
            extensions={"sni_hostname": target.host},
            timeout=left_s,
        )

    def _read(self, response: httpx2.Response, url: str, ends_at: float) -> _Answer:
        if response.status_code != 200:
            raise SourceUnavailable(self.name, f"status {response.status_code}")
        if response.headers.get("content-encoding", "identity").lower() != "identity":
            # A small compressed answer could expand beyond the limit.
            raise SourceUnavailable(self.name, "the answer is compressed, which was not requested")
        chunks, size = list[bytes](), 0
        for chunk in response.iter_raw():
            chunks.append(chunk)
            size += len(chunk)
            if size > self._max_bytes:
                raise SourceUnavailable(self.name, f"sent over {self._max_bytes:,} bytes")
            self._left(ends_at)
        headers = Message()
        # Without a content type the answer is not read.
        headers["content-type"] = response.headers.get("content-type", "application/octet-stream")
        return _Answer(
            url, headers.get_content_type(), headers.get_content_charset(), b"".join(chunks)
        )

    def _left(self, ends_at: float) -> float:
        left_s = ends_at - self._monotonic()
        if left_s <= 0:
            raise SourceUnavailable(self.name, "the answer did not end in time")
        return left_s

    def _found(self, answer: _Answer) -> Found:
        if answer.kind == "application/json" or answer.kind.endswith("+json"):
            return self._listed(answer)
        cut = passages(answer.url, self._document(answer), fallback_title=self.name)
        return Found(cut[:MAX_PASSAGES])

    def _document(self, answer: _Answer) -> Document:
        if answer.kind in ("text/html", "application/xhtml+xml"):
            return read_html(answer.body, answer.charset)
        if answer.kind in ("text/markdown", "text/plain"):
            text = text_of(answer.body, answer.charset)
            return markdown(text) if answer.kind == "text/markdown" else plain(text)
        raise SourceUnavailable(self.name, "the answer has an unsupported content type")

    def _listed(self, answer: _Answer) -> Found:
        try:
            value = json.loads(answer.body)
        except (ValueError, RecursionError):
            raise SourceUnavailable(self.name, "the answer is not JSON") from None
        if isinstance(value, dict):
            value = next((value[name] for name in _LISTS if name in value), None)
        if not isinstance(value, list):
            raise SourceUnavailable(self.name, "the answer has no list of results")
        found, skipped = list[Passage](), list[Skipped]()
        for number, each in enumerate(value[:MAX_RESULTS], start=1):
            cut = list(_result(each))
            found += cut
            if not cut:
                skipped.append(Skipped(f"result {number}", "broken"))
        return Found(tuple(found[:MAX_PASSAGES]), tuple(skipped))


def _result(value: Any) -> Iterator[Passage]:
    """Yield the passages of one result; none if it is malformed."""
    if not isinstance(value, dict):
        return
    named = [value.get(name, "") for name in ("title", "url", "text")]
    if not all(isinstance(each, str) for each in named):
        return
    title, url, text = named
    location = storable("".join(url.split()))[:MAX_NAME] or "no address"
    yield from passages(location, blocks_of(text[:MAX_RESULT_CHARS]), fallback_title=title)
