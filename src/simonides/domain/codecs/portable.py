"""Codec of the export file of an owner, which people and other systems can read.

The file is JSON Lines in UTF-8: a header, one line for each record, and an end line with counts and
a digest of every byte before it (docs/operations.md). Each line is the canonical
JSON text of its value, so a reader can compare it with what was written.

A line holds data that is valid in every store. Values made with a store's own keys (digests of
owners, most tags, codes of the chain) are left out and recomputed at restore. Tombstone tags and
idempotency tags cannot be recomputed, because their inputs are unknown. They are copied unchanged
and take effect only in the store that made them.
"""

from __future__ import annotations

import json
import struct
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any, NamedTuple

from simonides.domain.canonical_json import canonical_json
from simonides.domain.codecs.checksums import json_with_check, json_without_check, with_check
from simonides.domain.codecs.memory import (
    IMPORTANCE_CODES,
    MINUTE_US,
    NEVER,
    SOURCE_CODES,
    STATE,
    STATUS_CODES,
    TRUST_CODES,
    without_check,
)
from simonides.domain.codecs.parts import Cell
from simonides.domain.value import Value

FORMAT = "simonides-export"
VERSION = 1
"""Increased when an older program cannot restore a newer file."""

MAX_LINE_BYTES = 4 * 1024 * 1024
"""Longest line, written or read. Chosen: ten times the longest content with its metadata when every
character is escaped, and small enough for memory."""


class Carried(NamedTuple):
    """One record of an owner in an export file.

    Attributes:
        type: One of :data:`TYPES`.
        cells: Its fields, in the order of the type; bytes as stored.
        made: Analyser, embedder and index entry of a memory to be restored. Files hold no index
            entries; the restoring process computes the vector from the text.
    """

    type: str
    cells: tuple[Any, ...]
    made: tuple[str, str, bytes] | None = None


class Standing(NamedTuple):
    """Head of an exported owner; see :class:`simonides.domain.writing.change.Head`."""

    epoch: int
    revision: int
    known_at: int
    seq: int


class CarriedField(NamedTuple):
    """One field of a type.

    Attributes:
        name: Name in the line.
        kind: ``int``, ``text``, ``hex`` (bytes), ``json`` (bytes that are JSON), ``body`` (JSON
            with a checksum, which the line leaves out) or ``state``.
        optional: Whether it may be null.
    """

    name: str
    kind: str
    optional: bool


def _fields(described: str) -> tuple[CarriedField, ...]:
    parsed = (each.split(":") for each in described.split())
    return tuple(CarriedField(n, k.rstrip("?"), k.endswith("?")) for n, k in parsed)


TYPES: Mapping[str, tuple[CarriedField, ...]] = MappingProxyType(
    {
        "memory": _fields("id:text revision:int known_from:int state:state version:body"),
        "state": _fields("id:text revision:int known_from:int state:state"),
        "event": _fields("seq:int commitment:hex salt:hex? payload:json?"),
        "derivation": _fields("parent:text owner:text child:text"),
        "tombstone": _fields("tag:hex"),
        "idempotency": _fields("tag:hex revision:int request:hex answer:json"),
        "held": _fields("id:text reason:text held_at:int session:text? body:json"),
        "grant": _fields("body:json"),
        "journal": _fields("at:int kind:text body:json"),
        "session_end": _fields("step:text at:int body:json"),
        "session": _fields("session:text started_at:int due_at:int? body:json"),
        "turn": _fields("session:text number:int at:int body:json"),
        "review": _fields("id:text status:text at:int body:json"),
        "consent": _fields("at:int body:json"),
        "scope": _fields("tag:hex at:int body:json"),
        "policy": _fields("version:int hash:hex at:int body:json"),
        "usage": _fields("day:int body:json"),
    }
)
"""Record types, in the order of the file. Two types are nested: the earlier states of a memory
follow it, newest first, and the turns of a session follow its line.

The outbox is not exported: its work is done in the source store, and a file with outbox items could
write in the name of any owner.
"""

_LARGEST = 2**63


@dataclass(frozen=True, slots=True)
class Header(Value):
    """The first line.

    Attributes:
        exported_at: Clock of the exporting process, µs.
        owner: Canonical path.
        standing: Head of the owner.
        chain_owner: The owner's digest in the source store, 16 bytes.
        chain_code: Last code of its audit chain in the source store, 32 bytes.
        chain_key: Key of the chain's codes, or None for unkeyed codes.
        memories: Number of versions that follow, for a progress bar.
    """

    exported_at: int
    owner: str
    standing: Standing
    chain_owner: bytes
    chain_code: bytes
    chain_key: str | None
    memories: int


