"""Words that say that something said before has ended or changed."""

from __future__ import annotations

import re
from collections.abc import Container, Mapping, Sequence
from enum import IntEnum
from functools import cache
from typing import Any

from simonides.text.patterns import PatternSet
from simonides.text.words import read_toml

MOST_CHARS = 16_384
"""Characters of a text that are read. Set by judgement: more than a turn has."""


class Cue(IntEnum):
    """How strongly a text says that something before it has changed."""

    NONE = 0
    HINTS = 1
    CHANGES = 2
    ENDS = 3


_CUES = (("ends", Cue.ENDS), ("changes", Cue.CHANGES), ("hints", Cue.HINTS))


def wordings_in(text: str) -> frozenset[str]:
    """Return the names of the lists of the data file of which a text holds a wording."""
    patterns, names = _patterns()
    places = patterns.in_text(text[:MOST_CHARS].replace("’", "'"))
    return frozenset(names[number] for number in places)


def cue_of(text: str) -> Cue:
    """Return how strongly a text says that something before it has changed."""
    return strongest(wordings_in(text))


def strongest(names: Container[str]) -> Cue:
    """Return the strongest cue of some lists of the data file."""
    return next((cue for name, cue in _CUES if name in names), Cue.NONE)


def corrected(text: str) -> str:
    """Return the new value of "Sorry, I meant Hull"; empty for anything else."""
    match = search("corrects", text[:200].replace("’", "'"))
    return match["value"].strip(" .!?\"'") if match and not text.rstrip().endswith("?") else ""


def search(name: str, text: str) -> re.Match[str] | None:
    """Return the first match of a pattern among the settings of the data file."""
    return _compiled(name).search(text)


def setting(name: str) -> str:
    """Return a setting of the data file."""
    return str(_table()["settings"][name])


def diets() -> Mapping[str, str]:
    """Return what each diet, or what is eaten again, ends of earlier diets, as words."""
    return dict(_table()["diets"])


def denials_in() -> Mapping[str, str]:
    """Return what a clause denies: patterns, and lists of words."""
    return dict(_table()["denials"])


def wordings() -> dict[str, list[list[str]]]:
    """Return the patterns of the data file by list, each with a sentence that it fits."""
    return dict(_table()["wordings"])


def _table() -> dict[str, Any]:
    return read_toml("text", "changes.toml")


@cache
def _compiled(name: str) -> re.Pattern[str]:
    return re.compile(setting(name))


@cache
def _patterns() -> tuple[PatternSet, Sequence[str]]:
    names = [name for name, rows in wordings().items() for _ in rows]
    patterns = [pattern for rows in wordings().values() for pattern, _ in rows]
    return PatternSet([rf"(?:^|\b)(?:{each})(?:\b|$)" for each in patterns]), names
