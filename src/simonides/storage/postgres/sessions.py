"""Sessions in a PostgreSQL database, kept apart by the same policies as memories."""

from collections.abc import Sequence
from typing import Any, Self

from simonides.domain.conversation.session import Observation, SessionEntry, SessionRecord
from simonides.domain.errors import StoreUnavailable
from simonides.domain.scope import Scope
from simonides.ports import Capability
from simonides.storage.postgres.wire.connection import PostgresDatabase
from simonides.storage.postgres.wire.pool import Statement, bind
from simonides.storage.schema.change_rules import next_number
from simonides.storage.schema.session_rows import (
    in_order_of_start,
    read_sessions,
    session_body,
    session_key,
)


class PostgresSessionStore:
    """A :class:`~simonides.ports.SessionStore` over an open
    :class:`~simonides.storage.postgres.wire.connection.PostgresDatabase`.

    Beside a store of memories it uses that one's pool and keys. An append is one round trip, one
    that is tried again two.

    Args:
        database: What is open.
        owns_database: Whether the database is closed with it.
    """

    def __init__(self, database: PostgresDatabase, *, owns_database: bool = False) -> None:
        self._database = database
        self._owns_database = owns_database
        self._closed = False
        self.capabilities = database.capabilities & (
            PostgresDatabase.capabilities | {Capability.SEALED}
        )
        self.location = database.location

    @classmethod
    def open(cls, url: str, **options: Any) -> Self:
        """Open a database for sessions alone.

        Args:
            url: As of :meth:`~simonides.storage.postgres.wire.connection.PostgresDatabase.open`,
            like
                the options and what is raised.
            options: See there.
        """
        return cls(PostgresDatabase.open(url, **options), owns_database=True)

    async def close(self) -> None:
        """See the port."""
        self._closed = True
        if self._owns_database:
            await self._database.close()

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
        known = self._open()._owners.of(owner)
        key: dict[str, Any] = {"owner": known.name, "tag": session_key(known, session)}
        body = session_body(known, session)
        opened: Statement = ("open_session", {**key, "now": now, "due_at": due_at, "body": body})
        counted: Statement = ("count_entries", key)
        begun = bind(
            [known.name],
            writable=[known.name],
            timeout_s=self._database._pool.timeout_s,
            lock_s=self._database._busy_timeout_s,
        )
        limit_s = self._database._turn_timeout_s
        self._open()._check_usable()
        async with self._database._pool.line(limit_s) as line:
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
            await line.run(added, ("commit", None), timeout_s=self._database._pool.timeout_s)
            return begin

    async def entries(
        self, owner: Scope, session: str, *, after: int = -1, limit: int = 1000
    ) -> tuple[SessionEntry, ...]:
        """See the port."""
        known = self._open()._owners.of(owner)
        asked = {"tag": session_key(known, session), "after": after, "limit": max(limit, 0)}
        found = await self._database._ask([known.name], "entries", owner=known.name, **asked)
        return tuple(map(SessionEntry._make, found))

    async def sessions(self, owner: Scope) -> tuple[SessionRecord, ...]:
        """See the port."""
        name = self._open()._owners.of(owner).name
        found = await self._database._ask([name], "sessions", owner=name)
        return in_order_of_start(read_sessions(self.location, found))

    async def due(self, now: int, *, limit: int = 100) -> tuple[tuple[Scope, SessionRecord], ...]:
        """See the port."""
        self._open()._check_usable()
        asked: Statement = ("sessions_due", {"now": now, "limit": max(limit, 0)})
        (found,) = await self._database._pool.ask_as(self._database._operator, asked)
        return tuple(read_sessions(self.location, (row[:-1] for row in found)))

    async def drop(self, owner: Scope, session: str, *, entries: int | None = None) -> bool:
        """See the port."""
        known = self._open()._owners.of(owner)
        key = {"owner": known.name, "tag": session_key(known, session)}
        pool = self._database._pool
        begun = bind([known.name], writable=[known.name], timeout_s=pool.timeout_s)
        self._open()._check_usable()
        async with pool.line() as line:
            # Its row first: who appends waits for it, and is counted if he came before.
            sent = (("begin", None), begun, ("drop_session", key), ("count_entries", key))
            *_, count = await line.run(*sent, timeout_s=pool.timeout_s)
            if entries is not None and count[0][0] > entries:
                return False
            gone = (("drop_entries", key), ("commit", None))
            await line.run(*gone, timeout_s=pool.timeout_s)
            return True

    def _open(self) -> PostgresDatabase:
        """Return what is open.

        Raises:
            StoreUnavailable: If the sessions are closed.
        """
        if self._closed:
            raise StoreUnavailable(self.location, "the store is closed")
        return self._database


def _appended(key: dict[str, Any], observations: Sequence[Observation]) -> Statement:
    times, bodies = [said.at for said in observations], [said.body for said in observations]
    return "append_entries", {**key, "times": times, "bodies": bodies}
