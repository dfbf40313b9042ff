"""Screening of what comes in: secrets, personal data, injections, refused topics."""

from simonides.engine.screening.consent_matching import (
    ConsentMatcher,
    StatementMatcher,
    is_telling,
    parents_of,
    speaks_of,
    stated_in,
)
from simonides.engine.screening.judge import (
    EXTRACTED,
    TOO_MANY,
    UNPROVEN_MARKS,
    judge_one,
    rules_of,
)
from simonides.engine.screening.screen import (
    blocked_in,
    cleaned_for_log,
    findings_of,
    look,
    masked,
    note_flags,
    scores_of,
    screened,
    strike,
)
from simonides.engine.screening.second_opinion import (
    looked_at_before,
    looks_again,
    more_in,
    second_looks,
)
from simonides.engine.screening.suppression import SuppressionFilter

__all__ = [
    "EXTRACTED",
    "TOO_MANY",
    "UNPROVEN_MARKS",
    "ConsentMatcher",
    "StatementMatcher",
    "SuppressionFilter",
    "blocked_in",
    "cleaned_for_log",
    "findings_of",
    "is_telling",
    "judge_one",
    "look",
    "looked_at_before",
    "looks_again",
    "masked",
    "more_in",
    "note_flags",
    "parents_of",
    "rules_of",
    "scores_of",
    "screened",
    "second_looks",
    "speaks_of",
    "stated_in",
    "strike",
]
