"""Codec of memories: a canonical JSON body and a packed state.

The body holds the content version and never changes. The state holds every attribute that ranking
reads and that may change. Its fixed part has the layout :data:`STATE`, so that thousands of states
can be read at once as columns.
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from datetime import datetime
from functools import lru_cache
from operator import itemgetter
from types import MappingProxyType
from typing import Any, TypeVar

from simonides.domain.canonical_json import canonical_json, parsed
from simonides.domain.codecs.checksums import (
    CHECK_BYTES,
    are_whole,
    is_whole,
    json_with_check,
    json_without_check,
    with_check,
)
from simonides.domain.errors import InvalidScope, StoreCorrupt
from simonides.domain.memory import Importance, Kind, Origin, Record, Status, Triple
from simonides.domain.scope import Scope
from simonides.domain.trust import Sensitivity, Source, Trust
from simonides.domain.value import from_us, to_us
from simonides.domain.writing.change import StoredRow

NEVER = -(2**63)
"""Absent time in packed columns; no clock reaches it."""

STATE = struct.Struct("<6B2xIIdqqqqq")
"""status, source, trust, importance, pinned, timeless, versions, the last read in whole minutes
since 1970 (0 for none), confidence, then the times updated, soft expiry, hard expiry, verified and
valid_to in µs; 64 bytes. An optional JSON tail with tags and superseded_by follows, then a checksum
(:mod:`simonides.domain.codecs.checksums`)."""

_STATE_OF = itemgetter(StoredRow._fields.index("state"))
_READ = 7  # place of the last read among those fields
_ENDS = struct.Struct("<32xqq")  # soft and hard expiry only


MINUTE_US = 60_000_000

# Places in these tuples are written to disk: append, never reorder.
STATUS_CODES: tuple[Status, ...] = (
    Status.ACTIVE,
    Status.HELD,
    Status.REVIEW,
    Status.SUPERSEDED,
    Status.ARCHIVED,
    Status.STALE,
    Status.EVICTED,
    Status.TOMBSTONED,
)
SOURCE_CODES: tuple[Source, ...] = (
    Source.UNKNOWN,
    Source.USER_STATED,
    Source.USER_CORRECTION,
    Source.IN_SESSION_CORRECTION,
    Source.TOOL_VERIFIED,
    Source.CONFIG_CHANGE,
    Source.TASK_LEARNING,
    Source.TASK_OUTCOME,
    Source.AGENT_INFERRED,
    Source.RECALLED,
    Source.PATTERN,
    Source.EXTERNAL,
)
TRUST_CODES: tuple[Trust, ...] = (
    Trust.EXTERNAL,
    Trust.AGENT,
    Trust.TOOL,
    Trust.USER,
    Trust.SYSTEM,
)
IMPORTANCE_CODES: tuple[Importance, ...] = (
    Importance.NORMAL,
    Importance.HIGH,
    Importance.CRITICAL,
)
KIND_CODES: tuple[Kind, ...] = (Kind.SEMANTIC, Kind.EPISODIC, Kind.PROCEDURAL)
SENSITIVITY_CODES: tuple[Sensitivity, ...] = (
    Sensitivity.PUBLIC,
    Sensitivity.PRIVATE,
    Sensitivity.SENSITIVE,
)

T = TypeVar("T")


def code_of(codes: tuple[T, ...], value: T) -> int:
    """Return the place of a value in its code table."""
    return codes.index(value)


def encode_time(moment: datetime | None) -> int:
    """Return µs, or :data:`NEVER` for None."""
    return NEVER if moment is None else to_us(moment)


def encode_body(memory: Record) -> bytes:
    """Encode the content version as canonical JSON with its checksum, without absent fields."""
    fields: dict[str, Any] = {
        "root": memory.root,
        "version": memory.version,
        "scope": memory.scope.path,
        "kind": memory.kind.value,
        "category": memory.category,
        "content": memory.content,
        "hash": memory.content_hash,
        "created": to_us(memory.created_at),
        "sensitivity": memory.sensitivity.value,
        "key": memory.key,
        "triple": _triple_fields(memory.triple),
        "quote": memory.quote,
        "origin": _origin_fields(memory.origin),
        "speaker": memory.speaker,
        "parents": list(memory.parents) or None,
        "audience": None if memory.audience is None else sorted(memory.audience),
        "purpose": memory.purpose,
        "metadata": dict(memory.metadata) or None,
        "timeless": memory.timeless or None,
        "supersedes": memory.supersedes,
        "valid_from": None if memory.valid_from is None else to_us(memory.valid_from),
        "embedder": memory.embedding_model,
    }
    present = {name: value for name, value in fields.items() if value is not None}
    return json_with_check(canonical_json(present), memory.id)


def encode_state(memory: Record) -> bytes:
    """Encode the state of a memory: :data:`STATE`, an optional JSON tail, a checksum."""
    fixed = STATE.pack(
        code_of(STATUS_CODES, memory.status),
        code_of(SOURCE_CODES, memory.source),
        code_of(TRUST_CODES, memory.trust),
        code_of(IMPORTANCE_CODES, memory.importance),
        memory.pinned,
        # Part of the content version, but ageing needs it as a column too.
        memory.timeless,
        memory.versions,
        0 if memory.last_accessed_at is None else to_us(memory.last_accessed_at) // MINUTE_US,
        memory.confidence,
        to_us(memory.updated_at),
        encode_time(memory.soft_expires_at),
        encode_time(memory.hard_expires_at),
        encode_time(memory.verified_at),
        encode_time(memory.valid_to),
    )
    tail: dict[str, Any] = {}
    if memory.tags:
        tail["tags"] = list(memory.tags)
    if memory.superseded_by:
        tail["superseded_by"] = memory.superseded_by
    return with_check(fixed + canonical_json(tail) if tail else fixed)


def without_check(state: bytes) -> bytes:
    """Return a packed state without its checksum.

    Raises:
        ValueError: If the checksum is wrong.
    """
    if not is_whole(state):
        raise ValueError("its state is not as it was written")
    return state[:-CHECK_BYTES]


def state_vouched(state: bytes) -> bytes:
    """Return a packed state with a correct checksum.

    Call it for an edited state whose MAC under a key ring is correct.
    """
    return state if is_whole(state) else with_check(state[:-CHECK_BYTES])


def check_states(rows: Sequence[StoredRow]) -> None:
    """Verify the checksums of many states.

    Raises:
        StoreCorrupt: Names the first memory whose state has a wrong checksum.
    """
    if are_whole(list(map(_STATE_OF, rows))):
        return
    for row in rows:
        try:
            without_check(row.state)
        except ValueError as error:
            raise _unreadable(row, error) from error


def with_status(state: bytes, status: Status) -> bytes:
    """Return a packed state with another status.

    Raises:
        ValueError: If the checksum is wrong.
    """
    return with_check(bytes((code_of(STATUS_CODES, status),)) + without_check(state)[1:])


def with_read(state: bytes, at: datetime | None) -> bytes:
    """Return a packed state whose last read is at least a time, cut to the minute."""
    plain = without_check(state)
    fixed = list(STATE.unpack_from(plain))
    fixed[_READ] = max(fixed[_READ], 0 if at is None else to_us(at) // MINUTE_US)
    return with_check(STATE.pack(*fixed) + plain[STATE.size :])


def first_end(state: bytes) -> int | None:
    """Read only the earlier of soft and hard expiry of a packed state, µs; None for neither."""
    ends: tuple[int, int] = _ENDS.unpack_from(state)
    if NEVER not in ends:
        return min(ends)
    # NEVER is less than every time.
    return None if max(ends) == NEVER else max(ends)


_NO_STATE = with_check(STATE.pack(*[0] * 10, *[NEVER] * 4))
"""Placeholder for an unreadable state."""

UNREADABLE = (
    ValueError,
    LookupError,
    TypeError,
    AttributeError,
    OverflowError,
    InvalidScope,
    struct.error,
)
"""Errors of the parsers for a blob that the encoders did not write."""


def decode(row: StoredRow) -> Record:
    """Decode a memory from its row.

    Raises:
        StoreCorrupt: If the encoders did not write a blob.
    """
    try:
        fields: dict[str, Any] = {"id": row.id}
        _read_body(fields, parsed(json_without_check(row.body, row.id).decode()))
        _read_state(fields, row.state)
        fields["known_from"] = from_us(row.known_from)
        if row.known_to is not None:
            fields["known_to"] = from_us(row.known_to)
    except UNREADABLE as error:
        raise _unreadable(row, error) from error
    return Record.over(fields)


def salvage(row: StoredRow) -> Record | None:
    """Decode the content of a possibly damaged memory that is to be deleted.

    Returns:
        The memory, with a placeholder state if its state is damaged; None if its body is damaged.
        The result must not be written back or shown.
    """
    for readable in (row, row._replace(state=_NO_STATE)):
        with suppress(StoreCorrupt):
            return decode(readable)
    return None


def by_creation(rows: Iterable[StoredRow]) -> tuple[StoredRow, ...]:
    """Sort rows by creation time, then id; rows with unreadable bodies come last."""

    def place(row: StoredRow) -> tuple[bool, float, str]:
        memory = salvage(row)
        return (memory is None, 0 if memory is None else to_us(memory.created_at), row.id)

    return tuple(sorted(rows, key=place))


def _unreadable(row: StoredRow, error: Exception) -> StoreCorrupt:
    next_step = "restore it from a backup, or forget it by this id, or erase its owner"
    return StoreCorrupt(f"memory {row.id}", f"row cannot be read: {error}; {next_step}")


def decode_all(rows: Iterable[StoredRow]) -> tuple[Record, ...]:
    """Decode memories in the order of the rows."""
    return tuple(decode(row) for row in rows)


def status_of(state: bytes) -> Status:
    """Read only the status of a packed state."""
    return STATUS_CODES[state[0]]


def trust_of(state: bytes) -> Trust:
    """Read only the trust of a packed state."""
    return TRUST_CODES[state[2]]


# Hits of one principal share a few scopes, and parsing checks every character of every id.
_scope = lru_cache(maxsize=4096)(Scope.parse)

# Name in the body: field and converter; None if the JSON value is used as it is.
_BODY: Mapping[str, tuple[str, Callable[[Any], Any] | None]] = {
    "root": ("root", None),
    "version": ("version", None),
    "scope": ("scope", _scope),
    "kind": ("kind", {kind.value: kind for kind in Kind}.__getitem__),
    "category": ("category", None),
    "content": ("content", None),
    "hash": ("content_hash", None),
    "created": ("created_at", from_us),
    "sensitivity": ("sensitivity", {level.value: level for level in Sensitivity}.__getitem__),
    "key": ("key", None),
    "triple": ("triple", lambda parts: Triple(*parts)),
    "quote": ("quote", None),
    "origin": ("origin", lambda parts: Origin(**parts)),
    "speaker": ("speaker", None),
    "parents": ("parents", tuple),
    "audience": ("audience", frozenset),
    "purpose": ("purpose", None),
    "metadata": ("metadata", MappingProxyType),
    "timeless": ("timeless", None),
    "supersedes": ("supersedes", None),
    "valid_from": ("valid_from", from_us),
    "embedder": ("embedding_model", None),
}
_IN_EVERY_BODY = frozenset(list(_BODY)[:9])


def _read_body(fields: dict[str, Any], body: Mapping[str, Any]) -> None:
    if not body.keys() >= _IN_EVERY_BODY:
        raise LookupError(f"the body lacks {sorted(_IN_EVERY_BODY - body.keys())}")
    for name, value in body.items():
        field, made = _BODY[name]
        fields[field] = value if made is None else made(value)


def _read_state(fields: dict[str, Any], packed: bytes) -> None:
    state = without_check(packed)
    fixed = STATE.unpack_from(state)
    status, source, trust, importance, pinned, _, versions, read, confidence = fixed[:9]
    updated, soft, hard, verified, valid_to = fixed[9:]
    fields["status"] = STATUS_CODES[status]
    fields["source"] = SOURCE_CODES[source]
    fields["trust"] = TRUST_CODES[trust]
    fields["importance"] = IMPORTANCE_CODES[importance]
    fields["pinned"] = bool(pinned)
    fields["versions"] = versions
    fields["confidence"] = confidence
    if read:
        fields["last_accessed_at"] = from_us(read * MINUTE_US)
    fields["updated_at"] = from_us(updated)
    if soft != NEVER:
        fields["soft_expires_at"] = from_us(soft)
    if hard != NEVER:
        fields["hard_expires_at"] = from_us(hard)
    if verified != NEVER:
        fields["verified_at"] = from_us(verified)
    if valid_to != NEVER:
        fields["valid_to"] = from_us(valid_to)
    if len(state) > STATE.size:
        tail = parsed(state[STATE.size :].decode())
        fields["tags"] = tuple(tail.get("tags", ()))
        fields["superseded_by"] = tail.get("superseded_by")


def _triple_fields(triple: Triple | None) -> list[str] | None:
    return None if triple is None else [triple.subject, triple.predicate, triple.object]


def _origin_fields(origin: Origin) -> dict[str, Any] | None:
    named = {
        "session": origin.session,
        "turn": origin.turn,
        "tool_call": origin.tool_call,
        "model": origin.model,
        "memory": origin.memory,
        "name": origin.name,
    }
    return {name: value for name, value in named.items() if value is not None} or None
