"""Answers off the wire: waited for where one stands if they come at once, read as they arrive.

A round of an event loop (a watch on the socket, a future, a timer, another call of ``epoll``) costs
more than a short statement of a server nearby. So who is alone with an answer that comes within a
millisecond waits for it in place; who is not, or whose server is farther away, waits on the loop.
"""

import select
import struct
import time
from collections.abc import Callable, Generator, Sequence
from functools import lru_cache
from typing import Any, NamedTuple, TypeAlias

import psycopg
from psycopg import abc
from psycopg.abc import Buffer
from psycopg.adapt import PyFormat, Transformer
from psycopg.errors import error_from_result
from psycopg.pq import ConnStatus, ExecStatus, Format, PipelineStatus, TransactionStatus
from psycopg.pq.abc import PGconn, PGresult
from psycopg.waiting import Ready, Wait

from simonides.storage.schema.sql_files import in_order

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


_LENGTH = struct.Struct(">i")
_NULL = _LENGTH.pack(-1)
# Dimensions, whether there are NULLs, type of the elements, how many, number of the first.
_HEADER = struct.Struct(">iiIii")


def _text(value: str) -> bytes:
    if "\0" in value:
        raise psycopg.DataError("PostgreSQL text fields cannot contain NUL (0x00) bytes")
    return value.encode()


def _number(size: int) -> Callable[[int], bytes]:
    def written(value: int) -> bytes:
        try:
            return value.to_bytes(size, "big", signed=True)
        except OverflowError:
            raise psycopg.DataError(f"{value} has more than {size} bytes") from None

    return written


def _array(element: int, written: Callable[[Any], bytes]) -> Callable[[list[Any]], bytes]:
    empty, one = _HEADER.pack(0, 0, element, 0, 0)[:12], _HEADER.pack(1, 0, element, 1, 1)
    missing = _HEADER.pack(1, 1, element, 1, 1) + _NULL

    def array(values: list[Any]) -> bytes:
        if not values:
            return empty
        if len(values) == 1:
            # Most changes are of one memory.
            if values[0] is None:
                return missing
            raw = written(values[0])
            return b"".join((one, _LENGTH.pack(len(raw)), raw))
        parts = [_HEADER.pack(1, None in values, element, len(values), 1)]
        for value in values:
            if value is None:
                parts.append(_NULL)
            else:
                raw = written(value)
                parts += (_LENGTH.pack(len(raw)), raw)
        return b"".join(parts)

    return array


class Kind(NamedTuple):
    """How the values of a type are sent.

    Attributes:
        oid: The type's number, the same on every server.
        written: From a value to its bytes; raises ``psycopg.DataError`` for one that has none.
    """

    oid: int
    written: Callable[[Any], bytes]


# Name, number of the type, number of its arrays, how one is written.
_SCALARS: tuple[tuple[str, int, int, Callable[[Any], bytes]], ...] = (
    ("bytea", 17, 1001, bytes),
    ("bigint", 20, 1016, _number(8)),
    ("smallint", 21, 1005, _number(2)),
    ("text", 25, 1009, _text),
)

KINDS: dict[str, Kind] = {
    **{name: Kind(oid, written) for name, oid, _, written in _SCALARS},
    **{f"{name}[]": Kind(many, _array(oid, written)) for name, oid, many, written in _SCALARS},
}
"""By what a statement casts to; other types are the driver's to find out."""


Sent: TypeAlias = tuple[bytes, dict[str, Any] | None, Take | None]
"""A statement, the values bound to it, and if its rows are many, what takes them in."""

# A statement with its values, their types and formats, as libpq takes them.
_Message: TypeAlias = tuple[
    bytes, Sequence[Buffer | None] | None, Sequence[int] | None, Sequence[Format] | None
]


class _Form(NamedTuple):
    """A statement as libpq takes it, and how each of its values is sent.

    Attributes:
        text: With numbers for names.
        names: Of the values, by number.
        kinds: Of the values; None for those that the driver has to look at.
        types: Of the values, where they are known.
        formats: Binary, where the type is known.
    """

    text: bytes
    names: tuple[str, ...]
    kinds: tuple[Kind | None, ...]
    types: tuple[int, ...]
    formats: tuple[Format, ...]


@lru_cache(maxsize=1024)
def _form(statement: bytes) -> _Form:
    text, casts = in_order(statement.decode(), KINDS)
    kinds = tuple(KINDS.get(cast) for cast in casts.values())
    types = tuple(kind.oid if kind else 0 for kind in kinds)
    formats = tuple(Format.BINARY if kind else Format.TEXT for kind in kinds)
    return _Form(text.encode(), tuple(casts), kinds, types, formats)


class _Pause:
    """Gives others a turn: the loop's, or who has begun the call and goes on with it later."""

    def __await__(self) -> Generator[None, None, None]:
        yield


def _going_on(reading: Waiting, waits_for: Wait) -> Waiting:
    """Go on with what has been taken up to where it waits."""
    while True:
        came: Ready | int = yield waits_for
        try:
            waits_for = reading.send(came)
        except StopIteration as done:
            found: list[list[Row]] = done.value
            return found


