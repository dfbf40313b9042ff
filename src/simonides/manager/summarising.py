"""Summaries of what was said: by the model where there is one, else out of its own sentences."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from simonides.consolidation.summary import ask_summary, summary_in
from simonides.domain.decision import NO_USAGE, Usage
from simonides.domain.errors import ModelError
from simonides.domain.findings import Concern
from simonides.domain.scope import Scope
from simonides.domain.trust import Trust
from simonides.domain.turn import Turn
from simonides.language.extract import extract
from simonides.language.grounding import Told
from simonides.manager.capturing import failure_of
from simonides.manager.screening import look, masked
from simonides.manager.services import Services, account_of
from simonides.policy.rules import Policy
from simonides.ports import LanguageModel

RULES = "rules"
"""Who a summary is by that no model wrote."""

EARLIER_CHARS = 4_000
"""Characters that stand for turns beyond what one question shows; chosen: 1,000 tokens."""


@dataclass(frozen=True, slots=True)
class Summary:
    """A summary of turns.

    Attributes:
        text: At most as long as was asked; may be empty where nothing was said.
        by: ``rules`` or the id of the model.
        usage: What it cost.
        diagnostics: Why no model took part though there is one.
    """

    text: str
    by: str
    usage: Usage = NO_USAGE
    diagnostics: tuple[str, ...] = ()


async def summarise(
    services: Services,
    policy: Policy,
    turns: Sequence[Turn],
    *,
    max_chars: int,
    owner: Scope,
    model: LanguageModel | None = None,
) -> Summary:
    """Summarise turns; secrets are struck out before any model sees them.

    What a model writes is taken only if every number, date and name in it was said, and it tells
    nobody what to do (HY-6); else, and without one, the turns' own sentences say it.

    Args:
        services: The open simonides.
        policy: Of whom the turns are; its ``lanes.summaries`` may say that no model is asked.
        turns: Oldest first.
        max_chars: Length at the most, 40 or more.
        owner: Whose turns they are: whose ceilings a question goes by.
        model: The account to ask through; None opens one of its own.

    Raises:
        ValueError: If ``max_chars`` is less.
        StoreError: If what is used cannot be written down.
    """
    told = [_told(turn, policy) for turn in turns if not turn.text.isspace()]
    account = model or account_of(services, owner)
    if account is None or not told or not policy.lanes.summaries:
        return Summary(_extracted(told, max_chars), RULES)
    recent, before = _fitting(services, policy, told)
    earlier = extract([each.text for each in before], max_chars=EARLIER_CHARS) if before else ""
    try:
        answer = await ask_summary(
            account,
            recent,
            earlier=earlier,
            max_chars=max_chars,
            deadline_s=policy.budgets.seconds,
        )
    except ModelError as error:
        failed = (f"summary:{failure_of(error)}",)
        return Summary(_extracted(told, max_chars), RULES, error.usage or NO_USAGE, failed)
    text, wrong = summary_in(answer.value, recent, earlier=earlier, max_chars=max_chars)
    if wrong is None and _commands(text):
        wrong = "summary:commands"
    if wrong is not None:
        return Summary(_extracted(told, max_chars), RULES, answer.usage, (wrong,))
    return Summary(text, answer.model, answer.usage)


def _told(turn: Turn, policy: Policy) -> Told:
    day = None if turn.said_at is None else turn.said_at.date()
    return Told(turn.speaker or turn.role.value, masked(turn.text, policy), day)


def _extracted(told: Sequence[Told], max_chars: int) -> str:
    return extract([each.text for each in told], max_chars=max_chars)


def _fitting(
    services: Services, policy: Policy, told: Sequence[Told]
) -> tuple[Sequence[Told], Sequence[Told]]:
    """Return the newest turns that one question shows, and those before them."""
    room = policy.lanes.batch_tokens
    for place in range(len(told) - 1, -1, -1):
        room -= services.models.tokens.count(told[place].text)
        if room < 0 and place < len(told) - 1:
            return told[place + 1 :], told[: place + 1]
    return told, ()


def _commands(text: str) -> bool:
    """Whether a summary would tell whoever reads it what to do: no summary does."""
    return any(each.concern is Concern.POISON for each in look(text, Trust.EXTERNAL))
