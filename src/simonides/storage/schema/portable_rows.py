"""Rows of the schema as what a file carries, and back, for every store that keeps such rows.

What depends on the store's keys (digests, tags, codes) is dropped on the way out and made anew on
the way in. A store adds how it reads at one moment, and how it writes in one transaction.
"""

from __future__ import annotations

import json
from abc import ABC, abstractmethod
from collections.abc import (
    AsyncGenerator,
    AsyncIterator,
    Callable,
    Iterable,
    Iterator,
    Mapping,
    Sequence,
)
from typing import Any, NamedTuple, TypeAlias

from simonides.domain.codecs.memory import (
    STATUS_CODES,
    code_of,
    decode,
    status_of,
)
from simonides.domain.codecs.parts import (
    PARTS,
    OwnerFacts,
    Part,
    Row,
)
from simonides.domain.codecs.portable import Carried, Standing
from simonides.domain.event import CHAIN_START, chain
from simonides.domain.memory import Record
from simonides.domain.scope import Grant, Right, Scope
from simonides.domain.value import to_us
from simonides.domain.writing.change import StoredRow
from simonides.storage.schema.change_rules import content_code
from simonides.storage.schema.columns import CODEC
from simonides.storage.schema.lookup_tags import (
    chain_tag,
    grant_tag,
    key_tag,
    memory_tags,
    session_tag,
    subject_tag,
)
from simonides.storage.schema.owner_ids import Owners

PAGE = 200
"""Rows read at a time: a few milliseconds of work. Chosen."""

ROWS = 500
"""Rows written at a time. Chosen, as for moving a store."""

PART = {part.name: part for part in PARTS}

Cells: TypeAlias = tuple[Any, ...]
"""A row of which it is known what its cells are."""

Story = Sequence[tuple[int, bytes, int, int | None]]
"""States of a memory, oldest first: revision, packed state, known from, known to."""


class PortraitRows(ABC):
    """See :class:`simonides.ports.Portrait`; a store says how its rows are read."""

    def __init__(self, digest: bytes, facts: OwnerFacts, memories: int) -> None:
        self.digest = digest
        self.facts = facts
        self.memories = memories
        self._pages = self._all()

    async def next(self) -> Sequence[Carried]:
        """See the port."""
        while True:
            try:
                items = await anext(self._pages)
            except StopAsyncIteration:
                return ()
            if items:
                return items

    async def close(self) -> None:
        """Let go of what was begun."""
        await self._pages.aclose()

    @abstractmethod
    async def page(self, part: Part, after: Row | None, limit: int) -> Sequence[Row]:
        """Return rows of a part as :meth:`simonides.ports.MovableStore.page` does."""

    @abstractmethod
    async def stories(self, ids: Sequence[str]) -> Mapping[str, Story]:
        """Return the states of memories, by id."""

    @abstractmethod
    async def names(self, owners: Sequence[bytes]) -> Mapping[bytes, str]:
        """Return the paths of those of some owners that exist, by their digests."""

    async def _all(self) -> AsyncGenerator[Sequence[Carried]]:
        sources = (
            self._memories(),
            self._events(),
            self._derivations(),
            self._plain("tombstone", "tombstones", 0),
            self._plain("idempotency", "idempotency", 0, 1, 2, 3),
            self._plain("held", "held", 0, 2, 3, 4, 5),
            self._sorted("grant", "grants", _grant_order, 1),
            self._plain("journal", "read_journal", 1, 2, 3),
            self._sorted("session_end", "session_ends", _step_order, 1, 2, 3),
            self._sessions(),
            self._plain("review", "reviews", 0, 1, 2, 3),
            self._sorted("consent", "consents", _consent_order, 1, 2),
            self._plain("scope", "scopes", 0, 1, 2),
            self._plain("policy", "policies", 0, 1, 2, 3),
            self._plain("usage", "usage", 0, 1),
        )
        for source in sources:
            async for items in source:
                yield items

    async def _memories(self) -> AsyncIterator[list[Carried]]:
        async for rows in self._rows("memories"):
            stories = await self.stories([str(row[0]) for row in rows])
            yield [item for row in rows for item in _memory(row, stories[str(row[0])])]

    async def _plain(self, type: str, part: str, *columns: int) -> AsyncIterator[list[Carried]]:
        async for rows in self._rows(part):
            yield [Carried(type, tuple(row[column] for column in columns)) for row in rows]

    async def _rows(self, part: str, after: Row | None = None) -> AsyncIterator[Sequence[Cells]]:
        while rows := await self.page(PART[part], after, PAGE):
            yield rows
            after = PART[part].key_of(rows[-1])

    async def _events(self) -> AsyncIterator[list[Carried]]:
        after: Row | None = None
        async for rows in self._rows("events"):
            payloads: dict[Any, Cells] = {}
            last = rows[-1][0]
            while found := await self.page(PART["event_payloads"], after, PAGE):
                taken = [row for row in found if row[0] <= last]
                payloads |= {row[0]: row[1:] for row in taken}
                if not taken:
                    break
                after = taken[-1][:1]
                if len(taken) < len(found):
                    break
            yield [
                Carried("event", (seq, commitment, *payloads.get(seq, (None, None))))
                for seq, _, commitment, _ in rows
            ]

    async def _derivations(self) -> AsyncIterator[list[Carried]]:
        # Few beside the memories; their order by the child's digest is that of one store.
        edges = [edge async for rows in self._rows("derivations") for edge in rows]
        names = await self.names(sorted({owner for _, owner, _ in edges}))
        known = sorted((p, names[o], c) for p, o, c in edges if o in names)
        yield [Carried("derivation", edge) for edge in known]

    async def _sorted(
        self, type: str, part: str, order: Callable[[Cells], Any], *columns: int
    ) -> AsyncIterator[list[Carried]]:
        # Few, and kept by tags, whose order is that of one store.
        found = [row async for rows in self._rows(part) for row in rows]
        found.sort(key=order)
        yield [Carried(type, tuple(row[column] for column in columns)) for row in found]

    async def _sessions(self) -> AsyncIterator[list[Carried]]:
        found = [row async for rows in self._rows("sessions") for row in rows]
        named = sorted((row[1], json.loads(row[3])["session"], row) for row in found)
        for started_at, name, (tag, _, due_at, body) in named:
            yield [Carried("session", (name, started_at, due_at, body))]
            async for rows in self._rows("turns", (tag, -1)):
                turns = [row for row in rows if row[0] == tag]
                yield [Carried("turn", (name, *row[1:])) for row in turns]
                if len(turns) < len(rows):
                    break


