"""Where in a text something stands, and whether it stands there by itself."""

from __future__ import annotations


def stands_alone(text: str, start: int, end: int) -> bool:
    """Whether a place is no part of a longer word, number, path or identifier."""
    before, after = text[start - 1 : start] if start else "", text[end : end + 1]
    if _is_word(before) or _is_word(after) or (before and before in "_/@#&%.+-~\\$€£"):
        return False
    beyond = text[end + 1 : end + 2]
    return not (after and after in "-/.:" and beyond.isdigit()) and after not in ("_", "@", "%")


def digits_of(text: str) -> str:
    """Return the digits of a text, without what groups them."""
    return "".join(char for char in text if char.isdigit())


def _is_word(char: str) -> bool:
    # Scripts that put no space between words go on right beside a number.
    return char.isalnum() and (char.isascii() or char.lower() != char.upper())
