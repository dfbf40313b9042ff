"""Safety records: what happened, how grave it was, what was done.

Always on, never recalled. This room knows what such a record says and how it is written; where it
lies and how long it stays is told by the port and the settings.
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
"""Fields that hold names of the caller's making."""


def checked_event(kind: object, severity: object, done: object) -> dict[str, Any]:
    """Return what is said of an event but for its note.

    Raises:
        InvalidInput: Naming the field.
    """
    return {
        "kind": checked_name("kind", kind),
        "severity": enum_member(SafetySeverity, "severity", severity),
        "done": "" if done == "" else checked_name("done", done),
    }


def encode_event(record: SafetyRecord) -> bytes:
    """Return the body under which a record is kept: all but its id, time and subject."""
    said = record.to_dict()
    return canonical_json({name: said[name] for name in said if name not in _APART})


def decode_event(kept: KeptRecord) -> SafetyRecord:
    """Return the record that was kept.

    Raises:
        ValueError: If that is none; or ``LookupError``, ``TypeError``.
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
