"""Codec of waiting candidates: held, or in the outbox to another owner."""

from __future__ import annotations

import json
from collections.abc import Sequence
from datetime import datetime
from types import MappingProxyType
from typing import Any

from simonides.domain.canonical_json import canonical_json
from simonides.domain.errors import StoreCorrupt
from simonides.domain.governance.held import Held, Support
from simonides.domain.memory import Importance, Kind, Origin, Triple
from simonides.domain.scope import Scope
from simonides.domain.trust import Label, Sensitivity, Source, Trust
from simonides.domain.value import from_us
from simonides.domain.writing.change import HeldCandidate
from simonides.domain.writing.decision import Candidate, Proposer

_PLAIN = (
    "content",
    "category",
    "key",
    "confidence",
    "quote",
    "speaker",
    "purpose",
    "ttl_days",
    "pinned",
    "idempotency_key",
    "explicit",
    "replaces",
    "replaces_root",
    "retracts",
    "timeless",
)


def encode_candidate(candidate: Candidate) -> bytes:
    """Encode a candidate as canonical JSON."""
    fields = candidate.to_dict()
    del fields["findings"]  # a release scans the text again
    return canonical_json(fields)


def encode_held(
    candidate: Candidate,
    reasons: Sequence[str],
    proposed_by: str,
    support: Sequence[Support] = (),
) -> bytes:
    """Encode a held candidate with its reasons, its proposer and its support."""
    held = {
        "reasons": list(reasons),
        "proposed_by": proposed_by,
        "support": {each.session: list(each.turns) for each in support},
    }
    return canonical_json(json.loads(encode_candidate(candidate)) | {"held": held})


def decode_held(row: HeldCandidate) -> Held:
    """Decode a held candidate.

    Raises:
        StoreCorrupt: If the row is not what :func:`encode_held` wrote.
    """
    candidate = decode_candidate(row.body)
    try:
        held = json.loads(row.body)["held"]
        return Held(
            id=row.id,
            candidate=candidate,
            reasons=tuple(held["reasons"]),
            held_at=from_us(row.held_at),
            proposed_by=held["proposed_by"],
            support=_support(held["support"]),
        )
    except (AttributeError, KeyError, TypeError) as error:
        raise StoreCorrupt("candidate", f"cannot be read: {error}") from error


def decode_candidate(body: bytes) -> Candidate:
    """Decode a candidate.

    Raises:
        StoreCorrupt: If :func:`encode_candidate` did not write the text.
    """
    try:
        fields = json.loads(body)
        return Candidate(
            **{name: fields[name] for name in _PLAIN},
            scope=Scope.parse(fields["scope"]),
            source=Source(fields["source"]),
            proposer=Proposer(fields["proposer"]),
            label=_label(fields["label"]),
            kind=Kind(fields["kind"]),
            importance=Importance(fields["importance"]),
            tags=tuple(fields["tags"]),
            metadata=MappingProxyType(fields["metadata"]),
            triple=None if fields["triple"] is None else Triple(**fields["triple"]),
            origin=Origin(**fields["origin"]),
            parents=tuple(fields["parents"]),
            said_at=_moment(fields["said_at"]),
            valid_from=_moment(fields["valid_from"]),
            marks=tuple(fields["marks"]),
        )
    except (ValueError, KeyError, TypeError) as error:
        raise StoreCorrupt("candidate", f"cannot be read: {error}") from error


def _support(fields: dict[str, list[int]]) -> tuple[Support, ...]:
    return tuple(Support(name, tuple(turns)) for name, turns in sorted(fields.items()))


def _label(fields: dict[str, Any]) -> Label:
    audience = fields["audience"]
    return Label(
        Trust(fields["trust"]),
        Sensitivity(fields["sensitivity"]),
        None if audience is None else frozenset(audience),
    )


def _moment(text: str | None) -> datetime | None:
    return None if text is None else datetime.fromisoformat(text)
