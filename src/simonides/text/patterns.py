"""Patterns with matching time linear in the text, for any text.

All code that searches input of users, models or tools compiles its patterns here. The engine has no
look-around and no back-references.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import lru_cache
from typing import Protocol, cast


class Match(Protocol):
    """One match of a pattern; positions are characters of the text."""

    def group(self, group: int | str = 0, /) -> str | None:
        """Return the text of a group, or None if it took no part; 0 is the whole match."""

    def span(self, group: int = 0, /) -> tuple[int, int]:
        """Return start and end of a group by number; (-1, -1) if it took no part."""

    def groupdict(self) -> dict[str, str | None]:
        """Return the named groups."""


class Pattern(Protocol):
    """A compiled pattern; safe to share between threads."""

    def search(self, text: str, /) -> Match | None:
        """Return the leftmost match, or None."""

    def match(self, text: str, /) -> Match | None:
        """Return the match at the start of the text, or None."""

    def fullmatch(self, text: str, /) -> Match | None:
        """Return the match of the whole text, or None."""

    def finditer(self, text: str, /) -> Iterator[Match]:
        """Return all matches from left to right, without overlap."""


# Chosen: more than the project's patterns; each language of capture has some 150. Each pattern
# costs at most the engine's own limit of 8 MB, and in practice a few kB.
_KEPT_PATTERNS = 4096
# Memory limit for the automaton of a set; chosen. With the engine's own 8 MB a hostile text of
# 64 KiB makes it rebuild the automaton repeatedly.
_HINTS_MEMORY = 64 << 20


@lru_cache(maxsize=_KEPT_PATTERNS)
def compile(pattern: str, *, ignore_case: bool = False) -> Pattern:
    r"""Compile a pattern in RE2 syntax.

    Compiled on first use and cached, so that imports stay fast. A searched text must not hold lone
    surrogates: the engine works on UTF-8.

    Args:
        pattern: RE2 syntax; ``\p{…}`` classes are known, ``\w`` and ``\b`` are ASCII.
        ignore_case: Letters match in either case.

    Raises:
        ValueError: If the engine does not support the pattern; says why.
    """
    import re2

    options = re2.Options()
    options.case_sensitive = not ignore_case
    options.log_errors = False
    try:
        return cast(Pattern, re2.compile(pattern, options))
    except re2.error as error:
        reason = error.args[0] if error.args else "unknown"
        text = reason.decode("utf-8", "replace") if isinstance(reason, bytes) else str(reason)
        raise ValueError(f"pattern {pattern!r} is not supported: {text}") from error


def has(pattern: str, text: str) -> bool:
    """Whether a pattern matches anywhere in a text, in any case."""
    return compile(pattern, ignore_case=True).search(text) is not None


def starts(pattern: str, text: str) -> bool:
    """Whether a text starts with a pattern, in any case."""
    return compile(pattern, ignore_case=True).match(text) is not None


def escaped(literal: str) -> str:
    """Return the pattern of a literal."""
    # The engine rejects escapes outside ASCII.
    return "".join(c if c.isalnum() or c in "_ " or not c.isascii() else f"\\{c}" for c in literal)


def spans(pattern: str, text: str, group: int = 0) -> Iterator[tuple[int, int]]:
    """Yield the spans of a pattern's matches, from left to right, in characters.

    This takes a third of the time of :meth:`Pattern.finditer`, which also returns texts of groups.

    Args:
        pattern: As for :func:`compile`.
        text: The text to search.
        group: Number of the group whose span is wanted; if it takes no part, the whole match.
    """
    encoded = text.encode()
    is_ascii = len(encoded) == len(text)
    compiled = cast("_OfBytes", compile(pattern))
    chars = at = 0
    for match in compiled.finditer(encoded):
        start, end = match.span(group)
        if start < 0:
            start, end = match.span()
        if is_ascii:
            yield start, end
            continue
        chars += len(encoded[at:start].decode())
        at = start
        yield chars, chars + len(encoded[start:end].decode())


class _OfBytes(Protocol):
    def finditer(self, text: bytes, /) -> Iterator[Match]: ...


class Hints:
    """Matches many patterns in one pass: which of them a text holds, not where.

    Matching ignores case. Thread-safe. A pass takes some 3 µs for a sentence, and a tenth of a
    millisecond for 64 KiB. The number of patterns does not matter (measured with 150).
    """

    def __init__(self, found_by: Sequence[str], *, at_start: bool = False) -> None:
        """Compile patterns in RE2 syntax.

        Args:
            found_by: The patterns.
            at_start: Match only at the start of a text.

        Raises:
            ValueError: If the engine does not support one.
        """
        import re2

        options = re2.Options()
        options.case_sensitive = False
        options.log_errors = False
        options.max_mem = _HINTS_MEMORY
        self._set = (re2.Set.MatchSet if at_start else re2.Set.SearchSet)(options)
        for pattern in found_by:
            try:
                self._set.Add(pattern)
            except re2.error as error:
                raise ValueError(f"pattern {pattern!r} is not supported: {error}") from error
        self._set.Compile()

    def in_text(self, text: str) -> list[int]:
        """Return the indexes, in the list given, of the patterns that a text holds; unordered."""
        # The engine's Match returns None if nothing matches.
        return self._set.Match(text) or []


def unnamed(pattern: str) -> str:
    """Return a pattern whose named groups capture nothing.

    A name may occur only once in a pattern; this allows combining patterns that share names.
    """
    first, *rest = pattern.split("(?P<")
    return first + "".join("(?:" + part.split(">", 1)[1] for part in rest)
