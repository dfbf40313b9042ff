"""Relates new memories to stored ones by a model, where the rules found no relation.

A write applies what the rules can tell. The model is then asked about new memories that are close
in meaning to stored ones. It is asked once per batch, outside any turn: the same, an update, a
contradiction, or neither. A verdict is applied as a finding of the hygiene cycle, if both memories
are unchanged since they were read. A changed pair is left to the rules and is not asked about
again.
"""

from __future__ import annotations

from collections.abc import Sequence

from simonides.domain.operations.hygiene_scan import HygieneReport
from simonides.domain.scope import Principal
from simonides.domain.writing.decision import Outcome, OutcomeKind
from simonides.engine.core import Runtime, account_of
from simonides.engine.hygiene_scan.scan import Cycle
from simonides.policy import Policy
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
    """Ask a model how new memories relate to stored ones, and apply its verdicts.

    Args:
        runtime: The open simonides.
        principal: Author of the writes; named in the audit trail.
        policy: Policy of its org; ``lanes.reconcile`` can turn the question off.
        outcomes: Outcomes of the writes. Only new memories of this owner are examined.
        model: Model account to use; None opens one.

    Returns:
        What was done, its cost and any problems; empty without a model.

    Raises:
        StoreError: If the store failed; changes made until then stay.
    """
    owner = principal.home.owner
    new = [
        outcome.record.id
        for outcome in outcomes
        if outcome.kind in _NEWCOMERS
        and outcome.record is not None
        and outcome.record.scope.owner == owner
        and outcome.record.key is None
    ]
    account = model or account_of(runtime, owner)
    if account is None or not new or not policy.lanes.reconcile:
        return HygieneReport()
    cycle = Cycle(runtime, principal)
    return await cycle.run(owner, dry_run=False, among=new, model=account)
