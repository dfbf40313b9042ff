"""Dates and numbers, in digits and in words."""

from __future__ import annotations

from simonides.text.quantities import dates, numbers
from simonides.text.quantities.numbers import Token

__all__ = [
    "Token",
    "dates",
    "numbers",
]