@dataclass(frozen=True, slots=True)
class End(Value):
    """The last line.

    Attributes:
        counts: Lines by type, without zeros.
        sha256: 64 hexadecimal digits over every byte of the earlier lines, line ends included.
    """

    counts: Mapping[str, int]
    sha256: str


def header_line(header: Header) -> bytes:
    """Return the header as a line with its line end."""
    said = {
        "type": "header",
        "format": FORMAT,
        "version": VERSION,
        "exported_at": header.exported_at,
        "owner": header.owner,
        "head": header.standing._asdict(),
        "chain": {
            "owner": header.chain_owner.hex(),
            "code": header.chain_code.hex(),
            "key": header.chain_key,
        },
        "memories": header.memories,
    }
    return canonical_json(said) + b"\n"


def end_line(end: End) -> bytes:
    """Return the end as a line with its line end."""
    return canonical_json({"type": "end", **end.to_dict()}) + b"\n"


def line_of(carried: Carried) -> bytes:
    """Return a record as a line with its line end.

    Raises:
        ValueError: If a cell does not fit its type.
    """
    said: dict[str, Any] = {"type": carried.type}
    for field, cell in zip(TYPES[carried.type], carried.cells, strict=True):
        name, value = _said(field, cell, str(carried.cells[0]))
        said[name] = value
    return canonical_json(said) + b"\n"


def parsed(line: bytes) -> dict[str, Any]:
    """Decode a line to its object.

    Raises:
        ValueError: If it is not the canonical JSON text of an object with a type.
    """
    try:
        said = json.loads(line)
        is_canonical = canonical_json(said) + b"\n" == line
    except RecursionError:
        raise ValueError("it is nested deeper than anything that is written") from None
    except UnicodeDecodeError as error:
        raise ValueError(f"it is not UTF-8 at byte {error.start + 1}") from None
    except ValueError as error:
        raise ValueError(f"it is no JSON that is written here: {error}") from None
    if not is_canonical:
        raise ValueError("it is not as it was written: keys out of order, blanks, or a copy cut")
    if not isinstance(said, dict) or not isinstance(said.get("type"), str):
        raise ValueError("it is not an object with a type")
    return said


def read_header(said: Mapping[str, Any]) -> Header:
    """Return the header from a first line.

    Raises:
        ValueError: If it is not a header, or has another format or version.
    """
    if said["type"] != "header" or said.get("format") != FORMAT:
        raise ValueError(f"it is not the header of a {FORMAT}")
    if said.get("version") != VERSION:
        raise ValueError(
            f"version {said.get('version')!r} is unknown; this simonides reads {VERSION}"
        )
    head, chain = _object(said, "head", 4), _object(said, "chain", 3)
    if len(said) != 8:  # as header_line writes it
        raise ValueError("it has fields that a header has not")
    key = chain.get("key")
    if key is not None and not isinstance(key, str):
        raise ValueError("chain.key must be text or null")
    return Header(
        exported_at=_int(said, "exported_at"),
        owner=_text(said, "owner"),
        standing=Standing(*(_int(head, name) for name in Standing._fields)),
        chain_owner=_bytes(chain, "owner"),
        chain_code=_bytes(chain, "code"),
        chain_key=key,
        memories=_int(said, "memories"),
    )


def read_end(said: Mapping[str, Any]) -> End:
    """Return the end from a last line.

    Raises:
        ValueError: If it is not an end line.
    """
    counts = _object(said, "counts")
    if len(said) != 3 or set(counts) - set(TYPES):  # as end_line writes it
        raise ValueError("it is not an end as it is written")
    return End({name: _int(counts, name) for name in counts}, _text(said, "sha256"))


def read_carried(said: Mapping[str, Any]) -> Carried:
    """Return the record of a line between header and end.

    Raises:
        ValueError: If its type is unknown, or a field is missing, unknown or of another kind.
    """
    fields = TYPES.get(said["type"])
    if fields is None:
        raise ValueError(f"type {said['type']!r} is unknown")
    if len(said) != len(fields) + 1:
        raise ValueError(f"a {said['type']} has {len(fields)} fields and its type")
    return Carried(said["type"], tuple(_cell(field, said) for field in fields))


def _said(field: CarriedField, cell: Cell, id: str) -> tuple[str, Any]:
    if cell is None:
        if not field.optional:
            raise ValueError(f"{field.name} is missing")
        return field.name, None
    if not isinstance(cell, bytes):
        return field.name, cell
    if field.kind == "body":
        return _said(field._replace(kind="json"), json_without_check(cell, id), id)
    if field.kind == "json":
        try:
            value = json.loads(cell)
            if canonical_json(value) == cell:
                return field.name, value
        except (ValueError, RecursionError):
            pass  # bytes that are not canonical JSON are exported as hexadecimal text
        return f"{field.name}_hex", cell.hex()
    return field.name, state_fields(cell) if field.kind == "state" else cell.hex()


