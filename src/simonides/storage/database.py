"""The interface to a database: reads and writes of named owners, and chores."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager
from pathlib import Path
from threading import Lock
from typing import Any, Protocol

Row = tuple[Any, ...]
"""Cells of None, int, float, str or bytes; the schema says which, strictly."""

Params = Mapping[str, Any]


class Connection(Protocol):
    """A database in a transaction. Its statements are those of `simonides.storage.statements`."""

    def rows(self, sql: str, params: Params) -> list[Row]:
        """Return all rows."""

    def one(self, sql: str, params: Params) -> Row | None:
        """Return the first row, if any."""
        rows = self.rows(sql, params)
        return rows[0] if rows else None

    def run(self, sql: str, params: Params) -> None:
        """Execute one change."""

    def run_many(self, sql: str, many: Sequence[Params]) -> None:
        """Execute the same change with each of several parameters."""


class Database(Protocol):
    """Where memories lie. Thread-safe.

    Attributes:
        backend: ``sqlite`` or ``postgresql``.
        location: Path or address, without credentials.
        address: Path or address that opens it again, with credentials.
        name: What files that are made of it are called by.
        parts: In how many parts all owners are summed; writers of one part wait for each other.
    """

    backend: str
    location: str
    address: str
    name: str
    parts: int

    def read(self, *owners: str, snapshot: bool = False) -> AbstractContextManager[Connection]:
        """Open a read of some owners: each statement fresh, or all of one moment.

        Raises:
            StoreError: If the database cannot be read.
        """

    def write(self, owner: str) -> AbstractContextManager[Connection]:
        """Open a change of one owner; it is durable when the block has ended.

        One change of an owner runs at a time, and waiting calls run in order of arrival. An
        exception inside the block undoes the change.

        Raises:
            StoreError: If the database cannot be written; nothing of the change remains.
        """

    def running(self) -> Lock:
        """Return a lock to hold while a call of this thread runs, in one plain ``with``."""

    def settle(self) -> None:
        """Undo what an interrupted call of this thread left behind."""

    def owners(self) -> list[str]:
        """Return the names of all owners, for operators.

        Raises:
            StoreError: If the database cannot be read.
        """

    def backup(self, path: Path) -> None:
        """Copy everything, as of one moment, to a new file.

        Raises:
            ConfigurationError: If settings or installation do not allow it.
            StoreError: If it cannot be copied.
        """

    def checkpoint(self) -> None:
        """Remove deleted content from logs beside the data, where there are any."""

    def damage(self) -> str:
        """Return the first thing that the database itself finds damaged; empty if there is none."""

    def residue(self, marks: Mapping[int, bytearray]) -> int | None:
        """Return how many of some deleted bytes are still in the files; None if that is not known.

        Args:
            marks: By a length, 16 or another multiple of 8, the bytes of that length, joined. Their
                order may be changed.
        """

    def is_clean_since(self, at: int) -> bool:
        """Whether what was deleted until a moment is in no file any more."""

    def make_room(self) -> None:
        """Give up space that is kept for forgetting on a full disk, where there is any."""

    def before_fork(self) -> None:
        """Come to rest, so that a forked child can open the database anew."""

    def after_fork_in_parent(self) -> None:
        """Go on after a fork."""

    def close(self) -> None:
        """Let go of files and connections."""
