"""The dictionary store as a file."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from simonides.adapters.copying import Rows, copy_owners
from simonides.adapters.known_backups import backups_at
from simonides.adapters.memory_carrying import DictCarrying
from simonides.domain.moving import PARTS, OwnerFacts, StoreKeys
from simonides.ports import Capability
from simonides.ports.backups import Pages


@dataclass(frozen=True, slots=True)
class _Owner:
    """All of an owner as of one moment."""

    digest: bytes
    facts: OwnerFacts | None
    whole: Rows

    async def rows(self) -> AsyncIterator[Rows]:
        yield self.whole


class DictBackups(DictCarrying):
    """The calls of :class:`simonides.ports.BackupStore` that are no movable store's.

    Attributes:
        abilities: Capabilities beside INLINE.
    """

    abilities = frozenset({Capability.MOVABLE, Capability.PORTABLE, Capability.BACKUPS})
    _places: dict[Path, str]

    async def note_place(self, place: str, name: str) -> None:
        """See the port."""
        with self._open():
            self._places[Path(place)] = name

    async def backups(self) -> tuple[str, ...]:
        """See the port."""
        with self._open():
            noted = dict(self._places)
        found = {path for place, name in noted.items() for path in backups_at(place, name)}
        return tuple(sorted(map(str, found)))

    async def copy_to(self, path: str, tell: Pages) -> Mapping[bytes, OwnerFacts]:
        """See the port; a page is an owner here."""
        with self._open():
            keys = StoreKeys(self._salt, self._tag_key)
            owners = [self._whole(digest) for digest in sorted(self._inhabitants())]

        async def leaving() -> AsyncIterator[tuple[_Owner, int]]:
            for owner in owners:
                yield owner, len(owners)

        return await copy_owners(path, keys, leaving(), tell, inline=True)

    def _whole(self, digest: bytes) -> _Owner:
        rows = [(part, [make() for _, make in self._entries(digest, part)]) for part in PARTS]
        return _Owner(digest, self._facts(digest), rows)
