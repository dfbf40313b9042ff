"""Stores whose owners can be carried away in a file, and brought back from one (LT-10)."""

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
        digest: What the owner's audit chain is bound to.
        facts: Where the owner stood.
        memories: How many versions it had.
    """

    digest: bytes
    facts: OwnerFacts
    memories: int

    async def next(self) -> Sequence[Carried]:
        """Return what comes next, a page at a time; empty at the end.

        Order: that of :data:`~simonides.domain.carrying.TYPES`. Memories by id, each followed by
        its earlier states, the newest first; events by number; derivations, held, reviews and
        policies by their leading fields; tombstones and idempotency by tag; grants by grantee,
        right and subject; consents by what they are about; the journal as it was written; sessions
        by start, then name, each followed by its turns. It does not depend on the store's keys.

        Cells are as they were before anything was sealed. What an owner elsewhere is called stands
        in its path; an edge to one that does not exist is left out.
        """


class PortableStore(MemoryStore, Protocol):
    """A store that shows all of an owner at once, and takes one in. Errors as there."""

    def portrait(self, owner: Scope) -> AbstractAsyncContextManager[Portrait | None]:
        """Look at an owner as of the moment of entering; None for one never written, or erased.

        Writers are not kept waiting. It is to be used soon, and closed: a store may have to keep
        what was written since.
        """

    async def adopt(self, owner: Scope, standing: Standing, items: Iterable[Carried]) -> Head:
        """Write an owner as it was carried, all of it or nothing, in one turn of its own.

        ``items`` come as a portrait shows them, memories with what was ``made`` for the index. They
        are gone through once, under the turn, and must not call the store. What they raise is
        passed on and nothing is written. The owner stands where it stood, in a new incarnation; its
        events are linked anew under its digest here, with the commitments that they had. Entries of
        its journal come after those that are there already.

        Raises:
            CarryRefused: ``exists``, if the owner was ever written here, erased or not, or has any
                row beside its journal; nothing was written.
            ValueError: If the items do not fit together or the owner, or do not lead to
                ``standing``; nothing was written.
        """
