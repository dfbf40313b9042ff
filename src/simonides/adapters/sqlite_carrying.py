"""Owners of a SQLite store in a file of their own: read at one moment, written in one turn."""

from __future__ import annotations

import secrets
from collections.abc import AsyncIterator, Callable, Iterable, Mapping, Sequence
from contextlib import asynccontextmanager
from typing import TypeVar

import apsw

from simonides.adapters.sqlite_moving import ADD, SqliteMoves, facts_in, lives_in, page_of
from simonides.adapters.sqlite_schema import SQL
from simonides.adapters.store_carrying import Arriving, PortraitRows, Story, batches
from simonides.adapters.store_columns import LIVE
from simonides.adapters.store_owners import Owner
from simonides.domain.carrying import Carried, Standing
from simonides.domain.change import Head
from simonides.domain.errors import CarryRefused
from simonides.domain.moving import OwnerFacts, Part, Row
from simonides.domain.scope import Scope
from simonides.ports import Capability

T = TypeVar("T")


class _Portrait(PortraitRows):
    """One owner at one moment, over a connection of its own."""

    def __init__(
        self, store: SqliteCarrying, connection: apsw.Connection, owner: Owner, facts: OwnerFacts
    ) -> None:
        counted = connection.execute(SQL["count_memories"], {"owner": owner.digest}).get
        super().__init__(owner.digest, facts, counted)
        self._store = store
        self._owner = owner
        self._connection = connection

    async def page(self, part: Part, after: Row | None, limit: int) -> Sequence[Row]:
        def read() -> Sequence[Row]:
            rows = page_of(self._connection, self.digest, part, after, limit)
            return self._store._carried(self._connection, self._owner, part, rows)

        return await self._store._on_connection(read)

    async def stories(self, ids: Sequence[str]) -> Mapping[str, Story]:
        def read() -> dict[str, Story]:
            bound = ({"owner": self.digest, "id": id} for id in ids)
            run = self._connection.execute
            return {each["id"]: run(SQL["states_of"], each).fetchall() for each in bound}  # type: ignore[misc]

        return await self._store._on_connection(read)

    async def names(self, owners: Sequence[bytes]) -> Mapping[bytes, str]:
        named = ((owner, facts_in(self._connection, owner)) for owner in owners)
        return {owner: facts.name for owner, facts in named if facts is not None}


class SqliteCarrying(SqliteMoves):
    """The calls of :class:`simonides.ports.PortableStore` that are no memory store's."""

    abilities = frozenset({*SqliteMoves.abilities, Capability.PORTABLE})

    @asynccontextmanager
    async def portrait(self, owner: Scope) -> AsyncIterator[_Portrait | None]:
        """See the port."""
        known = self._owners.of(owner)
        with self._place.frozen() as connection:
            with self._translating:
                facts = facts_in(connection, known.digest)
                is_there = facts is not None and not facts.is_erased
                shown = _Portrait(self, connection, known, facts) if is_there and facts else None
            yield shown
            if shown is not None:
                await shown.close()

    async def adopt(self, owner: Scope, standing: Standing, items: Iterable[Carried]) -> Head:
        """See the port."""
        self._owners.of(owner)
        return await self._writing(lambda: self._adopt(owner, standing, items))

    def _carried(
        self, connection: apsw.Connection, owner: Owner, part: Part, rows: Sequence[Row]
    ) -> Sequence[Row]:
        """Return rows as they leave the store."""
        del connection, owner, part
        return rows

    async def _on_connection(self, read: Callable[[], T]) -> T:
        def translating() -> T:
            with self._translating:
                return read()

        return await self._on(self._readers, translating)

    def _adopt(self, owner: Scope, standing: Standing, items: Iterable[Carried]) -> Head:
        digest = self._owners.of(owner).digest
        with self._turn() as connection:
            with self._translating_writer:
                if lives_in(connection, digest):
                    raise CarryRefused(
                        "exists",
                        self.location,
                        f"{owner.path} was written to here already; it was not touched",
                    )
                last = connection.execute(SQL["last_journal"], {"owner": digest}).get
            arriving = Arriving(self._owners, owner, last)
            for batch in batches(arriving.rows(items)):
                with self._translating_writer:
                    for part, rows in batch:
                        _add(connection, digest, part, rows)
            facts = arriving.facts(secrets.token_bytes(16), standing)
            with self._translating_writer:
                connection.execute(SQL["add_facts"], {"owner": digest, **facts._asdict()})
                connection.execute(SQL["count_live"], {"owner": digest, **LIVE})
        return Head(*facts[:5])


def _add(connection: apsw.Connection, owner: bytes, part: Part, rows: Iterable[Row]) -> None:
    bound = ({"owner": owner, **dict(zip(part.columns, row, strict=True))} for row in rows)
    try:
        connection.executemany(ADD[part.name], bound)
    except apsw.ConstraintError as error:
        raise ValueError(f"rows of {part.name} do not fit: {error}") from error
