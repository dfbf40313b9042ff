"""Detection of texts that look random, like keys and tokens, so that errors do not repeat them."""

from __future__ import annotations

_FEWEST_TURNS = 4
"""Least changes between letters and digits in a random text. Random letters and digits have one
change in three characters; the name ``report_v2_2024`` has 3 in 14. Chosen."""

_SHORTEST = 12
"""Characters of the shortest token that an error does not repeat; chosen: a shorter text is a name,
or a password that cannot be distinguished from a name."""

_UUID = (8, 13, 18, 23)
"""Positions of the hyphens in a UUID; ids of memories and events may appear in errors."""


def is_drawn(text: str) -> bool:
    """Whether letters and digits, or cases, change as often as in a random text."""
    turns = cases = digits = 0
    before = ""
    for char in text[:200]:
        if char.isdigit():
            digits += 1
            turns += before.isalpha()
        elif char.isalpha():
            turns += before.isdigit()
            cases += before.isalpha() and char.isupper() != before.isupper()
        before = char
    return (digits >= 2 and turns >= _FEWEST_TURNS) or (digits >= 1 and cases >= 6 and turns >= 2)


def without_secrets(text: str) -> str:
    """Return the text for an error message; a possible secret is replaced by its length."""
    words = (word for word in text.split() if len(word) >= _SHORTEST)
    if any(is_drawn(word) and not _is_uuid(word) for word in words):
        return f"(a text of {len(text)} characters)"
    return text


def _is_uuid(word: str) -> bool:
    return len(word) == 36 and all(word[place] == "-" for place in _UUID)
