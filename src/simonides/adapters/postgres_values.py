"""Values as PostgreSQL takes them in binary, by the type that a statement casts them to.

The driver looks at every element of a list to find out what it is; a statement that says
``%(ids)s::text[]`` has told already. Formats: https://www.postgresql.org/docs/current/protocol.html
and ``array_send`` of the server's source.
"""

import struct
from collections.abc import Callable
from typing import Any, NamedTuple

import psycopg

_LENGTH = struct.Struct(">i")
_NULL = _LENGTH.pack(-1)
# Dimensions, whether there are NULLs, type of the elements, how many, number of the first.
_HEADER = struct.Struct(">iiIii")


def _text(value: str) -> bytes:
    if "\0" in value:
        raise psycopg.DataError("PostgreSQL text fields cannot contain NUL (0x00) bytes")
    return value.encode()


def _number(size: int) -> Callable[[int], bytes]:
    def written(value: int) -> bytes:
        try:
            return value.to_bytes(size, "big", signed=True)
        except OverflowError:
            raise psycopg.DataError(f"{value} has more than {size} bytes") from None

    return written


def _array(element: int, written: Callable[[Any], bytes]) -> Callable[[list[Any]], bytes]:
    empty, one = _HEADER.pack(0, 0, element, 0, 0)[:12], _HEADER.pack(1, 0, element, 1, 1)
    missing = _HEADER.pack(1, 1, element, 1, 1) + _NULL

    def array(values: list[Any]) -> bytes:
        if not values:
            return empty
        if len(values) == 1:
            # Most changes are of one memory.
            if values[0] is None:
                return missing
            raw = written(values[0])
            return b"".join((one, _LENGTH.pack(len(raw)), raw))
        parts = [_HEADER.pack(1, None in values, element, len(values), 1)]
        for value in values:
            if value is None:
                parts.append(_NULL)
            else:
                raw = written(value)
                parts += (_LENGTH.pack(len(raw)), raw)
        return b"".join(parts)

    return array


class Kind(NamedTuple):
    """How the values of a type are sent.

    Attributes:
        oid: The type's number, the same on every server.
        written: From a value to its bytes; raises ``psycopg.DataError`` for one that has none.
    """

    oid: int
    written: Callable[[Any], bytes]


# Name, number of the type, number of its arrays, how one is written.
_SCALARS: tuple[tuple[str, int, int, Callable[[Any], bytes]], ...] = (
    ("bytea", 17, 1001, bytes),
    ("bigint", 20, 1016, _number(8)),
    ("smallint", 21, 1005, _number(2)),
    ("text", 25, 1009, _text),
)

KINDS: dict[str, Kind] = {
    **{name: Kind(oid, written) for name, oid, _, written in _SCALARS},
    **{f"{name}[]": Kind(many, _array(oid, written)) for name, oid, many, written in _SCALARS},
}
"""By what a statement casts to; other types are the driver's to find out."""
