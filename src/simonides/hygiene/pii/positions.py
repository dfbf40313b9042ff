"""Helpers on spans of a text."""

from __future__ import annotations


def is_standalone(text: str, start: int, end: int) -> bool:
    """Whether a span is not part of a longer word, number, path or identifier."""
    before, after = text[start - 1 : start] if start else "", text[end : end + 1]
    if _is_word(before) or _is_word(after) or (before and before in "_/@#&%.+-~\\$€£"):
        return False
    beyond = text[end + 1 : end + 2]
    return not (after and after in "-/.:" and beyond.isdigit()) and after not in ("_", "@", "%")


def digits_of(text: str) -> str:
    """Return the digits of a text, without separators."""
    return "".join(char for char in text if char.isdigit())


def _is_word(char: str) -> bool:
    # Scripts without spaces between words continue right after a number, and have no case.
    return char.isalnum() and (char.isascii() or char.lower() != char.upper())
