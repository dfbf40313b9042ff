"""What stands in every prompt: dangers, prohibitions, manner, rules, pins, chosen facts."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from simonides.core.engine import Engine
from simonides.core.policy import MANNERS, Budget, Policy, Rank
from simonides.core.record import Importance, Record, Trust
from simonides.core.results import DigestItem
from simonides.core.scope import Principal
from simonides.govern.alerts import alerts_of
from simonides.prompt.lines import LINE_CHARS, PromptSection, item_of
from simonides.recall.recall import core_records, status_of_store

PINNED, FACTS = "pinned", "facts"
EVERYTHING = Budget(items=1_000, chars=1_000_000)


def core_block(
    records: Sequence[Record], policy: Policy, *, is_whole: bool = False
) -> PromptSection:
    """Return what stands in every prompt: only what the user or the system says.

    Dangers come first, then prohibitions: they share a budget, and the oldest prohibitions give
    way first. How to speak, standing rules, pins and the policy's facts have budgets of their own.

    Args:
        records: What stands, nearest owner first, oldest first.
        policy: The ranks of categories, the budgets and the sensitivities.
        is_whole: Whether everything is shown, whatever its length.
    """
    rules = policy.digest
    groups: dict[str, list[Record]] = {name: [] for name in (*Rank, PINNED, FACTS)}
    for each in reversed(records):
        if each.trust in (Trust.USER, Trust.SYSTEM) and each.sensitivity in rules.sensitivities:
            groups[_group(each, policy)].append(each)
    groups[Rank.MANNER].sort(key=_place)
    budgets = {
        Rank.DANGER: rules.hard, Rank.PROHIBITION: rules.hard, Rank.MANNER: rules.manner,
        Rank.RULE: rules.rules, PINNED: rules.pinned, FACTS: rules.facts,
    }  # fmt: skip
    items: list[DigestItem] = []
    hidden: dict[str, int] = {}
    for name, budget in budgets.items():
        spent = items if name == Rank.PROHIBITION else []  # on dangers
        budget = EVERYTHING if is_whole else budget
        shown = _fitting(groups[name], budget, spent, rules.hard.chars)
        in_age = name in (Rank.DANGER, Rank.PROHIBITION, PINNED)  # a prompt then grows at its end
        items += reversed(shown) if in_age else shown
        if len(shown) < len(groups[name]):
            hidden[str(name)] = len(groups[name]) - len(shown)
    block = PromptSection(items, records, hidden=hidden)
    left = [each.id for name in budgets for each in groups[name] if each.id not in block.by_id]
    return block._replace(left_out=[(id, "budget") for id in left])


def status_of(engine: Engine, who: Principal) -> dict[str, Any]:
    """Return counts, what the store runs on, what the core block has no room for, and alerts."""
    policy = engine.policies.for_org(who.home.org, who.agent)
    return {
        **status_of_store(engine, who),
        "hidden": core_block(core_records(engine, who), policy).hidden,
        "alerts": alerts_of(engine, who),
    }


def is_hard(record: Record, policy: Policy) -> bool:
    """Whether overlooking it breaks a prohibition or endangers somebody."""
    return _group(record, policy) in (Rank.DANGER, Rank.PROHIBITION)


def _group(record: Record, policy: Policy) -> str:
    rank = policy.rank(record.category)
    if rank is not Rank.DANGER and record.importance is Importance.CRITICAL:
        return Rank.PROHIBITION
    if rank is Rank.NONE and record.key in MANNERS:
        return Rank.MANNER
    is_fact = record.key in policy.digest.fact_keys or set(record.tags) & {*policy.digest.tags}
    if rank is Rank.NONE:
        return FACTS if is_fact and not record.pinned else PINNED
    return rank


def _place(record: Record) -> int:
    return MANNERS.index(record.key) if record.key in MANNERS else len(MANNERS)


def _fitting(
    records: Iterable[Record], budget: Budget, spent: Sequence[DigestItem], most: int
) -> list[DigestItem]:
    """Return the lines that fit what is left of a budget; what a task must heed is cut at ``most``
    characters.
    """
    shown: list[DigestItem] = []
    items, chars = budget.items - len(spent), budget.chars - sum(len(each.line) for each in spent)
    for record in records:
        item = item_of(record, "core", LINE_CHARS if record.task is None else most)
        if len(shown) < items and len(item.line) <= chars:
            chars -= len(item.line)
            shown.append(item)
    return shown
