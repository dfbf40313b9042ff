"""Answers off the wire: waited for where one stands if they come at once, read as they arrive.

A round of an event loop (a watch on the socket, a future, a timer, another call of ``epoll``) costs
more than a short statement of a server nearby. So who is alone with an answer that comes within a
millisecond waits for it in place; who is not, or whose server is farther away, waits on the loop.
"""

import select
import time
from collections.abc import Callable, Generator, Sequence
from typing import Any, TypeAlias

import psycopg
from psycopg import abc
from psycopg.adapt import Transformer
from psycopg.errors import error_from_result
from psycopg.pq import ConnStatus, ExecStatus
from psycopg.pq.abc import PGconn, PGresult
from psycopg.waiting import Ready, Wait

Row: TypeAlias = tuple[Any, ...]

Take: TypeAlias = Callable[[list[Row]], list[Any]]
"""Takes in some of the rows of a long answer, while the server goes on, and returns what is left
of them to be returned with the others."""

IN_PLACE_MS = 1
"""Longest wait without asking the event loop, milliseconds; the least that ``poll`` knows. Ranking
the memories of one recall takes as long, and nobody else on the loop gets a turn then either."""

PIECE = 100
"""Rows of a long answer that are read at once. Chosen: some 100 kB, a tenth of the time that the
server takes for an owner of 1,000 memories, so that reading hides behind it."""

AT_ONCE_S = 0.005
"""Longest time without a turn for others on the event loop, seconds, of answers that one after the
other came in place. Chosen: a program that does nothing but recall gives one after some ten."""

IN_PIECES_S = 0.005
"""Longest time for which the pieces of one answer are waited for in place, seconds. Chosen: many
times what a way round the loop takes; the deadline of a call is kept by the loop."""

Waiting: TypeAlias = Generator[Wait, Ready | int, list[list[Row]]]
"""How the driver waits for a connection: it is told what for, and answers with what came."""

_FINE = (ExecStatus.TUPLES_OK, ExecStatus.COMMAND_OK, ExecStatus.TUPLES_CHUNK)
# Number of the type ``void``: the row of a function that returns nothing says nothing.
_NOTHING = 2278

_HAS_PIECES = psycopg.capabilities.has_stream_chunked()


class Nearness:
    """Whether answers are worth waiting for in place; one for all connections of a pool.

    Attributes:
        lines: How many connections are in use: of several, each would hold up the others.
    """

    def __init__(self) -> None:
        self.lines = 0
        self._is_near = True
        self._turned_at = 0.0

    @property
    def is_in_place(self) -> bool:
        """Whether to wait for the next answer in place."""
        return self._is_near and self.lines <= 1

    def note(self, spent_s: float) -> None:
        """Take note of how long the beginning of an answer took."""
        self._is_near = spent_s * 1000 < IN_PLACE_MS

    def is_due(self) -> bool:
        """Whether others on the loop have waited for long enough; if so they get a turn now."""
        now = time.monotonic()
        if now - self._turned_at < AT_ONCE_S:
            return False
        self._turned_at = now
        return True


class Answers:
    """Reads what a server says to statements that were sent.

    Args:
        pgconn: Their connection.
        nearness: Of the server.
        more: Tells whether the connection has something to take in.
    """

    def __init__(self, pgconn: PGconn, nearness: Nearness, more: select.poll) -> None:
        self._pgconn = pgconn
        self._nearness = nearness
        self._more = more
        self._sent_at = time.monotonic()
        self._in_place_until = self._sent_at + IN_PIECES_S
        self._refused: PGresult | None = None
        # Once an answer has begun the next piece of it is under way: a way round the loop for each
        # of a snapshot's cost more than reading them: 13.6 ms with, 5.8 ms without, for 0.9 MB.
        self._has_begun = False

    def check(self) -> None:
        """Check that all was answered and nothing refused.

        Raises:
            psycopg.Error: What the first statement that failed said.
        """
        if self._refused is not None:
            raise error_from_result(self._refused, "utf-8")
        if not self._is_there:
            raise psycopg.OperationalError("the connection ended before the answer")

    def read(self, groups: Sequence[Sequence[Take | None]], *, piped: bool) -> Waiting:
        """Return the rows of each statement; driven as the driver drives its own generators.

        Args:
            groups: Of each statement whose rows are many, what takes them in; None of others.
            piped: Whether each group was sent as a pipeline, which ends with a sync.

        Raises:
            psycopg.OperationalError: If the server hung up without saying why.
        """
        # Reads while it writes: a server that cannot send what it has would not read on.
        while self._pgconn.flush():
            if (yield Wait.RW) in (Ready.R, Ready.RW):
                self._pgconn.consume_input()
        found: list[list[Row]] = []
        for takes in groups:
            for take in takes:
                if take and _HAS_PIECES and self._is_there and self._refused is None:
                    self._pgconn.set_chunked_rows_mode(PIECE)
                found.append((yield from self._rows(take or _as_they_are)))
            if piped:
                yield from self._synced()
        return found

    def _synced(self) -> Generator[Wait, Ready | int, None]:
        """Read up to the end of a group. What is said before it is of the end of its transaction,
        which may fail too.
        """
        while self._is_there:
            if self._is_coming:
                yield from self._arrival()
            result = self._pgconn.get_result()
            if result is not None and result.status == ExecStatus.PIPELINE_SYNC:
                return
            if result is not None:
                self._refused = self._refused or result

    @property
    def _is_there(self) -> bool:
        return self._pgconn.status == ConnStatus.OK

    @property
    def _is_coming(self) -> bool:
        """Whether the next result is still to be taken in, None behind the last included."""
        return self._pgconn.status == ConnStatus.OK and bool(self._pgconn.is_busy())

    def _rows(self, take: Take) -> Generator[Wait, Ready | int, list[Row]]:
        """Return the rows of one statement; none where it calls what returns nothing."""
        rows: list[Row] = []
        reader: abc.Transformer | None = None
        while True:
            if self._is_coming:
                yield from self._arrival()
            result = self._pgconn.get_result()
            if result is None:
                # Behind the last of a statement or of a connection.
                return rows
            if result.status not in _FINE:
                self._refused = self._refused or result
            elif result.ntuples and result.ftype(0) != _NOTHING:
                is_first = reader is None
                reader = reader or Transformer()
                reader.set_pgresult(result, set_loaders=is_first)
                rows += take(reader.load_rows(0, result.ntuples, tuple))

    def _arrival(self) -> Generator[Wait, Ready | int, None]:
        """Take in what comes until the next result is there."""
        while self._is_coming:
            is_in_place = self._has_begun or self._nearness.is_in_place
            # One whose pieces never stop coming has a deadline too, which the loop keeps.
            is_in_place = is_in_place and time.monotonic() < self._in_place_until
            if is_in_place and self._more.poll(IN_PLACE_MS):
                self._has_begun = True
            else:
                yield from self._on_the_loop()
            try:
                self._pgconn.consume_input()
            except psycopg.OperationalError:
                # If the server said why before it hung up, that is what is told.
                if self._refused is None:
                    raise

    def _on_the_loop(self) -> Generator[Wait, Ready | int, None]:
        # The driver also asks from time to time though nothing came.
        while not (yield Wait.R):
            continue
        now = time.monotonic()
        self._in_place_until = now + IN_PIECES_S
        if not self._has_begun:
            self._has_begun = True
            self._nearness.note(now - self._sent_at)


def _as_they_are(rows: list[Row]) -> list[Row]:
    return rows
