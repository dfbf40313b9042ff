"""Codec of session entries and session steps."""

from __future__ import annotations

import json
from functools import cache
from types import MappingProxyType
from typing import Any

from simonides.domain.canonical_json import canonical_json, quoted
from simonides.domain.conversation.session import (
    Entry,
    EntryKind,
    Logged,
    Observation,
    SessionEntry,
    SessionStep,
)
from simonides.domain.conversation.turn import Role
from simonides.domain.errors import StoreCorrupt
from simonides.domain.memory import Importance
from simonides.domain.value import plain

_NAMES = ("speaker", "key", "task")
_PLAIN = ("text", "tool", "failed", *_NAMES)


def encode_entry(entry: Entry, at: int) -> Observation:
    """Encode an entry as canonical JSON, without defaults."""
    # Field by field, not through `to_dict`, for speed: every turn waits for this.
    fields: dict[str, Any] = {}
    for name in _NAMES:
        value = getattr(entry, name)
        if value is not None:
            fields[name] = value
    if entry.failed:
        fields["failed"] = True
    if entry.importance != Importance.NORMAL:
        fields["importance"] = entry.importance
    if entry.details:
        fields["details"] = plain(entry.details)
    if entry.marks:
        fields["marks"] = entry.marks
    head = _head(entry.kind, entry.role)
    if fields:
        head = canonical_json({"kind": entry.kind, "role": entry.role, **fields})[:-1]
    # In the order of names, text and tool come last.
    tool = b"" if entry.tool is None else b',"tool":%b' % quoted(entry.tool)
    return Observation(at, b'%b,"text":%b%b}' % (head, quoted(entry.text), tool))


@cache
def _head(kind: EntryKind, role: Role) -> bytes:
    """Return the beginning of an entry without other fields, the usual case."""
    return canonical_json({"kind": kind, "role": role})[:-1]


def decode_entry(row: SessionEntry, location: str) -> Logged:
    """Decode an entry with its number.

    Raises:
        StoreCorrupt: If :func:`encode_entry` did not write it; names the location.
    """
    try:
        return Logged(row.number, row.at, _entry(json.loads(row.body)))
    except (ValueError, LookupError, TypeError) as error:
        problem = f"entry {row.number} of a session cannot be read: {error}"
        raise StoreCorrupt(location, problem) from error


def step_body(step: SessionStep) -> bytes:
    """Encode a session step with its session's name, because some stores keep only a tag of it."""
    return canonical_json({"session": step.session, "told": json.loads(step.body)})


def step_of(step: str, at: int, body: bytes) -> SessionStep:
    """Decode a session step.

    Raises:
        ValueError: If :func:`step_body` did not write the body.
    """
    fields = json.loads(body)
    if not isinstance(fields, dict) or not isinstance(fields.get("session"), str):
        raise ValueError("the step of a session names no session")
    return SessionStep(fields["session"], step, at, canonical_json(fields.get("told")))


def _entry(fields: dict[str, Any]) -> Entry:
    return Entry(
        kind=EntryKind(fields["kind"]),
        role=Role(fields["role"]),
        importance=Importance(fields.get("importance", Importance.NORMAL)),
        details=MappingProxyType(fields.get("details", {})),
        marks=tuple(fields.get("marks", ())),
        **{name: fields[name] for name in _PLAIN if name in fields},
    )
