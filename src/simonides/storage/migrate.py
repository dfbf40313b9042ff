"""Numbered migrations of the schema, each with a checksum that the database keeps.

A migration that was applied never changes: a database that got another text under the same number
is refused instead of being half understood.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping, Sequence
from functools import cache
from importlib.resources import files
from typing import NamedTuple

from simonides.core.errors import StoreCorrupt


class Migration(NamedTuple):
    """One step of the schema: its number, its text for both dialects, and its checksum."""

    number: int
    text: str
    checksum: str

    def statements(self, types: Mapping[str, str]) -> list[str]:
        """Return its statements in a dialect."""
        lines = [line.split("--")[0].rstrip() for line in self.text.splitlines()]
        text = "\n".join(line for line in lines if line)
        for name, sql_type in types.items():
            text = text.replace("{" + name + "}", sql_type)
        return [statement.strip() for statement in text.split(";") if statement.strip()]


@cache
def migrations() -> tuple[Migration, ...]:
    """Return all migrations by number, from 1 without gaps."""
    folder = files("simonides.storage") / "migrations"
    found = sorted(each.name for each in folder.iterdir() if each.name.endswith(".sql"))
    texts = [(folder / name).read_text("utf-8") for name in found]
    return tuple(
        Migration(number, text, hashlib.sha256(text.encode()).hexdigest())
        for number, text in enumerate(texts, start=1)
    )


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
    known = {f"migration {each.number:04}": each for each in migrations()}
    newer = sorted(set(have) - set(known))
    if newer:
        problem = f"has the schema of a newer simonides ({newer[-1]}); install that version"
        raise StoreCorrupt(location, problem)
    for name, migration in known.items():
        if name not in have:
            for statement in migration.statements(types):
                run(statement)
            note(name, migration.checksum)
        elif have[name] != migration.checksum:
            raise StoreCorrupt(location, f"{name} was applied with another text")
