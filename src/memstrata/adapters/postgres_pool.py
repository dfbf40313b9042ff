"""Connections of one process, and the way in which every call uses one.

Statements travel together: a :class:`Line` sends any number of them in one pipeline and waits once.
Outside an explicit transaction the server takes such a pipeline as one, so that a read is two
statements, who may be seen and what is asked, and one round trip.

Nothing of a session outlives its transaction, so a pooler that hands connections out by
transaction may stand between. Nothing is prepared: a plan would outlive the settings it was made
under.
"""

import asyncio
import select
from collections.abc import AsyncIterator, Callable, Iterable, Iterator, Sequence
from contextlib import asynccontextmanager, contextmanager
from itertools import starmap, zip_longest
from typing import Any, TypeAlias

import psycopg
from psycopg.pq import TransactionStatus
from psycopg_pool import AsyncConnectionPool, PoolClosed, PoolTimeout

from memstrata.adapters.postgres_answers import Nearness
from memstrata.adapters.postgres_answers import Row as Row
from memstrata.adapters.postgres_answers import Take as Take
from memstrata.adapters.postgres_errors import Translating
from memstrata.adapters.postgres_schema import SQL, Address, shut_down
from memstrata.adapters.postgres_wire import Sent, Wire
from memstrata.domain.errors import StoreError, StoreUnavailable

Connection: TypeAlias = psycopg.AsyncConnection[Row]

Statement: TypeAlias = tuple[str, dict[str, Any] | None]
"""Name of a statement and the values bound to it."""

GRACE_S = 1.0
"""Seconds before ours at which the server's own time-outs end, so that it can tell of them; never
more than a tenth of them. Chosen."""

LAST_S = 0.05
"""Seconds that a connection is given to roll back when its call has no more time."""

KEEP_S = 60.0
"""Seconds after which a connection goes through the pool, which ends those that are old. Chosen:
often enough for that, seldom enough to cost nothing."""

_LONG = ("live_rows", "rows_as_of", "rows_page")
_CODED = (*(f"coded_{name}" for name in _LONG), "codes", "coded_states")
LONG = frozenset({*_LONG, *_CODED, "live_entries"})
"""Statements whose rows are read while the server sends them: all of an owner's, or many."""


def bind(
    readable: Iterable[str], *, writable: Iterable[str] = (), timeout_s: float, lock_s: float = 0
) -> Statement:
    """Return the statement that begins every transaction: whose rows, and for how long.

    Args:
        readable: Digests of the owners that may be read.
        writable: Digests of those that may be written too.
        timeout_s: Seconds for each statement, and for the client to decide between two.
        lock_s: Seconds to wait for a turn, if one is to be taken.
    """
    return "bind", {
        "readable": f"{{{','.join(readable)}}}",
        "writable": f"{{{','.join(writable)}}}",
        "statement": str(_ms(_told(timeout_s + lock_s))),
        "lock": str(_ms(_told(lock_s or timeout_s))),
        "idle": str(_ms(timeout_s)),
    }


def _told(seconds: float) -> float:
    return seconds - min(GRACE_S, seconds / 10)


def _ms(seconds: float) -> int:
    return max(1, round(seconds * 1000))


class Line:
    """One connection for the length of one call.

    Args:
        connection: Held for the call.
        location: Of the database.
        opening: Token of the store.
        ends_at: When the call has to have ended, by the loop's clock.
        nearness: Of the server.

    Attributes:
        is_hung_up: Whether the server did not answer in time and was not waited for.
    """

    def __init__(
        self,
        connection: Connection,
        location: str,
        opening: str,
        ends_at: float,
        nearness: Nearness,
    ) -> None:
        self.is_hung_up = False
        self._ends_at = ends_at
        # What every transaction begins with names it: bind, bind_operator, heads and take_turn.
        self._named = {"opening": opening}
        self._connection = connection
        self._location = location
        self._translating = Translating(location)
        self._wire = Wire(connection, nearness)

    async def run(
        self,
        *statements: Statement,
        timeout_s: float,
        pausing: bool = False,
        takes: Sequence[Take | None] = (),
    ) -> list[list[Row]]:
        """Send statements in one go and return the rows of each.

        Args:
            statements: In their order; the first that fails ends all.
            timeout_s: Seconds after which the connection is given up.
            pausing: Whether to give others a turn when they are sent, answered or not.
            takes: Of the first so many statements, what takes in their rows.

        Raises:
            StoreError: As the server says, or if it says nothing in time.
            ValueError: If a value does not fit.
        """
        with self._in_time(timeout_s), self._translating:
            sent = starmap(self._sent, zip_longest(statements, takes))
            return await self._wire.run(sent, pausing=pausing)

    def send(self, *statements: Statement) -> None:
        """Send statements and let the server begin. Their rows come first with the next
        :meth:`run`; they are a transaction of their own unless they begin one that goes on.

        Raises:
            StoreError: If the connection is gone.
            ValueError: If a value does not fit.
        """
        with self._translating:
            self._wire.send(map(self._sent, statements))

    def _sent(self, statement: Statement, take: Take | None = None) -> Sent:
        name, bound = statement
        if take is None and name in LONG:
            take = list
        return SQL[name], None if bound is None else self._named | bound, take

    @contextmanager
    def _in_time(self, timeout_s: float) -> Iterator[None]:
        """Hang up on a server that lets a block wait for longer, and tell of it."""
        loop = asyncio.get_running_loop()
        now = loop.time()
        ends_at = max(min(now + timeout_s, self._ends_at), now + LAST_S)
        hang_up = loop.call_at(ends_at, self._hang_up)
        try:
            yield
        except StoreUnavailable:
            if self.is_hung_up:
                raise StoreUnavailable(
                    self._location, f"no answer within {ends_at - now:.3g} s"
                ) from None
            raise
        finally:
            hang_up.cancel()

    async def give_up(self, timeout_s: float) -> None:
        """Roll back what is open, if the connection still can; else it goes with it."""
        try:
            with self._translating:
                self._wire.end()
            if self._connection.info.transaction_status is not TransactionStatus.IDLE:
                await self.run(("rollback", None), timeout_s=timeout_s)
        except (StoreError, ValueError):
            # What went wrong was told when it did.
            await self._connection.close()

    def _hang_up(self) -> None:
        """Make whoever waits for an answer see the end of the connection, now."""
        self.is_hung_up = True
        shut_down(self._connection)


