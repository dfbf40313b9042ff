"""Stores that can be copied to a file while they are in use, and that can go back to one."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Protocol

from simonides.domain.moving import OwnerFacts
from simonides.ports.moving import MovableStore

Pages = Callable[[int, int], None]
"""Is told how many pages, or owners, are behind us, and of how many."""


class BackupStore(MovableStore, Protocol):
    """A store that can be backed up. A backup is always the file of an embedded store, which any
    simonides can open. Errors are those of :class:`MemoryStore`.
    """

    async def copy_to(self, path: str, tell: Pages) -> Mapping[bytes, OwnerFacts]:
        """Write all of the store, as of one moment, to a file at which nothing is.

        Neither readers nor writers are kept waiting. Returns where each owner stood at that moment,
        by digest; who copied compares it with what the copy says.

        Raises:
            OSError: If the file cannot be written; what was begun of it may be left.
        """

    async def note_place(self, place: str, name: str) -> None:
        """Write down where backups of this store are put, before one is: erasure looks there.

        A store over a network has no place for it and does nothing: it knows of no backups.

        Args:
            place: Absolute path of a directory, or of the file that is to be one.
            name: What the names of its backups in a directory begin with.

        Raises:
            OSError: If that cannot be written.
        """

    async def backups(self) -> tuple[str, ...]:
        """Return the paths of the backups in the places noted that are still there, what was left
        behind by who was killed included; sorted.
        """


class RevertibleStore(BackupStore, Protocol):
    """A store that can be looked through, and go back to a backup while others have it open."""

    async def unsound(self) -> tuple[str, ...]:
        """Return what a look at every page of the store finds wrong with it, in words."""

    async def rebirth(self) -> None:
        """Draw a new incarnation for every owner, so that whoever has read them reads anew."""

    async def become(self, path: str) -> None:
        """Take over all that the store in a file has, in the place of what is here: in one
        transaction, or not at all.

        The file is one that :meth:`copy_to` wrote, reborn, closed and with this program's schema.
        Others that have this store open go on with what is here then. If its digests are made with
        other keys, this store must have no rows, and nobody else may have it open.

        Raises:
            MoveRefused: ``other_store``, if the file has other keys and this store has rows.
            StoreUnavailable: If it has other keys, and somebody else has this store open.
            StoreCorrupt: If the file is not a store.
        """
