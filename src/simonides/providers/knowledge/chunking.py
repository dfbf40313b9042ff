"""Documents cut into passages: whole paragraphs of one section, as many as a prompt can show."""

from __future__ import annotations

import unicodedata
from collections.abc import Iterable, Iterator, Sequence
from datetime import datetime

from simonides.domain.reading.document import MAX_NAME, Passage
from simonides.providers.knowledge.blocks import Block, Document
from simonides.text import storable

MAX_CHARS = 800
"""Longest passage, in characters; as long as a digest shows of one (``passage_chars``), so that
none is found by words that are cut away. Passages do not overlap: each says where it stands, and
who wants more reads on there."""

MIN_SHARE = 0.5
"""Of a paragraph that is too long, at least so much of the length goes into one passage before a
good place to part it is taken; chosen."""

JOINT = "\n\n"
_GOOD_ENDS = ("\n", "。", "！", "？", ". ", "! ", "? ", "; ", " ")
"""Where a paragraph may be parted, best first."""

BETWEEN_HEADINGS = " > "


def passages(
    location: str,
    document: Document,
    *,
    fallback_title: str = "",
    changed_at: datetime | None = None,
    max_chars: int = MAX_CHARS,
) -> tuple[Passage, ...]:
    """Cut a document.

    Args:
        location: Where it is.
        document: What it holds.
        fallback_title: For one that has no title of its own.
        changed_at: When it was changed last.
        max_chars: Longest passage, 40 or more.

    Returns:
        In the order of the document; each within one section and one page.
    """
    title = _name(document.title or fallback_title)
    return tuple(
        Passage(
            location=location,
            text=block.text,
            title=title,
            heading=_name(BETWEEN_HEADINGS.join(block.heading)),
            page=block.page,
            line=block.line,
            changed_at=changed_at,
        )
        for block in _joined(_parted(document.blocks, max_chars), max_chars)
    )


def _name(text: str) -> str:
    return storable(" ".join(text.split()))[:MAX_NAME]


def _parted(blocks: Iterable[Block], most: int) -> Iterator[Block]:
    """Yield blocks that are not too long, in their order; blank ones are left out."""
    for block in blocks:
        text, line = storable(block.text).rstrip(), block.line
        for start, end in _pieces(text, most):
            piece = text[start:end].strip(" ").strip("\n")
            if piece.strip():
                yield block._replace(text=piece, line=line)
            line = None if line is None else line + text.count("\n", start, end)


def _pieces(text: str, most: int) -> Iterator[tuple[int, int]]:
    """Yield the places of pieces of a text, one behind the other, none too long."""
    start = 0
    while start < len(text):
        end = len(text) if len(text) - start <= most else _end(text, start, most)
        yield start, end
        start = end


def _end(text: str, start: int, most: int) -> int:
    """Return where a text that is too long is parted."""
    least, last = start + int(most * MIN_SHARE), start + most
    for mark in _GOOD_ENDS:
        found = text.rfind(mark, least, last)
        if found >= 0:
            return found + len(mark)
    # A letter keeps the marks that belong to it.
    end = last
    while end > least and unicodedata.combining(text[end]):
        end -= 1
    return end


def _joined(blocks: Iterable[Block], most: int) -> Iterator[Block]:
    """Yield neighbours of one section as one block as long as there is room."""
    kept: list[Block] = []
    size = 0
    for block in blocks:
        fits = size + len(JOINT) + len(block.text) <= most
        if kept and not (fits and _is_beside(kept[0], block)):
            yield _one(kept)
            kept, size = [], 0
        size += len(block.text) + (len(JOINT) if kept else 0)
        kept.append(block)
    if kept:
        yield _one(kept)


def _is_beside(one: Block, other: Block) -> bool:
    return (one.heading, one.page) == (other.heading, other.page)


def _one(blocks: Sequence[Block]) -> Block:
    return blocks[0]._replace(text=JOINT.join(block.text for block in blocks))
