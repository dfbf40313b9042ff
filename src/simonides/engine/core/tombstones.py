"""Tombstones of forgotten memories: fingerprints without content that block learning them again."""

from __future__ import annotations

import hashlib
from collections.abc import Collection, Iterable, Mapping
from dataclasses import replace

from simonides.domain.memory import Kind, Record, Status
from simonides.domain.moment import Moment
from simonides.domain.scope import Scope
from simonides.domain.writing.decision import TURN_CATEGORY
from simonides.text import content_hash

SAID_ANEW = "said_anew"
"""Reason: it was forgotten, and an authorised caller stated it again knowingly."""


def fingerprints(scope: Scope, content: str, key: str | None) -> tuple[bytes, ...]:
    """Return the fingerprints that identify a statement after it was forgotten.

    Returns:
        SHA-256 over scope and normalised text, and over scope and key where there is a key. A store
        keeps only a keyed digest of these.
    """
    return _fingerprints(scope, content_hash(content), key)


def tombstones(memories: Iterable[Record], *, keys: bool) -> tuple[bytes, ...]:
    """Return the fingerprints of memories to be forgotten, each once, sorted.

    Args:
        memories: Every version that is deleted.
        keys: Whether to block their keys too, not only their texts.
    """
    found = {mark for memory in memories for mark in _marks(memory, keys=keys)}
    return tuple(sorted(found))


def with_derived(
    memories: Iterable[Record], ids: Collection[str], *, promoted: bool
) -> tuple[str, ...]:
    """Return the ids to delete among some memories, sorted: those in ``ids``, and all derived from
    a deleted one.

    Args:
        memories: The live memories.
        ids: Ids that are deleted, now or earlier.
        promoted: Whether promoted copies are deleted with their originals, which they otherwise
            outlive.
    """
    live, gone = {memory.id: memory for memory in memories}, set(ids)
    while True:
        more = {
            memory.id
            for memory in live.values()
            if memory.id not in gone
            and (promoted or memory.origin.memory is None)
            and not gone.isdisjoint(memory.parents)
        }
        if not more:
            return tuple(sorted(gone & live.keys()))
        gone |= more


def standing_again(
    versions: Mapping[str, Record], gone: Collection[str], moment: Moment
) -> tuple[Record, ...]:
    """Return the new states of memories that are restored because their replacements are deleted.

    If the live version of a chain is deleted, the version that it replaced becomes live again,
    unless that has expired.

    Args:
        versions: All versions of the chains concerned, by id.
        gone: Ids to delete.
        moment: Time of the deletion.
    """
    again = []
    for id in sorted(versions.keys() & gone):
        before = versions[id] if versions[id].status.is_live else None
        while before is not None and before.id in gone:
            before = versions.get(before.supersedes or "")
        if before is not None and not before.is_expired(moment.now):
            restored = replace(before, status=Status.ACTIVE, superseded_by=None, valid_to=None)
            restored = replace(restored, updated_at=moment.now, known_from=moment.now)
            again.append(replace(restored, versions=_highest_left(restored, versions, gone)))
    return tuple(again)


def renumbered(
    versions: Mapping[str, Record], gone: Collection[str], moment: Moment
) -> tuple[Record, ...]:
    """Return the new states of live memories whose chains lose replaced versions.

    The next version number follows the highest that is left.

    Args:
        versions: All versions of the chains concerned, by id.
        gone: Ids to delete.
        moment: Time of the deletion.
    """
    roots = {versions[id].root for id in versions.keys() & gone}
    stay = (m for m in versions.values() if m.root in roots and m.id not in gone)
    updated = ((m, _highest_left(m, versions, gone)) for m in stay if m.status.is_live)
    return tuple(
        replace(memory, versions=highest, known_from=moment.now)
        for memory, highest in updated
        if memory.versions != highest
    )


def _highest_left(memory: Record, versions: Mapping[str, Record], gone: Collection[str]) -> int:
    chain = (m for m in versions.values() if m.root == memory.root and m.id not in gone)
    return max(each.version for each in chain)


def turn_mark(scope: Scope, session: str, turn: int) -> bytes:
    """Return the fingerprint of a verbatim turn: of its position, as other turns may share its
    words.
    """
    return hashlib.sha256(f"turn\0{scope.path}\0{session}\0{turn}".encode()).digest()


def _marks(memory: Record, *, keys: bool) -> tuple[bytes, ...]:
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
