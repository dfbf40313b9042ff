"""Words that say that something said before has ended or changed."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Container, Sequence
from enum import IntEnum
from functools import cache
from importlib.resources import files

from simonides.text.patterns import PatternSet

MOST_CHARS = 16_384
"""Characters of a text that are read; chosen: more than a turn has."""


class Cue(IntEnum):
    """How strongly a text says that something before it has changed."""

    NONE = 0
    HINTS = 1
    CHANGES = 2
    ENDS = 3


_CUES = (("ends", Cue.ENDS), ("changes", Cue.CHANGES), ("hints", Cue.HINTS))

# Opens a correction of what was just said.
_CORRECTS = re.compile(
    r"(?:(?:oh|no|wait|sorry|oops|my bad|hang on|hold on|i mean|apologies|whoops|ah|er)\b[,.! -]*)*"
    r"(?:correction|(?:that was|that's|it's) (?:a typo|wrong)"
    r"|i (?:actually )?meant(?: to (?:say|write|type))?|make (?:it|that)|i misspoke"
    r"|(?:that|it) should (?:be|have been|read|say)|not .{1,30}? but)\b[:,.]?\s*"
    r"(?P<value>\S.{0,80})",
    re.IGNORECASE,
)  # fmt: skip


def wordings_in(text: str) -> frozenset[str]:
    """Return the names of the lists of the data file of which a text holds a wording."""
    patterns, names = _patterns()
    places = patterns.in_text(text[:MOST_CHARS].replace("’", "'"))
    return frozenset(names[place] for place in places)


def cue_of(text: str) -> Cue:
    """Return how strongly a text says that something before it has changed."""
    return strongest(wordings_in(text))


def strongest(found: Container[str]) -> Cue:
    """Return the strongest cue of some lists of the data file."""
    return next((cue for name, cue in _CUES if name in found), Cue.NONE)


def corrected(text: str) -> str:
    """Return the new value of "Sorry, I meant Hull"; empty for anything else."""
    found = _CORRECTS.match(text[:200].replace("’", "'"))
    return found["value"].strip(" .!?\"'") if found and not text.rstrip().endswith("?") else ""


@cache
def wordings() -> dict[str, list[tuple[str, str]]]:
    """Return the patterns of the data file by list, each with a sentence that it fits."""
    table = tomllib.loads((files("simonides.text") / "changes.toml").read_text("utf-8"))
    return {name: [(row[0], row[1]) for row in rows] for name, rows in table.items()}


@cache
def _patterns() -> tuple[PatternSet, Sequence[str]]:
    rows = [(name, pattern) for name, rows in wordings().items() for pattern, _ in rows]
    return PatternSet([rf"(?:^|\b)(?:{pattern})(?:\b|$)" for _, pattern in rows]), [
        n for n, _ in rows
    ]
