"""Reads memories by id, key or scope, without ranking, and checks the reader's access."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime

from simonides.domain.ageing import SUMMARY_CATEGORY, seen_at
from simonides.domain.codecs.memory import decode, decode_all
from simonides.domain.memory import Record
from simonides.domain.reading.cue import Cue
from simonides.domain.scope import Principal, Scope, owners_of
from simonides.domain.value import to_us
from simonides.domain.writing.change import StoredRow
from simonides.domain.writing.decision import Candidate
from simonides.engine.core import Runtime
from simonides.engine.knowledge import Library
from simonides.engine.recall.fresh_indexes import FreshIndexes
from simonides.retrieval.query import enduring, gather


class Lookup:
    """Finds memories for one principal; read-only.

    Attributes:
        fresh: Refreshes the indexes that are read.
    """

    def __init__(self, runtime: Runtime, principal: Principal) -> None:
        self._runtime = runtime
        self._principal = principal
        self.fresh = FreshIndexes(runtime, principal)

    @property
    def now(self) -> datetime:
        """The clock's time."""
        return self.fresh.now

    async def get(self, id: str, scopes: Sequence[Scope]) -> Record | None:
        """Return a memory by id, whatever its status.

        None unless it is in one of the scopes, has not expired, and this reader may see it.
        """
        memory = await self.known(id, scopes)
        if memory is None or not self.admits(memory):
            return None
        return memory if await self.agreed([memory]) else None

    async def by_key(self, key: str, scopes: Sequence[Scope]) -> Record | None:
        """Return the current memory under a key, from the nearest scope that has one.

        Args:
            key: The key.
            scopes: Nearest first.
        """
        for scope in scopes:
            rows = await self._runtime.store.keyed(scope.owner, scope, key)
            live = [m for m in decode_all(rows) if m.status.is_live and self.admits(m)]
            if found := await self.agreed(live[-1:]):
                return await self._as_seen(found[0])
        return None

    async def list(self, cue: Cue) -> tuple[Record, ...]:
        """Return everything the cue may see, newest first, then by id."""
        view = await self.fresh.stored(cue)
        pool = gather(view.frozen, cue, view.clock)
        return tuple(
            sorted(pool.everything(view.clock), key=lambda m: (-to_us(m.created_at), m.id))
        )

    async def keyed(self, scope: Scope) -> tuple[Record, ...]:
        """Return the keyed memories of one scope, by key."""
        principal = self._principal
        cue = Cue("", 1, (scope,), agent=principal.agent, purpose=principal.purpose)
        view = await self.fresh.stored(cue)
        keyed = gather(view.frozen, cue, view.now).keyed(view.now)
        return tuple(sorted(keyed, key=lambda memory: str(memory.key)))

    async def history(
        self, which: str, look_in: Sequence[Scope], readable: Sequence[Scope]
    ) -> tuple[Record, ...]:
        """Return every version of a memory, oldest first.

        Args:
            which: A key, or else an id.
            look_in: Scopes in which it is looked up as a key; the first with a match counts.
            readable: Scopes in which it is looked up as an id.
        """
        rows: Sequence[StoredRow] = ()
        for scope in look_in:
            rows = rows or await self._runtime.store.keyed(scope.owner, scope, which)
        if not rows:
            memory = await self.get(which, readable)
            if memory is None:
                return ()
            rows = await self._runtime.store.history(memory.scope.owner, memory.root)
        chain = await self.agreed([memory for memory in decode_all(rows) if self.admits(memory)])
        seen = [await self._as_seen(memory) for memory in chain]
        return tuple(sorted(seen, key=lambda m: (to_us(m.created_at), m.version)))

    async def known(self, id: str, scopes: Sequence[Scope]) -> Record | None:
        """Return a memory like :meth:`get`, even if expired, refused, or given for another purpose.

        So the caller can explain why it is not shown. Statements of the principal's session are
        found too.
        """
        found = await self._heard([id], scopes)
        if not found and self._principal.session is not None:
            said = await self.fresh.overlay.memories(to_us(self.now))
            found = tuple(m for m in said if m.id == id and m.scope in scopes)
        return found[0] if found else None

    async def all_known(self, ids: Sequence[str], scopes: Sequence[Scope]) -> tuple[Record, ...]:
        """Return several memories like :meth:`get`, and passages of documents; each once.

        Expired memories are included.
        """
        heard = await self._heard(ids, scopes)
        agreed = await self.agreed([memory for memory in heard if self._serves_purpose(memory)])
        return (*agreed, *self.passages(ids, scopes).values())

    async def stored(self, ids: Sequence[str], owner: Scope) -> tuple[Record, ...]:
        """Return memories of a readable owner with their stored status."""
        return decode_all(await self._runtime.store.get(owner, ids))

    def passages(self, ids: Sequence[str], scopes: Sequence[Scope]) -> Mapping[str, Record]:
        """Return passages of documents by id, as far as they are available."""
        reader = self._principal.home.owner
        return self._runtime.part(Library).find(ids, scopes, reader)

    async def agreed(self, memories: Sequence[Record]) -> tuple[Record, ...]:
        """Return the memories that their owners do not refuse, in order."""
        hidden: set[str] = set()
        for owner in {memory.scope.owner for memory in memories}:
            of_owner = [memory for memory in memories if memory.scope.owner == owner]
            hidden |= await self.fresh.refused(owner, of_owner)
        return tuple(memory for memory in memories if memory.id not in hidden)

    async def is_off(self) -> bool:
        """Whether the principal's owner has switched recall off."""
        return await self.fresh.is_off(self._principal.home.owner)

    def admits(self, memory: Record) -> bool:
        """Whether this reader may see a memory of a readable scope."""
        return (
            self._serves_purpose(memory) and self.hears(memory) and not memory.is_expired(self.now)
        )

    def hears(self, said: Record | Candidate) -> bool:
        """Whether this reader's agent belongs to the audience."""
        return said.audience is None or self._principal.agent in said.audience

    def _serves_purpose(self, memory: Record) -> bool:
        return memory.purpose is None or memory.purpose == self._principal.purpose

    async def _heard(self, ids: Sequence[str], scopes: Sequence[Scope]) -> tuple[Record, ...]:
        found: dict[str, Record] = {}
        for owner in owners_of(scopes) if ids else ():
            for row in await self._runtime.store.get(owner, ids):
                memory = decode(row)
                if memory.scope in scopes and self.hears(memory):
                    found.setdefault(memory.id, await self._as_seen(memory))
        return tuple(found.values())

    async def _as_seen(self, memory: Record) -> Record:
        """Return a memory with its present status; only that of a session summary depends on
        others.
        """
        seen = seen_at(memory, self.now)
        if seen is memory or memory.category != SUMMARY_CATEGORY:
            return seen
        view = await self.fresh.stored(Cue("", 1, (memory.scope,)))
        latest = [where for index in view.frozen for where in enduring(index)]
        endures = any(segment.rows[place].id == memory.id for segment, place in latest)
        return seen_at(memory, self.now, endures=endures)
