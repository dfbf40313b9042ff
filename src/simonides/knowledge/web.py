"""One page of the web, from public addresses only.

A name may resolve to an address inside the network, and a page may redirect there. So each address
is checked after its name was resolved, and the connection goes to the very address that was
checked. Proxies of the environment are not used.
"""

from __future__ import annotations

import http.client
import ipaddress
import socket
import ssl
import threading
import time
from collections.abc import Sequence
from typing import NamedTuple
from urllib.parse import SplitResult, quote, urljoin, urlsplit

from simonides._version import __version__
from simonides.core.errors import InvalidInput
from simonides.knowledge.extract import MAX_BYTES, NotRead

SECONDS = 10.0
"""How long a page may take in all. Set by judgement."""

MAX_REDIRECTS = 3
"""Most redirects that are followed. Set by judgement."""

_TYPES = {"application/xhtml+xml": "html", "text/html": "html", "application/pdf": "pdf"}
_HEADERS = {
    "User-Agent": f"simonides/{__version__}",
    "Accept": "text/*, application/xhtml+xml, application/pdf",
    "Accept-Encoding": "identity",
}
_NAT64 = ipaddress.ip_network("64:ff9b::/96")


class Page(NamedTuple):
    """A page.

    Attributes:
        content: Its bytes.
        type: ``html``, ``pdf`` or ``text``.
        charset: The encoding that the server names, or None.
    """

    content: bytes
    type: str
    charset: str | None


def fetch(url: str, *, allow_private: bool = False) -> Page:
    """Return a page.

    Args:
        url: Its address.
        allow_private: Whether it may lie in a private network, or on this machine.

    Raises:
        InvalidInput: If the address, or one that it redirects to, is not to be read.
        NotRead: If it cannot be read now, or is no text.
    """
    latest = time.monotonic() + SECONDS
    for _ in range(MAX_REDIRECTS + 1):
        found = _get(parsed(url), latest, allow_private=allow_private)
        if isinstance(found, Page):
            return found
        url = urljoin(url, found)
    raise NotRead(f"redirects more than {MAX_REDIRECTS} times", stays=True)


def parsed(url: str) -> SplitResult:
    """Return the parts of an address.

    Raises:
        InvalidInput: If it is no plain http or https address.
    """
    try:
        parts = urlsplit(url)
        port, host = parts.port, parts.hostname
    except ValueError as error:
        raise InvalidInput("place", "is not an address such as https://example.com/") from error
    if parts.scheme not in ("http", "https") or not host or port == 0:
        raise InvalidInput("place", "must be, and redirect to, an http:// or https:// address")
    if parts.username is not None or parts.password is not None:
        raise InvalidInput("place", "must hold no user or password")
    return parts


def _get(parts: SplitResult, latest: float, *, allow_private: bool) -> Page | str:
    """Return a page, or where it redirects to."""
    host = parts.hostname or ""
    port = parts.port or (443 if parts.scheme == "https" else 80)
    addresses = _addresses(host, port, allow_private=allow_private)
    target = quote(parts.path or "/", safe="/%:@!$&'()*+,;=~")
    target += f"?{quote(parts.query, safe='/%:@!$&()*+,;=~?')}" if parts.query else ""
    connection = _Connection(host, port, addresses, latest, is_secure=parts.scheme == "https")
    # A server that sends a byte now and then keeps every single wait short.
    alarm = threading.Timer(max(latest - time.monotonic(), 0), connection.cut)
    alarm.daemon = True
    alarm.start()
    try:
        connection.request("GET", target, headers=_HEADERS)
        with connection.getresponse() as response:
            return _read(response, latest)
    except (OSError, http.client.HTTPException, UnicodeError, ValueError) as error:
        late = time.monotonic() >= latest or isinstance(error, TimeoutError)
        problem = f"took more than {SECONDS:.0f} s" if late else "could not be reached"
        raise NotRead(f"{problem} ({type(error).__name__})", stays=True) from error
    finally:
        alarm.cancel()
        connection.close()


def _read(response: http.client.HTTPResponse, latest: float) -> Page | str:
    status, moved = response.status, response.headers.get("Location")
    if status in (301, 302, 303, 307, 308) and moved is not None:
        return moved
    if status != 200:
        raise NotRead(f"answered {status}", stays=True)
    type = response.headers.get_content_type()
    if not type.startswith("text/") and type not in _TYPES:
        raise NotRead(f"is {type[:60]}: no text, HTML or PDF")
    content = bytearray()
    while len(content) <= MAX_BYTES and (part := response.read(65_536)):
        content += part
        if time.monotonic() > latest:
            raise TimeoutError
    if len(content) > MAX_BYTES:
        raise NotRead(f"is larger than {MAX_BYTES // 1_000_000} MB")
    if time.monotonic() > latest or response.length:
        raise http.client.IncompleteRead(b"")
    charset = response.headers.get_content_charset()
    return Page(bytes(content), _TYPES.get(type, "text"), charset)


def _addresses(host: str, port: int, *, allow_private: bool) -> list[str]:
    """Return the addresses of a host, all of them checked.

    Raises:
        InvalidInput: If one of them is not public.
        NotRead: If the name cannot be resolved.
    """
    try:
        found = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)
    except (OSError, UnicodeError) as error:
        raise NotRead("has an unknown host name", stays=True) from error
    addresses = list(dict.fromkeys(str(each[4][0]) for each in found))
    if not allow_private and not all(map(is_public, addresses)):
        problem = "leads to an address that is not public; an intranet needs allow_private=True"
        raise InvalidInput("place", problem)
    return addresses


def is_public(address: str) -> bool:
    """Whether an address is one of the public internet; so must be the one inside of it."""
    ip = ipaddress.ip_address(address)
    if isinstance(ip, ipaddress.IPv6Address):
        inner = ip.ipv4_mapped or ip.sixtofour
        if inner is None and ip in _NAT64:
            inner = ipaddress.IPv4Address(int(ip) & 0xFFFFFFFF)
        if inner is not None:
            return is_public(str(inner))
        if ip.is_site_local or ip.teredo is not None:
            return False
    special = ip.is_multicast or ip.is_reserved or ip.is_unspecified or ip.is_loopback
    return ip.is_global and not special and not ip.is_link_local and not ip.is_private


class _Connection(http.client.HTTPConnection):
    """A connection to one of some addresses; the host's name is only told and verified."""

    def __init__(
        self, host: str, port: int, addresses: Sequence[str], latest: float, *, is_secure: bool
    ) -> None:
        super().__init__(host, port)
        self.default_port = 443 if is_secure else 80
        self._addresses, self._latest, self._is_secure = addresses, latest, is_secure
        self._socket: socket.socket | None = None

    def connect(self) -> None:
        """Connect to the first address that answers."""
        errors: list[OSError] = []
        for address in self._addresses:
            try:
                self._socket = socket.create_connection((address, self.port), self._left())
                break
            except OSError as error:
                errors.append(error)
        else:
            raise errors[-1]
        self.sock = self._socket
        if self._is_secure:
            self._socket.settimeout(self._left())
            context = ssl.create_default_context()
            self.sock = context.wrap_socket(self._socket, server_hostname=self.host)
            self._socket = self.sock
        self.sock.settimeout(self._left())

    def cut(self) -> None:
        """End the connection, whatever waits for it."""
        if self._socket is not None:
            try:
                # As of a plain socket: a secure one would read on without its cipher.
                socket.socket.shutdown(self._socket, socket.SHUT_RDWR)
            except OSError:
                return  # it has ended already

    def _left(self) -> float:
        if (left := self._latest - time.monotonic()) <= 0:
            raise TimeoutError
        return left
