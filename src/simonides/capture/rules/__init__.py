"""English rules: clauses, commands, keyed slots, and the guard over a model's proposals."""

from __future__ import annotations

from simonides.capture.rules.clauses import MEMORY_CONTROL
from simonides.capture.rules.evidence import UNPROVEN, gaps
from simonides.capture.rules.extract import (
    ENDING,
    LIKED_IN_PASSING,
    NOT_THE_USER,
    TURN_SCOPED,
    examine,
    examine_behind,
)

__all__ = [
    "ENDING",
    "LIKED_IN_PASSING",
    "MEMORY_CONTROL",
    "NOT_THE_USER",
    "TURN_SCOPED",
    "UNPROVEN",
    "examine",
    "examine_behind",
    "gaps",
]
