"""Owners of a PostgreSQL store in a file of their own: read in one view, written in one turn."""

from __future__ import annotations

import asyncio
import secrets
from collections.abc import AsyncIterator, Iterable, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass

import psycopg

from simonides.domain.codecs.parts import PARTS, OwnerFacts, Part, Row
from simonides.domain.codecs.portable import Carried, Standing
from simonides.domain.errors import CarryRefused, StoreCorrupt
from simonides.domain.scope import Scope
from simonides.domain.writing.change import Head
from simonides.ports import Capability
from simonides.ports.store_extras import Pages
from simonides.storage.copy_to_sqlite import Rows, copy_owners
from simonides.storage.postgres.moves import added
from simonides.storage.postgres.turns import PostgresTurns
from simonides.storage.postgres.wire.pool import Line, Statement, bind
from simonides.storage.schema.owner_ids import Owner
from simonides.storage.schema.portable_rows import (
    ROWS,
    Arriving,
    Cells,
    PortraitRows,
    Story,
    batches,
)

CARRY_S = 3600.0
"""Longest time for reading or writing one owner, in seconds; each answer has the pool's. Chosen."""


async def page_of(
    line: Line, owner: str, part: Part, after: Row | None, limit: int, timeout_s: float
) -> list[Cells]:
    """Return what :meth:`simonides.ports.MovableStore.page` does, read over one connection."""
    bound = {"owner": owner, "limit": limit}
    if after is None:
        asked: Statement = (f"page_of_{part.name}", bound)
    else:
        key = dict(zip(part.columns, after, strict=False))
        asked = (f"next_of_{part.name}", {**bound, **key})
    (found,) = await line.run(asked, timeout_s=timeout_s)
    return found


class _Portrait(PortraitRows):
    """One owner in one transaction that sees one moment."""

    def __init__(
        self,
        store: PostgresCarrying,
        line: Line,
        owner: Owner,
        facts: OwnerFacts,
        memories: int,
    ) -> None:
        super().__init__(owner.digest, facts, memories)
        self._store = store
        self._line = line
        self._owner = owner
        self._name = owner.name
        self._timeout_s = store._pool.timeout_s

    async def page(self, part: Part, after: Row | None, limit: int) -> Sequence[Cells]:
        rows = await page_of(self._line, self._name, part, after, limit, self._timeout_s)
        return await self._store._carried(self._line, self._owner, part, rows)

    async def stories(self, ids: Sequence[str]) -> Mapping[str, Story]:
        asked: list[Statement] = [("states_of", {"owner": self._name, "id": id}) for id in ids]
        found = await self._line.run(*asked, timeout_s=self._timeout_s)
        return {id: [tuple(row) for row in story] for id, story in zip(ids, found, strict=True)}

    async def names(self, owners: Sequence[bytes]) -> Mapping[bytes, str]:
        if not owners:
            return {}
        digests = {owner.hex(): owner for owner in owners}
        readable = bind([self._name, *digests], timeout_s=self._timeout_s)
        asked: Statement = ("existing", {"owners": [*digests]})
        _, found = await self._line.run(readable, asked, timeout_s=self._timeout_s)
        return {digests[name]: path for name, path in found}


