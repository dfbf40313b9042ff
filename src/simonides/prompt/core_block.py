"""What stands in every prompt, whatever it asks: dangers and prohibitions, rules, names, manner."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from simonides.core.policy import DigestRules
from simonides.core.record import Importance, Record, Trust
from simonides.core.results import DigestItem
from simonides.prompt.lines import LINE_CHARS, item_of
from simonides.recall.index import MANNER

HARD = ("constraint", "guard")
"""Categories that may exceed the budget of the block, like what is critical."""


def core_block(records: Sequence[Record], rules: DigestRules) -> tuple[list[DigestItem], int]:
    """Return the lines of the core block, and the number of those for which there is no room.

    Prohibitions and dangers come first and may exceed the block's budget, up to a bound of their
    own; beyond it the oldest are left out. Only what the user or the system says gets in.

    Args:
        records: What stands, nearest owner first, oldest first.
        rules: Budgets and sensitivities.
    """
    chosen = [
        record
        for record in records
        if record.trust in (Trust.USER, Trust.SYSTEM) and record.sensitivity in rules.sensitivities
    ]
    hard = [each for each in chosen if is_hard(each)]
    soft = [each for each in chosen if not is_hard(each)]
    soft.sort(key=lambda each: MANNER.index(each.key) if each.key in MANNER else -1)
    shown, chars = _fitting(reversed(hard), rules.hard.items, rules.hard.chars)
    more, _ = _fitting(soft, rules.core.items - len(shown), rules.core.chars - chars)
    return [*reversed(shown), *more], len(hard) - len(shown)


def is_hard(record: Record) -> bool:
    """Whether overlooking it breaks a prohibition or endangers somebody."""
    return record.category in HARD or record.importance is Importance.CRITICAL


def _fitting(records: Iterable[Record], items: int, chars: int) -> tuple[list[DigestItem], int]:
    shown: list[DigestItem] = []
    spent = 0
    for record in records:
        # What a task must heed is never cut.
        most = LINE_CHARS if record.task is None else chars
        item = item_of(record, "core", most)
        if len(shown) < items and spent + len(item.line) <= chars:
            spent += len(item.line)
            shown.append(item)
    return shown, spent
