"""Runs the server until it is told to stop; what was acknowledged is stored then."""

from __future__ import annotations

import socket
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from ipaddress import ip_address
from pathlib import Path

import uvicorn

from simonides.api.store import Store
from simonides.core.errors import ConfigurationError
from simonides.govern.tokens import Access, Caller
from simonides.server.app import Limits, application
from simonides.server.callers import Callers
from simonides.server.oidc import rules_of

PORT = 8811

STOP_S = 10
"""Time for requests that run when the server is told to stop, in seconds. Set by judgement."""

LOOPBACK = ["127.0.0.1", "localhost", "[::1]"]


@dataclass(frozen=True)
class Address:
    """Where the server listens.

    Attributes:
        host: A name or address of this machine.
        port: 0 takes a free one.
        certificate: A file with the certificate, and those above it, for TLS; or None.
        key: A file with its key.
        proxy: Addresses of proxies whose word about the caller is taken, and that speak TLS.
        names: Names under which the server is asked.
    """

    host: str = "127.0.0.1"
    port: int = PORT
    certificate: Path | None = None
    key: Path | None = None
    proxy: str | None = None
    names: tuple[str, ...] = ()

    @property
    def is_local(self) -> bool:
        """Whether only this machine can reach it."""
        try:
            return self.host == "localhost" or ip_address(self.host).is_loopback
        except ValueError:
            return False


def check(store: Store, address: Address, *, has_provider: bool) -> None:
    """Check that a server that others can reach is guarded.

    Raises:
        ConfigurationError: If it is not; it says what to do.
    """
    if address.is_local:
        return
    if not has_provider and not store.admin("serve").tokens():
        raise ConfigurationError(
            f"--host {address.host} lets others in, and nobody has a token;"
            " run: simonides token new NAME --user USER"
        )
    if address.certificate is None and address.proxy is None:
        raise ConfigurationError(
            f"--host {address.host} would send tokens in the clear; give --tls-certificate and"
            " --tls-key, or --behind-proxy with the address of the proxy that speaks TLS"
        )


def serve(
    store: Store,
    address: Address,
    *,
    limits: Limits | None = None,
    works: bool = True,
    ready: Callable[[str], None] = print,
    closing: Callable[[], None] = lambda: None,
) -> None:
    """Serve a store until SIGINT or SIGTERM; then it is closed.

    Args:
        store: The store.
        address: Where.
        limits: What one credential may ask.
        works: Whether what time makes due is done here, too.
        ready: Gets the link that logs a browser in.
        closing: Is called before the store is closed.

    Raises:
        ConfigurationError: If a server that others can reach is not guarded, or the address is
            taken.
    """
    engine = store._engine
    check(store, address, has_provider=rules_of(engine).issuer is not None)
    callers = Callers(engine)
    names = [*LOOPBACK, *address.names] if address.is_local or address.names else None

    def close() -> None:
        closing()
        store.close()

    app = application(store, callers, hosts=names, limits=limits, close=close)
    config = uvicorn.Config(
        app,
        log_config=None,
        access_log=False,
        server_header=False,
        timeout_graceful_shutdown=STOP_S,
        ssl_certfile=address.certificate,
        ssl_keyfile=address.key,
        proxy_headers=address.proxy is not None,
        forwarded_allow_ips=address.proxy,
    )
    listener = _listener(address)
    scheme = "https" if address.certificate is not None else "http"
    host, port = listener.getsockname()[:2]
    shown = f"[{host}]" if ":" in host else host
    login = callers.login(Caller("local", None, None, frozenset(Access)))
    ready(f"{scheme}://{shown}:{port}/login?token={login}")
    engine.worker.tends = works
    engine.worker.begin()
    uvicorn.Server(config).run([listener])


@contextmanager
def on_loopback(store: Store) -> Iterator[str]:
    """Serve a store on a free port of this machine, for tests; yield its address.

    There is no limit of requests. The store stays open.
    """
    unlimited = Limits(per_minute=sys.maxsize)
    app = application(store, Callers(store._engine), hosts=LOOPBACK, limits=unlimited)
    listener = _listener(Address(port=0))
    server = uvicorn.Server(
        uvicorn.Config(app, log_config=None, access_log=False, timeout_graceful_shutdown=STOP_S)
    )
    thread = threading.Thread(target=server.run, args=([listener],), daemon=True)
    thread.start()
    try:
        yield f"http://127.0.0.1:{listener.getsockname()[1]}"
    finally:
        server.should_exit = True
        thread.join()


def _listener(address: Address) -> socket.socket:
    family = socket.AF_INET6 if ":" in address.host else socket.AF_INET
    # Only with the protocol named does asyncio switch Nagle's delay off, 40 ms an answer.
    listener = socket.socket(family, socket.SOCK_STREAM, socket.IPPROTO_TCP)
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listener.bind((address.host, address.port))
        listener.listen()  # whoever is shown the link too early waits, and is not refused
    except OSError as error:
        listener.close()
        problem = f"cannot listen on {address.host} port {address.port}: {error.strerror}"
        raise ConfigurationError(f"{problem}; --port 0 takes a free one") from error
    return listener