def _cell(field: CarriedField, said: Mapping[str, Any]) -> Cell:
    if field.kind == "body":
        body = _cell(field._replace(kind="json"), said)
        if not isinstance(body, bytes) or not body.startswith(b"{"):
            raise ValueError(f"{field.name} must be an object")
        return json_with_check(body, _text(said, "id"))
    if field.kind == "json" and f"{field.name}_hex" in said:
        return _bytes(said, f"{field.name}_hex")
    if field.name not in said:
        raise ValueError(f"{field.name} is missing")
    if said[field.name] is None and field.optional:
        return None
    if field.kind == "json":
        return canonical_json(said[field.name])
    if field.kind == "state":
        return packed_state(_object(said, field.name))
    return _READ[field.kind](said, field.name)


def _object(said: Mapping[str, Any], name: str, length: int | None = None) -> dict[str, Any]:
    value = said.get(name)
    if not isinstance(value, dict) or length not in (None, len(value)):
        raise ValueError(f"{name} must be an object as it is written")
    return value


def _int(said: Mapping[str, Any], name: str) -> int:
    value = said.get(name)
    if type(value) is not int or not -_LARGEST <= value < _LARGEST:
        raise ValueError(f"{name} must be a whole number of 64 bits")
    return value


def _text(said: Mapping[str, Any], name: str) -> str:
    value = said.get(name)
    if not isinstance(value, str) or "\0" in value:
        raise ValueError(f"{name} must be text without NUL")
    return value


def _bytes(said: Mapping[str, Any], name: str) -> bytes:
    text = _text(said, name)
    raw = bytes.fromhex(text)
    if raw.hex() != text:
        raise ValueError(f"{name} must be hexadecimal digits")
    return raw


_READ: Mapping[str, Callable[[Mapping[str, Any], str], Cell]] = {
    "int": _int,
    "text": _text,
    "hex": _bytes,
}
_CODES: Mapping[str, tuple[Any, ...]] = {
    "status": STATUS_CODES,
    "source": SOURCE_CODES,
    "trust": TRUST_CODES,
    "importance": IMPORTANCE_CODES,
}
_FLAGS = ("pinned", "timeless")
_FIXED = (*_CODES, *_FLAGS, "versions", "last_accessed_at", "confidence")
_TIMES = ("updated_at", "soft_expires_at", "hard_expires_at", "verified_at", "valid_to")


def state_fields(state: bytes) -> dict[str, Any]:
    """Return a packed state as JSON-ready data: names for codes, µs for times, null for none.

    Raises:
        ValueError: If ``domain.codecs.memory`` did not pack it.
    """
    try:
        plain = without_check(state)
        packed = STATE.unpack_from(plain)
        tail = json.loads(plain[STATE.size :]) if len(plain) > STATE.size else {}
        fields = dict(zip((*_FIXED, *_TIMES), packed, strict=True))
        fields |= {name: codes[fields[name]].value for name, codes in _CODES.items()}
    except (struct.error, IndexError, ValueError) as error:
        raise ValueError(f"a state cannot be read: {error}") from error
    fields |= {name: bool(fields[name]) for name in _FLAGS}
    fields["last_accessed_at"] = fields["last_accessed_at"] * MINUTE_US or None
    fields |= {name: None if fields[name] == NEVER else fields[name] for name in _TIMES}
    if packed_state(fields | tail) != with_check(plain):
        raise ValueError("a state is not as it is packed")
    return fields | tail


def packed_state(fields: Mapping[str, Any]) -> bytes:
    """Undo :func:`state_fields`.

    Raises:
        ValueError: If a field is missing, unknown or of another kind.
    """
    try:
        codes = [
            [code.value for code in known].index(fields[name]) for name, known in _CODES.items()
        ]
        flags = [fields[name] for name in _FLAGS]
        times = [NEVER if fields[name] is None else _int(fields, name) for name in _TIMES]
        read = fields["last_accessed_at"]
        read_us = 0 if read is None else _int(fields, "last_accessed_at")
        minutes, more = divmod(read_us, MINUTE_US)
        if {type(flag) for flag in flags} != {bool} or type(fields["confidence"]) is not float:
            raise ValueError("flags must be true or false, confidence a number with a point")
        if more or read == 0:
            raise ValueError("last_accessed_at must be whole minutes, or null")
        fixed = STATE.pack(
            *codes, *flags, _int(fields, "versions"), minutes, fields["confidence"], *times
        )
    except (struct.error, LookupError, TypeError) as error:
        raise ValueError(f"a state cannot be written: {error}") from error
    tail = {name: value for name, value in fields.items() if name not in (*_FIXED, *_TIMES)}
    return with_check(fixed + canonical_json(tail) if tail else fixed)
