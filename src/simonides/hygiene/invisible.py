"""Readings of a text without its invisible characters, so that these cannot hide anything."""

from __future__ import annotations

from typing import NamedTuple

# Soft hyphen, joiners, direction marks, fillers, variation selectors, combining accents.
_INVISIBLE = frozenset(
    {0xAD, 0x34F, 0x61C, 0x115F, 0x1160, 0x17B4, 0x17B5, 0x180E, 0x3164, 0xFEFF, 0xFFA0}
    | {*range(0x200B, 0x2010), *range(0x202A, 0x202F), *range(0x2060, 0x2070)}
    | {*range(0xFE00, 0xFE10), *range(0xE0100, 0xE01F0), *range(0x300, 0x370)}
)
_TAGS = range(0xE0000, 0xE0080)
_PRINTABLE_TAGS = range(0xE0020, 0xE007F)


class Reading(NamedTuple):
    """A text without invisible characters.

    Attributes:
        text: The reading.
        original: The text that it was made from.
        table: What was replaced; an empty replacement removes a character.
    """

    text: str
    original: str
    table: dict[int, str]

    def places(self) -> list[int]:
        """Return the position in the original of each character of the reading."""
        removed = {chr(code) for code, replacement in self.table.items() if not replacement}
        return [at for at, char in enumerate(self.original) if char not in removed]


def readings(text: str) -> list[Reading]:
    """Return the readings of a text without invisible characters; none if it has none.

    Unicode tag characters may pad a token or spell it. A text with tags therefore has two readings:
    without the tags, and with the ASCII characters that they encode, which comes last.
    """
    if text.isascii():
        return []
    codes = set(map(ord, set(text)))
    tags = codes.intersection(_TAGS)
    removed = dict.fromkeys(tags | codes & _INVISIBLE, "")
    if not removed:
        return []
    spelled = {code: chr(code - _TAGS.start) for code in tags if code in _PRINTABLE_TAGS}
    tables = [removed, removed | spelled] if spelled else [removed]
    return [Reading(_replaced(text, table), text, table) for table in tables]


def _replaced(text: str, table: dict[int, str]) -> str:
    # A text has few kinds of them, and then this takes a tenth of the time of str.translate.
    for code, replacement in table.items():
        text = text.replace(chr(code), replacement)
    return text
