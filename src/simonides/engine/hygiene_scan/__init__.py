"""Scans stored memories for duplicates, contradictions and staleness."""

from simonides.engine.hygiene_scan.apply_findings import REVIEW, FindingsTurn, Found
from simonides.engine.hygiene_scan.memory_scan import found_in, seen_in, stored_memories
from simonides.engine.hygiene_scan.reconcile import reconcile
from simonides.engine.hygiene_scan.review_rules import decided
from simonides.engine.hygiene_scan.scan import Cycle

__all__ = [
    "REVIEW",
    "Cycle",
    "FindingsTurn",
    "Found",
    "decided",
    "found_in",
    "reconcile",
    "seen_in",
    "stored_memories",
]
