"""How newcomers stand to what was there: by rules when written, by a model where those are silent.

A write resolves what the rules can tell. Of what it only put beside something near in
meaning a model is asked afterwards, once for all newcomers of a batch, outside every turn:
the same, an update, a contradiction, or neither. What it says is applied as a finding of the
hygiene cycle is, in a turn that looks again whether both still stand as they were read; what has
moved meanwhile is left to the rules, and nobody is asked again.
"""

from __future__ import annotations

from collections.abc import Sequence

from simonides.domain.operations.hygiene_scan import HygieneReport
from simonides.domain.scope import Principal
from simonides.domain.writing.decision import Outcome, OutcomeKind
from simonides.engine.core.runtime import Runtime, account_of
from simonides.engine.hygiene_scan.scan import Cycle
from simonides.policy.policy import Policy
from simonides.ports import LanguageModel

_NEWCOMERS = (OutcomeKind.CREATED, OutcomeKind.COEXISTS)


async def reconcile(
    runtime: Runtime,
    principal: Principal,
    policy: Policy,
    outcomes: Sequence[Outcome],
    *,
    model: LanguageModel | None = None,
) -> HygieneReport:
    """Let a model say how newcomers stand to what was there, and apply that.

    Args:
        runtime: The open simonides.
        principal: Who wrote them; the trail names it.
        policy: Of its org; its ``lanes.reconcile`` may say that nobody is asked.
        outcomes: Of the writes; those are looked at that left something new with this owner.
        model: The account to ask through; None opens one of its own.

    Returns:
        What was done, what that cost, and what went wrong; nothing without a model.

    Raises:
        StoreError: If the store could not; what was done until then stays.
    """
    owner = principal.home.owner
    new = [
        outcome.memory.id
        for outcome in outcomes
        if outcome.kind in _NEWCOMERS
        and outcome.memory is not None
        and outcome.memory.scope.owner == owner
        and outcome.memory.key is None
    ]
    account = model or account_of(runtime, owner)
    if account is None or not new or not policy.lanes.reconcile:
        return HygieneReport()
    cycle = Cycle(runtime, principal)
    return await cycle.run(owner, dry_run=False, among=new, model=account)
