"""Removes characters that a person cannot see, so that no hidden text reaches a model."""

from __future__ import annotations

import unicodedata

# Letters without a glyph: fillers, the blank of Braille, joiners of graphemes.
_INVISIBLE = frozenset("\u034f\u115f\u1160\u17b4\u17b5\u2800\u3164\uffa0")
_JOINERS = frozenset("\u200c\u200d")
_SELECTORS = frozenset("\ufe0e\ufe0f\u180b\u180c\u180d\u180f")
# Default-ignorable code points, assigned or not: other selectors, tags, specials.
_IGNORED = (
    ("\ufe00", "\ufe0d"),
    ("\ufff0", "\ufff8"),
    ("\U000e0000", "\U000e0fff"),
    ("\u2065",) * 2,
)


def visible(text: str) -> str:
    """Return a text without invisible characters, with white space folded.

    For prompts with their own quoting, such as JSON.
    """
    folded, shown = " ".join(text.split()), list[str]()
    for place, char in enumerate(folded):
        if not is_hidden(folded, place, shown[-1] if shown else ""):
            shown.append(char)
    return "".join(shown)


def is_hidden(text: str, place: int, previous: str) -> bool:
    """Whether the character at a place is removed, given the last kept one."""
    char = text[place]
    if char.isascii():
        return not char.isprintable()
    if char in _JOINERS or char in _SELECTORS:
        return not _joins(text, place, previous)
    if char in _INVISIBLE or any(first <= char <= last for first, last in _IGNORED):
        return True
    return unicodedata.category(char) in ("Cc", "Cf", "Cs", "Zl", "Zp")


def _joins(text: str, place: int, previous: str) -> bool:
    """Whether a joiner has characters to join: emoji and some scripts need it, one at a time."""
    if not previous or previous.isascii() or previous in _JOINERS:
        return False
    if text[place] in _SELECTORS:
        return previous not in _SELECTORS
    after = text[place + 1 : place + 2]
    return bool(after) and not after.isascii() and after not in _JOINERS


def folded(char: str) -> str:
    """Return a character in compatibility form: full-width forms and ligatures become plain
    letters.
    """
    return unicodedata.normalize("NFKC", char)
