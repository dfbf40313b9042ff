"""The relevance floors in force for one principal's owner, and how they adapt to use."""

from __future__ import annotations

from collections.abc import Collection
from typing import Any

from simonides.domain.errors import StoreUnavailable
from simonides.domain.governance.consent import RECALL_OFF
from simonides.domain.policy.floors import FloorState, observed
from simonides.domain.reading.receipt import Receipt, Trigger
from simonides.domain.scope import Principal
from simonides.engine.core import Runtime
from simonides.engine.recall import ReadJournal, Used
from simonides.policy import Policy


class Floors:
    """Determines how relevant a memory must be to go into a prompt, from the use of earlier ones.

    It is learned per owner: a user and its tasks share it.
    """

    def __init__(self, runtime: Runtime, principal: Principal) -> None:
        self._runtime = runtime
        self._principal = principal
        self._journal = runtime.part(ReadJournal)
        self._notes = self._journal.of(principal.home.owner)

    async def in_force(self, trigger: Trigger) -> float:
        """Return the floor of a digest or a push; of a pull, which has none, the digest's."""
        policy = self._policy
        if not policy.feedback.enabled:
            return _base(policy, trigger)
        return (await self._state()).floor(_base(policy, trigger), policy.feedback)

    async def learn(self, receipt: Receipt, used: Collection[str]) -> None:
        """Record which memories shown by a read an answer used.

        It takes effect when the journal is next written, and counts once, even if reported again.
        """
        policy, cue, me = self._policy, receipt.cue, self._principal
        mine = (receipt.reader, cue.agent, cue.purpose) == (me.home, me.agent, me.purpose)
        # With recall off, nothing was searched, so an empty result is no evidence.
        if not (policy.feedback.enabled and mine) or RECALL_OFF in receipt.degraded:
            return
        trigger = Trigger.ASKED if receipt.page is None else receipt.page.trigger
        seen = observed(receipt, used, await self.in_force(trigger))
        if seen is not None:
            self._notes.add(Used(seen, policy.digest.floor, policy.feedback))

    async def report(self) -> dict[str, Any]:
        """Return the floors in force and their use rates, for ``status``.

        Rates are those of the last decision, None before the first; ``reads`` count towards the
        next.
        """
        state = await self._state()
        return {
            "digest": await self.in_force(Trigger.ASKED),
            "push": await self.in_force(Trigger.PUSH),
            "hit_rate": state.hit_rate,
            "false_positives": state.false_positives,
            "reads": state.reads,
        }

    async def _state(self) -> FloorState:
        try:
            return await self._journal.floors(self._notes)
        except StoreUnavailable:
            # Warm indexes still answer, and report the outage; they use the policy's floor.
            return FloorState()

    @property
    def _policy(self) -> Policy:
        return self._runtime.policies.policy_for(self._principal.home.org)


def _base(policy: Policy, trigger: Trigger) -> float:
    return policy.push.floor if trigger is Trigger.PUSH else policy.digest.floor
