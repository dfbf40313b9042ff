"""What forgetting leaves behind: fingerprints that block learning again, and no content (LT-10)."""

from __future__ import annotations

import hashlib
from collections.abc import Collection, Iterable

from memstrata.domain.decision import TURN_CATEGORY
from memstrata.domain.memory import Kind, Memory
from memstrata.domain.scope import Scope
from memstrata.language.normalise import content_hash


def fingerprints(scope: Scope, content: str, key: str | None) -> tuple[bytes, ...]:
    """Return what a statement is known by after it was forgotten.

    Returns:
        SHA-256 over scope and normalised text, and over scope and key where there is a key. A
        store keeps only a keyed digest of these.
    """
    return _fingerprints(scope, content_hash(content), key)


def tombstones(memories: Iterable[Memory], *, keys: bool) -> tuple[bytes, ...]:
    """Return the fingerprints of memories to be forgotten, each once, sorted.

    Args:
        memories: Every version that goes.
        keys: Whether their keys are to be blocked too, not only their texts.
    """
    found = {mark for memory in memories for mark in _marks(memory, keys=keys)}
    return tuple(sorted(found))


def with_derived(
    memories: Iterable[Memory], ids: Collection[str], *, promoted: bool
) -> tuple[str, ...]:
    """Return those of some memories that go, sorted: the named ones, and what was derived from
    any that goes, for that dies with its evidence (FX-3, CO-9).

    Args:
        memories: Those that stand.
        ids: Those that go, or went before.
        promoted: Whether promoted copies go with their originals too, which they outlive
            otherwise.
    """
    standing, gone = {memory.id: memory for memory in memories}, set(ids)
    while True:
        more = {
            memory.id
            for memory in standing.values()
            if memory.id not in gone
            and (promoted or memory.origin.memory is None)
            and not gone.isdisjoint(memory.parents)
        }
        if not more:
            return tuple(sorted(gone & standing.keys()))
        gone |= more


def turn_mark(scope: Scope, session: str, turn: int) -> bytes:
    """Return what a verbatim turn is known by after it was forgotten: its place, not its words,
    which other turns may share.
    """
    return hashlib.sha256(f"turn\0{scope.path}\0{session}\0{turn}".encode()).digest()


def _marks(memory: Memory, *, keys: bool) -> tuple[bytes, ...]:
    origin = memory.origin
    verbatim = memory.kind is Kind.EPISODIC and memory.category == TURN_CATEGORY
    if verbatim and origin.session is not None and origin.turn is not None:
        return (turn_mark(memory.scope, origin.session, origin.turn),)
    return _fingerprints(memory.scope, memory.content_hash, memory.key if keys else None)


def _fingerprints(scope: Scope, text_hash: str, key: str | None) -> tuple[bytes, ...]:
    named = [("text", text_hash)] + ([("key", key)] if key is not None else [])
    return tuple(
        hashlib.sha256(f"{kind}\0{scope.path}\0{name}".encode()).digest() for kind, name in named
    )
