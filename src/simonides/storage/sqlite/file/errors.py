"""What SQLite and the operating system complain about, in the words of our own error tree."""

import errno
from types import TracebackType

import apsw

from simonides.domain.errors import (
    SimonidesError,
    StoreCorrupt,
    StoreError,
    StoreFull,
    StoreReadOnly,
    StoreUnavailable,
)

_FULL = frozenset({errno.ENOSPC, errno.EDQUOT, errno.EFBIG})
READ_ONLY = frozenset({errno.EACCES, errno.EPERM, errno.EROFS})
"""Numbers of the system's errors that say that a place may not be written."""

_CORRUPT = (apsw.CorruptError, apsw.NotADBError, apsw.FormatError, apsw.ConstraintError)


def translated(
    location: str,
    error: apsw.Error | OSError | UnicodeDecodeError,
    number: int = 0,
    what: str = "simonides store",
) -> StoreError:
    """Return the error of ours that says what the caller can do about it.

    Args:
        location: Path of the file.
        error: What was raised.
        number: The operating system's error number behind an SQLite error, where known.
        what: What the file should be.
    """
    number = error.errno or 0 if isinstance(error, OSError) else number
    text = str(error)
    if isinstance(error, apsw.FullError) or number in _FULL:
        return StoreFull(location, f"no space is left: {text}")
    if isinstance(error, apsw.ReadOnlyError) or number in READ_ONLY:
        return StoreReadOnly(location, f"cannot be written: {text}")
    if isinstance(error, UnicodeDecodeError):
        return StoreCorrupt(location, f"a column of text holds what is none: {text}")
    if isinstance(error, _CORRUPT):
        return StoreCorrupt(location, f"the file is damaged or is no {what}: {text}")
    if isinstance(error, apsw.SQLError):
        # All statements are ours, so one that does not fit means another schema.
        return StoreCorrupt(location, f"the tables are not those of a {what}: {text}")
    if isinstance(error, (apsw.BusyError, apsw.LockedError)):
        return StoreUnavailable(location, f"locked by another program past the time-out: {text}")
    return StoreUnavailable(location, text)


class Translating:
    """Context manager that raises :func:`translated` errors from those of vendors.

    It keeps no state and may be entered by many threads at once.

    Args:
        location: Path of the store.
        connection: The one whose errors these are, where there is only one.
    """

    def __init__(self, location: str, connection: apsw.Connection | None = None) -> None:
        self._location = location
        self._connection = connection

    def __enter__(self) -> None:
        return None

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        # Some of our own errors are also the system's kind.
        is_told = isinstance(error, SimonidesError)
        if isinstance(error, (apsw.Error, OSError, UnicodeDecodeError)) and not is_told:
            number = 0 if self._connection is None else self._connection.system_errno
            raise translated(self._location, error, number) from error
