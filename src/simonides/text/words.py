"""The lists of words in ``words.toml``, by name."""

from __future__ import annotations

import re
import tomllib
from functools import cache
from importlib.resources import files
from typing import Any


@cache
def table() -> dict[str, Any]:
    """Return the data file."""
    return tomllib.loads((files("simonides.text") / "words.toml").read_text("utf-8"))


@cache
def listed(name: str) -> frozenset[str]:
    """Return the words of a list."""
    return frozenset(table()["lists"][name].split())


def first_of_group(name: str) -> dict[str, str]:
    """Return each word of a list of groups, with the first word of its group."""
    groups = [group.split() for group in re.split(r"[|\n]", table()["lists"][name].strip())]
    return {word: group[0] for group in groups for word in group}
