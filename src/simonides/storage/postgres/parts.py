"""The statements by which owners move, one for each table and use, in PostgreSQL's words.

They differ in nothing but names, which are those of :data:`simonides.domain.codecs.parts.PARTS`.
Owners
are text here, 32 hexadecimal characters, and 16 bytes where they move; only ``child_owner`` is such
a column of a part. Hexadecimal text sorts as the bytes do.
"""

from collections.abc import Callable

from simonides.domain.codecs.parts import PARTS, Part

TABLES = ("owners", *(part.name for part in PARTS))
"""Every table in which an owner may have rows that move."""

_NUMBERS = frozenset(
    "at codec day destroyed_at due_at held_at known_from known_to n place previous revision seq "
    "started_at status turn_no version".split()
)
_TEXTS = frozenset(
    "analyser child embedder id key_id kind parent reason session step target".split()
)
_OWNER = "child_owner"


def statements_of_parts() -> dict[str, str]:
    """Return the statements by name: the use, ``_of_`` and the part; and those over all tables.

    ``page``, ``next`` (the page after a key), ``last`` (the greatest key), ``arrive``, ``clear``.
    """
    uses: dict[str, Callable[[Part], str]] = {
        "page": _first_page,
        "next": _next_page,
        "last": _last_key,
        "arrive": _arrive,
        "clear": lambda part: f"DELETE FROM simonides.{part.name} WHERE owner = %(owner)s",  # noqa: S608 - from PARTS
    }
    named = {f"{use}_of_{part.name}": make(part) for use, make in uses.items() for part in PARTS}
    named["counts"] = " UNION ALL ".join(
        f"SELECT '{part.name}', count(*) FROM simonides.{part.name} WHERE owner = %(owner)s"  # noqa: S608 - from PARTS
        for part in PARTS
        if part.name != "owner_keys"  # says which key, and nothing of anybody
    )
    named["inhabitants"] = " UNION ".join(map(_owners_in, TABLES))
    named["lives_here"] = " UNION ".join(map(_lives_in, TABLES))
    kept = [table for table in TABLES if table != "read_journal"]
    named["lives_here_but_read"] = " UNION ".join(map(_lives_in, kept))
    return named


def _cell(column: str) -> str:
    return f"decode({column}, 'hex')" if column == _OWNER else column


def _bound(column: str) -> str:
    return f"encode(%({column})s, 'hex')" if column == _OWNER else f"%({column})s"


def _type(part: Part, column: str) -> str:
    if column == "status" and part.name == "reviews":
        return "text"
    if column in _NUMBERS:
        return "bigint"
    return "text" if column in _TEXTS else "bytea"


def _first_page(part: Part) -> str:
    cells, keys = ", ".join(map(_cell, part.columns)), ", ".join(part.columns[: part.key])
    return (
        f"SELECT {cells} FROM simonides.{part.name} WHERE owner = %(owner)s "  # noqa: S608 - from PARTS
        f"ORDER BY {keys} LIMIT %(limit)s"
    )


def _next_page(part: Part) -> str:
    keys = part.columns[: part.key]
    after = f"({', '.join(keys)}) > ({', '.join(map(_bound, keys))})"
    return _first_page(part).replace("ORDER BY", f"AND {after} ORDER BY")


def _last_key(part: Part) -> str:
    keys = part.columns[: part.key]
    return (
        f"SELECT {', '.join(map(_cell, keys))} FROM simonides.{part.name} "  # noqa: S608 - from PARTS
        f"WHERE owner = %(owner)s ORDER BY {', '.join(f'{key} DESC' for key in keys)} LIMIT 1"
    )


def _arrive(part: Part) -> str:
    columns = ", ".join(part.columns)
    arrays = ", ".join(f"%({column})s::{_type(part, column)}[]" for column in part.columns)
    cells = ", ".join(f"encode({c}, 'hex')" if c == _OWNER else c for c in part.columns)
    # A journal's numbers are the database's to give, unless it is told otherwise.
    given = " OVERRIDING SYSTEM VALUE" if part.name == "read_journal" else ""
    return (
        f"INSERT INTO simonides.{part.name} (owner, {columns}){given} "  # noqa: S608 - from PARTS
        f"SELECT %(owner)s, {cells} FROM unnest({arrays}) AS arrived ({columns})"
    )


def _owners_in(table: str) -> str:
    # From each owner to the next by the key, past all of its rows: a table is never walked through.
    return (
        "SELECT owner FROM (WITH RECURSIVE found (owner) AS ("  # noqa: S608 - from PARTS
        f"SELECT min(t.owner) FROM simonides.{table} AS t UNION ALL "
        f"SELECT (SELECT min(t.owner) FROM simonides.{table} AS t WHERE t.owner > found.owner) "
        "FROM found WHERE found.owner IS NOT NULL) "
        f"SELECT owner FROM found WHERE owner IS NOT NULL) AS of_{table}"
    )


def _lives_in(table: str) -> str:
    return f"(SELECT owner FROM simonides.{table} WHERE owner = %(owner)s LIMIT 1)"  # noqa: S608 - from PARTS
