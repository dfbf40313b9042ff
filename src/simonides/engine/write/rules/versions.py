"""Builds content versions and states of memories; makes no decisions."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from datetime import datetime, timedelta
from typing import Any

from simonides.domain.memory import Importance, Record, Status
from simonides.domain.moment import Moment
from simonides.domain.value import EPOCH
from simonides.domain.writing.decision import Approved
from simonides.text import content_hash


def first_version(approved: Approved, moment: Moment) -> Record:
    """Return a new memory that starts a new version chain."""
    id = moment.new_id()
    return _version(approved, moment, id=id, root=id, version=1, supersedes=None)


def next_version(approved: Approved, standing: Record, moment: Moment) -> Record:
    """Return the version after the last known one of the stored memory's chain.

    Key, pin and timelessness belong to the chain: a correction by id of a keyed memory keeps its
    key.
    """
    successor = _version(
        approved,
        moment,
        id=moment.new_id(),
        root=standing.root,
        version=standing.versions + 1,
        supersedes=standing.id,
    )
    return replace(
        successor,
        key=standing.key,
        pinned=successor.pinned or standing.pinned,
        timeless=successor.timeless or standing.timeless,
        valid_from=successor.valid_from or _begins(approved, standing, moment),
    )


def reissued(again: Record, changes: Mapping[str, Any], moment: Moment) -> Record:
    """Return a version with the same content as its predecessor and other changed fields.

    Args:
        again: The predecessor, in its state after the repetition.
        changes: Changed fields of the content version, by name.
        moment: Time of the change, and source of the id.
    """
    version = again.versions + 1
    return replace(
        again,
        id=moment.new_id(),
        version=version,
        versions=version,
        supersedes=again.id,
        created_at=moment.now,
        embedding_model=moment.embedder,
        **changes,
    )


def superseded(standing: Record, by: Record, moment: Moment) -> Record:
    """Return the state of a memory that a newer version replaced.

    It was valid until the newer version's start. A memory that was wrong from the start was never
    valid.
    """
    began = standing.valid_from or EPOCH
    return replace(
        standing,
        status=Status.SUPERSEDED,
        superseded_by=by.id,
        versions=by.version,
        valid_to=began if by.valid_from is None else max(began, by.valid_from),
        updated_at=moment.now,
        known_from=moment.now,
    )


def untrue(standing: Record, moment: Moment) -> Record:
    """Return the state of a memory that was never true and has no replacement."""
    return replace(
        standing,
        status=Status.SUPERSEDED,
        valid_to=standing.valid_from or EPOCH,
        updated_at=moment.now,
        known_from=moment.now,
    )


def _begins(approved: Approved, standing: Record, moment: Moment) -> datetime | None:
    """Return the default start of validity: a correction's is its predecessor's, news start now."""
    if approved.candidate.source.is_correction:
        return standing.valid_from
    return moment.now


def renewed(standing: Record, approved: Approved, moment: Moment) -> Record:
    """Return the state of a repeated memory: new times, expiry, tags, importance."""
    candidate = approved.candidate
    levels = list(Importance)
    return replace(
        standing,
        status=_awake(standing),
        updated_at=moment.now,
        known_from=moment.now,
        soft_expires_at=_expiry(moment, approved.category_ttl[0]),
        hard_expires_at=_expiry(moment, approved.category_ttl[1]),
        tags=tuple(sorted({*standing.tags, *candidate.tags})),
        importance=max(standing.importance, candidate.importance, key=levels.index),
        pinned=standing.pinned or candidate.pinned,
    )


def echoed(standing: Record, approved: Approved, moment: Moment) -> Record:
    """Return the state of a memory that a less trusted writer repeated.

    Times and expiry are renewed, but never to an earlier end. Otherwise a document that quotes a
    fact could make it expire. Importance, tags and pin do not change.
    """
    soft, hard = approved.category_ttl
    return replace(
        standing,
        updated_at=moment.now,
        known_from=moment.now,
        soft_expires_at=_later(standing.soft_expires_at, _expiry(moment, soft)),
        hard_expires_at=_later(standing.hard_expires_at, _expiry(moment, hard)),
    )


def touched(standing: Record, by: Record, moment: Moment) -> Record:
    """Return the state of a memory that was kept against a weaker candidate."""
    return replace(standing, versions=by.version, updated_at=moment.now, known_from=moment.now)


def under_review(standing: Record, moment: Moment) -> Record:
    """Return the state of a contradicted memory: kept, and marked for review."""
    return replace(standing, status=Status.REVIEW, updated_at=moment.now, known_from=moment.now)


def confirmed(standing: Record, moment: Moment, soft_days: float | None) -> Record:
    """Return the state of a confirmed memory: verified now.

    Its soft expiry starts again; its hard expiry does not change.

    Args:
        standing: The memory before.
        moment: Time of the confirmation.
        soft_days: Soft lifetime of its category, in days; None for no end.
    """
    soft, ends = _expiry(moment, soft_days), standing.hard_expires_at
    return replace(
        standing,
        status=_awake(standing),
        verified_at=moment.now,
        updated_at=moment.now,
        known_from=moment.now,
        soft_expires_at=None if soft is None or (ends is not None and soft >= ends) else soft,
    )


def _awake(standing: Record) -> Status:
    """Return the status of a renewed or confirmed memory: a stale one becomes active."""
    return Status.ACTIVE if standing.status is Status.STALE else standing.status


def _version(
    approved: Approved,
    moment: Moment,
    *,
    id: str,
    root: str,
    version: int,
    supersedes: str | None,
) -> Record:
    candidate = approved.candidate
    soft, hard = approved.category_ttl
    return Record.of(
        id=id,
        root=root,
        version=version,
        versions=version,
        supersedes=supersedes,
        scope=candidate.scope,
        kind=candidate.kind,
        category=candidate.category,
        key=candidate.key,
        content=candidate.content,
        content_hash=content_hash(candidate.content),
        source=candidate.source,
        trust=candidate.label.trust,
        sensitivity=candidate.label.sensitivity,
        audience=candidate.label.audience,
        created_at=moment.now,
        updated_at=moment.now,
        known_from=moment.now,
        triple=candidate.triple,
        quote=candidate.quote,
        origin=candidate.origin,
        speaker=candidate.speaker,
        parents=candidate.parents,
        purpose=candidate.purpose,
        confidence=candidate.confidence,
        importance=candidate.importance,
        tags=tuple(sorted(set(candidate.tags))),
        metadata=candidate.metadata,
        pinned=candidate.pinned,
        timeless=candidate.timeless,
        valid_from=candidate.valid_from or candidate.said_at,
        soft_expires_at=_expiry(moment, soft),
        hard_expires_at=_expiry(moment, hard),
        embedding_model=moment.embedder,
    )


def _later(one: datetime | None, other: datetime | None) -> datetime | None:
    """Return the later of two ends; None means no end, the latest."""
    return None if one is None or other is None else max(one, other)


def _expiry(moment: Moment, days: float | None) -> datetime | None:
    return None if days is None else moment.now + timedelta(days=days)
