"""What PostgreSQL and its driver complain about, in the words of our own error tree."""

from types import TracebackType

import psycopg

from simonides.domain.errors import (
    StoreCorrupt,
    StoreError,
    StoreFull,
    StoreReadOnly,
    StoreUnavailable,
)

REFUSED = "SI001"
"""SQLSTATE of ``simonides.require``: the caller's change does not fit what is stored."""

UNFORESEEN = "SI003"
"""SQLSTATE of ``simonides.take_turn_as_foreseen``: see :class:`Unforeseen`."""

NOT_FORESEEN = "the owner is not sealed as was foreseen"
"""Message by which ``simonides.require`` says as much of a seal."""


class Unforeseen(StoreUnavailable):
    """An owner does not stand as its writer foresaw, and nothing was written. The writer takes its
    turn and decides again; no caller sees this.
    """


# Classes and codes of https://www.postgresql.org/docs/current/errcodes-appendix.html
_FULL = frozenset({"53100"})
_READ_ONLY = frozenset({"25006"})
_NOT_OURS = frozenset({"42501", "42P01", "42703", "42883", "3F000", "42704"})
_LOCKED = frozenset({"55P03"})
_TOO_LATE = frozenset({"57014"})
_DAMAGED = frozenset({"XX001", "XX002", "22P02"})

# What a change may meet, by the table whose key it would repeat.
_EXISTS = {
    "memories": "memory",
    "states": "memory",
    "index_rows": "memory",
    "idempotency": "idempotency key",
    "outbox": "outbox item",
}


def translated(location: str, error: psycopg.Error) -> StoreError | ValueError:
    """Return the error of ours that says what the caller can do about it.

    Args:
        location: Address of the store, without credentials.
        error: What was raised.
    """
    state, text = error.sqlstate or "", _line_of(error)
    if state == UNFORESEEN or (state == REFUSED and text == NOT_FORESEEN):
        return Unforeseen(location, text)
    if state == REFUSED or (not state and isinstance(error, psycopg.DataError)):
        # Without a state the driver itself refused a value: a NUL in a text.
        return ValueError(text)
    if state == "23505" and error.diag.table_name in _EXISTS:
        return ValueError(f"the {_EXISTS[error.diag.table_name]} exists")
    if state in _FULL:
        return StoreFull(location, f"no space is left: {text}")
    if state in _READ_ONLY:
        return StoreReadOnly(location, f"cannot be written: {text}")
    if state in _NOT_OURS:
        return StoreCorrupt(
            location, f"the tables or rights are not those of a simonides store: {text}"
        )
    if state in _DAMAGED or state.startswith("23"):
        return StoreCorrupt(location, f"the store is damaged: {text}")
    if state in _LOCKED:
        return StoreUnavailable(
            location, f"the write turn did not come within the time-out: {text}"
        )
    if state in _TOO_LATE:
        return StoreUnavailable(location, f"no answer within the time-out: {text}")
    return StoreUnavailable(location, text)


def _line_of(error: psycopg.Error) -> str:
    """Return the message in one line, without the hints that repeat our own statements."""
    said = error.diag.message_primary or str(error)
    return " ".join(said.split()) or type(error).__name__


class Translating:
    """Context manager that raises :func:`translated` errors from those of the driver.

    It keeps no state and may be entered by many tasks at once.
    """

    def __init__(self, location: str) -> None:
        self._location = location

    def __enter__(self) -> None:
        return None

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if isinstance(error, psycopg.Error):
            raise translated(self._location, error) from error
