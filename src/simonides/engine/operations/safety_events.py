"""Checks and encodes safety records: what happened, its severity, and the action taken.

They cannot be switched off and are never recalled. The :class:`~simonides.ports.RecordStore` port
stores them; the settings define how long.
"""

from __future__ import annotations

import json
from typing import Any

from simonides.domain.canonical_json import canonical_json
from simonides.domain.governance.safety_record import (
    KeptRecord,
    SafetyRecord,
    SafetySeverity,
    checked_name,
)
from simonides.domain.value import enum_member, from_us

NAMES = ("kind", "done")
"""Fields that hold names chosen by the caller."""


def checked_event(kind: object, severity: object, done: object) -> dict[str, Any]:
    """Check the fields of a safety event, the note excepted, and return them by name.

    Raises:
        InvalidInput: If a field is invalid; it names the field.
    """
    return {
        "kind": checked_name("kind", kind),
        "severity": enum_member(SafetySeverity, "severity", severity),
        "done": "" if done == "" else checked_name("done", done),
    }


def encode_event(record: SafetyRecord) -> bytes:
    """Return the stored body of a record: all fields except id, time and subject."""
    said = record.to_dict()
    return canonical_json({name: said[name] for name in said if name not in _APART})


def decode_event(kept: KeptRecord) -> SafetyRecord:
    """Decode a stored record.

    Raises:
        ValueError: If the body is damaged; or ``LookupError``, ``TypeError``.
    """
    said = json.loads(kept.body)
    return SafetyRecord(
        id=kept.id,
        at=from_us(kept.at),
        kind=str(said["kind"]),
        severity=SafetySeverity(said["severity"]),
        done=str(said["done"]),
        note=str(said["note"]),
        redacted=tuple(map(str, said["redacted"])),
        subject=kept.subject.hex(),
        session=None if said["session"] is None else str(said["session"]),
    )


_APART = frozenset({"id", "at", "subject"})
