"""The verbs of consolidation as a diff that can be undone (FX-12)."""

from __future__ import annotations

from simonides.domain.dream import Dream
from simonides.domain.scope import Principal
from simonides.manager.asking import between
from simonides.manager.dreaming import Dreamer
from simonides.manager.services import Services
from simonides.manager.sync_markers import waits_for_model
from simonides.manager.waking import Waker

MAX_DREAMS = 1_000


class AsyncDreamVerbs:
    """Consolidating what is stored; see :class:`simonides.AsyncMemoryManager`, which has these
    verbs.
    """

    _services: Services
    _principal: Principal

    @waits_for_model
    async def dream(self, *, dry_run: bool = False) -> Dream:
        """Consolidate this principal's memories, in one transaction that can be taken back.

        What was said twice is merged; what a later statement updates gives way; of what contradicts
        itself a clear gap of confidence decides, else a person is asked. Rules beyond the cap are
        archived. If enough is new, insights are made of what several memories show, each with the
        ids of those; insights of which too little stands any more are withdrawn. No source is
        rewritten: states change, and new memories come. Where there is a language model it is
        asked two questions at the most; its word passes policy, guards and gates as everybody's.

        Args:
            dry_run: Only return the diff; nothing is written but what the model cost.

        Returns:
            The diff with its reasons and evidence; applied, it has an id for :meth:`undo_dream`.
            Without anything to do, or dry, it has none.

        Raises:
            StoreError: If the store could not; nothing was changed.
        """
        return await Dreamer(self._services, self._principal).dream(dry_run=dry_run)

    async def undo_dream(self, id: str) -> Dream:
        """Take a dream back: what it changed stands again as it stood, what it added is evicted.

        Of items whose memories have changed since, or are forgotten, it says so (``left``) and
        takes back the others.

        Args:
            id: Of an applied dream.

        Raises:
            UndoRefused: ``unknown_event``, ``already_undone``, or ``changed_since`` if nothing of
                it can be taken back.
            StoreError: If the store could not; nothing was changed.
        """
        return await Waker(self._services, self._principal).undo(id)

    async def dreams(self, *, limit: int = 20) -> tuple[Dream, ...]:
        """Return the dreams that were applied last, the newest first, without words.

        Raises:
            InvalidInput: If the limit is out of range.
            StoreError: If the store cannot be read.
        """
        most = between("limit", limit, 1, MAX_DREAMS)
        return await Waker(self._services, self._principal).dreams(most)
