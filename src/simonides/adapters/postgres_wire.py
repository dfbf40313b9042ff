"""Statements on the wire: many in one message to the server, one wait, no more Python than needed.

psycopg's cursors and its pipeline cost several times what a short statement costs the server. Here
the driver's own libpq handle is given the statements as they are, and the driver's own converters
make the values and the rows. It is the extended protocol and its pipeline all the same.
"""

import select
from collections.abc import Callable, Generator, Sequence
from functools import lru_cache
from typing import Any, NamedTuple, TypeAlias

import psycopg
from psycopg.abc import Buffer
from psycopg.adapt import PyFormat, Transformer
from psycopg.pq import ConnStatus, Format, PipelineStatus, TransactionStatus
from psycopg.waiting import Ready, Wait

from simonides.adapters.postgres_answers import Answers, Nearness, Row, Take, Waiting
from simonides.adapters.postgres_values import KINDS, Kind
from simonides.adapters.sql import in_order

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
