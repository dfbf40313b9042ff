"""What a session holds, as rows that are ranked like memories: entries of its log, and what the
user stated in it (SE-3, RE-9).

None of it is stored with the memories: such a record has version 0.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from hashlib import blake2b
from types import MappingProxyType

from simonides.domain.change import StoredRow
from simonides.domain.codec import encode_body, encode_state
from simonides.domain.decision import TURN_CATEGORY, Candidate
from simonides.domain.memory import Kind, Memory, Origin
from simonides.domain.scope import Scope
from simonides.domain.session import EntryKind, Logged
from simonides.domain.trust import Sensitivity, Source
from simonides.domain.value import from_us, to_us
from simonides.language.normalise import content_hash
from simonides.manager.services import Services

NOT_STORED = 0
"""Version of a record of a session; those of memories begin at 1."""

IN_SESSION = "in_session"
"""What its metadata say of it, and reason for which a stored memory gives way to it."""


def entry_memory(logged: Logged, owner: Scope, session: str) -> Memory:
    """Return an entry of a session's log as a record."""
    entry = logged.entry
    source = Source.AGENT_INFERRED if entry.kind is EntryKind.DECISION else entry.role.source
    sensitive = any(mark.startswith("poison:") for mark in entry.marks)
    at, id = from_us(logged.at), _id(logged.at, owner.path, session, str(logged.number))
    return Memory.of(
        id=id,
        root=id,
        version=NOT_STORED,
        scope=owner,
        kind=Kind.EPISODIC,
        category=TURN_CATEGORY,
        content=entry.text,
        content_hash=content_hash(entry.text),
        source=source,
        trust=source.trust,
        created_at=at,
        updated_at=at,
        known_from=at,
        valid_from=at,
        origin=Origin(session=session, turn=logged.number, name=entry.tool),
        speaker=entry.speaker,
        confidence=source.default_confidence,
        importance=entry.importance,
        # What looks like an attack is for people to read, not for prompts (HY-6).
        sensitivity=Sensitivity.SENSITIVE if sensitive else Sensitivity.PRIVATE,
        metadata=MappingProxyType({IN_SESSION: entry.kind.value}),
    )


def stated_memory(candidate: Candidate, at: int, session: str, number: int) -> Memory:
    """Return what a user stated in a session as a record that holds in it alone (RE-9)."""
    scope, hash = candidate.scope, content_hash(candidate.content)
    id = _id(at, scope.path, session, str(number), candidate.key or hash)
    said_at = from_us(at)
    source = Source.IN_SESSION_CORRECTION
    return Memory.of(
        id=id,
        root=id,
        version=NOT_STORED,
        scope=scope,
        kind=candidate.kind,
        category=candidate.category,
        content=candidate.content,
        content_hash=hash,
        source=source,
        trust=source.trust,
        created_at=said_at,
        updated_at=said_at,
        known_from=said_at,
        valid_from=said_at,
        key=candidate.key,
        triple=candidate.triple,
        quote=candidate.quote,
        origin=Origin(session=session, turn=candidate.origin.turn),
        speaker=candidate.speaker,
        confidence=source.default_confidence,
        importance=candidate.importance,
        sensitivity=candidate.sensitivity,
        audience=candidate.audience,
        purpose=candidate.purpose,
        metadata=MappingProxyType({IN_SESSION: True}),
    )


async def rows_of(services: Services, memories: Sequence[Memory]) -> list[StoredRow]:
    """Return records as rows with entries of the current recipe, in their order; without vectors
    where the embedder fails. One that takes its time is asked beside the event loop.
    """
    make = services.indexes.indexer
    work = partial(make.finished, memories)
    many = make.is_slow or len(memories) > MANY
    entries = await services.aside(work) if many else work()
    return [
        StoredRow(m.id, 0, encode_body(m), encode_state(m), entry, to_us(m.known_from), None)
        for m, entry in zip(memories, entries, strict=True)
    ]


MANY = 30
"""Texts that are analysed and embedded in about a millisecond, measured: 30 µs for a sentence."""


def _id(at: int, *names: str) -> str:
    """Return an id in the form of a memory's, always the same for the same things."""
    random = int.from_bytes(blake2b("\0".join(names).encode(), digest_size=10).digest())
    low = f"{0b10 << 62 | random >> 18:016x}"
    text = f"{at // 1000 & (1 << 48) - 1:012x}7{random & 0xFFF:03x}"
    return f"{text[:8]}-{text[8:12]}-{text[12:]}-{low[:4]}-{low[4:]}"
