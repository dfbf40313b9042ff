r"""Patterns whose matching time is linear in the text, for any text.

Code that searches untrusted text uses these patterns. They are in RE2 syntax: without look-around
and back-references, and with ASCII ``\w`` and ``\b``.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import lru_cache
from typing import TYPE_CHECKING, Any

from simonides.core.forks import held_off

if TYPE_CHECKING:
    import re2

_KEPT_PATTERNS = 1024
"""Chosen: more than the project has. A compiled pattern takes a few kB."""

_SET_MEMORY = 64 << 20
"""Memory limit of a set's automaton in bytes. Not measured. At the engine's default of 8 MB, a
hostile text of 64 KiB makes the engine rebuild the automaton repeatedly."""


def spans(pattern: str, text: str | bytes, *, group: int = 0) -> Iterator[tuple[int, int]]:
    """Yield the start and end of each match, from left to right, in characters.

    Args:
        pattern: RE2 syntax; compiled on first use and cached.
        text: The text to search, or its `encoded` form where many patterns search it.
        group: The group to locate. If it is not part of a match, the whole match counts.

    Raises:
        ValueError: If the engine does not support the pattern.
    """
    data = text if isinstance(text, bytes) else encoded(text)
    is_ascii = data.isascii()
    chars = at = 0
    matches = _compiled(pattern).finditer(data)
    while True:
        with held_off():
            match = next(matches, None)
        if match is None:
            return
        start, end = match.span(group)
        if start < 0:
            start, end = match.span()
        if is_ascii:
            yield start, end
            continue
        chars += len(data[at:start].decode())
        at = start
        yield chars, chars + len(data[start:end].decode())


def is_whole(pattern: str, text: str) -> bool:
    """Whether a whole text matches a pattern.

    Raises:
        ValueError: If the engine does not support the pattern.
    """
    with held_off():
        return _compiled(pattern).fullmatch(encoded(text)) is not None


def encoded(text: str) -> bytes:
    """Return a text as the engine reads it. A lone surrogate becomes "?", so positions are kept."""
    return text.encode("utf-8", "replace")


class PatternSet:
    """Searches for many patterns in one pass: which patterns a text holds, not where.

    Matching ignores case. Thread-safe. A pass takes some 3 µs for a sentence, whatever the number
    of patterns (measured with 150).
    """

    def __init__(self, patterns: Sequence[str]) -> None:
        """Compile the patterns.

        Raises:
            ValueError: If the engine does not support one of them.
        """
        import re2

        options = _options()
        options.case_sensitive = False
        options.max_mem = _SET_MEMORY
        self._set = re2.Set.SearchSet(options)
        for pattern in patterns:
            try:
                self._set.Add(pattern)
            except re2.error as error:
                raise ValueError(f"pattern {pattern!r} is not supported: {error}") from error
        self._set.Compile()

    def in_text(self, text: str) -> list[int]:
        """Return the rising positions, in the given sequence, of the patterns that a text holds."""
        with held_off():
            return sorted(self._set.Match(encoded(text)) or ())


@lru_cache(maxsize=_KEPT_PATTERNS)
def _compiled(pattern: str) -> Any:
    import re2

    try:
        return re2.compile(pattern, _options())
    except re2.error as error:
        raise ValueError(f"pattern {pattern!r} is not supported: {error}") from error


def _options() -> re2.Options:
    # Imported on first use: most processes that import the package search no text.
    import re2

    options = re2.Options()
    options.log_errors = False
    return options
