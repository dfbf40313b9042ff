"""One prepared PostgreSQL database: what every store in it does with its connections."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, Self, TypeAlias, TypeVar

import psycopg
from psycopg.conninfo import make_conninfo

from simonides.domain.errors import KeyUnavailable, StoreUnavailable
from simonides.ports import Capability
from simonides.storage.postgres.errors import Translating
from simonides.storage.postgres.schema import Address, check_database
from simonides.storage.postgres.wire.pool import Line, MakeLine, Pool, Row
from simonides.storage.schema.owner_ids import Owners, Secrets

if TYPE_CHECKING:
    # What does the encrypting is an extra.
    from simonides.storage.encryption.data_keys import DataKeys
    from simonides.storage.sqlite.file.connection import Opening as OfAFile


class Opening:
    """Opens a database that is not encrypted, and refuses one that is."""

    @property
    def seals(self) -> DataKeys | None:
        """The owners' keys, where the store is encrypted."""
        return None

    @property
    def line(self) -> MakeLine:
        """What makes a line of a connection."""
        return Line

    def begin(
        self,
        connection: psycopg.Connection[tuple[Any, ...]],
        location: str,
        kept: Secrets,
        operator: str,
    ) -> Secrets | None:
        """Return the keys of the store's digests, once the database is in order; None if it was
        made another meanwhile and is to be looked at again.

        Args:
            connection: Of the application's role.
            location: Of the database.
            kept: What it keeps.
            operator: Name of the operator's role.

        Raises:
            KeyUnavailable: If it is encrypted.
        """
        del connection, operator
        if kept.is_wrapped:
            raise KeyUnavailable(
                f"{location}: is encrypted; name its key ring, and its key vault or "
                "SIMONIDES_ENCRYPT=true (docs/privacy.md)"
            )
        return kept

    def kept(self, keys: Secrets) -> Secrets:
        """Return how the keys of the digests are written into the database."""
        return keys

    def follow(self, keys: Secrets) -> None:
        """Go on with the keys of another store, that was moved here."""
        del keys

    def of_copy(self) -> OfAFile | None:
        """Return what makes a file of the store; None for a plain one."""
        return None

    def close(self) -> None:
        """Let go of what was opened for it."""


POOL_SIZE = 10
"""Most connections of a process. Chosen: each is a process of the server's with some MB; a call
holds one for a few milliseconds, and those who write for one owner wait without one."""

TIMEOUT_S = 10.0
"""Seconds for a connection, and for each answer. Chosen: far above any statement of ours."""

BUSY_TIMEOUT_S = 30.0
"""Seconds that a writer waits for its turn, as in the other stores."""


class PostgresDatabase:
    """An open database, for one event loop.

    Threads share it through that loop. A write whose waiting is cancelled may still take place.
    """

    capabilities = frozenset({Capability.DURABLE})

    _opening: Opening

    def __init__(
        self, pool: Pool, secrets: Secrets, operator: str, *, busy_timeout_s: float
    ) -> None:
        """For :meth:`open`."""
        self.location = pool.location
        self._pool = pool
        self._secrets = secrets
        self._operator = operator
        self._busy_timeout_s = busy_timeout_s
        self._owners = Owners(secrets)
        self._pid = os.getpid()
        self._closed = False

    @classmethod
    def open(
        cls,
        url: str,
        *,
        pool_size: int = POOL_SIZE,
        timeout_s: float = TIMEOUT_S,
        busy_timeout_s: float = BUSY_TIMEOUT_S,
        filling: bool = False,
        opening: Opening | None = None,
    ) -> Self:
        """Open the store that ``simonides db init`` prepared in a database.

        Args:
            url: ``postgresql://user@host:port/database``, of the application's role.
            pool_size: Most connections at a time.
            timeout_s: Seconds to wait for a connection, and for each answer.
            busy_timeout_s: Seconds that a write waits for its turn.
            filling: Whether to open it to move owners here, or to go on doing so; over a single
                connection then, so that all others are somebody else's.
            opening: What opens it if it is encrypted, closed with the store; None for one in plain.

        Raises:
            ConfigurationError: If the URL is none, or database and role were not prepared for
                each other; it says what to do.
            KeyUnavailable: If it is encrypted, and it was not told how, or a key is missing.
            StoreCorrupt: If the schema is newer than this program, or not ours.
            StoreUnavailable: If the server cannot be reached or refuses the role, or another store
                is being moved here.
        """
        address = Address(url, connect_timeout_s=timeout_s)
        how = opening or Opening()
        secrets, operator, token = check_database(address, how.begin, filling=filling)
        size = 1 if filling else pool_size
        pool = Pool(address, size=size, timeout_s=timeout_s, opening=token)
        pool.make_line = how.line
        store = cls(pool, secrets, operator, busy_timeout_s=busy_timeout_s)
        store._opening = how
        return store

    async def close(self) -> None:
        """Let calls under way end, and close; in a forked child it does nothing."""
        if self._closed or self._pid != os.getpid():
            return
        self._closed = True
        await self._pool.close()
        self._opening.close()

    def _check_usable(self) -> None:
        if self._closed:
            raise StoreUnavailable(self.location, "the store is closed")
        if self._pid != os.getpid():
            raise StoreUnavailable(self.location, "opened before a fork; open it in this process")

    async def _ask(self, names: Sequence[str], statement: str, /, **bound: object) -> list[Row]:
        self._check_usable()
        (found,) = await self._pool.ask(names, (statement, bound))
        return found

    @property
    def _turn_timeout_s(self) -> float:
        return self._pool.timeout_s + self._busy_timeout_s


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
