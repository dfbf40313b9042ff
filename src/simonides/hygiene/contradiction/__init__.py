"""Finds statements that contradict or update each other.

Rules decide most pairs. ``judge`` asks a model about the rest; a pair is sent only if
``may_be_shown`` allows it, and ``RULE`` names the model as the reason of a verdict.
"""

from __future__ import annotations

from simonides.hygiene.contradiction.conflict_candidates import (
    earlier_conflicts,
    opposed,
    undecided_pairs,
)
from simonides.hygiene.contradiction.model_judge import RULE, judge, may_be_shown, verdicts_of
from simonides.hygiene.contradiction.stances import GUARD, warns

__all__ = [
    "GUARD",
    "RULE",
    "earlier_conflicts",
    "judge",
    "may_be_shown",
    "opposed",
    "undecided_pairs",
    "verdicts_of",
    "warns",
]
