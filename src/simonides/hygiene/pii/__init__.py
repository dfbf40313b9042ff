"""Finds secrets and personal data."""

from __future__ import annotations

from simonides.hygiene.pii.detect import find

__all__ = [
    "find",
]
