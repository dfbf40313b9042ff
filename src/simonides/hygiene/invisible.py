"""Readings of a text without its invisible characters, so that these cannot hide a secret."""

from __future__ import annotations

# Soft hyphen, joiners, direction marks, fillers, variation selectors, combining accents.
_INVISIBLE = frozenset(
    {0xAD, 0x34F, 0x61C, 0x115F, 0x1160, 0x17B4, 0x17B5, 0x180E, 0x3164, 0xFEFF, 0xFFA0}
    | {*range(0x200B, 0x2010), *range(0x202A, 0x202F), *range(0x2060, 0x2070)}
    | {*range(0xFE00, 0xFE10), *range(0xE0100, 0xE01F0), *range(0x300, 0x370)}
)
_TAGS = range(0xE0000, 0xE0080)
_PRINTABLE_TAGS = range(0xE0020, 0xE007F)


def without_invisible(text: str) -> list[tuple[str, list[int]]]:
    """Return the readings of a text without invisible characters.

    Unicode tag characters may pad a token or spell it. A text with tags therefore has two readings:
    without the tags, and with the ASCII characters that they encode.

    Returns:
        Each reading with the original position of each of its characters. Empty if the text has no
        invisible character.
    """
    if text.isascii():
        return []
    codes = set(map(ord, set(text)))
    tags = codes.intersection(_TAGS)
    removed = dict.fromkeys(tags | codes & _INVISIBLE, "")
    if not removed:
        return []
    spelled = {code: chr(code - _TAGS.start) for code in tags if code in _PRINTABLE_TAGS}
    readings = [_translated(text, removed)]
    return [*readings, _translated(text, removed | spelled)] if spelled else readings


def _translated(text: str, table: dict[int, str]) -> tuple[str, list[int]]:
    removed = {chr(code) for code, replacement in table.items() if not replacement}
    return text.translate(table), [at for at, char in enumerate(text) if char not in removed]
