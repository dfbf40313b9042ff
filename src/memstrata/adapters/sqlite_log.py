"""Emptying the write-ahead log, in which what was forgotten can still be read.

SQLite empties it by itself only when the last connection of all programs closes in good order.
"""

from pathlib import Path

import apsw

# Milliseconds to wait for readers; what does not succeed is tried again later.
_WAIT_MS = 100


def is_written(database: Path) -> bool:
    """Whether there is anything in the log of a database."""
    try:
        return database.with_name(database.name + "-wal").stat().st_size > 0
    except OSError:
        return False


def empty_log(writer: apsw.Connection, busy_timeout_s: float) -> bool:
    """Copy the log into the database and cut it to nothing; False if that has to wait.

    Call it under the turn. What was copied before is not copied again, so trying it often is
    cheap however long the log.

    Args:
        writer: Of the database, without a transaction.
        busy_timeout_s: The time-out that the connection has otherwise.
    """
    writer.set_busy_timeout(_WAIT_MS)
    try:
        writer.wal_checkpoint(mode=apsw.SQLITE_CHECKPOINT_TRUNCATE)
    except apsw.Error:
        # A reader still needs the log, or there is no room.
        return False
    finally:
        writer.set_busy_timeout(int(busy_timeout_s * 1000))
    return True
