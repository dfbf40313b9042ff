"""Finds instructions and disguises planted in texts."""

from __future__ import annotations

from simonides.hygiene.injection.detect import find

__all__ = [
    "find",
]
