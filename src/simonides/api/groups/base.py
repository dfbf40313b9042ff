"""The six groups as properties of a memory, and its profile."""

from __future__ import annotations

from simonides.api.bound import Bound
from simonides.api.groups.audit import AsyncAudit
from simonides.api.groups.data import AsyncData
from simonides.api.groups.maintenance import AsyncMaintenance
from simonides.api.groups.pending import AsyncPending
from simonides.api.groups.privacy import AsyncPrivacy
from simonides.api.groups.receipts import AsyncReceipts
from simonides.domain.reading.profile import Profile
from simonides.engine.prompting import profile_of


class AsyncGroups:
    """Base of :class:`simonides.AsyncMemory`: its groups."""

    def __init__(self, bound: Bound) -> None:
        self._bound = bound

    async def profile(self) -> Profile:
        """Return the standing facts by key, and the standing rules, whatever is asked.

        Raises:
            StoreError: If the store could not.
        """
        cue = await self._bound.asker.cue("", verb="list")
        found = await self._bound.lookup.list(cue)
        return profile_of(found, self._bound.principal.home)

    @property
    def privacy(self) -> AsyncPrivacy:
        """What the person refuses and allows."""
        return AsyncPrivacy(self._bound)

    @property
    def data(self) -> AsyncData:
        """Export, restore, import and erasure."""
        return AsyncData(self._bound)

    @property
    def pending(self) -> AsyncPending:
        """What waits for a person's decision."""
        return AsyncPending(self._bound)

    @property
    def receipts(self) -> AsyncReceipts:
        """What was shown to models, and checks of answers."""
        return AsyncReceipts(self._bound)

    @property
    def maintenance(self) -> AsyncMaintenance:
        """Collection, hygiene, consolidation and figures."""
        return AsyncMaintenance(self._bound)

    @property
    def audit(self) -> AsyncAudit:
        """Who did what, safety records and feedback."""
        return AsyncAudit(self._bound)
