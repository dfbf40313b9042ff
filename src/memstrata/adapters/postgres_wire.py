"""Statements on the wire: many in one message to the server, one wait, no more Python than needed.

psycopg's cursors and its pipeline cost several times what a short statement costs the server. Here
the driver's own libpq handle is given the statements as they are, and the driver's own converters
make the values and the rows. It is the extended protocol and its pipeline all the same.
"""

from collections.abc import Generator, Iterable, Sequence
from functools import lru_cache
from typing import Any, TypeAlias

import psycopg
from psycopg.abc import Buffer
from psycopg.adapt import PyFormat, Transformer
from psycopg.errors import error_from_result
from psycopg.pq import ConnStatus, ExecStatus, Format, PipelineStatus
from psycopg.pq.abc import PGconn, PGresult
from psycopg.waiting import Ready, Wait

from memstrata.adapters.sql import in_order

Row: TypeAlias = tuple[Any, ...]

# A statement with its values, their types and formats, as libpq takes them.
_Message: TypeAlias = tuple[
    bytes, Sequence[Buffer | None] | None, Sequence[int] | None, Sequence[Format] | None
]

# How the driver waits for a connection: it is told what for, and answers with what came.
_Waiting: TypeAlias = Generator[Wait, Ready | int, list[PGresult]]

_FINE = (ExecStatus.TUPLES_OK, ExecStatus.COMMAND_OK)


@lru_cache(maxsize=1024)
def _positional(statement: bytes) -> tuple[bytes, tuple[str, ...], list[PyFormat]]:
    text, names = in_order(statement.decode())
    return text.encode(), names, [PyFormat.AUTO] * len(names)


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
        self._pgconn.enter_pipeline_mode()
        for text, values, types, formats in sent:
            self._pgconn.send_query_params(text, values, types, formats, Format.BINARY)
        self._pgconn.pipeline_sync()
        results = await self._connection.wait(_answers(self._pgconn))
        for result in results:
            if result.status not in _FINE:
                raise error_from_result(result, "utf-8")
        if len(results) < len(sent):
            raise psycopg.OperationalError("the connection ended before the answer")
        self._pgconn.exit_pipeline_mode()
        return [_rows(result) if result.nfields else [] for result in results]

    def end(self) -> None:
        """Make a connection whose last call was broken off fit for the next, if it can be.

        Raises:
            psycopg.Error: If answers to that call are still to come.
        """
        if self._pgconn.pipeline_status != PipelineStatus.OFF:
            self._pgconn.exit_pipeline_mode()

    def _converted(self, statement: bytes, bound: dict[str, Any] | None) -> _Message:
        text, names, formats = _positional(statement)
        if not names or bound is None:
            return text, None, None, None
        # Of the connection: it says how bytes in a list are quoted.
        converter = Transformer(self._connection)
        values = converter.dump_sequence([bound[name] for name in names], formats)
        return text, values, converter.types, converter.formats


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
    while pgconn.status == ConnStatus.OK:
        while pgconn.is_busy():
            # The driver also asks from time to time though nothing came.
            while not (yield Wait.R):
                continue
            try:
                pgconn.consume_input()
            except psycopg.OperationalError:
                # The server may have said why before it hung up.
                if all(result.status in _FINE for result in results):
                    raise
                return results
        result = pgconn.get_result()
        if result is not None and result.status == ExecStatus.PIPELINE_SYNC:
            break
        if result is not None:
            results.append(result)
    return results
