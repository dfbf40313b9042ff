"""Stores whose owners can be moved to another store, row by row."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import AbstractAsyncContextManager
from typing import Protocol

from simonides.domain.codecs.parts import (
    OwnerFacts,
    Part,
    Row,
    StoreKeys,
)
from simonides.domain.codecs.portable import Carried, Standing
from simonides.domain.scope import Scope
from simonides.domain.writing.change import Head
from simonides.ports.stores import MemoryStore


class MovableStore(MemoryStore, Protocol):
    """A store whose owners can be moved to another, row by row (``simonides db migrate``).

    Owners are named by their 16-byte digests, since the keys that make them move too. Rows are
    those of :data:`~simonides.domain.codecs.parts.PARTS`. A receiving store is closed to all others
    from
    :meth:`begin_arrivals` to :meth:`end_arrivals`, even after the process ends: opening it as usual
    raises ``StoreUnavailable``. At most one owner is in transfer at a time. Until
    :meth:`end_arrival` it is in neither :meth:`facts` nor ``owners()``.

    Errors are those of :class:`MemoryStore`; writes are as durable as its commits.
    """

    async def keys(self, *, lasting: bool = False) -> StoreKeys:
        """Return the keys of the store's digests.

        Args:
            lasting: Whether the store must keep them first. A store whose file is not there yet
                draws others when it is made.
        """

    async def inhabitants(self) -> tuple[bytes, ...]:
        """Return the digests of all owners with :meth:`facts` or any row that moves; sorted."""

    async def facts(self, owner: bytes) -> OwnerFacts | None:
        """Return an owner's facts; None if never written, or not fully received."""

    async def page(
        self, owner: bytes, part: Part, *, after: Row | None = None, limit: int = 500
    ) -> tuple[Row, ...]:
        """Return an owner's rows of one part by key, from the first key greater than ``after``."""

    async def last_key(self, owner: bytes, part: Part) -> Row | None:
        """Return the greatest key of an owner's rows of one part; None if there are none."""

    async def begin_arrivals(self, keys: StoreKeys) -> None:
        """Close the store to all others; if it has no rows at all, adopt these keys.

        Called again after an interruption it resumes; the owner in transfer stays.

        Raises:
            MoveRefused: ``other_store``, if it has rows made with other keys.
            StoreUnavailable: If another process has it open.
        """

    async def begin_arrival(self, owner: bytes, mark: bytes) -> None:
        """Begin to receive an owner; rows of another, partly received one are removed first.

        Called again with the same ``mark``, the rows already received stay.

        Raises:
            MoveRefused: ``exists``, if the owner has facts or rows that did not come this way.
        """

    async def arrive(self, owner: bytes, rows: Sequence[tuple[Part, Sequence[Row]]]) -> None:
        """Add rows to the owner in transfer, all of them or none.

        Raises:
            ValueError: If no such owner is in transfer, or a row of this key exists.
        """

    async def end_arrival(self, owner: bytes, facts: OwnerFacts | None) -> None:
        """Complete the owner in transfer: write its facts last (None: it has only rows).

        Raises:
            ValueError: If no such owner is in transfer.
        """

    async def end_arrivals(self) -> None:
        """Open the store to all; a partly received owner is removed. Twice does no harm."""


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


class Portrait(Protocol):
    """All of one owner as of one moment, whatever is written meanwhile.

    Attributes:
        digest: The owner's audit chain is bound to it.
        facts: Incarnation, epoch and revision of the owner at that moment.
        memories: Number of versions.
    """

    digest: bytes
    facts: OwnerFacts
    memories: int

    async def next(self) -> Sequence[Carried]:
        """Return the next page; empty at the end.

        Order: that of :data:`~simonides.domain.codecs.portable.TYPES`. Memories by id, each
        followed by
        its earlier states, the newest first; events by number; derivations, held, reviews and
        policies by their leading fields; tombstones and idempotency by tag; grants by grantee,
        right and subject; consents by what they are about; the journal as it was written; sessions
        by start, then name, each followed by its turns. It does not depend on the store's keys.

        Cells are in plain, before encryption. Rows name other owners by their paths; an edge to an
        owner that does not exist is left out.
        """


class PortableStore(MemoryStore, Protocol):
    """A store that exports and imports whole owners; errors as :class:`MemoryStore`."""

    def portrait(self, owner: Scope) -> AbstractAsyncContextManager[Portrait | None]:
        """Open an owner's snapshot as of entering; None if it was never written, or was erased.
        Writers do not wait. Close it soon: a store may have to keep what is written meanwhile.
        """

    async def adopt(self, owner: Scope, standing: Standing, items: Iterable[Carried]) -> Head:
        """Import an owner, all of it or nothing, in one write turn.

        ``items`` come in the order of a portrait, memories with their index entries (``made``).
        They are iterated once, under the turn, and must not call the store. An exception from them
        is passed on and nothing is written. The owner keeps its epoch and revision and gets a new
        incarnation. Its events are linked again under its digest in this store, with their
        commitments unchanged. Its journal entries are appended to those already present.

        Raises:
            CarryRefused: ``exists``, if the owner was ever written here, erased or not, or has any
                row besides its journal; nothing was written.
            ValueError: If the items do not fit together or the owner, or do not lead to
                ``standing``; nothing was written.
        """
