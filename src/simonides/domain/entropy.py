"""Whether a text looks drawn by lot, as keys and tokens are; and what an error says instead."""

from __future__ import annotations

_FEWEST_TURNS = 4
"""Changes between letters and digits from which on a text is no name with numbers in it. Random
letters and digits have one in three places; ``report_v2_2024`` has 3 in 14. Chosen."""

_SHORTEST = 12
"""Characters of the shortest token that an error does not repeat; chosen: what is shorter is a name
of something, or a password that nobody can tell from one."""

_UUID = (8, 13, 18, 23)
"""Where a UUID has its hyphens; ours are the ids of memories and events."""


def is_drawn(text: str) -> bool:
    """Whether letters and digits, or cases, change as often as in a text drawn by lot."""
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


def told(text: str) -> str:
    """Return a text as an error may repeat it: what may be a secret by its length alone."""
    words = (word for word in text.split() if len(word) >= _SHORTEST)
    if any(is_drawn(word) and not _is_uuid(word) for word in words):
        return f"(a text of {len(text)} characters)"
    return text


def _is_uuid(word: str) -> bool:
    return len(word) == 36 and all(word[place] == "-" for place in _UUID)
