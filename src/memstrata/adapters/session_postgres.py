"""Sessions in a PostgreSQL database, kept apart by the same policies as memories."""

from collections.abc import Sequence
from typing import Any

from memstrata.adapters.postgres_database import PostgresDatabase
from memstrata.adapters.postgres_pool import Statement, bind
from memstrata.adapters.store_rules import next_number
from memstrata.adapters.store_sessions import (
    in_order_of_start,
    read_sessions,
    session_body,
    session_key,
)
from memstrata.domain.scope import Scope
from memstrata.domain.session import Observation, SessionEntry, SessionRecord


class PostgresSessionStore(PostgresDatabase):
    """A :class:`~memstrata.ports.SessionStore` in a PostgreSQL database; see
    :class:`~memstrata.adapters.postgres_database.PostgresDatabase`.

    An append is one round trip, one that is tried again two.
    """

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
            writable=[known.name],
            timeout_s=self._pool.timeout_s,
            lock_s=self._busy_timeout_s,
        )
        limit_s = self._turn_timeout_s
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
        found = await self._ask([known.name], "entries", owner=known.name, **asked)
        return tuple(map(SessionEntry._make, found))

    async def sessions(self, owner: Scope) -> tuple[SessionRecord, ...]:
        """See the port."""
        name = self._owners.of(owner).name
        found = await self._ask([name], "sessions", owner=name)
        return in_order_of_start(read_sessions(self.location, found))

    async def due(self, now: int, *, limit: int = 100) -> tuple[tuple[Scope, SessionRecord], ...]:
        """See the port."""
        self._check_usable()
        asked: Statement = ("sessions_due", {"now": now, "limit": max(limit, 0)})
        (found,) = await self._pool.ask_as(self._operator, asked)
        return tuple(read_sessions(self.location, (row[:-1] for row in found)))

    async def drop(self, owner: Scope, session: str, *, entries: int | None = None) -> bool:
        """See the port."""
        known = self._owners.of(owner)
        key = {"owner": known.name, "tag": session_key(known, session)}
        begun = bind([known.name], writable=[known.name], timeout_s=self._pool.timeout_s)
        self._check_usable()
        async with self._pool.line() as line:
            # Its row first: who appends waits for it, and is counted if he came before.
            sent = (("begin", None), begun, ("drop_session", key), ("count_entries", key))
            *_, count = await line.run(*sent, timeout_s=self._pool.timeout_s)
            if entries is not None and count[0][0] > entries:
                return False
            gone = (("drop_entries", key), ("commit", None))
            await line.run(*gone, timeout_s=self._pool.timeout_s)
            return True


def _appended(key: dict[str, Any], observations: Sequence[Observation]) -> Statement:
    times, bodies = [said.at for said in observations], [said.body for said in observations]
    return "append_entries", {**key, "times": times, "bodies": bodies}
