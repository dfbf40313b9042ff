"""One prepared PostgreSQL database: what every store in it does with its connections."""

import os
from collections.abc import Sequence
from typing import Self

from simonides.adapters.postgres_opening import Opening
from simonides.adapters.postgres_pool import Pool, Row
from simonides.adapters.postgres_schema import Address, check_database
from simonides.adapters.store_owners import Owners, Secrets
from simonides.domain.errors import StoreUnavailable
from simonides.ports import Capability

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
