"""Patterns that run in time linear in the text, whatever the text is (HY-1).

Everything that looks for something in what users, models or tools wrote compiles its pattern
here. The engine has no look-around and no back-references; that is the price.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import lru_cache
from typing import Protocol, cast


class Match(Protocol):
    """One place where a pattern was found; positions are characters of the text."""

    def group(self, group: int | str = 0, /) -> str | None:
        """Return what a group matched, or None where it took no part; 0 is the whole match."""

    def span(self, group: int = 0, /) -> tuple[int, int]:
        """Return start and end of a group by number; (-1, -1) where it took no part."""

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


# Chosen: more than the project has patterns, of which each language of capture has some 150; each
# costs at most the engine's own limit of 8 MB and in practice a few kB.
_KEPT_PATTERNS = 4096
# Chosen: what a set may take for its automaton; the engine's own 8 MB let a hostile text of 64 KiB
# have it built over and over.
_HINTS_MEMORY = 64 << 20


@lru_cache(maxsize=_KEPT_PATTERNS)
def compile(pattern: str, *, ignore_case: bool = False) -> Pattern:
    r"""Compile a pattern in RE2 syntax.

    Compiled on first use and kept, so that importing costs nothing. A text to be searched must
    not hold lone surrogates: the engine works on UTF-8.

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


def escaped(literal: str) -> str:
    """Return the pattern of a literal."""
    # The engine knows no escaped mark outside ASCII.
    return "".join(c if c.isalnum() or c in "_ " or not c.isascii() else f"\\{c}" for c in literal)


def spans(pattern: str, text: str, group: int = 0) -> Iterator[tuple[int, int]]:
    """Yield where a pattern matches, from left to right, in characters.

    A third of the cost of :meth:`Pattern.finditer`, which tells groups as texts too.

    Args:
        pattern: As for :func:`compile`.
        text: What is looked through.
        group: Number of a group that tells the place; where it takes no part the match does.
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
    """Many patterns looked for in one pass: which of them a text holds, not where.

    Case does not matter to them. Safe to share between threads; a pass costs some 3 µs for a
    sentence and a tenth of a millisecond for 64 KiB, however many patterns there are (measured
    with 150).
    """

    def __init__(self, found_by: Sequence[str], *, at_start: bool = False) -> None:
        """Compile patterns in RE2 syntax.

        Args:
            found_by: The patterns.
            at_start: Whether they count only where a text begins with them.

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
        """Return the places, in the list given, of the patterns that a text holds; unordered."""
        # Its Match returns None where nothing matches.
        return self._set.Match(text) or []


def unnamed(pattern: str) -> str:
    """Return a pattern whose named groups capture nothing: one name may stand once in a pattern,
    and those that are to be tried together share theirs.
    """
    first, *rest = pattern.split("(?P<")
    return first + "".join("(?:" + part.split(">", 1)[1] for part in rest)
