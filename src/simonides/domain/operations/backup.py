"""Backups of a whole store: file names, retention and reports."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import NamedTuple

from simonides.domain.value import Value

_AT = "%Y%m%dT%H%M%S.%fZ"
_END = ".db"


class BackupName(NamedTuple):
    """The parsed file name of a backup.

    Attributes:
        store: Name of the store.
        at: Time of the backup, by the clock of the process that took it.
    """

    store: str
    at: datetime

    @property
    def file(self) -> str:
        """The file name; names of one store sort by time."""
        return f"{self.store}-{self.at.astimezone(UTC).strftime(_AT)}{_END}"

    @classmethod
    def parse(cls, file: str) -> BackupName | None:
        """Parse a file name; None if it is not the name of a backup."""
        store, _, at = file.removesuffix(_END).rpartition("-")
        try:
            named = cls(store, datetime.strptime(at, _AT).replace(tzinfo=UTC))
        except ValueError:
            return None
        return named if store and named.file == file else None


def superfluous(files: Iterable[str], store: str, keep: int) -> Sequence[str]:
    """Return the backups of a store to be removed, oldest first.

    Args:
        files: Names in the directory; other files are ignored.
        store: Name of the store.
        keep: Number of newest backups to keep, at least 1.
    """
    named = [(file, BackupName.parse(file)) for file in files]
    ours = sorted(file for file, name in named if name is not None and name.store == store)
    return ours[: max(len(ours) - keep, 0)]


@dataclass(frozen=True, slots=True)
class BackupReport(Value):
    """A backup that was taken and verified.

    Attributes:
        path: The file, absolute.
        at: Start of the backup; it holds all earlier commits.
        size_bytes: Size of the file.
        owners: Number of owners in it.
        events: Number of verified audit events in it.
        removed: Older backups that were removed, oldest first.
    """

    path: str
    at: datetime
    size_bytes: int
    owners: int
    events: int
    removed: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class RestoredStore(Value):
    """A store restored from a backup.

    Attributes:
        path: The backup, absolute.
        owners: Number of owners in it.
        events: Number of verified audit events in it.
        forgotten: Memories forgotten after the backup was taken, which stay forgotten.
    """

    path: str
    owners: int
    events: int
    forgotten: int
