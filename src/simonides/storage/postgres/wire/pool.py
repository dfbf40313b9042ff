"""Connections of one process, and the way in which every call uses one.

Statements travel together: a :class:`Line` sends any number of them in one pipeline and waits once.
Outside an explicit transaction the server takes such a pipeline as one, so that a read is two
statements, who may be seen and what is asked, and one round trip.

Nothing of a session outlives its transaction, so a pooler that hands connections out by
transaction may stand between. Nothing is prepared: a plan would outlive the settings it was made
under.
"""

import asyncio
import time
import types
from collections.abc import Coroutine, Generator, Iterable, Sequence
from contextlib import AbstractAsyncContextManager
from types import TracebackType
from typing import Any, TypeAlias

import psycopg
from psycopg_pool import AsyncConnectionPool, PoolClosed, PoolTimeout

from simonides.domain.errors import StoreUnavailable
from simonides.storage.postgres.schema import Address
from simonides.storage.postgres.wire.pipeline import Line as Line
from simonides.storage.postgres.wire.pipeline import MakeLine as MakeLine
from simonides.storage.postgres.wire.pipeline import Statement as Statement
from simonides.storage.postgres.wire.protocol import Nearness, Wire
from simonides.storage.postgres.wire.protocol import Row as Row
from simonides.storage.postgres.wire.protocol import Take as Take

Connection: TypeAlias = psycopg.AsyncConnection[Row]

GRACE_S = 1.0
"""Seconds before ours at which the server's own time-outs end, so that it can tell of them; never
more than a tenth of them. Chosen."""

KEEP_S = 60.0
"""Seconds after which a connection goes through the pool, which ends those that are old. Chosen:
often enough for that, seldom enough to cost nothing."""


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
        self._kept: Wire | None = None
        self._kept_until = 0.0
        self._waiting = 0
        # Nobody else has hold of them.
        self._putting = set[asyncio.Future[None]]()
        self._is_closing = False

    def line(self, timeout_s: float | None = None) -> AbstractAsyncContextManager[Line]:
        """Hold a connection; what is open at the end of the block is rolled back.

        Args:
            timeout_s: Seconds for the whole call, the wait for a connection included; None means
                as long as for one answer.

        Raises:
            StoreUnavailable: If none comes in time.
        """
        return _Held(self, self.timeout_s if timeout_s is None else timeout_s)

    def at_hand(self, limit_s: float) -> Line | None:
        """Take the connection that was kept, for a call that may last for so many seconds; None if
        there is none, or it has ended.
        """
        kept = self._kept
        if kept is None or not kept.is_quiet:
            return None
        self._check_loop()
        self._kept = None
        return self._line_of(kept, asyncio.get_running_loop().time() + limit_s)

    async def take(self, limit_s: float) -> Line:
        """Take a connection for a call that may last for so many seconds; see :meth:`line`."""
        pool = await self._opened()
        ends_at = asyncio.get_running_loop().time() + limit_s
        return self._line_of(await self._taken(pool, min(self.timeout_s, limit_s)), ends_at)

    def _line_of(self, wire: Wire, ends_at: float) -> Line:
        self._nearness.lines += 1
        return self.make_line(wire, self.location, self.opening, ends_at)

    def is_kept(self, line: Line) -> bool:
        """Keep the connection of a call that is done for the next one, if nobody wants it and there
        is none; else it is to be given back.
        """
        is_free = self._kept is None and not self._waiting and not self._is_closing
        if not (is_free and line.is_done) or time.monotonic() > self._kept_until:
            return False
        self._nearness.lines -= 1
        self._kept = line.wire
        return True

    async def give_back(self, line: Line) -> None:
        """Put the connection of a call back into the pool, which ends those that are old."""
        pool = await self._opened()
        self._nearness.lines -= 1
        self._kept_until = time.monotonic() + KEEP_S
        try:
            if not line.is_done:
                await line.give_up(self.timeout_s)
        finally:
            await self._put(pool, line.wire.connection)
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
            name="simonides",
            open=False,
        )
        await pool.open()
        return pool

    def _check_loop(self) -> None:
        if asyncio.get_running_loop() is not self._loop:
            raise StoreUnavailable(
                self.location, "in use on another event loop; open a simonides on each"
            )

    async def _taken(self, pool: AsyncConnectionPool[Connection], limit_s: float) -> Wire:
        kept, self._kept = self._kept, None
        if kept is not None:  # It has ended: it was not at hand.
            await kept.connection.close()
            await self._put(pool, kept.connection)
        deadline = asyncio.get_running_loop().time() + limit_s
        self._waiting += 1
        try:
            return await self._from_pool(pool, deadline, limit_s)
        finally:
            self._waiting -= 1

    async def _from_pool(
        self, pool: AsyncConnectionPool[Connection], deadline: float, limit_s: float
    ) -> Wire:
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
            wire = self._wire_of(connection)
            if wire is not None:
                return wire
            await connection.close()
            await self._put(pool, connection)

    def _wire_of(self, connection: Connection) -> Wire | None:
        """Return the wire of a connection, None if that has ended."""
        try:
            wire = Wire(connection, self._nearness)
        except psycopg.Error:
            return None
        return wire if wire.is_quiet else None

    async def _let_go(self, pool: AsyncConnectionPool[Connection]) -> None:
        """Put the connection that was kept into the pool."""
        kept, self._kept = self._kept, None
        if kept is not None:
            await self._put(pool, kept.connection)

    async def _put(self, pool: AsyncConnectionPool[Connection], connection: Connection) -> None:
        """Put a connection into the pool, also if the call that had it is cancelled meanwhile: the
        pool would count it as in use for ever.
        """
        putting = pool.putconn(connection)
        try:
            waits_for = putting.send(None)
        except StopIteration:
            return
        await asyncio.shield(self._beside(_going_on(putting, waits_for)))

    def _beside(self, work: Coroutine[Any, Any, None]) -> asyncio.Future[None]:
        putting = asyncio.ensure_future(work)
        self._putting.add(putting)
        putting.add_done_callback(self._putting.discard)
        return putting


@types.coroutine
def _going_on(call: Coroutine[Any, Any, None], waits_for: Any) -> Generator[Any, Any, None]:
    """Go on with a call that has been taken up to where it waits."""
    while True:
        came = yield waits_for
        try:
            waits_for = call.send(came)
        except StopIteration:
            return


class _Held:
    """Async context manager that holds a connection of a pool for a call."""

    def __init__(self, pool: Pool, limit_s: float) -> None:
        self._pool = pool
        self._limit_s = limit_s

    async def __aenter__(self) -> Line:
        pool, limit_s = self._pool, self._limit_s
        self._line = pool.at_hand(limit_s) or await pool.take(limit_s)
        return self._line

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if not self._pool.is_kept(self._line):
            await self._pool.give_back(self._line)
