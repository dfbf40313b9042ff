"""Backups of a whole store: what they are called, which are kept, and what is told of them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import NamedTuple

from simonides.domain.value import Value

_AT = "%Y%m%dT%H%M%S.%fZ"
_END = ".db"


class BackupName(NamedTuple):
    """What the name of a backup says.

    Attributes:
        store: Which store's it is.
        at: When it was taken, by the clock of who took it.
    """

    store: str
    at: datetime

    @property
    def file(self) -> str:
        """The name; names of one store sort by time."""
        return f"{self.store}-{self.at.astimezone(UTC).strftime(_AT)}{_END}"

    @classmethod
    def parse(cls, file: str) -> BackupName | None:
        """Return what a name says, or None if it is not one of ours."""
        store, _, at = file.removesuffix(_END).rpartition("-")
        try:
            named = cls(store, datetime.strptime(at, _AT).replace(tzinfo=UTC))
        except ValueError:
            return None
        return named if store and named.file == file else None


def superfluous(files: Iterable[str], store: str, keep: int) -> Sequence[str]:
    """Return those backups of a store that need not be kept, the oldest first.

    Args:
        files: Names in the directory; those that are not of this store are left alone.
        store: Whose backups.
        keep: How many of the newest stay, at least 1.
    """
    named = [(file, BackupName.parse(file)) for file in files]
    ours = sorted(file for file, name in named if name is not None and name.store == store)
    return ours[: max(len(ours) - keep, 0)]


@dataclass(frozen=True, slots=True)
class BackupReport(Value):
    """A backup that was taken and verified.

    Attributes:
        path: The file, absolute.
        at: When it was begun; what was committed by then is in it.
        size_bytes: Of the file.
        owners: How many owners are in it.
        events: How many audit events were verified in it.
        removed: Older backups that were removed, the oldest first.
    """

    path: str
    at: datetime
    size_bytes: int
    owners: int
    events: int
    removed: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class RestoredStore(Value):
    """A store that went back to a backup.

    Attributes:
        path: The backup, absolute.
        owners: How many owners are in it.
        events: How many audit events were verified in it.
        forgotten: Memories of the backup that had been forgotten since, and stay so.
    """

    path: str
    owners: int
    events: int
    forgotten: int
