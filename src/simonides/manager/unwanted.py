"""What was said that is not to be told again: it was forgotten since (FX-3), or the user does not
want it remembered (PO-4).

One decision, for the summary of a session and for whoever searches its log. The log itself keeps
what was said for as long as the session is open: the talk goes on in it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from simonides.consolidation.support import Claim, claim_of
from simonides.domain.consent import Refusals, refusals_of
from simonides.domain.decision import Candidate
from simonides.domain.scope import Principal
from simonides.manager.services import Services
from simonides.manager.write_names import marks_of, tombstoned


class Unwanted:
    """Tells what of one principal's statements is not to be told again."""

    def __init__(self, services: Services, principal: Principal) -> None:
        self._services = services
        # What the user says is the user's, in a task too.
        self._principal = replace(principal, home=principal.home.owner)

    async def among(self, stated: Sequence[Candidate]) -> list[Claim]:
        """Return those of some statements that were forgotten since or are refused, ready to be
        looked for in what was said.

        Raises:
            StoreError: If the store cannot be read.
        """
        if not stated:
            return []
        owner = self._principal.home.owner
        buried = await tombstoned(self._services.store, owner, stated)
        refusals = await self.refusals()
        return [
            claim_of(each)
            for each in stated
            if (buried and buried.intersection(marks_of(each))) or refusals.against(each)
        ]

    async def refusals(self) -> Refusals:
        """Return what the principal does not want remembered.

        Raises:
            StoreError: If the store cannot be read.
        """
        return refusals_of(await self._services.store.consents(self._principal.home))
