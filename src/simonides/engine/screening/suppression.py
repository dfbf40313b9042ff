"""Finds statements that must not be shown again, because they were forgotten or are refused.

The summary of a session and the search of its log share this decision. The log itself keeps every
entry while the session is open, because the conversation continues in it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from simonides.domain.governance.consent import Refusals, refusals_of
from simonides.domain.scope import Principal
from simonides.domain.writing.decision import Candidate
from simonides.engine.core import Runtime, marks_of, tombstoned
from simonides.text.similarity import Claim, claim_of


class SuppressionFilter:
    """Finds the suppressed statements of one principal."""

    def __init__(self, runtime: Runtime, principal: Principal) -> None:
        self._runtime = runtime
        # The user's statements belong to the user, in a task too.
        self._principal = replace(principal, home=principal.home.owner)

    async def among(self, stated: Sequence[Candidate]) -> list[Claim]:
        """Return the forgotten or refused ones of some statements, ready for matching against text.

        Raises:
            StoreError: If the store cannot be read.
        """
        if not stated:
            return []
        owner = self._principal.home.owner
        buried = await tombstoned(self._runtime.store, owner, stated)
        refusals = await self.refusals()
        return [
            claim_of(each)
            for each in stated
            if (buried and buried.intersection(marks_of(each))) or refusals.against(each)
        ]

    async def refusals(self) -> Refusals:
        """Return what the principal refuses to have remembered.

        Raises:
            StoreError: If the store cannot be read.
        """
        return refusals_of(await self._runtime.store.consents(self._principal.home))
