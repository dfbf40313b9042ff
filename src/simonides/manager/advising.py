"""Asks a language model what is to become of candidates, within what policy lets it say (CO-2)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from simonides.consolidation.write_judge import MOST, advice_in, advise
from simonides.domain.decision import NO_USAGE, Judgement, Usage
from simonides.domain.errors import ModelError
from simonides.domain.scope import Principal
from simonides.manager.capturing import failure_of
from simonides.manager.services import Services, account_of
from simonides.policy.rules import Policy
from simonides.policy.second_opinion import advised, is_open
from simonides.ports import LanguageModel

NOT_JUDGED = "candidates_not_judged"
"""Diagnostic: so many candidates were more than one question holds; the rules' word stands."""


class Advised(NamedTuple):
    """Judgements after a model was asked.

    Attributes:
        judgements: One for each, in their order.
        usage: What it cost.
        diagnostics: Why the rules' word stands where the model gave none that can be used.
    """

    judgements: tuple[Judgement, ...]
    usage: Usage = NO_USAGE
    diagnostics: tuple[str, ...] = ()


async def advised_by_model(
    services: Services,
    principal: Principal,
    policy: Policy,
    judgements: Sequence[Judgement],
    *,
    model: LanguageModel | None = None,
) -> Advised:
    """Return judgements as a model's word leaves them: one question for all of them.

    It can lower any judgement of what was extracted, raise only what
    :mod:`simonides.policy.second_opinion` lets it, and admit nothing that was refused. Whatever is
    wrong with its answer, the rules decide there.

    Args:
        services: The open simonides.
        principal: For whom.
        policy: Of its org; its ``lanes.judge`` may say that nobody is asked.
        judgements: Of the rules, see :meth:`simonides.manager.writing.Writer.judge`.
        model: The account to ask through; None opens one of its own.

    Raises:
        StoreError: If what is used cannot be written down.
    """
    open_ones = [place for place, each in enumerate(judgements) if is_open(each)]
    asked = open_ones[:MOST]
    account = model or account_of(services, principal.home.owner)
    if account is None or not asked or not policy.lanes.judge:
        return Advised(tuple(judgements))
    candidates = [judgements[place].candidate for place in asked]
    try:
        answer = await advise(account, candidates, deadline_s=policy.budgets.seconds)
    except ModelError as error:
        failed = (f"judge:{failure_of(error)}",)
        return Advised(tuple(judgements), error.usage or NO_USAGE, failed)
    given, wrong = advice_in(answer.value, len(asked))
    made = list(judgements)
    for number, advice in given.items():
        made[asked[number]] = advised(made[asked[number]], advice)
    over = len(open_ones) - len(asked)
    notes = [f"judge:{name}" for name in wrong] + ([f"{NOT_JUDGED}:{over}"] if over else [])
    return Advised(tuple(made), answer.usage, tuple(notes))