class PostgresCarrying(PostgresTurns):
    """The calls of :class:`simonides.ports.PortableStore` that are no memory store's."""

    capabilities = frozenset({*PostgresTurns.capabilities, Capability.PORTABLE})

    @asynccontextmanager
    async def portrait(self, owner: Scope) -> AsyncIterator[_Portrait | None]:
        """See the port."""
        known, limit_s = self._owners.of(owner), self._pool.timeout_s
        self._check_usable()
        async with self._pool.line(CARRY_S) as line:
            begun = ("begin_view", None), bind([known.name], timeout_s=limit_s)
            named = {"owner": known.name}
            asked = ("facts", named), ("count_memories", named)
            _, _, stood, ((memories,),) = await line.run(*begun, *asked, timeout_s=limit_s)
            facts = OwnerFacts._make(stood[0]) if stood else None
            if facts is None or facts.is_erased:
                yield None
                return
            shown = _Portrait(self, line, known, facts, memories)
            yield shown
            await shown.close()

    async def adopt(self, owner: Scope, standing: Standing, items: Iterable[Carried]) -> Head:
        """See the port."""
        known = self._owners.of(owner)
        async with self._turn(known, CARRY_S) as line:
            self._left.pop(known.name, None)
            last = await self._check_unknown(line, known)
            arriving = Arriving(self._owners, owner, last)
            made = batches(arriving.rows(items))
            # On a thread: it takes a while, and others wait for this loop.
            while (batch := await asyncio.to_thread(next, made, None)) is not None:
                await self._put(line, added(known.name, batch))
            facts = arriving.facts(secrets.token_bytes(16), standing)
            whole: Statement = ("add_facts", {"owner": known.name, **facts._asdict()})
            await self._put(line, [whole, ("commit", None)])
        return Head(*facts[:5])

    async def _carried(
        self, line: Line, owner: Owner, part: Part, rows: Sequence[Cells]
    ) -> Sequence[Cells]:
        """Return rows as they leave the store."""
        del line, owner, part
        return rows

    async def _check_unknown(self, line: Line, owner: Owner) -> int:
        """Take the turn of an owner that is not here; return the last number of its journal.

        Raises:
            CarryRefused: ``exists``, if it is here.
        """
        begun = self._begin_turn(owner, rows=False)
        named = {"owner": owner.name}
        asked = ("lives_here_but_read", named), ("last_of_read_journal", named)
        _, _, lives, last = await line.run(*begun, *asked, timeout_s=self._turn_timeout_s)
        if lives:
            raise CarryRefused(
                "exists",
                self.location,
                f"{owner.scope.path} was written to here already; it was not touched",
            )
        number: int = last[0][0] if last else 0
        return number

    async def _put(self, line: Line, statements: Sequence[Statement]) -> None:
        try:
            await line.run(*statements, timeout_s=self._pool.timeout_s)
        except StoreCorrupt as error:
            if isinstance(error.__cause__, psycopg.errors.IntegrityError):
                raise ValueError(f"rows do not fit: {error}") from error
            raise


@dataclass(frozen=True, slots=True)
class _Owner:
    """One owner in a view that is open."""

    line: Line
    digest: bytes
    facts: OwnerFacts | None
    timeout_s: float

    async def rows(self) -> AsyncIterator[Rows]:
        for part in PARTS:
            after: Row | None = None
            name = self.digest.hex()
            while found := await page_of(self.line, name, part, after, ROWS, self.timeout_s):
                rows = [tuple(row) for row in found]
                yield [(part, rows)]
                after = part.key_of(rows[-1])


class PostgresBackups(PostgresCarrying):
    """The calls of :class:`simonides.ports.BackupStore` that are no movable store's."""

    capabilities = frozenset({*PostgresCarrying.capabilities, Capability.BACKUPS})

    async def note_place(self, place: str, name: str) -> None:
        """See the port: the machine that copies is any; the server cannot look there."""
        del place, name
        self._check_usable()

    async def backups(self) -> tuple[str, ...]:
        """See the port."""
        self._check_usable()
        return ()

    async def copy_to(self, path: str, tell: Pages) -> Mapping[bytes, OwnerFacts]:
        """See the port; a page is an owner here."""
        self._check_usable()
        async with self._pool.line(CARRY_S) as line:
            keys = await self.keys()
            opening, leaving = self._opening.of_copy(), self._leaving(line)
            return await copy_owners(path, keys, leaving, tell, inline=False, opening=opening)

    async def _leaving(self, line: Line) -> AsyncIterator[tuple[_Owner, int]]:
        limit_s = self._pool.timeout_s
        begun = ("begin_view", None), bind([], timeout_s=limit_s)
        as_operator = ("take_role", {"role": self._operator}), ("inhabitants", None)
        # The first of these makes the view: all that follows is as of then.
        _, _, _, found, _ = await line.run(
            *begun, *as_operator, ("take_role", {"role": "none"}), timeout_s=limit_s
        )
        names = sorted(name for (name,) in found)
        for name in names:
            asked = ("facts", {"owner": name})
            _, stood = await line.run(bind([name], timeout_s=limit_s), asked, timeout_s=limit_s)
            facts = OwnerFacts._make(stood[0]) if stood else None
            yield _Owner(line, self._digest(name), facts, limit_s), len(names)
