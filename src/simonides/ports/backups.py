"""Stores that can be copied to a file while in use, and restored from one."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Protocol

from simonides.domain.moving import OwnerFacts
from simonides.ports.moving import MovableStore

Pages = Callable[[int, int], None]
"""Called with the pages, or owners, done so far and their total."""


class BackupStore(MovableStore, Protocol):
    """A store that can be backed up; errors are those of :class:`MemoryStore`. A backup is always
    the file of an embedded store, which any simonides can open.
    """

    async def copy_to(self, path: str, tell: Pages) -> Mapping[bytes, OwnerFacts]:
        """Write all of the store, as of one moment, to a file that does not exist yet.

        Neither readers nor writers wait. Returns each owner's facts at that moment, by digest, so
        that the caller can verify the copy.

        Raises:
            OSError: If the file cannot be written; a partial file may remain.
        """

    async def note_place(self, place: str, name: str) -> None:
        """Record where backups of this store are put, before the first is: erasure looks there.

        A store over a network records nothing: it knows of no backups.

        Args:
            place: Absolute path of a directory, or of the file that is to be the backup.
            name: Prefix of the backups' names in a directory.

        Raises:
            OSError: If that cannot be written.
        """

    async def backups(self) -> tuple[str, ...]:
        """Return the paths of the backups that still exist in the recorded places, sorted. Files
        left behind by a killed process are included.
        """


class RevertibleStore(BackupStore, Protocol):
    """A store that can be checked, and restored from a backup while others have it open."""

    async def unsound(self) -> tuple[str, ...]:
        """Check every page of the store; return what is wrong, in words."""

    async def rebirth(self) -> None:
        """Draw a new incarnation for every owner, so that readers reload what they have cached."""

    async def become(self, path: str) -> None:
        """Replace all contents by those of the store in a file: in one transaction, or not at all.

        The file must come from :meth:`copy_to`, with new incarnations, closed, and with this
        program's schema. Other processes that have this store open continue with the new contents.
        If the file's digests are made with other keys, this store must be empty and open nowhere
        else.

        Raises:
            MoveRefused: ``other_store``, if the file has other keys and this store has rows.
            StoreUnavailable: If it has other keys, and another process has this store open.
            StoreCorrupt: If the file is not a store.
        """
