"""What a text says, without a model: analyser, normal form, linear-time patterns.

Dates and numbers are in ``quantities``, questions in ``questions``, comparisons of two texts in
``similarity``.
"""

from __future__ import annotations

from simonides.text import patterns
from simonides.text.analyser import ANALYSER_VERSION, analyse, main_script, query_terms, term_id
from simonides.text.extractive_summary import LEAST_CHARS, extract
from simonides.text.grounding import Told, told_by, unsupported
from simonides.text.names import (
    LEAST_NAME_ID,
    STATES_ALIAS,
    Alias,
    alias_ids,
    aliases,
    is_software,
    name_ids,
    stated_aliases,
)
from simonides.text.ngrams import LinearModel
from simonides.text.normalise import check_text, content_hash, normalise, storable, without_accents
from simonides.text.tokens import TokenEstimate
from simonides.text.visible import folded, is_hidden, visible

__all__ = [
    "ANALYSER_VERSION",
    "LEAST_CHARS",
    "LEAST_NAME_ID",
    "STATES_ALIAS",
    "Alias",
    "LinearModel",
    "TokenEstimate",
    "Told",
    "alias_ids",
    "aliases",
    "analyse",
    "check_text",
    "content_hash",
    "extract",
    "folded",
    "is_hidden",
    "is_software",
    "main_script",
    "name_ids",
    "normalise",
    "patterns",
    "query_terms",
    "stated_aliases",
    "storable",
    "term_id",
    "told_by",
    "unsupported",
    "visible",
    "without_accents",
]
