"""One connection to PostgreSQL that blocks, for what is small and seldom asked."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any, TypeAlias, TypeVar

import psycopg
from psycopg.conninfo import make_conninfo

from simonides.adapters.postgres_errors import Translating
from simonides.adapters.postgres_schema import Address
from simonides.domain.errors import StoreUnavailable

Plain: TypeAlias = psycopg.Connection[tuple[Any, ...]]
T = TypeVar("T")

# Whoever asks may hold the turn of an owner: a server that is gone is noticed by the system, one
# that waits for a lock gives up by itself. Chosen: as for the store.
_LIMITS = {
    "tcp_user_timeout": "10000",
    "keepalives_idle": "5",
    "keepalives_interval": "2",
    "keepalives_count": "3",
    "options": "-c statement_timeout=10s -c lock_timeout=10s",
}


class SoleConnection:
    """Makes a connection when it is first asked, and another where the server has ended it; one
    thread at a time.

    Args:
        url: ``postgresql://user@host:port/database``.
        what: What is asked, for errors.

    Attributes:
        location: URL without password and parameters.

    Raises:
        ConfigurationError: If the URL is none.
    """

    def __init__(self, url: str, *, what: str) -> None:
        address = Address(url, connect_timeout_s=10)
        self.location = address.location
        self._what = what
        self._address = address
        self._conninfo = make_conninfo(address.conninfo, **_LIMITS)
        self._lock = threading.Lock()
        self._is_closed = False
        self._connection: Plain | None = None

    def ask(self, ask: Callable[[Plain], T]) -> T:
        """Run a call, once more over a new connection if the server has ended the one at hand.

        Raises:
            StoreError: As the server says, or if it is closed.
        """
        with self._lock, Translating(self.location):
            known = self._connection
            try:
                return ask(self._connected())
            except psycopg.OperationalError:
                if known is None or not known.closed:
                    raise
            return ask(self._connected())

    def close(self) -> None:
        """Close it; twice does no harm."""
        with self._lock:
            self._is_closed = True
            if self._connection is not None:
                self._connection.close()
                self._connection = None

    def _connected(self) -> Plain:
        if self._is_closed:
            raise StoreUnavailable(self.location, f"the {self._what} is closed")
        if self._connection is None or self._connection.closed:
            try:
                self._connection = psycopg.connect(
                    self._conninfo, autocommit=True, prepare_threshold=None
                )
            except psycopg.Error as error:
                raise StoreUnavailable(self.location, self._address.said(error)) from None
        return self._connection
