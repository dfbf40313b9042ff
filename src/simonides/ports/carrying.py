"""Stores whose owners can be exported to a file and imported from one."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from contextlib import AbstractAsyncContextManager
from typing import Protocol

from simonides.domain.carrying import Carried, Standing
from simonides.domain.change import Head
from simonides.domain.moving import OwnerFacts
from simonides.domain.scope import Scope
from simonides.ports.stores import MemoryStore


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

        Order: that of :data:`~simonides.domain.carrying.TYPES`. Memories by id, each followed by
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
