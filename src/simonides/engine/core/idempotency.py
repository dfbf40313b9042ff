"""Identifies writes: by fingerprints that may be tombstones, and by idempotency keys."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence

from simonides.domain.canonical_json import canonical_json
from simonides.domain.codecs.candidate import encode_candidate
from simonides.domain.errors import IdempotencyMismatch
from simonides.domain.policy.quotas import QUOTA_EXCEEDED
from simonides.domain.scope import Scope
from simonides.domain.value import shown
from simonides.domain.writing.change import IdempotencyRecord
from simonides.domain.writing.decision import (
    Candidate,
    Outcome,
    OutcomeKind,
    Proposer,
)
from simonides.engine.core.tombstones import fingerprints, turn_mark
from simonides.policy import CONSENT_REFUSED, HYGIENE_BLOCKED
from simonides.ports import MemoryStore

_TEMPORARY = frozenset({CONSENT_REFUSED, HYGIENE_BLOCKED, QUOTA_EXCEEDED})


def marks_of(candidate: Candidate) -> tuple[bytes, ...]:
    """Return the fingerprints under which a candidate may have been forgotten."""
    origin = candidate.origin
    if candidate.is_turn and origin.session is not None and origin.turn is not None:
        return (turn_mark(candidate.scope, origin.session, origin.turn),)
    return fingerprints(candidate.scope, candidate.content, candidate.key)


async def tombstoned(
    store: MemoryStore, owner: Scope, candidates: Sequence[Candidate]
) -> frozenset[bytes]:
    """Return the fingerprints of the owner's candidates that are tombstones of this owner.

    Raises:
        StoreError: If the store cannot be read.
    """
    marks = {m for c in candidates if c.scope.owner == owner for m in marks_of(c)}
    return await store.tombstoned(owner, sorted(marks)) if marks else frozenset()


def write_name(candidate: Candidate) -> str | None:
    """Return the name of a write's idempotency record within its owner, or None without a key.

    The caller chooses the key, so two tasks or agents of one user may choose the same one. The
    parts before the key contain no space.
    """
    if candidate.idempotency_key is None:
        return None
    scope, audience, purpose = candidate.place
    agents = "*" if audience is None else ",".join(sorted(audience))
    return f"{scope.path} {agents} {purpose or ''} {candidate.idempotency_key}"


def is_promotion(candidate: Candidate) -> bool:
    """Whether a candidate is a copy of a memory of another scope."""
    return candidate.proposer is Proposer.IMPORT and candidate.origin.memory is not None


def request_of(candidate: Candidate) -> bytes:
    """Return the digest by which a repeated write is recognised."""
    if is_promotion(candidate):
        # A promotion copies one version, whose tags or confidence may have changed since.
        return hashlib.sha256(f"promotion {write_name(candidate)}".encode()).digest()
    return hashlib.sha256(encode_candidate(candidate)).digest()


def is_temporary_refusal(candidate: Candidate, outcome: Outcome) -> bool:
    """Whether a refusal is temporary, and so must not answer a retry.

    Every refusal of a promotion is temporary, because its caller cannot choose another key.
    """
    if is_promotion(candidate):
        return outcome.kind in (OutcomeKind.BLOCKED, OutcomeKind.DROPPED)
    return outcome.kind is OutcomeKind.BLOCKED and any(
        reason.partition(":")[0] in _TEMPORARY for reason in outcome.reasons
    )


class Answers:
    """Answers of one turn to writes with idempotency keys."""

    def __init__(self, stored: Mapping[str, IdempotencyRecord]) -> None:
        """Create the answers.

        Args:
            stored: The records of earlier turns, by name.
        """
        self._stored = stored
        self._new: dict[str, IdempotencyRecord] = {}

    @property
    def records(self) -> tuple[IdempotencyRecord, ...]:
        """The records that this turn adds."""
        return tuple(self._new.values())

    def known(self, candidate: Candidate) -> IdempotencyRecord | None:
        """Return the record of the same write, if it was done before.

        Raises:
            IdempotencyMismatch: If the key names a write with other content.
        """
        name = write_name(candidate)
        if name is None:
            return None
        record = self._new.get(name) or self._stored.get(name)
        if record is not None and record.request != request_of(candidate):
            raise IdempotencyMismatch(
                "idempotency_key",
                f"{shown(candidate.idempotency_key)} already names a write with other content",
            )
        return record

    def remember(self, candidate: Candidate, outcome: Outcome) -> None:
        """Keep the answer of a write that has a key."""
        name = write_name(candidate)
        if name is None or is_temporary_refusal(candidate, outcome):
            return
        answer = {
            "kind": outcome.kind.value,
            "memory": None if outcome.record is None else outcome.record.id,
            "reasons": list(outcome.reasons),
        }
        self._new[name] = IdempotencyRecord(name, request_of(candidate), canonical_json(answer))

    def clear(self) -> None:
        """Drop the answers of this turn."""
        self._new.clear()


def answer_of(record: IdempotencyRecord) -> tuple[Outcome, str | None]:
    """Return the outcome of an earlier write, and the id of its memory."""
    answer = json.loads(record.answer)
    kind, reasons = OutcomeKind(answer["kind"]), tuple(answer["reasons"])
    return Outcome(kind, None, reasons), answer["memory"]
