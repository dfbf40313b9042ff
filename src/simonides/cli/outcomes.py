"""What became of a write, in words: what it displaced, how to take that back, what went."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from simonides.cli import render
from simonides.domain.decision import Outcome, OutcomeKind

if TYPE_CHECKING:
    from simonides.blocking import MemoryManager

_BESIDE: Mapping[str, str] = {
    "held": "{} held back",
    "derived": "{} of them derived from the others",
    "elsewhere": "{} copies elsewhere",
    "revived": "{} that stand again",
    "unreadable": "{} of them unreadable",
    "unreadable_left": "{} that cannot be read and may have been meant, left",
}
"""What a reason of a forgetting counts beside the memories, in words."""


def with_displaced(outcome: Outcome, manager: MemoryManager) -> str:
    """Return a line for a write; where it displaced others, one for each of them, and how to take
    it back.
    """
    lines = [render.outcome(outcome)]
    if outcome.kind is OutcomeKind.SUPERSEDED and outcome.memory is not None and outcome.events:
        event = outcome.events[0]
        for id in event.subjects[1:]:
            former = manager.get(id)
            said = "" if former is None else f": {render.short(former.content)}"
            lines.append(f"  displaced {id}{said}")
        lines.append(f"  to take it back: simonides undo {event.id}")
    return "\n".join(lines)


def forgotten(outcome: Outcome) -> str:
    """Return what was forgotten, or would be, and what beside it."""
    counts = _counts(outcome)
    if "count" not in counts:
        return render.outcome(outcome)
    is_done = outcome.kind is OutcomeKind.FORGOTTEN
    number = counts["count"]
    what = f"{number} memor{'y' if number == 1 else 'ies'}, all versions counted"
    told = [f"{'forgotten' if is_done else 'would be forgotten'}: {what}"]
    told += [words.format(counts[name]) for name, words in _BESIDE.items() if counts.get(name)]
    return "; ".join(told) + ("" if is_done else "; nothing was changed")


def _counts(outcome: Outcome) -> dict[str, int]:
    parted = (reason.partition(":") for reason in outcome.reasons)
    return {name: int(count) for name, _, count in parted if count.isdigit()}
