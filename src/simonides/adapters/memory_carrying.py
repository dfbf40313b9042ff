"""Owners of the dictionary store in a file of their own: a copy of a shelf, and a shelf at once."""

from __future__ import annotations

import secrets
from bisect import bisect_right
from collections.abc import AsyncIterator, Iterable, Mapping, Sequence
from contextlib import asynccontextmanager
from copy import copy
from dataclasses import fields

from simonides.adapters.fifo import FifoLock
from simonides.adapters.memory_moving import DictMoves
from simonides.adapters.memory_rows import Entry, Rows
from simonides.adapters.memory_shelf import Shelf
from simonides.adapters.store_carrying import PART, Arriving, PortraitRows, Story
from simonides.adapters.store_owners import Owners, Secrets
from simonides.domain.carrying import Carried, Standing
from simonides.domain.change import Head
from simonides.domain.errors import CarryRefused
from simonides.domain.moving import PARTS, OwnerFacts, Part, Row
from simonides.domain.scope import Scope


class _Portrait(PortraitRows):
    """Entries of one moment, by part; a row is made when it is asked for."""

    def __init__(
        self, facts: OwnerFacts, shelf: Shelf, entries: Mapping[str, list[Entry]], names: _Names
    ) -> None:
        super().__init__(shelf.digest, facts, len(shelf.kept))
        self._shelf = shelf
        self._entries = entries
        self._names = names

    async def page(self, part: Part, after: Row | None, limit: int) -> Sequence[Row]:
        known = self._entries[part.name]
        first = 0 if after is None else bisect_right(known, after, key=lambda entry: entry[0])
        return [make() for _, make in known[first : first + limit]]

    async def stories(self, ids: Sequence[str]) -> Mapping[str, Story]:
        kept = self._shelf.kept
        return {
            id: [(s.revision, s.packed, s.known_from, s.known_to) for s in kept[id].states]
            for id in ids
        }

    async def names(self, owners: Sequence[bytes]) -> Mapping[bytes, str]:
        return {owner: self._names[owner] for owner in owners if owner in self._names}


_Names = Mapping[bytes, str]
_UNKNOWN = (None,) * 7
"""What of an owner's facts this store does not keep."""


class DictCarrying(DictMoves):
    """The calls of :class:`simonides.ports.PortableStore` that are no memory store's."""

    _turns: dict[Scope, FifoLock]

    @asynccontextmanager
    async def portrait(self, owner: Scope) -> AsyncIterator[_Portrait | None]:
        """See the port."""
        digest = self._named_owners().of(owner).digest
        facts = await self.facts(digest)
        shown = None
        if facts is not None and not facts.is_erased:
            with self._open():
                shelf = _copied(self._shelves[owner])
                parts = {p.name: sorted(self._entries(digest, p), key=_key) for p in PARTS}
                names = {each.digest: scope.path for scope, each in self._shelves.items()}
            shown = _Portrait(
                OwnerFacts(*shelf.head, shelf.mac, *_UNKNOWN, owner.path), shelf, parts, names
            )
        yield shown
        if shown is not None:
            await shown.close()

    async def adopt(self, owner: Scope, standing: Standing, items: Iterable[Carried]) -> Head:
        """See the port."""
        with self._open():
            owners = self._named_owners()
            digest = owners.of(owner).digest
            turn = self._turns.setdefault(owner, FifoLock())
        with turn.turn():
            with self._open():
                self._check_unknown(owner, digest)
                last = len(self._journals.get(digest, []))
            arriving = Arriving(owners, owner, last)
            rows: Rows = {part.name: {} for part in PARTS}
            for name, row in arriving.rows(items):
                key = PART[name].key_of(row)
                if key in rows[name]:
                    raise ValueError(f"rows of {name} do not fit: {key} is there")
                rows[name][key] = row
            facts = arriving.facts(secrets.token_bytes(16), standing)
            with self._open():
                self._check_unknown(owner, digest)
                self._put(digest, facts, rows)
        return Head(*facts[:5])

    def _named_owners(self) -> Owners:
        return Owners(Secrets(self._salt, self._tag_key))

    def _check_unknown(self, owner: Scope, digest: bytes) -> None:
        if self._facts(digest) is not None or digest in self._unshelved:
            raise CarryRefused(
                "exists",
                self.location,
                f"{owner.path} was written to here already; it was not touched",
            )


def _copied(shelf: Shelf) -> Shelf:
    """Return a shelf that later changes of this one do not reach; what it holds never changes."""
    copied = copy(shelf)
    for each in fields(shelf):
        value = getattr(shelf, each.name)
        if isinstance(value, (dict, list, set)):
            setattr(copied, each.name, copy(value))
    return copied


def _key(entry: Entry) -> Row:
    return entry[0]
