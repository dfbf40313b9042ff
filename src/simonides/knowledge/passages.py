"""The passages of a text: what recall finds of a document."""

from __future__ import annotations

import re
from collections.abc import Iterator

PASSAGE_CHARS = 400
"""About how many characters a passage has, a paragraph or two. Of 16 questions about our own
documents 11 found their passage first with 300 to 500 characters, 9 with 800: of a longer one the
ranking compares the beginning only."""

# A longer line only looks like a heading.
_HEADING = re.compile(r"#{1,6} \S.{0,200}")
_BREAKS = (r"(?<=[.!?…])(?=\s)|(?<=[。！？])", r"(?=\n)", r"(?=\s)")
"""Where a long paragraph is cut, the best place first: after sentences, before lines, words."""


def passages_of(text: str) -> Iterator[str]:
    """Yield the passages of a text in order: paragraphs, joined up to about 800 characters.

    A longer paragraph is cut after a sentence; a longer sentence before a line, else a word. A
    heading stands with what follows it.
    """
    joined = ""
    for piece in _pieces(text):
        if joined and len(joined) + len(piece) > PASSAGE_CHARS:
            yield joined
            joined = ""
        joined = f"{joined}\n\n{piece}" if joined else piece
    if joined:
        yield joined


def _pieces(text: str) -> Iterator[str]:
    """Yield paragraphs, each with the headings before it, and the parts of long ones."""
    headings = ""
    # A heading is a paragraph of its own, also without a blank line before it.
    for paragraph in re.split(r"\n\s*\n|\n(?=#{1,6} )", text):
        first, _, rest = paragraph.strip().partition("\n")
        if _HEADING.fullmatch(first) is None:
            rest = paragraph
        else:
            headings = f"{headings}{first}\n"
        if len(headings) > PASSAGE_CHARS:  # nothing follows them
            yield headings.strip()
            headings = ""
        for part in _cut(rest.strip(), 0):
            yield headings + part
            headings = ""
    if headings:
        yield headings.strip()


def _cut(text: str, level: int) -> Iterator[str]:
    """Yield a text in parts that are no longer than a passage."""
    if len(text) <= PASSAGE_CHARS:
        if text.strip():
            yield text.strip()
        return
    if level == len(_BREAKS):
        yield from (text[at : at + PASSAGE_CHARS] for at in range(0, len(text), PASSAGE_CHARS))
        return
    joined = ""
    for part in re.split(_BREAKS[level], text):
        if len(joined) + len(part) > PASSAGE_CHARS:
            yield from _cut(joined, level + 1)
            joined = ""
        joined += part
    yield from _cut(joined, level + 1)
