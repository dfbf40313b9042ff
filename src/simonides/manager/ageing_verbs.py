"""The verbs about how memories age: what time has made of one, whom to ask, and collecting."""

from __future__ import annotations

from collections.abc import Callable

from simonides.domain.ageing import Ageing, access_noted, age, seen_at, stale_from, staleness
from simonides.domain.collecting import GcReport
from simonides.domain.memory import Memory
from simonides.domain.scope import Principal
from simonides.domain.value import from_us, to_us
from simonides.language.normalise import check_text
from simonides.manager.accesses import looked_at
from simonides.manager.asking import Asker
from simonides.manager.collecting import Collector
from simonides.manager.journal import ReadJournal
from simonides.manager.lookup import Lookup
from simonides.manager.services import Services


class AsyncAgeingVerbs:
    """What time does to memories; see :class:`simonides.AsyncMemoryManager`, which has these
    verbs.
    """

    _services: Services
    _principal: Principal
    _lookup: Lookup
    _asker: Asker

    async def ageing(self, id: str) -> Ageing | None:
        """Return what time has made of one memory, and how often it was read; None if there is
        none that this principal may read.

        How often others read the org's memories is not this reader's to know (SC-4): of those, the
        access says what ranking knows.
        """
        readable = await self._asker.readable(None, "get")
        memory = await self._lookup.get(check_text("id", id, 512), readable)
        if memory is None:
            return None
        owner, now = memory.scope.owner, self._lookup.now
        await self._services.part(ReadJournal).flush()
        (row,) = await self._lookup.stored([memory.id], owner)
        if owner == self._principal.home.owner:
            folded = await looked_at(self._services.store, owner, ())
            access = folded.access(memory.id, to_us(now))
        else:
            access = access_noted(row, now)
        since = stale_from(row)
        return Ageing(
            memory=memory,
            recorded_confidence=row.confidence,
            age=age(row, now),
            staleness=staleness(row, now, access),
            stale_from=None if since is None else from_us(since),
            access=access,
            asks_to_be_verified=seen_at(row, now).asks_to_be_verified(now),
        )

    async def to_verify(self) -> tuple[Memory, ...]:
        """Return the memories that somebody should be asked to verify now, newest first (ME-2).

        Unverified ones stay flagged until they are confirmed; they are asked about for an hour
        after they were recorded.
        """
        now = self._lookup.now
        found = await self._lookup.list(await self._asker.cue("", verb="list"))
        return tuple(memory for memory in found if memory.asks_to_be_verified(now))

    async def gc(
        self, *, dry_run: bool = False, progress: Callable[[GcReport], None] | None = None
    ) -> GcReport:
        """Collect what has aged out of this principal's memories, its tasks' included (LT-6).

        What has expired is evicted, what is stale is marked and evicted a day later unless it was
        read or confirmed, what gave way or was evicted longer ago than time travel reaches is
        purged; see :class:`~simonides.GcReport`. What the user stated, pinned, or told the agent
        to do is evicted by its hard expiry only. Run again at once it finds nothing to do; killed
        at any point it is gone on with by the next run.

        Args:
            dry_run: Only say what would be done.
            progress: Is told how far it has come, after each turn.

        Raises:
            StoreError: If the store could not; what was done until then stays.
        """
        collector = Collector(self._services, self._principal)
        owner = self._principal.home.owner
        return await collector.everything([owner], dry_run=dry_run, tell=progress)
