"""A PostgreSQL store as a file: every owner read in one view, whoever writes meanwhile."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping
from dataclasses import dataclass

from simonides.adapters.copying import Rows, copy_owners
from simonides.adapters.postgres_carrying import CARRY_S, PostgresCarrying, page_of
from simonides.adapters.postgres_pool import Line, bind
from simonides.adapters.store_carrying import ROWS
from simonides.domain.moving import PARTS, OwnerFacts, Row
from simonides.ports import Capability
from simonides.ports.backups import Pages


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
