"""A PostgreSQL store as one end of a move: pages of any part, owners that arrive row by row.

Who is on the way is a row of the table ``opening``, and so is the token that shuts others out: each
transaction of ours begins by naming the one that its store was opened with. A move draws another.
So whoever had the store open is refused from its next transaction on, behind a pooler too, where
no session could hold a lock; and so is a move that another one has taken over from.
"""

from __future__ import annotations

import asyncio
import secrets
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from typing import Any

import psycopg

from simonides.domain.codecs.parts import (
    PARTS,
    OwnerFacts,
    Part,
    Row,
    StoreKeys,
)
from simonides.domain.errors import MoveRefused, StoreCorrupt, StoreUnavailable
from simonides.ports import Capability
from simonides.storage.postgres.wire.connection import PostgresDatabase
from simonides.storage.postgres.wire.pool import Line, Statement, bind
from simonides.storage.postgres.wire.pool import Row as Found
from simonides.storage.schema.change_rules import OWNER_BYTES
from simonides.storage.schema.owner_ids import Owners, Secrets

_LEAVING_S = 1.0
"""Seconds that others are waited for: the server notices a little late that a connection ended."""

_LOOK_S = 0.02
"""Seconds between two looks at who is there."""


class PostgresMoves(PostgresDatabase):
    """The calls of :class:`simonides.ports.MovableStore` that are no memory store's."""

    capabilities = frozenset({Capability.DURABLE, Capability.MOVABLE})

    async def keys(self, *, lasting: bool = False) -> StoreKeys:
        """See the port."""
        return StoreKeys(*self._secrets)

    async def inhabitants(self) -> tuple[bytes, ...]:
        """See the port."""
        self._check_usable()
        (found,) = await self._pool.ask_as(self._operator, ("inhabitants", None))
        return tuple(sorted(self._digest(name) for (name,) in found))

    async def facts(self, owner: bytes) -> OwnerFacts | None:
        """See the port."""
        found = await self._moving(owner, "facts")
        return OwnerFacts._make(found[0]) if found else None

    async def page(
        self, owner: bytes, part: Part, *, after: Row | None = None, limit: int = 500
    ) -> tuple[Row, ...]:
        """See the port."""
        limits = {"limit": max(limit, 0)}
        if after is None:
            return tuple(await self._moving(owner, f"page_of_{part.name}", limits))
        key = dict(zip(part.columns, after, strict=False))
        return tuple(await self._moving(owner, f"next_of_{part.name}", {**limits, **key}))

    async def last_key(self, owner: bytes, part: Part) -> Row | None:
        """See the port."""
        found = await self._moving(owner, f"last_of_{part.name}")
        return found[0] if found else None

    async def begin_arrivals(self, keys: StoreKeys) -> None:
        """See the port."""
        self._check_usable()
        await self._wait_for_others()
        token = secrets.token_hex(16)
        async with self._writing() as line:
            await self._run(line, ("lock_opening", None))
            if keys != StoreKeys(*self._secrets):
                await self._take_over(line, keys)
            await self._end(line, ("put_opening", {"token": token}))
        self._pool.opening = token
        if keys != StoreKeys(*self._secrets):
            self._secrets = Secrets(*keys)
            self._owners = Owners(self._secrets)
            self._opening.follow(self._secrets)

    async def begin_arrival(self, owner: bytes, mark: bytes) -> None:
        """See the port."""
        name = owner.hex()
        async with self._writing() as line:
            before = await self._arrival(line)
            if before == owner + mark:
                return
            if before:
                await self._clear(line, before[:OWNER_BYTES])
            here: Statement = ("lives_here", {"owner": name})
            _, lives, stands = await self._run(
                line, self._bind(name), here, ("facts", {"owner": name})
            )
            if lives:
                raise self._is_there(OwnerFacts._make(stands[0]).name if stands else None)
            await self._end(line, ("put_arriving", {"arriving": owner + mark}))

    async def arrive(self, owner: bytes, rows: Sequence[tuple[Part, Sequence[Row]]]) -> None:
        """See the port."""
        async with self._arriving(owner) as line:
            try:
                await self._end(line, *added(owner.hex(), rows))
            except StoreCorrupt as error:
                if isinstance(error.__cause__, psycopg.errors.IntegrityError):
                    raise ValueError(f"rows do not fit: {error}") from error
                raise

    async def end_arrival(self, owner: bytes, facts: OwnerFacts | None) -> None:
        """See the port."""
        whole: list[Statement] = []
        if facts is not None:
            whole = [("add_facts", {"owner": owner.hex(), **facts._asdict()})]
        async with self._arriving(owner) as line:
            await self._end(line, *whole, ("put_arriving", {"arriving": b""}))

    async def end_arrivals(self) -> None:
        """See the port."""
        async with self._writing() as line:
            before = await self._arrival(line)
            if before:
                await self._clear(line, before[:OWNER_BYTES])
            await self._end(line, ("put_arriving", {"arriving": None}))

    def _digest(self, name: str) -> bytes:
        try:
            return bytes.fromhex(name)
        except ValueError:
            raise StoreCorrupt(self.location, "rows stand under what is no owner") from None

    async def _moving(
        self, owner: bytes, statement: str, bound: Mapping[str, object] | None = None
    ) -> list[Found]:
        """Ask about one owner."""
        name = owner.hex()
        self._check_usable()
        (found,) = await self._pool.ask([name], (statement, {"owner": name, **(bound or {})}))
        return found

    async def _wait_for_others(self) -> None:
        """Make sure that no other program is seen here; who is not seen will be refused.

        Raises:
            StoreUnavailable: If somebody stays.
        """
        waits = round(_LEAVING_S / _LOOK_S)
        for _ in range(waits):
            async with self._pool.line() as line:
                _, others = await line.run(
                    self._bind(), ("others", None), timeout_s=self._pool.timeout_s
                )
            if not others:
                return
            await asyncio.sleep(_LOOK_S)
        who = ", ".join(f"{role} ({count})" for role, count in others)
        raise StoreUnavailable(
            self.location,
            f"is open elsewhere, with connections of {who}; close whatever uses it, poolers "
            "included, then move again",
        )

    async def _take_over(self, line: Line, keys: StoreKeys) -> None:
        """Let an empty store make its digests with other keys.

        Raises:
            MoveRefused: ``other_store``, if it has rows.
        """
        as_operator: Statement = ("take_role", {"role": self._operator})
        _, here = await self._run(line, as_operator, ("inhabitants", None))
        if here:
            raise MoveRefused(
                "other_store",
                self.location,
                "holds rows of another store, and those of two cannot be told apart by one set "
                "of keys; move to an empty store",
            )
        await self._keep(line, Secrets(*keys))

    async def _keep(self, line: Line, keys: Secrets) -> None:
        """Write the keys of the digests into the database."""
        as_operator: Statement = ("take_role", {"role": self._operator})
        put: list[Statement] = [
            ("put_meta", {"name": name, "value": value})
            for name, value in self._opening.kept(keys)._asdict().items()
        ]
        await self._run(line, as_operator, *put, ("take_role", {"role": "none"}))

    def _is_there(self, name: str | None) -> MoveRefused:
        return MoveRefused(
            "exists",
            self.location,
            f"{name or 'an owner'} is there already with other content; it was not touched, move "
            "to an empty store",
            name,
        )

    def _bind(self, name: str = "") -> Statement:
        """Return the statement that names one owner, to be read and written, or nobody."""
        names = [name] if name else []
        return bind(names, writable=[name], timeout_s=self._pool.timeout_s)

    @asynccontextmanager
    async def _writing(self, name: str = "") -> AsyncIterator[Line]:
        """A transaction, rolled back unless the block ends it."""
        self._check_usable()
        async with self._pool.line() as line:
            await self._run(line, ("begin", None), self._bind(name))
            yield line

    @asynccontextmanager
    async def _arriving(self, owner: bytes) -> AsyncIterator[Line]:
        """As :meth:`_writing`, for the owner on its way.

        Raises:
            ValueError: If it is not.
        """
        async with self._writing(owner.hex()) as line:
            if (await self._arrival(line) or b"")[:OWNER_BYTES] != owner:
                raise ValueError(
                    f"the owner {owner.hex()} is not on its way here; begin its arrival first"
                )
            yield line

    async def _arrival(self, line: Line) -> bytes | None:
        """Return who is on the way, with the mark; nobody else changes that meanwhile."""
        (found,) = await self._run(line, ("arriving", None))
        arriving: bytes | None = found[0][0]
        return arriving

    async def _clear(self, line: Line, owner: bytes) -> None:
        named = {"owner": owner.hex()}
        gone: list[Statement] = [(f"clear_of_{part.name}", named) for part in PARTS]
        await self._run(line, self._bind(owner.hex()), *gone)

    async def _run(self, line: Line, *statements: Statement) -> list[list[Found]]:
        return await line.run(*statements, timeout_s=self._pool.timeout_s)

    async def _end(self, line: Line, *statements: Statement) -> None:
        await line.run(*statements, ("commit", None), timeout_s=self._pool.timeout_s)


def added(owner: str, rows: Sequence[tuple[Part, Sequence[Row]]]) -> list[Statement]:
    """Return what adds rows, a statement for each part; a part may come more than once."""
    added: list[Statement] = []
    for part, of_part in rows:
        if not of_part:
            continue
        cells = zip(*of_part, strict=True)
        columns: dict[str, Any] = dict(zip(part.columns, map(list, cells), strict=True))
        added.append((f"arrive_of_{part.name}", {"owner": owner, **columns}))
        if part.name == "read_journal":
            added.append(("skip_numbers", {"top": max(columns["n"])}))
    return added