def _memory(row: Cells, story: Story) -> Iterator[Carried]:
    id, revision, known_from, state, body = row[0], row[2], row[4], row[16], row[17]
    yield Carried("memory", (id, revision, known_from, state, body))
    for earlier, packed, since, _ in reversed(story[:-1]):
        yield Carried("state", (id, earlier, since, packed))


def _grant_order(row: Cells) -> tuple[str, ...]:
    body = json.loads(row[1])
    return body["grantee"], body["right"], body["subject"] or ""


def _step_order(row: Cells) -> str:
    name: str = json.loads(row[3])["session"]
    return name


def _consent_order(row: Cells) -> bytes:
    body: bytes = row[2]
    return body


class _Standing(NamedTuple):
    """A state that waits for the one before it, which says its ``previous``."""

    id: str
    revision: int
    known_from: int
    known_to: int | None
    state: bytes


class Arriving:
    """Makes the rows of an owner of what was carried, in the order in which they can be written.

    Attributes:
        seq: Last place in the chain so far.
        mac: Its code.
    """

    def __init__(self, owners: Owners, owner: Scope, journal: int) -> None:
        """Begin.

        Args:
            owners: Of the store.
            owner: Who arrives.
            journal: Number of the last entry that is in its journal.
        """
        known = owners.of(owner)
        self._owners, self._tag, self._digest = owners, known.tag, known.digest
        self._scope = owner
        self.seq, self.mac = 0, CHAIN_START
        self._journal = journal
        self._waiting: _Standing | None = None

    def rows(self, items: Iterable[Carried]) -> Iterator[tuple[str, Row]]:
        """Return rows, each with the name of its part.

        Raises:
            ValueError: If an item does not fit those before it.
        """
        for item in items:
            if item.type == "state":
                yield self._earlier(item)
                continue
            yield from self._settled()
            try:
                yield from _MAKERS.get(item.type, Arriving._plain)(self, item)
            except (LookupError, TypeError, OverflowError) as error:
                raise ValueError(f"a {item.type} cannot be read: {error!r}") from error
        yield from self._settled()

    def facts(self, incarnation: bytes, standing: Standing) -> OwnerFacts:
        """Return the row of the owner, once all rows are made.

        Raises:
            ValueError: If the events do not lead there.
        """
        if self.seq != standing.seq:
            raise ValueError(f"{self.seq} events do not lead to event {standing.seq}")
        head = (incarnation, standing.epoch, standing.revision, standing.known_at, self.seq)
        return OwnerFacts(*head, self.mac, *(None,) * 7, self._scope.path)

    def _memory(self, item: Carried) -> Iterator[tuple[str, Row]]:
        id, revision, known_from, state, body = item.cells
        memory = decode(StoredRow(id, revision, body, state, b"", known_from, None))
        if memory.scope.owner != self._scope:
            raise ValueError(f"memory {id} belongs to {memory.scope.path}")
        tags, tag = memory_tags(self._tag, memory), self._tag
        columns = (id, memory.version, revision, _status(state), known_from, _due(memory), CODEC)
        names = (tags.scope_tag, tags.chain_tag, tags.key_tag, tags.hash_tag, tags.slot_tag, None)
        code = content_code(self._digest, memory.id, memory.version, body)
        yield "memories", (*columns, *names, tags.session_tag, None, code, state, body)
        yield "lookups", (chain_tag(tag, memory.root), memory.version, id)
        if memory.key is not None:
            yield "lookups", (key_tag(tag, memory.scope, memory.key), 0, id)
        if item.made is not None and item.made[2]:
            yield "index_rows", (id, *item.made)
        self._waiting = _Standing(id, revision, known_from, None, state)

    def _earlier(self, item: Carried) -> tuple[str, Row]:
        id, revision, known_from, state = item.cells
        later = self._waiting
        if later is None or later.id != id:
            raise ValueError(f"a state of memory {id} does not follow it")
        if later.revision <= revision or later.known_from <= known_from:
            raise ValueError(f"states of memory {id} are out of order")
        self._waiting = _Standing(id, revision, known_from, later.known_from, state)
        return _state_row(later, revision)

    def _settled(self) -> Iterator[tuple[str, Row]]:
        if self._waiting is not None:
            yield _state_row(self._waiting, None)
            self._waiting = None

    def _event(self, item: Carried) -> Iterator[tuple[str, Row]]:
        seq, commitment, salt, payload = item.cells
        if seq != self.seq + 1:
            raise ValueError(f"event {seq} comes where {self.seq + 1} is next")
        self.seq = seq
        self.mac = chain(self.mac, self._digest, seq, commitment)
        yield "events", (seq, None, commitment, self.mac)
        if payload is not None:
            yield "event_payloads", (seq, salt, payload)
            subjects = json.loads(payload)["subjects"]
            for tag in dict.fromkeys(subject_tag(self._tag, subject) for subject in subjects):
                yield "lookups", (tag, seq, "")

    def _derivation(self, item: Carried) -> Iterator[tuple[str, Row]]:
        parent, path, child = item.cells
        yield "derivations", (parent, self._owners.of(Scope.parse(path)).digest, child)

    def _held(self, item: Carried) -> Iterator[tuple[str, Row]]:
        id, reason, held_at, session, body = item.cells
        tag = None if session is None else session_tag(self._tag, session)
        yield "held", (id, tag, reason, held_at, session, body)

    def _grant(self, item: Carried) -> Iterator[tuple[str, Row]]:
        (body,) = item.cells
        said = json.loads(body)
        grant = Grant(said["grantee"], Right(said["right"]), said["subject"], said["by"])
        yield "grants", (grant_tag(self._tag, grant), body)

    def _entry(self, item: Carried) -> Iterator[tuple[str, Row]]:
        self._journal += 1
        yield "read_journal", (self._journal, *item.cells)

    def _session(self, item: Carried) -> Iterator[tuple[str, Row]]:
        name, *rest = item.cells
        yield "sessions", (session_tag(self._tag, name), *rest)

    def _turn(self, item: Carried) -> Iterator[tuple[str, Row]]:
        name, *rest = item.cells
        yield "turns", (session_tag(self._tag, name), *rest)

    def _session_end(self, item: Carried) -> Iterator[tuple[str, Row]]:
        name = json.loads(item.cells[2])["session"]
        yield "session_ends", (session_tag(self._tag, name), *item.cells)

    def _consent(self, item: Carried) -> Iterator[tuple[str, Row]]:
        said = json.loads(item.cells[1])
        yield "consents", (self._tag("consent", said["about"], said["name"]), *item.cells)

    def _plain(self, item: Carried) -> Iterator[tuple[str, Row]]:
        yield _PLAIN[item.type], item.cells


