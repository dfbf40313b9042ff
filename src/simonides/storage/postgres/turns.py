"""Write turns over PostgreSQL: who may decide, what stands, and the change sent.

A turn is two round trips and the decision between them: take it and read what stands; send the
change and commit. Where a writer finds an owner as it left it time and again, what stands can be
foreseen, and nothing need be waited for in between: the server is sent for the turn, on the
condition that the owner stands so, and the decision is made meanwhile. If it was foreseen wrongly
nothing is written, and the turn is taken as if nobody had tried.
"""

import asyncio
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from typing import Any, NamedTuple
from weakref import WeakValueDictionary

from simonides.domain.errors import SimonidesError, StoreUnavailable
from simonides.domain.scope import Scope
from simonides.domain.writing.change import (
    Change,
    Committed,
    Decide,
    Head,
    Snapshot,
    TurnRequest,
)
from simonides.storage.postgres import reads as meaning
from simonides.storage.postgres.errors import Unforeseen
from simonides.storage.postgres.moves import PostgresMoves
from simonides.storage.postgres.wire.pool import (
    Line,
    Pool,
    Row,
    Statement,
    bind,
)
from simonides.storage.postgres.writes import Written, write_change
from simonides.storage.schema.columns import LIVE, stored_rows
from simonides.storage.schema.lookup_tags import tombstone_tag
from simonides.storage.schema.owner_ids import (
    KNOWN_OWNERS,
    Owner,
    Secrets,
    Unnamed,
)

FEW_ROWS = 32
"""Changed rows that a decision takes in without others noticing: some 10 µs each. Chosen."""


class Left(NamedTuple):
    """How a turn of ours left an owner.

    Attributes:
        head: Where it stood then.
        mac: Last code of its chain.
        is_alone: Whether that turn, too, found it as the one before had left it.
        seal: Under a key ring, the name of the key and what it was sealed with; else None.
    """

    head: Head
    mac: bytes
    is_alone: bool
    seal: tuple[str, bytes] | None = None


class _Queue:
    """Those of this process who write for one owner, first come, first served."""

    def __init__(self) -> None:
        self._lock = asyncio.Lock()
        self._length = 0

    async def wait(self, timeout_s: float, location: str) -> None:
        """Wait until all who came before have left.

        Raises:
            StoreUnavailable: If they have not in time.
        """
        self._length += 1
        has_come = False
        try:
            if self._length == 1:
                # A time-out costs more than the lock.
                await self._lock.acquire()
            else:
                async with asyncio.timeout(timeout_s):
                    await self._lock.acquire()
            has_come = True
        except TimeoutError:
            said = "the write turn did not come within the time-out"
            raise StoreUnavailable(location, said) from None
        finally:
            if not has_come:
                self._length -= 1

    def leave(self) -> None:
        """Let in who comes next."""
        self._length -= 1
        self._lock.release()


