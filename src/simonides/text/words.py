"""Data files, and the lists of words in ``words.toml`` by name."""

from __future__ import annotations

import re
import tomllib
from functools import cache
from importlib.resources import files
from typing import Any


@cache
def read_toml(room: str, file: str) -> dict[str, Any]:
    """Return the content of a data file that lies in a room of the package."""
    return tomllib.loads((files(f"simonides.{room}") / file).read_text("utf-8"))


def table() -> dict[str, Any]:
    """Return the lists of words."""
    return read_toml("text", "words.toml")


@cache
def listed(name: str) -> frozenset[str]:
    """Return the words of a list."""
    return frozenset(table()["lists"][name].split())


def first_of_group(name: str) -> dict[str, str]:
    """Return each word of a list of groups, with the first word of its group."""
    groups = [group.split() for group in re.split(r"[|\n]", table()["lists"][name].strip())]
    return {word: group[0] for group in groups for word in group}
