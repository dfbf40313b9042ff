"""The verbs about what is kept back until somebody decides (HY-5, HY-6)."""

from __future__ import annotations

from simonides.domain.decision import Outcome
from simonides.domain.held import Held
from simonides.domain.scope import Principal
from simonides.manager.holding import Holder
from simonides.manager.services import Services


class AsyncHoldingVerbs:
    """What a manager decides about what waits; see :class:`simonides.AsyncMemoryManager`, which has
    these verbs.
    """

    _services: Services
    _principal: Principal

    async def held(self, *, scope: str | None = None) -> tuple[Held, ...]:
        """Return what is kept back in a scope, oldest first: recalled by nobody, and stored only
        once it is released.

        What waits because of what hygiene found, and nobody has decided about after the policy's
        ``review_days``, is left out, and so is what nothing has borne out for its
        ``consolidation.held_days``; the next hygiene cycle lets it go.

        Args:
            scope: Of this principal, as for :meth:`remember`; None for its own.

        Raises:
            InvalidScope: If the scope is unknown.
            ScopeDenied: If the scope is not this principal's to write.
        """
        return await Holder(self._services, self._principal).held(scope)

    async def release(self, held_id: str, *, reason: str = "", scope: str | None = None) -> Outcome:
        """Decide that what is kept back is to be stored (HY-5, HY-6).

        It is looked through and judged again by the policy of now, all guards bind, and its label
        stays: what came from outside is still ``external``, and what hygiene found ``sensitive``.

        Args:
            held_id: Of what waits.
            reason: Why, in a person's words; for the audit trail.
            scope: As for :meth:`held`.

        Returns:
            As of a write; ``blocked`` or ``dropped`` with the reason where policy or a guard is
            against it, and what policy blocks by now is let go. Or ``dropped`` with ``not_found``;
            or ``blocked`` with ``own_proposal``: who brought it leaves it to somebody else, but for
            the user, who decides about all memories of his own; or with
            ``promoted_from_elsewhere``: a copy that waits in an org would not be found when its
            original is forgotten.

        Raises:
            InvalidInput: If the reason is too long.
            ScopeDenied: If the scope is not this principal's to write.
            StoreError: If the store could not; then it waits on.
        """
        return await Holder(self._services, self._principal).release(held_id, reason, scope)

    async def discard(self, held_id: str, *, reason: str = "", scope: str | None = None) -> Outcome:
        """Decide that what is kept back is not to be stored; whoever may write there may.

        Args:
            held_id: Of what waits.
            reason: Why, in a person's words; for the audit trail.
            scope: As for :meth:`held`.

        Returns:
            ``dropped``, with ``discarded`` or ``not_found``.

        Raises:
            InvalidInput: If the reason is too long.
            ScopeDenied: If the scope is not this principal's to write.
            StoreError: If the store could not; then it waits on.
        """
        return await Holder(self._services, self._principal).discard(held_id, reason, scope)