MakeLine: TypeAlias = Callable[[Connection, str, str, float, Nearness], Line]


def _is_alive(connection: Connection) -> bool:
    """Whether an idle connection is still there, without asking the server.

    An idle connection has nothing to say; one that the server ended has: its end.
    """
    waiting = select.poll()
    try:
        waiting.register(connection.fileno(), select.POLLIN)
    except psycopg.Error:
        return False
    return not waiting.poll(0)


class Pool:
    """The connections of one event loop, opened with the first call.

    Args:
        address: Of the database.
        size: Most connections at a time.
        timeout_s: Seconds to wait for one, and for each answer.
        opening: Token of the store as it was when it was opened.

    Attributes:
        opening: May be set to a later one, by who knows it.
        make_line: Makes lines of connections; may be set before the first call.
    """

    def __init__(self, address: Address, *, size: int, timeout_s: float, opening: str) -> None:
        self.opening = opening
        self.make_line: MakeLine = Line
        self.location = address.location
        self.timeout_s = timeout_s
        self._address = address
        self._size = size
        self._pool: AsyncConnectionPool[Connection] | None = None
        self._loop: asyncio.AbstractEventLoop | None = None
        self._opening = asyncio.Lock()
        self._nearness = Nearness()
        # One connection is not given back between two calls, unless somebody waits for it: the
        # way through the pool costs as much as sending a statement.
        self._kept: Connection | None = None
        self._kept_until = 0.0
        self._waiting = 0
        self._is_closing = False

    @asynccontextmanager
    async def line(self, timeout_s: float | None = None) -> AsyncIterator[Line]:
        """Hold a connection; what is open at the end of the block is rolled back.

        Args:
            timeout_s: Seconds for the whole call, the wait for a connection included; None means
                as long as for one answer.

        Raises:
            StoreUnavailable: If none comes in time.
        """
        pool = await self._opened()
        limit_s = self.timeout_s if timeout_s is None else timeout_s
        ends_at = asyncio.get_running_loop().time() + limit_s
        connection = await self._taken(pool, min(self.timeout_s, limit_s))
        line = self.make_line(connection, self.location, self.opening, ends_at, self._nearness)
        self._nearness.lines += 1
        try:
            yield line
        finally:
            self._nearness.lines -= 1
            try:
                await line.give_up(self.timeout_s)
            finally:
                await self._give_back(pool, connection)
                if line.is_hung_up:
                    # The others were opened over the same way and may lead nowhere too.
                    await self._let_go(pool)
                    await pool.drain()

    async def ask(self, readable: Sequence[str], *statements: Statement) -> list[list[Row]]:
        """Run reads about some owners in one round trip, and return the rows of each."""
        async with self.line() as line:
            bound = bind(readable, timeout_s=self.timeout_s)
            return (await line.run(bound, *statements, timeout_s=self.timeout_s))[1:]

    async def call(self, statement: str, /, **bound: object) -> list[Row]:
        """Run one statement that binds itself, in its own round trip, and return its rows.

        Between question and answer whoever steps the call by hand may do something else.
        """
        async with self.line() as line:
            limit = {"lock": str(_ms(self.timeout_s))}
            asked = (statement, {**bound, **limit})
            (found,) = await line.run(asked, timeout_s=self.timeout_s, pausing=True)
            return found

    async def view(
        self,
        readable: Sequence[str],
        *statements: Statement,
        takes: Sequence[Take | None] = (),
    ) -> list[list[Row]]:
        """As :meth:`ask`, all statements seeing the same moment.

        Between question and answer whoever steps the call by hand may do something else.

        Args:
            readable: Digests of the owners that may be read.
            statements: In their order.
            takes: Of the first so many statements, what takes in their rows.
        """
        bound = bind(readable, timeout_s=self.timeout_s)
        begin: Statement = ("begin_view", None)
        async with self.line() as line:
            sent = (begin, bound, *statements, ("commit", None))
            how: Any = {"takes": (None, None, *takes), "pausing": True}
            return (await line.run(*sent, timeout_s=self.timeout_s, **how))[2:-1]

    async def ask_as(self, role: str, *statements: Statement) -> list[list[Row]]:
        """Run reads as another role, in one round trip."""
        bound = {"role": role, "statement": str(_ms(_told(self.timeout_s)))}
        async with self.line() as line:
            sent = (("bind_operator", bound), *statements)
            return (await line.run(*sent, timeout_s=self.timeout_s))[1:]

    async def alone(self) -> Connection:
        """Return a connection outside of the pool, for what may take long; the caller closes it.

        Raises:
            StoreUnavailable: If there is none to be had.
        """
        try:
            return await psycopg.AsyncConnection.connect(
                self._address.conninfo, autocommit=True, prepare_threshold=None
            )
        except psycopg.Error as error:
            raise StoreUnavailable(self.location, self._address.said(error)) from None

    async def close(self) -> None:
        """Close idle connections now and the others when their calls are done."""
        if self._pool is not None:
            self._check_loop()
            self._is_closing = True
            await self._let_go(self._pool)
            await self._pool.close(self.timeout_s)

    async def _opened(self) -> AsyncConnectionPool[Connection]:
        if self._pool is not None:
            self._check_loop()
            return self._pool
        async with self._opening:
            if self._pool is None:
                self._loop = asyncio.get_running_loop()
                self._pool = await self._new_pool()
        return self._pool

    async def _new_pool(self) -> AsyncConnectionPool[Connection]:
        pool = AsyncConnectionPool(
            self._address.conninfo,
            connection_class=psycopg.AsyncConnection[Row],
            kwargs={"autocommit": True, "prepare_threshold": None},
            min_size=1,
            max_size=self._size,
            timeout=self.timeout_s,
            reconnect_timeout=self.timeout_s,
            name="memstrata",
            open=False,
        )
        await pool.open()
        return pool

    def _check_loop(self) -> None:
        if asyncio.get_running_loop() is not self._loop:
            raise StoreUnavailable(
                self.location, "in use on another event loop; open a memstrata on each"
            )

    async def _taken(self, pool: AsyncConnectionPool[Connection], limit_s: float) -> Connection:
        kept, self._kept = self._kept, None
        if kept is not None:
            if _is_alive(kept):
                return kept
            await kept.close()
            await pool.putconn(kept)
        deadline = asyncio.get_running_loop().time() + limit_s
        self._waiting += 1
        try:
            return await self._from_pool(pool, deadline, limit_s)
        finally:
            self._waiting -= 1

    async def _from_pool(
        self, pool: AsyncConnectionPool[Connection], deadline: float, limit_s: float
    ) -> Connection:
        loop = asyncio.get_running_loop()
        failures = pool.get_stats().get("connections_errors", 0)
        while True:
            try:
                connection = await pool.getconn(max(deadline - loop.time(), 0.001))
            except PoolTimeout:
                refused = pool.get_stats().get("connections_errors", 0) > failures
                why = (
                    "the server cannot be reached or refuses the role"
                    if refused
                    else f"all {self._size} connections are in use"
                )
                raise StoreUnavailable(
                    self.location, f"no connection within {limit_s:.3g} s: {why}"
                ) from None
            except PoolClosed:
                raise StoreUnavailable(self.location, "the store is closed") from None
            if _is_alive(connection):
                return connection
            await connection.close()
            await pool.putconn(connection)

    async def _give_back(
        self, pool: AsyncConnectionPool[Connection], connection: Connection
    ) -> None:
        """Keep a connection for the next call, if nobody wants it and there is none; else put it
        back into the pool.
        """
        now = asyncio.get_running_loop().time()
        is_kept = self._kept is None and not self._waiting and not self._is_closing
        if not is_kept or connection.closed or now > self._kept_until:
            self._kept_until = now + KEEP_S
            await pool.putconn(connection)
        else:
            self._kept = connection

    async def _let_go(self, pool: AsyncConnectionPool[Connection]) -> None:
        """Put the connection that was kept into the pool."""
        kept, self._kept = self._kept, None
        if kept is not None:
            await pool.putconn(kept)