class PostgresTurns(PostgresMoves):
    """What of a :class:`~simonides.ports.MemoryStore` is about turns."""

    def __init__(
        self, pool: Pool, secrets: Secrets, operator: str, *, busy_timeout_s: float
    ) -> None:
        """For :meth:`open`."""
        super().__init__(pool, secrets, operator, busy_timeout_s=busy_timeout_s)
        self._turns: WeakValueDictionary[str, _Queue] = WeakValueDictionary()
        self._left: dict[str, Left] = {}
        _, limits = bind([], timeout_s=pool.timeout_s, lock_s=busy_timeout_s)
        self._limits = limits or {}

    async def commit(self, owner: Scope, request: TurnRequest, decide: Decide) -> Committed:
        """See the port."""
        known = self._owners.of(owner)
        async with self._turn(known) as line:
            # Whoever is interrupted from here on does not know how it left the owner.
            left = self._left.pop(known.name, None)
            done = None
            if left is not None and _is_foreseeable(request, left):
                done = await self._as_foreseen(line, known, request, decide, left)
            return done or await self._under_turn(line, known, request, decide, left)

    async def _as_foreseen(
        self, line: Line, owner: Owner, request: TurnRequest, decide: Decide, left: Left
    ) -> Committed | None:
        """Write what is decided on what should stand; None, and nothing written, if that cannot be
        known to be right.

        While the decision is made and the change encoded, the server takes the turn.
        """
        marks = [tombstone_tag(owner.tag, print_) for print_ in request.tombstones]
        turn = self._asked_of_turn(owner, left.head, marks)
        line.send(("begin", None), ("take_turn_as_foreseen", turn))
        written = _decided(owner, decide, left)
        sent = (*written.statements, ("commit", None)) if written else (("rollback", None),)
        try:
            _, _, *found = await line.run(*sent, timeout_s=self._turn_timeout_s)
        except Unforeseen:
            await line.give_up(self._pool.timeout_s)
            return None
        return self._committed(owner, written, found, is_alone=True) if written else None

    async def _under_turn(
        self, line: Line, owner: Owner, request: TurnRequest, decide: Decide, left: Left | None
    ) -> Committed:
        snapshot, mac = await self._take_turn(line, owner, request)
        head = snapshot.head
        is_alone = left is None or left.head == head
        change = await decided(request, decide, snapshot)
        if change is None:
            if head is not None:
                self._note(owner, Left(head, mac, is_alone))
            return Committed(head, ())
        written = write_change(owner, head, mac, change)
        sent = (*written.statements, ("commit", None))
        found = await line.run(*sent, timeout_s=self._pool.timeout_s)
        return self._committed(owner, written, found, is_alone=is_alone)

    def _committed(
        self, owner: Owner, written: Written, found: Sequence[list[Row]], *, is_alone: bool
    ) -> Committed:
        self._note(owner, Left(written.head, written.mac, is_alone))
        restated = [
            row
            for (name, _), rows in zip(written.statements, found, strict=False)
            if name == "restate"
            for row in stored_rows(rows)
        ]
        return Committed(written.head, tuple(sorted([*written.rows, *restated])))

    def _note(self, owner: Owner, left: Left) -> None:
        if len(self._left) >= KNOWN_OWNERS:
            self._left.clear()
        self._left[owner.name] = left

    @asynccontextmanager
    async def _turn(self, owner: Owner | Unnamed, longer_s: float = 0) -> AsyncIterator[Line]:
        """Stand in this process's line for an owner, then hold a connection, for as long as a turn
        may take, and ``longer_s`` seconds if it is known to.

        Who waits for the database's turn holds a connection: here only one does for each owner,
        so that the many who write for one owner leave the others theirs.
        """
        self._check_usable()
        loop = asyncio.get_running_loop()
        ends_at = loop.time() + self._turn_timeout_s + longer_s
        queue = self._turns.get(owner.name)
        if queue is None:
            queue = self._turns[owner.name] = _Queue()
        await queue.wait(self._busy_timeout_s, self.location)
        try:
            self._check_usable()
            async with self._pool.line(ends_at - loop.time()) as line:
                yield line
        finally:
            queue.leave()

    def _begin_turn(
        self,
        owner: Owner | Unnamed,
        *,
        since: Head | None = None,
        marks: Sequence[bytes] = (),
        rows: bool,
    ) -> list[Statement]:
        """Return what takes a turn, and asks for what stands, with or without the rows."""
        live = [*LIVE.values()] if rows else []
        return [
            ("begin", None),
            ("take_turn", self._asked_of_turn(owner, since, marks) | {"live": live}),
        ]

    def _asked_of_turn(
        self, owner: Owner | Unnamed, head: Head | None, marks: Sequence[bytes]
    ) -> dict[str, Any]:
        """Return the values that take a turn: whose, what is known of it, and how long."""
        return {
            **self._limits,
            "owner": owner.name,
            # Advisory locks have numbers of 64 bits. Two owners of one number would wait for each
            # other and no more.
            "key": int.from_bytes(owner.digest[:8], "big", signed=True),
            "marks": marks,
            "known_incarnation": head and head.incarnation,
            "known_epoch": head and head.epoch,
            "known_revision": head and head.revision,
        }

    async def _take_turn(
        self, line: Line, owner: Owner, request: TurnRequest
    ) -> tuple[Snapshot, bytes]:
        """Return what stands under the turn, and the last code of the chain."""
        since = request.since
        marks = {tombstone_tag(owner.tag, print_): print_ for print_ in request.tombstones}
        begun = self._begin_turn(owner, since=since, marks=[*marks], rows=True)
        asked = meaning.wanted_under_turn(owner.name, owner.tag, request)
        _, stood, *others = await line.run(*begun, *asked, timeout_s=self._turn_timeout_s)
        if not stood:
            found = meaning.found_under_turn(owner.tag, request, asked, others)
            counts = found["counts"]
            return Snapshot(head=None, complete=True, rows=(), counts=counts), b""
        # The head's row is the first.
        *where, mac, banned = stood[0][:7]
        head = Head._make(where)
        more = meaning.found_under_turn(owner.tag, request, asked, others)
        if since is not None and not meaning.is_since(since, head):
            since = None
            # What comes with all of the rows was not asked for with those since a head.
            told = meaning.consents_of(owner.name)
            more |= meaning.consents_in(*await line.run(told, timeout_s=self._turn_timeout_s))
        more["tombstoned"] = frozenset(marks[tag] for tag in banned or ())
        rows = [(id, revision, *row, None) for _, _, revision, _, _, _, _, id, *row in stood[1:]]
        return meaning.snapshot_of(head, since, stored_rows(rows), more), mac


async def decided(request: TurnRequest, decide: Decide, snapshot: Snapshot) -> Change | None:
    """Return what a writer decides on what stands under its turn."""
    if request.is_brief and len(snapshot.rows) <= FEW_ROWS:
        return decide(snapshot)
    # On a thread: it may take a while, and others wait for this loop.
    return await asyncio.to_thread(decide, snapshot)


def _decided(owner: Owner, decide: Decide, left: Left) -> Written | None:
    """Return what is to be written if an owner stands as it was left; None for nothing, or if it
    is refused: what really stands may be another matter.
    """
    try:
        change = decide(Snapshot(head=left.head, complete=False, rows=()))
        return None if change is None else write_change(owner, left.head, left.mac, change)
    except (SimonidesError, ValueError):
        return None


def _is_foreseeable(request: TurnRequest, left: Left) -> bool:
    """Whether nothing need be read for a decision, and none else writes."""
    return request.is_brief and not request.asks and left.is_alone and left.head == request.since
