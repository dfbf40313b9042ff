"""Whether two texts say the same: fingerprints, negation, passages, support."""

from __future__ import annotations

from simonides.text.similarity.fingerprint import (
    MIN_TERMS,
    fingerprint,
    repeats,
    shares,
    terms_of,
    whole_text_id,
)
from simonides.text.similarity.negation import Clause, clauses
from simonides.text.similarity.passages import Passages
from simonides.text.similarity.same_statement import (
    adds_nothing,
    are_the_same,
    idle_terms,
    loose_terms,
    mean_the_same,
    overlap,
    read,
)
from simonides.text.similarity.support import Claim, Said, bears_out, claim_of, is_said_in, mentions

__all__ = [
    "MIN_TERMS",
    "Claim",
    "Clause",
    "Passages",
    "Said",
    "adds_nothing",
    "are_the_same",
    "bears_out",
    "claim_of",
    "clauses",
    "fingerprint",
    "idle_terms",
    "is_said_in",
    "loose_terms",
    "mean_the_same",
    "mentions",
    "overlap",
    "read",
    "repeats",
    "shares",
    "terms_of",
    "whole_text_id",
]
