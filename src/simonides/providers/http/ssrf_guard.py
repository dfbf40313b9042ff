"""Guards HTTP requests against server-side request forgery (SSRF).

A document, a redirect or a DNS record must not make this process contact an internal address. So a
host name is resolved here, all its addresses are checked, and the connection goes to a checked
address. A different DNS answer later changes nothing.
"""

from __future__ import annotations

import ipaddress
import socket
from collections.abc import Callable, Sequence
from typing import NamedTuple
from urllib.parse import SplitResult, urlsplit

from simonides.domain.errors import ConfigurationError

Resolve = Callable[[str, int], Sequence[str]]
"""From a host and a port to its addresses."""

Address = ipaddress.IPv4Address | ipaddress.IPv6Address

PORTS = {"http": 80, "https": 443}
MAX_URL_CHARS = 4_096

# Azure's metadata service: a public address that serves credentials to virtual machines.
_METADATA = frozenset({ipaddress.ip_address("168.63.129.16")})
# IANA special-purpose networks that some versions of the standard library miss.
_SPECIAL = tuple(
    map(
        ipaddress.ip_network,
        (
            "192.0.0.0/24",
            "64:ff9b:1::/48",
            "100::/64",
            "2001::/23",
            "3fff::/20",
            "5f00::/16",
            "fec0::/10",
        ),
    )
)
# RFC 6052: a gateway translates the last 32 bits to any IPv4 address.
_NAT64 = ipaddress.ip_network("64:ff9b::/96")


class Forbidden(Exception):
    """The URL or address is not allowed; the message names no more than its host."""


class Target(NamedTuple):
    """A URL that may be requested.

    Attributes:
        parts: Of the URL.
        host: In lower case, as sent over the network.
        port: To connect to.
    """

    parts: SplitResult
    host: str
    port: int


class AllowedHosts:
    """The allowed hosts: by name, by domain suffix, or with a port."""

    def __init__(self, hosts: Sequence[str], *, allow_loopback: bool = False) -> None:
        """Parse a list of hosts.

        Args:
            hosts: ``docs.example.org`` for one host, ``.example.org`` for its subdomains only,
                ``docs.example.org:8443`` for another port than that of the scheme.
            allow_loopback: Whether loopback addresses are allowed, for tests.

        Raises:
            ConfigurationError: If the list is empty, or an entry is not a host.
        """
        if not hosts or isinstance(hosts, str):
            raise ConfigurationError("hosts: list at least one allowed host")
        self._hosts = [self._parsed(host) for host in hosts]
        self._allow_loopback = allow_loopback

    def target(self, url: str) -> Target:
        """Parse a URL and check its scheme, host and port; resolves nothing.

        Raises:
            Forbidden: If it is not allowed, with the reason.
        """
        if len(url) > MAX_URL_CHARS or any(char <= " " or char == "\x7f" for char in url):
            raise Forbidden("the URL is too long, or has blanks or control characters")
        try:
            parts = urlsplit(url)
            host, port = parts.hostname or "", parts.port
        except ValueError:
            raise Forbidden("the URL is malformed") from None
        if parts.scheme not in PORTS:
            raise Forbidden("only http and https are allowed")
        if parts.username is not None or parts.password is not None:
            raise Forbidden("a URL with credentials is not allowed")
        name, usual = _name(host), PORTS[parts.scheme]
        port = usual if port is None else port
        if not any(_fits(name, port, usual, *each) for each in self._hosts):
            raise Forbidden(f"{name[:100]!r} is not an allowed host")
        return Target(parts, name, port)

    def address(self, target: Target, resolve: Resolve) -> str:
        """Resolve a target, check all its addresses, and return one to connect to.

        Raises:
            Forbidden: If any of them is not allowed.
            OSError: If the name cannot be resolved.
        """
        found = [ipaddress.ip_address(each) for each in resolve(target.host, target.port)]
        if not found:
            raise Forbidden(f"{target.host!r} resolves to no address")
        for each in found:
            if not (is_public(each) or (self._allow_loopback and each.is_loopback)):
                raise Forbidden(f"{target.host!r} resolves to an address that is not public")
        return str(found[0])

    def _parsed(self, host: str) -> tuple[str, int | None]:
        try:
            parts = urlsplit(f"//{host}")
            name, port = _name((parts.hostname or "").lstrip(".")), parts.port
        except (ValueError, Forbidden):
            name, port = "", None
        if not name or set(host) & set("/?#@* "):
            raise ConfigurationError(f"hosts: {host!r} is not a host, '.domain' or 'host:port'")
        return ("." if host.startswith(".") else "") + name, port


def is_public(address: Address) -> bool:
    """Whether an address is public: not private, loopback, link-local, shared, reserved or
    multicast, nor a tunnel or translation to such an address.
    """
    if address in _METADATA or address.is_multicast or not address.is_global:
        return False
    if any(address in network for network in _SPECIAL):
        return False
    if isinstance(address, ipaddress.IPv4Address):
        return True
    return all(map(is_public, _within(address)))


def _within(address: ipaddress.IPv6Address) -> list[ipaddress.IPv4Address]:
    """Return the IPv4 addresses embedded in an IPv6 address."""
    found = [address.ipv4_mapped, address.sixtofour, *(address.teredo or ())]
    if address in _NAT64:
        found.append(ipaddress.IPv4Address(int(address) & 0xFFFF_FFFF))
    return [each for each in found if each is not None]


def system_addresses(host: str, port: int) -> Sequence[str]:
    """Resolve a host by the system.

    Raises:
        OSError: If that fails.
    """
    found = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)
    # An IPv6 scope after "%" is an interface name of this machine.
    return [str(address[0]).partition("%")[0] for *_, address in found]


def _name(host: str) -> str:
    """Return a host's name as sent over the network."""
    name = host.rstrip(".").lower()
    if name.isascii():
        return name
    try:
        return name.encode("idna").decode("ascii")
    except UnicodeError:
        raise Forbidden("the name of the host is malformed") from None


def _fits(name: str, port: int, usual: int, allowed: str, allowed_port: int | None) -> bool:
    if port != (usual if allowed_port is None else allowed_port):
        return False
    return name.endswith(allowed) if allowed.startswith(".") else name == allowed
