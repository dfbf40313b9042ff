"""The dictionary store as one end of a move: what arrives waits as rows until its owner is whole.

:mod:`simonides.adapters.memory_rows` turns shelves into rows and back. Parts that this store has no
place for are kept as they came.
"""

from __future__ import annotations

import heapq
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, field

from simonides.adapters.memory_rows import SHELVED, Entry, Rows, entries_of, shelf_of
from simonides.adapters.memory_shelf import Shelf
from simonides.adapters.store_rules import owner_digest
from simonides.adapters.store_tags import tagger
from simonides.domain.change import JournalEntry
from simonides.domain.errors import MoveRefused
from simonides.domain.moving import PARTS, OwnerFacts, Part, Row, StoreKeys
from simonides.domain.scope import Scope

_JOURNAL = "read_journal"


def _nothing() -> Rows:
    return {part.name: {} for part in PARTS}


@dataclass(slots=True)
class Arrivals:
    """Who is on the way here.

    Attributes:
        owner: Digest, or None for nobody.
        mark: Of this move.
        rows: What has arrived.
    """

    owner: bytes | None = None
    mark: bytes = b""
    rows: Rows = field(default_factory=_nothing)


class DictMoves(ABC):
    """The calls of :class:`simonides.ports.MovableStore` that are no memory store's."""

    location: str
    _salt: bytes
    _tag_key: bytes
    _shelves: dict[Scope, Shelf]
    _journals: dict[bytes, list[JournalEntry]]
    _arrivals: Arrivals | None
    _unshelved: dict[bytes, Rows]
    _nameless: dict[bytes, Shelf]

    @abstractmethod
    def _open(self) -> AbstractContextManager[None]:
        """Hold the dictionaries still for a moment."""

    async def keys(self) -> StoreKeys:
        """See the port."""
        with self._open():
            return StoreKeys(self._salt, self._tag_key)

    async def inhabitants(self) -> tuple[bytes, ...]:
        """See the port."""
        with self._open():
            return tuple(sorted(self._inhabitants()))

    async def facts(self, owner: bytes) -> OwnerFacts | None:
        """See the port."""
        with self._open():
            return self._facts(owner)

    async def page(
        self, owner: bytes, part: Part, *, after: Row | None = None, limit: int = 500
    ) -> tuple[Row, ...]:
        """See the port."""
        with self._open():
            later = (
                (key, make)
                for key, make in self._entries(owner, part)
                if after is None or key > after
            )
            first = heapq.nsmallest(max(limit, 0), later, key=lambda entry: entry[0])
            return tuple(make() for _, make in first)

    async def last_key(self, owner: bytes, part: Part) -> Row | None:
        """See the port."""
        with self._open():
            return max((key for key, _ in self._entries(owner, part)), default=None)

    async def begin_arrivals(self, keys: StoreKeys) -> None:
        """See the port; nobody else can open dictionaries."""
        with self._open():
            if keys != StoreKeys(self._salt, self._tag_key):
                if self._inhabitants():
                    raise MoveRefused(
                        "other_store",
                        self.location,
                        "holds rows of another store; move to an empty store",
                    )
                self._salt, self._tag_key = keys
            self._arrivals = self._arrivals or Arrivals()

    async def begin_arrival(self, owner: bytes, mark: bytes) -> None:
        """See the port."""
        with self._open():
            now = self._arrivals
            if now is not None and (now.owner, now.mark) == (owner, mark):
                return
            shelf = self._shelf_of(owner)
            if shelf is not None or self._journals.get(owner) or owner in self._unshelved:
                name = None if shelf is None else shelf.owner.path
                raise MoveRefused(
                    "exists",
                    self.location,
                    f"{name or 'an owner'} is there already with other content; it was not "
                    "touched, move to an empty store",
                    name,
                )
            self._arrivals = Arrivals(owner, mark)

    async def arrive(self, owner: bytes, rows: Sequence[tuple[Part, Sequence[Row]]]) -> None:
        """See the port."""
        with self._open():
            there = self._on_the_way(owner).rows
            new = _nothing()
            for part, of_part in rows:
                for row in of_part:
                    key = part.key_of(row)
                    if key in there[part.name] or key in new[part.name]:
                        raise ValueError(f"rows of {part.name} do not fit: {key} is there")
                    new[part.name][key] = row
            for name, fitting in new.items():
                there[name].update(fitting)

    async def end_arrival(self, owner: bytes, facts: OwnerFacts | None) -> None:
        """See the port."""
        with self._open():
            rows = self._on_the_way(owner).rows
            self._put(owner, facts, rows)
            self._arrivals = Arrivals()

    async def end_arrivals(self) -> None:
        """See the port."""
        with self._open():
            self._arrivals = None

    def _shelve(self, owner: bytes, facts: OwnerFacts, rows: Rows) -> None:
        # Whoever is erased has no name until it is written again.
        scope = Scope.parse(facts.name) if facts.name else Scope.of_global()
        shelf = shelf_of(scope, owner, tagger(self._tag_key, owner), facts, rows)
        if not facts.name:
            self._nameless[owner] = shelf
        elif owner_digest(self._salt, scope) != owner:
            raise ValueError(f"{facts.name} is not the name of {owner.hex()}")
        else:
            self._shelves[scope] = shelf

    def _facts(self, owner: bytes) -> OwnerFacts | None:
        shelf = self._shelf_of(owner)
        if shelf is None:
            return None
        return OwnerFacts(*shelf.head, shelf.mac, *(None,) * 6, shelf.erased_at, shelf.name)

    def _put(self, owner: bytes, facts: OwnerFacts | None, rows: Rows) -> None:
        """Put an owner's rows where they belong; its journal after what is there."""
        if facts is not None:
            self._shelve(owner, facts, rows)
        journal = sorted(rows[_JOURNAL].items())
        if journal:
            entries = [JournalEntry(*row[1:]) for _, row in journal]  # type: ignore[arg-type]
            self._journals.setdefault(owner, []).extend(entries)
        kept = (*(SHELVED if facts is not None else ()), _JOURNAL)
        rest = {name: of_part for name, of_part in rows.items() if name not in kept}
        if any(rest.values()):
            self._unshelved[owner] = rest

    def _inhabitants(self) -> set[bytes]:
        journals = (owner for owner, entries in self._journals.items() if entries)
        shelves = (shelf.digest for shelf in self._shelves.values())
        coming = self._arrivals
        here = [coming.owner] if coming is not None and coming.owner is not None else []
        arrived = (owner for owner in here if any(coming.rows.values())) if coming else ()
        return {*shelves, *journals, *self._unshelved, *self._nameless, *arrived}

    def _on_the_way(self, owner: bytes) -> Arrivals:
        now = self._arrivals
        if now is None or now.owner != owner:
            raise ValueError(f"the owner {owner.hex()} is not on its way here")
        return now

    def _shelf_of(self, owner: bytes) -> Shelf | None:
        named = next((s for s in self._shelves.values() if s.digest == owner), None)
        return named or self._nameless.get(owner)

    def _entries(self, owner: bytes, part: Part) -> Iterable[Entry]:
        """Return the keys of an owner's rows of a part, each with how to make the row."""
        coming = self._arrivals
        if coming is not None and coming.owner == owner:
            return [(key, _constant(row)) for key, row in coming.rows[part.name].items()]
        if part.name == _JOURNAL:
            entries = self._journals.get(owner, [])
            return [((n,), _constant((n, *entry))) for n, entry in enumerate(entries, start=1)]
        shelf = self._shelf_of(owner)
        if shelf is not None and part.name in SHELVED:
            return entries_of(shelf, part.name)
        kept = self._unshelved.get(owner, {}).get(part.name, {})
        return [(key, _constant(row)) for key, row in kept.items()]


def _constant(row: Row) -> Callable[[], Row]:
    return lambda: row