_PLAIN = {
    "tombstone": "tombstones",
    "idempotency": "idempotency",
    "review": "reviews",
    "scope": "scopes",
    "policy": "policies",
    "usage": "usage",
}
_MAKERS = {
    "memory": Arriving._memory,
    "event": Arriving._event,
    "derivation": Arriving._derivation,
    "held": Arriving._held,
    "grant": Arriving._grant,
    "journal": Arriving._entry,
    "session": Arriving._session,
    "turn": Arriving._turn,
    "consent": Arriving._consent,
    "session_end": Arriving._session_end,
}


def _state_row(known: _Standing, previous: int | None) -> tuple[str, Row]:
    times = known.known_from, known.known_to
    columns = (known.revision, known.id, previous, _status(known.state), *times)
    return "states", (*columns, None, None, known.state)


def _status(state: bytes) -> int:
    return code_of(STATUS_CODES, status_of(state))


def _due(memory: Record) -> int | None:
    ends = [end for end in (memory.soft_expires_at, memory.hard_expires_at) if end is not None]
    return to_us(min(ends)) if ends else None


def batches(rows: Iterable[tuple[str, Row]]) -> Iterator[list[tuple[Part, list[Row]]]]:
    """Return rows some hundreds at a time, by part, in an order in which they can be written."""
    waiting: dict[str, list[Row]] = {}
    for count, (name, row) in enumerate(rows, start=1):
        waiting.setdefault(name, []).append(row)
        if count % ROWS == 0:
            yield _by_part(waiting)
            waiting = {}
    yield _by_part(waiting)


def _by_part(waiting: Mapping[str, list[Row]]) -> list[tuple[Part, list[Row]]]:
    return [(part, waiting[part.name]) for part in PARTS if part.name in waiting]
