"""Patterns that run in time linear in the text, whatever the text is (HY-1).

Everything that looks for something in what users, models or tools wrote compiles its pattern
here. The engine has no look-around and no back-references; that is the price.
"""

from __future__ import annotations

from collections.abc import Iterator
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


# Chosen: more than the project has patterns; each costs at most the engine's own limit of 8 MB
# and in practice a few kB.
_KEPT_PATTERNS = 1024


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


def unnamed(pattern: str) -> str:
    """Return a pattern whose named groups capture nothing: one name may stand once in a pattern,
    and those that are to be tried together share theirs.
    """
    first, *rest = pattern.split("(?P<")
    return first + "".join("(?:" + part.split(">", 1)[1] for part in rest)
