"""Finds statements that must not be shown again: they were forgotten since, or the user does not
want them remembered.

The summary of a session and the search of its log share this decision. The log itself keeps every
entry while the session is open, because the conversation goes on in it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from simonides.domain.governance.consent import Refusals, refusals_of
from simonides.domain.scope import Principal
from simonides.domain.writing.decision import Candidate
from simonides.engine.core.idempotency import marks_of, tombstoned
from simonides.engine.core.runtime import Runtime
from simonides.text.similarity.support import Claim, claim_of


class SuppressionFilter:
    """Tells what of one principal's statements is not to be told again."""

    def __init__(self, runtime: Runtime, principal: Principal) -> None:
        self._runtime = runtime
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
        buried = await tombstoned(self._runtime.store, owner, stated)
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
        return refusals_of(await self._runtime.store.consents(self._principal.home))
