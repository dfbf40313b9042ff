"""Sessions in a PostgreSQL database, kept apart by the same policies as memories."""

import os
from collections.abc import Sequence
from typing import Any

from memstrata.adapters.postgres_pool import Pool, Row, Statement, bind
from memstrata.adapters.postgres_schema import Address, check_database
from memstrata.adapters.store_owners import Owners, Secrets
from memstrata.adapters.store_postgres import BUSY_TIMEOUT_S, POOL_SIZE, TIMEOUT_S
from memstrata.adapters.store_rules import next_number
from memstrata.adapters.store_sessions import (
    in_order_of_start,
    read_sessions,
    session_body,
    session_key,
)
from memstrata.domain.errors import StoreUnavailable
from memstrata.domain.scope import Scope
from memstrata.domain.session import Observation, SessionEntry, SessionRecord
from memstrata.ports import Capability


class PostgresSessionStore:
    """A :class:`~memstrata.ports.SessionStore` in a PostgreSQL database, for one event loop.

    An append is one round trip, one that is tried again two. A write whose waiting is cancelled may
    still take place.
    """

    capabilities = frozenset({Capability.DURABLE})

    def __init__(
        self, pool: Pool, secrets: Secrets, operator: str, *, busy_timeout_s: float
    ) -> None:
        """For :meth:`open`."""
        self.location = pool.location
        self._pool = pool
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
    ) -> "PostgresSessionStore":
        """Open the database that ``memstrata db init`` prepared; arguments and errors are those of
        :meth:`~memstrata.adapters.store_postgres.PostgresStore.open`.
        """
        address = Address(url, connect_timeout_s=timeout_s)
        secrets, operator, opening = check_database(address)
        pool = Pool(address, size=pool_size, timeout_s=timeout_s, opening=opening)
        return cls(pool, secrets, operator, busy_timeout_s=busy_timeout_s)

    async def close(self) -> None:
        """Let calls under way end, and close; in a forked child it does nothing."""
        if self._closed or self._pid != os.getpid():
            return
        self._closed = True
        await self._pool.close()

    async def append(
        self,
        owner: Scope,
        session: str,
        observations: Sequence[Observation],
        *,
        now: int,
        due_at: int | None = None,
        first: int | None = None,
    ) -> int:
        """See the port."""
        known = self._owners.of(owner)
        key: dict[str, Any] = {"owner": known.name, "tag": session_key(known, session)}
        body = session_body(known, session)
        opened: Statement = ("open_session", {**key, "now": now, "due_at": due_at, "body": body})
        counted: Statement = ("count_entries", key)
        begun = bind(
            [known.name],
            writable=known.name,
            timeout_s=self._pool.timeout_s,
            lock_s=self._busy_timeout_s,
        )
        limit_s = self._pool.timeout_s + self._busy_timeout_s
        self._check_usable()
        async with self._pool.line(limit_s) as line:
            if first is None:
                sent = (begun, opened, counted, _appended(key, observations))
                *_, count, _ = await line.run(*sent, timeout_s=limit_s)
                return int(count[0][0])
            asked = {**key, "after": first - 1, "limit": len(observations)}
            again = (("begin", None), begun, opened, counted, ("entries", asked))
            *_, count, stood = await line.run(*again, timeout_s=limit_s)
            standing = [SessionEntry._make(row) for row in stood]
            begin, new = next_number(count[0][0], observations, first, standing)
            added = _appended(key, new)
            await line.run(added, ("commit", None), timeout_s=self._pool.timeout_s)
            return begin

    async def entries(
        self, owner: Scope, session: str, *, after: int = -1, limit: int = 1000
    ) -> tuple[SessionEntry, ...]:
        """See the port."""
        known = self._owners.of(owner)
        asked = {"tag": session_key(known, session), "after": after, "limit": max(limit, 0)}
        found = await self._ask(known.name, "entries", **asked)
        return tuple(map(SessionEntry._make, found))

    async def sessions(self, owner: Scope) -> tuple[SessionRecord, ...]:
        """See the port."""
        found = await self._ask(self._owners.of(owner).name, "sessions")
        return in_order_of_start(read_sessions(self.location, found))

    async def due(self, now: int, *, limit: int = 100) -> tuple[tuple[Scope, SessionRecord], ...]:
        """See the port."""
        self._check_usable()
        asked: Statement = ("sessions_due", {"now": now, "limit": max(limit, 0)})
        (found,) = await self._pool.ask_as(self._operator, asked)
        return tuple(read_sessions(self.location, found))

    async def drop(self, owner: Scope, session: str) -> None:
        """See the port."""
        known = self._owners.of(owner)
        key = {"owner": known.name, "tag": session_key(known, session)}
        begun = bind([known.name], writable=known.name, timeout_s=self._pool.timeout_s)
        self._check_usable()
        async with self._pool.line() as line:
            sent = (begun, ("drop_session", key), ("drop_entries", key))
            await line.run(*sent, timeout_s=self._pool.timeout_s)

    async def _ask(self, name: str, statement: str, /, **bound: object) -> list[Row]:
        self._check_usable()
        (found,) = await self._pool.ask([name], (statement, {"owner": name, **bound}))
        return found

    def _check_usable(self) -> None:
        if self._closed:
            raise StoreUnavailable(self.location, "the store is closed")
        if self._pid != os.getpid():
            raise StoreUnavailable(self.location, "opened before a fork; open it in this process")


def _appended(key: dict[str, Any], observations: Sequence[Observation]) -> Statement:
    times, bodies = [said.at for said in observations], [said.body for said in observations]
    return "append_entries", {**key, "times": times, "bodies": bodies}
