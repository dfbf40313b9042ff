"""Keys of a store over PostgreSQL: made anew, and destroyed with who was erased."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import replace
from types import MappingProxyType

from simonides.domain.codecs.parts import PARTS, OwnerFacts
from simonides.domain.errors import KeyDestroyed, StoreError
from simonides.domain.governance.erasure import Purged
from simonides.domain.scope import Scope
from simonides.storage.postgres.authenticated.reads import CodedReads
from simonides.storage.postgres.erasure import unreadable
from simonides.storage.postgres.wire.pool import Statement
from simonides.storage.postgres.writes import STAYS
from simonides.storage.schema.owner_ids import Unnamed

NO_BANS: Mapping[bytes, Sequence[bytes]] = MappingProxyType({})

_OUT_OF_TURN = ("journal", "sessions", "turns")

# What an owner may have who was never written; of others the name tells.
_LOOSE = [part for part in PARTS if part.name in ("read_journal", "sessions")]


class PostgresKeeping(CodedReads):
    """The calls of a :class:`~simonides.ports.CodedStore` that are about keys of keys."""

    @property
    def is_sealed(self) -> bool:
        """See :class:`~simonides.ports.CodedStore`."""
        return self._opening.seals is not None

    async def rewrap(self) -> None:
        """See :class:`~simonides.ports.CodedStore`."""
        for digest in await self.inhabitants():
            facts = await self.facts(digest)
            if facts is not None and facts.is_erased:
                await self._reseal(Unnamed(digest))
        if (seals := self._opening.seals) is None:
            return
        key = self._opening.kept(self._secrets).tag_key
        async with self._writing() as line:
            await self._end(
                line,
                ("take_role", {"role": self._operator}),
                ("put_meta", {"name": "tag_key", "value": key}),
            )
        await asyncio.to_thread(seals.rewrap)

    async def lost(self) -> tuple[bytes, ...]:
        """See :class:`~simonides.ports.CodedStore`."""
        if (seals := self._opening.seals) is None:
            return ()
        seals.refresh()
        return tuple([owner for owner in await self.inhabitants() if await self._is_lost(owner)])

    async def sweep(self, bans: Mapping[bytes, Sequence[bytes]] = NO_BANS) -> tuple[bytes, ...]:
        """See :class:`~simonides.ports.CodedStore`; each owner in its own turn. What somebody wrote
        for an owner, out of turn, while that was being erased goes too.
        """
        if (seals := self._opening.seals) is None:
            return ()
        lost = await self.lost()
        for digest in lost:
            await self._empty(Unnamed(digest), bans.get(digest, ()))
            await asyncio.to_thread(seals.revive, digest)
        for digest in await self.inhabitants():
            if ids := seals.destroyed(digest):
                owner = Unnamed(digest)
                bound = {"owner": owner.name, "ids": sorted(ids)}
                await self._remove(owner, *((f"sweep_{table}", bound) for table in _OUT_OF_TURN))
        return lost

    async def purge(self, owner: Scope, needles: Sequence[bytes] = ()) -> Purged:
        """See the port. In a store that is encrypted the keys of the life that was erased are
        destroyed first.
        """
        if (seals := self._opening.seals) is None:
            return await super().purge(owner, needles)
        found = await self._ask_of(owner, "first_owner_keys")
        firsts = {bytes.fromhex(first) for (first,) in found}
        digest = self._owners.of(owner).digest
        try:
            was_here = await asyncio.to_thread(seals.destroy, digest, firsts)
        except StoreError:
            purged = await super().purge(owner, needles)
            return replace(purged, waits=(*purged.waits, "key_vault"))
        purged = await super().purge(owner, needles)
        # Erased elsewhere: nothing of that life has been here.
        return unreadable(purged) if was_here else purged

    async def _is_lost(self, owner: bytes) -> bool:
        """Whether what is here of an owner was encrypted by a key that is destroyed."""
        try:
            if await self.facts(owner) is None:
                for part in _LOOSE:
                    await self.page(owner, part, limit=1)
        except KeyDestroyed:
            return True
        return False

    async def _reseal(self, owner: Unnamed) -> None:
        named = {"owner": owner.name}
        asked: tuple[Statement, ...] = (("coded_head", named), ("facts", named))
        async with self._turn(owner) as line:
            begun = self._begin_turn(owner, rows=False)
            sent = (*begun, *asked)
            *_, found, stood = await line.run(*sent, timeout_s=self._turn_timeout_s)
            if found and OwnerFacts._make(stood[0]).is_erased:
                sealed = self._verifier.resealed(owner.digest, found[0])
                await self._end(line, ("code_owner", {**named, **sealed}))

    async def _empty(self, owner: Unnamed, tags: Sequence[bytes]) -> None:
        named = {"owner": owner.name}
        parts = [(f"clear_of_{p.name}", named) for p in PARTS if p.name not in STAYS]
        async with self._turn(owner) as line:
            begun = self._begin_turn(owner, rows=False)
            asked: Statement = ("coded_head", named)
            *_, found = await line.run(*begun, asked, timeout_s=self._turn_timeout_s)
            if found:
                emptied = self._verifier.emptied(owner.digest, found[0])
                parts.append(("empty_owner", {**named, **emptied}))
            await self._end(line, *parts, ("add_tombstones", {**named, "tags": [*tags]}))

    async def _remove(self, owner: Unnamed, *statements: Statement) -> None:
        async with self._turn(owner) as line:
            begun = self._begin_turn(owner, rows=False)
            await line.run(*begun, *statements, ("commit", None), timeout_s=self._turn_timeout_s)
