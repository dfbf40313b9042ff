"""Capture of one turn: rules and a model propose, policy decides, the writer commits."""

from simonides.engine.capture.capture import (
    EARLIER_TURNS,
    Proposed,
    captured,
    carry_out,
    failure_of,
    propose_by_model,
    propose_by_rules,
    turn_of,
    turns_before,
)

__all__ = [
    "EARLIER_TURNS",
    "Proposed",
    "captured",
    "carry_out",
    "failure_of",
    "propose_by_model",
    "propose_by_rules",
    "turn_of",
    "turns_before",
]
