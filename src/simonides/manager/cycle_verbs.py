"""The verb that looks again through what is stored (HY-8)."""

from __future__ import annotations

from simonides.domain.cycle import HygieneReport
from simonides.domain.scope import Principal
from simonides.manager.cycling import Cycle
from simonides.manager.services import Services
from simonides.manager.sync_markers import waits_for_model


class AsyncCycleVerbs:
    """Looking through what is stored; see :class:`simonides.AsyncMemoryManager`, which has this
    verb.
    """

    _services: Services
    _principal: Principal

    @waits_for_model
    async def hygiene(self, *, dry_run: bool = False) -> HygieneReport:
        """Look through this principal's memories, its tasks' too, for what writes did not find.

        What was said twice is merged; what a later statement updates gives way to it; of what
        contradicts itself a clear gap of confidence decides, else a person is asked
        (:meth:`reviews`); reviews that nobody has decided in time expire, and what waited as
        long because of what hygiene found in it is let go. What is stale is counted, and in what
        policy, as it is today, would do something about what hygiene finds. Everything that is done
        is an event, and what gave way stays in history. Run again at once it finds nothing to do.

        Where there is a language model it is asked, once, about statements that are near to each
        other in meaning and of which the rules say nothing. That it fails, or what it answers
        amiss, is among the report's ``diagnostics``; the rules' answer stands then.

        Args:
            dry_run: Only say what would be done; the model is asked for that too.

        Raises:
            StoreError: If the store could not; what was done until then stays.
        """
        cycle = Cycle(self._services, self._principal)
        return await cycle.run(self._principal.home.owner, dry_run=dry_run)
