"""Statements and migrations as files: named queries, and numbered schemas with their checksums."""

import hashlib
import re
from collections.abc import Collection
from pathlib import Path
from typing import NamedTuple

_NAMED = re.compile(r"^-- name: (\w+)$", re.MULTILINE)
_PARAMETER = re.compile(r":(\w+)")
_VALUE = re.compile(r"%\((\w+)\)s(?:::(\w+(?:\[\])?))?|%%")


class Migration(NamedTuple):
    """One numbered file of a schema.

    Attributes:
        number: From 1, without gaps.
        name: What the file is called after its number.
        checksum: SHA-256 of its bytes.
        sql: Its text.
    """

    number: int
    name: str
    checksum: bytes
    sql: str


def load_queries(text: str) -> dict[str, str]:
    """Return the statements of a query file by their names; each follows a ``-- name:`` line."""
    parts = _NAMED.split(text)
    return {
        name: _without_comments(body) for name, body in zip(parts[1::2], parts[2::2], strict=True)
    }


def parameters(statement: str) -> tuple[str, ...]:
    """Return the names of a statement's ``:name`` parameters, each once, by their first mention."""
    return tuple(dict.fromkeys(_PARAMETER.findall(statement)))


def in_order(statement: str, told: Collection[str] = ()) -> tuple[str, dict[str, str]]:
    """Return a statement with ``$1``, ``$2`` … for ``%(name)s``, and the names in that order, each
    with the type that it is cast to; empty where it is not.

    Args:
        statement: With names.
        told: Types that the server is told beside the statement. The casts to them are left out:
            reading them costs it more than the rest of a call with many values.
    """
    casts: dict[str, str] = {}

    def numbered(found: re.Match[str]) -> str:
        name, cast = found[1], found[2] or ""
        if name is None:
            return "%"
        casts[name] = casts.get(name) or cast
        is_told = cast in told and cast == casts[name]
        return f"${[*casts].index(name) + 1}" + (f"::{cast}" if cast and not is_told else "")

    return _VALUE.sub(numbered, statement), casts


def load_migrations(directory: Path) -> tuple[Migration, ...]:
    """Return the numbered files of a directory, in their order."""
    found = []
    for file in sorted(directory.glob("[0-9]*.sql")):
        written = file.read_bytes()
        number, name = file.stem.split("_", 1)
        checksum = hashlib.sha256(written).digest()
        found.append(Migration(int(number), name, checksum, written.decode("utf-8")))
    return tuple(found)


def _without_comments(text: str) -> str:
    lines = [line for line in text.splitlines() if not line.startswith("--")]
    return "\n".join(lines).strip().removesuffix(";")
