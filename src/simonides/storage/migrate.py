"""Numbered migrations of the schema, each with a checksum that the database keeps.

A migration that was applied never changes: a database that got another text under the same number
is refused instead of being half understood.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Callable, Mapping, Sequence
from functools import cache
from importlib.resources import files

from simonides.core.errors import StoreCorrupt


@cache
def migrations() -> dict[str, str]:
    """Return the texts of all migrations by name; numbers rise from 1 without gaps."""
    folder = files("simonides.storage") / "migrations"
    names = sorted(each.name for each in folder.iterdir() if each.name.endswith(".sql"))
    return {
        f"migration {number:04}": (folder / name).read_text("utf-8")
        for number, name in enumerate(names, start=1)
    }


def checksum(text: str) -> str:
    """Return the checksum of a migration."""
    return hashlib.sha256(text.encode()).hexdigest()


def schema(types: Mapping[str, str]) -> list[str]:
    """Return the statements of all migrations in a dialect."""
    return [each for text in migrations().values() for each in _statements(text, types)]


def _statements(text: str, types: Mapping[str, str]) -> list[str]:
    """Return the statements of a migration in a dialect."""
    text = re.sub("--.*", "", text)
    for name, sql_type in types.items():
        text = text.replace("{" + name + "}", sql_type)
    return [statement.strip() for statement in text.split(";") if statement.strip()]


def migrate(
    location: str,
    applied: Sequence[tuple[str, str]],
    types: Mapping[str, str],
    run: Callable[[str], object],
    note: Callable[[str, str], object],
) -> None:
    """Apply what is missing, inside a transaction of the caller.

    Args:
        location: Of the database, for errors.
        applied: Name and checksum of each migration that the database has, from ``meta``.
        types: The dialect's types.
        run: Executes one statement.
        note: Writes a name and a checksum to ``meta``.

    Raises:
        StoreCorrupt: If the database has a newer schema, or got another text under a number.
    """
    have = dict(applied)
    newer = sorted(set(have) - set(migrations()))
    if newer:
        problem = f"has the schema of a newer simonides ({newer[-1]}); install that version"
        raise StoreCorrupt(location, problem)
    for name, text in migrations().items():
        if name not in have:
            for statement in _statements(text, types):
                run(statement)
            note(name, checksum(text))
        elif have[name] != checksum(text):
            raise StoreCorrupt(location, f"{name} was applied with another text")
