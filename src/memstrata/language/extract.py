"""The sentences of a text that say most of it: a summary that nobody had to write."""

from __future__ import annotations

from collections.abc import Sequence


def extract(texts: Sequence[str], *, max_chars: int) -> str:
    """Return the most telling sentences of some texts, in their order, within a length.

    Deterministic; a sentence stands whole or not at all, but for a first one that alone is too
    long, which is cut and marked. Any language; empty for texts that say nothing.

    Args:
        texts: Turns or paragraphs, oldest first.
        max_chars: At most so many characters, 40 or more.

    Raises:
        ValueError: If ``max_chars`` is less.
    """
    raise NotImplementedError
