"""Extracts candidate memories from turns, and checks a caller's drafts; it stores nothing.

``rules`` extracts without a model, ``model`` with one. Each candidate has a quote, a speaker and a
position in the text, and passes the same policy afterwards.
"""

from __future__ import annotations

from simonides.capture.cues import lasts_for_session, within_session
from simonides.capture.drafts import (
    DEFAULT_RULES,
    MAX_NAME_BYTES,
    MAX_ORIGIN_BYTES,
    DraftRules,
    candidate_of,
    checked_candidate,
    checked_metadata,
    flag,
    name_or_none,
    target_scope,
    turn_number,
)
from simonides.capture.intent import model_intent, rule_intent
from simonides.capture.pasted import without_digests

__all__ = [
    "DEFAULT_RULES",
    "MAX_NAME_BYTES",
    "MAX_ORIGIN_BYTES",
    "DraftRules",
    "candidate_of",
    "checked_candidate",
    "checked_metadata",
    "flag",
    "lasts_for_session",
    "model_intent",
    "name_or_none",
    "rule_intent",
    "target_scope",
    "turn_number",
    "within_session",
    "without_digests",
]