class Wire:
    """The wire of one connection; one call at a time is on it.

    Args:
        connection: In autocommit mode.
        nearness: Of the server.

    Attributes:
        connection: The same.

    Raises:
        psycopg.Error: If the connection has ended.
    """

    def __init__(self, connection: psycopg.AsyncConnection[Row], nearness: Nearness) -> None:
        self.connection = connection
        self._nearness = nearness
        self._pgconn = connection.pgconn
        self._more = select.poll()
        self._more.register(self._pgconn.socket, select.POLLIN)
        # What was sent and not answered: for each group that ends with a sync, what takes in the
        # rows of its statements.
        self._sent: list[Sequence[Take | None]] = []

    @property
    def is_quiet(self) -> bool:
        """Whether an idle connection is still there, without asking the server.

        An idle connection has nothing to say; one that the server ended has: its end.
        """
        return self._pgconn.status == ConnStatus.OK and not self._more.poll(0)

    @property
    def is_idle(self) -> bool:
        """Whether no transaction is open."""
        return self._pgconn.transaction_status == TransactionStatus.IDLE

    @property
    def is_done(self) -> bool:
        """Whether all that was sent was answered, and no transaction is open."""
        return not self._sent and self.is_idle

    async def run(
        self, asked: Sequence[Sent], *, pausing: bool = False, waiting: Callable[[], None]
    ) -> list[list[Row]]:
        """Send statements in one go and return the rows of each.

        The server takes them as one transaction, unless they begin or end one.

        Args:
            asked: In their order.
            pausing: Whether to give others a turn when they are sent, answered or not.
            waiting: Called once the loop has to wait for the answer.

        Raises:
            psycopg.Error: What the first that failed said; those after it did not run.
        """
        is_piped = len(asked) > 1 or bool(self._sent)
        self._send(asked, is_piped=is_piped)
        if pausing:
            self._pgconn.flush()
            await _Pause()
        answers = Answers(self._pgconn, self._nearness, self._more)
        reading = answers.read(self._sent, piped=is_piped)
        came_at_once = False
        try:
            waits_for = next(reading)
        except StopIteration as done:
            found: list[list[Row]] = done.value
            came_at_once = True
        else:
            waiting()
            found = await self.connection.wait(_going_on(reading, waits_for))
        # Where the connection ended, or was cut off in between, this is left to ``end``.
        if is_piped and self._pgconn.status == ConnStatus.OK:
            self._pgconn.exit_pipeline_mode()
        self._sent = []
        answers.check()
        if came_at_once and self._nearness.is_due():
            await _Pause()
        return found

    def send(self, asked: Sequence[Sent]) -> None:
        """Send statements; their rows come before those of the next :meth:`run`.

        Raises:
            psycopg.Error: If they cannot be sent.
        """
        self._send(asked, is_piped=True)
        # What the system does not take now goes with the next.
        self._pgconn.flush()

    def _send(self, asked: Sequence[Sent], *, is_piped: bool) -> None:
        # All values first: one that cannot be sent must not leave half a message behind.
        sent = [self._converted(statement, bound) for statement, bound, _ in asked]
        if is_piped and not self._sent:
            self._pgconn.enter_pipeline_mode()
        for message in sent:
            self._pgconn.send_query_params(*message, Format.BINARY)
        if is_piped:
            self._pgconn.pipeline_sync()
        self._sent.append([take for _, _, take in asked])

    def end(self) -> None:
        """Make a connection whose last call was broken off fit for the next, if it can be.

        Raises:
            psycopg.Error: If answers to that call are still to come.
        """
        self._sent = []
        if self._pgconn.pipeline_status != PipelineStatus.OFF:
            self._pgconn.exit_pipeline_mode()

    def _converted(self, statement: bytes, bound: dict[str, Any] | None) -> _Message:
        form = _form(statement)
        if bound is None or not form.names:
            return form.text, None, None, None
        if None in form.kinds:
            return self._found_out(form, bound)
        values = [
            None if (value := bound[name]) is None else kind.written(value)
            for name, kind in zip(form.names, form.kinds, strict=True)
            if kind is not None
        ]
        return form.text, values, form.types, form.formats

    def _found_out(self, form: _Form, bound: dict[str, Any]) -> _Message:
        """Convert with the driver's help what is not cast."""
        values: list[Buffer | None] = []
        types: list[int] = []
        formats: list[Format] = []
        # Of the connection: it says how bytes are quoted.
        converter = Transformer(self.connection)
        for name, kind in zip(form.names, form.kinds, strict=True):
            value = bound[name]
            if kind is None:
                values += converter.dump_sequence([value], [PyFormat.AUTO])
                types += converter.types or (0,)
                formats += converter.formats or (Format.TEXT,)
            else:
                values.append(None if value is None else kind.written(value))
                types.append(kind.oid)
                formats.append(Format.BINARY)
        return form.text, values, types, formats
