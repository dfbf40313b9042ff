"""Statements on the wire: many in one message to the server, one wait, no more Python than needed.

psycopg's cursors and its pipeline cost several times what a short statement costs the server. Here
the driver's own libpq handle is given the statements as they are, and the driver's own converters
make the values and the rows. It is the extended protocol and its pipeline all the same.
"""

import select
from collections.abc import Generator, Iterable, Sequence
from functools import lru_cache
from typing import Any, NamedTuple, TypeAlias

import psycopg
from psycopg.abc import Buffer
from psycopg.adapt import PyFormat, Transformer
from psycopg.errors import error_from_result
from psycopg.generators import execute
from psycopg.pq import ConnStatus, ExecStatus, Format, PipelineStatus
from psycopg.pq.abc import PGconn, PGresult
from psycopg.waiting import Ready, Wait

from memstrata.adapters.postgres_values import KINDS, Kind
from memstrata.adapters.sql import in_order

Row: TypeAlias = tuple[Any, ...]

NEXT_PIECE_MS = 1
"""How long an answer that is under way is waited for without asking the event loop, milliseconds.
A snapshot comes in pieces of 8 to 64 kB, and a way round the loop for each cost more than reading
them: 13.6 ms with, 5.8 ms without, for 0.9 MB on a socket of the machine."""

# A statement with its values, their types and formats, as libpq takes them.
_Message: TypeAlias = tuple[
    bytes, Sequence[Buffer | None] | None, Sequence[int] | None, Sequence[Format] | None
]

# How the driver waits for a connection: it is told what for, and answers with what came.
_Waiting: TypeAlias = Generator[Wait, Ready | int, list[PGresult]]

_FINE = (ExecStatus.TUPLES_OK, ExecStatus.COMMAND_OK)


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
    text, casts = in_order(statement.decode())
    kinds = tuple(KINDS.get(cast) for cast in casts.values())
    types = tuple(kind.oid if kind else 0 for kind in kinds)
    formats = tuple(Format.BINARY if kind else Format.TEXT for kind in kinds)
    return _Form(text.encode(), tuple(casts), kinds, types, formats)


class Wire:
    """The wire of one connection, for as long as nobody else uses it.

    Args:
        connection: In autocommit mode.
    """

    def __init__(self, connection: psycopg.AsyncConnection[Row]) -> None:
        self._connection = connection
        self._pgconn = connection.pgconn

    async def run(
        self, statements: Iterable[tuple[bytes, dict[str, Any] | None]]
    ) -> list[list[Row]]:
        """Send statements in one go and return the rows of each.

        The server takes them as one transaction, unless they begin or end one.

        Raises:
            psycopg.Error: What the first that failed said; those after it did not run.
        """
        # All values first: one that cannot be sent must not leave half a message behind.
        sent = [self._converted(statement, bound) for statement, bound in statements]
        results = await (self._asked(sent[0]) if len(sent) == 1 else self._piped(sent))
        for result in results:
            if result.status not in _FINE:
                raise error_from_result(result, "utf-8")
        if len(results) < len(sent):
            raise psycopg.OperationalError("the connection ended before the answer")
        return [_rows(result) if result.nfields else [] for result in results]

    async def _asked(self, message: _Message) -> list[PGresult]:
        """Send one statement; the driver waits for one answer faster than for a pipeline's."""
        self._pgconn.send_query_params(*message, Format.BINARY)
        return await self._connection.wait(execute(self._pgconn))

    async def _piped(self, messages: Sequence[_Message]) -> list[PGresult]:
        self._pgconn.enter_pipeline_mode()
        for message in messages:
            self._pgconn.send_query_params(*message, Format.BINARY)
        self._pgconn.pipeline_sync()
        results = await self._connection.wait(_answers(self._pgconn))
        # Where the connection ended, or was cut off in between, this is left to ``end``.
        if len(results) == len(messages):
            self._pgconn.exit_pipeline_mode()
        return results

    def end(self) -> None:
        """Make a connection whose last call was broken off fit for the next, if it can be.

        Raises:
            psycopg.Error: If answers to that call are still to come.
        """
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
        converter = Transformer(self._connection)
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


def _rows(result: PGresult) -> list[Row]:
    reader = Transformer()
    reader.set_pgresult(result)
    return reader.load_rows(0, result.ntuples, tuple)


def _answers(pgconn: PGconn) -> _Waiting:
    """Return the results of a pipeline up to its end, or to that of the connection.

    Reads while it writes: a server that cannot send what it has would not read on.
    """
    while pgconn.flush():
        if (yield Wait.RW) in (Ready.R, Ready.RW):
            pgconn.consume_input()
    results: list[PGresult] = []
    more = select.poll()
    more.register(pgconn.socket, select.POLLIN)
    has_begun = False
    while pgconn.status == ConnStatus.OK:
        while pgconn.is_busy():
            # The driver also asks from time to time though nothing came.
            while not (has_begun and more.poll(NEXT_PIECE_MS)) and not (yield Wait.R):
                continue
            has_begun = True
            if not _took_in(pgconn, results):
                return results
        result = pgconn.get_result()
        if result is not None and result.status == ExecStatus.PIPELINE_SYNC:
            break
        if result is not None:
            results.append(result)
    return results


def _took_in(pgconn: PGconn, results: Sequence[PGresult]) -> bool:
    """Take in what came; False if the server hung up but had said why before."""
    try:
        pgconn.consume_input()
    except psycopg.OperationalError:
        if all(result.status in _FINE for result in results):
            raise
        return False
    return True
