"""Validates fields of imported records that other code relies on."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from typing import Any

from simonides.capture import DEFAULT_RULES
from simonides.domain.event import EventType
from simonides.domain.governance.review import decode_review
from simonides.domain.memory import Kind, Record
from simonides.domain.scope import Scope
from simonides.domain.trust import Trust
from simonides.domain.writing.change import ReviewRecord

MOST_VERSIONS = 2**31
MOST_TURNS = 2**31
"""Largest number that an index entry can hold."""

_TEXTS = ("root", "category", "content", "content_hash", "key", "quote", "speaker", "purpose")
_OPTIONAL = frozenset({"key", "quote", "speaker", "purpose", "supersedes", "embedding_model"})


def check_review(record: ReviewRecord, owner: Scope) -> None:
    """Check that a review belongs to an owner.

    Raises:
        ValueError: If it does not; or ``LookupError``, ``TypeError``.
    """
    review = decode_review(record)
    texts = (review.id, review.reason, review.a, review.b)
    if review.scope.owner != owner or not all(isinstance(text, str) for text in texts):
        raise ValueError(f"review {review.id} is not one of {owner.path}")
    if review.status != record.status:
        raise ValueError(f"review {review.id} does not stand as its line says")


def check_memory(memory: Record) -> None:
    """Check the types of fields that later reads rely on.

    Args:
        memory: A decoded memory; decoding checks fewer fields.

    Raises:
        ValueError: If a field is invalid.
    """
    for name in (*_TEXTS, "supersedes", "embedding_model"):
        value = getattr(memory, name)
        if not isinstance(value, str) and not (value is None and name in _OPTIONAL):
            raise ValueError(f"{name} of memory {memory.id} must be text")
    if type(memory.version) is not int or not 1 <= memory.version < MOST_VERSIONS:
        raise ValueError(f"version of memory {memory.id} must be a whole number from 1")
    _check_origin(memory)
    _check_label(memory)
    if len(memory.content.encode()) > DEFAULT_RULES.content_bytes:
        raise ValueError(f"memory {memory.id} has a longer content than can be written")
    named = (*memory.parents, *(memory.audience or ()), *memory.tags)
    if not all(isinstance(name, str) for name in named):
        raise ValueError(f"parents, audience and tags of memory {memory.id} must be texts")
    if not isinstance(dict(memory.metadata), dict) or type(memory.timeless) is not bool:
        raise ValueError(f"metadata or timeless of memory {memory.id} is of another kind")


def _check_label(memory: Record) -> None:
    """Check that a memory has no more trust than its source allows, as for writes."""
    if memory.trust.rank > memory.source.trust.rank:
        raise ValueError(f"memory {memory.id} claims more trust than its source has")
    if memory.trust is Trust.EXTERNAL and memory.kind is Kind.PROCEDURAL:
        raise ValueError(f"memory {memory.id} is external and claims to be a rule")


class Chains:
    """Checks chains with several versions while their memories are read; others need no state."""

    def __init__(self) -> None:
        self._versions: dict[str, set[int]] = {}
        self._claimed: dict[str, int] = {}

    def take(self, memory: Record) -> None:
        """Add a memory.

        Raises:
            ValueError: If its version in its chain is duplicate or invalid.
        """
        if (memory.version == 1) != (memory.id == memory.root):
            raise ValueError(f"memory {memory.id} does not begin the chain that it is named after")
        if memory.version == memory.versions == 1:
            return
        versions = self._versions.setdefault(memory.root, set())
        if memory.version in versions:
            raise ValueError(f"chain {memory.root} has two versions {memory.version}")
        versions.add(memory.version)
        if memory.status.is_live:
            self._claimed[memory.root] = memory.versions

    def finish(self) -> None:
        """Check each chain, after the last memory.

        Raises:
            ValueError: If the versions differ from the count in the live one.
        """
        for root, claimed in self._claimed.items():
            if claimed != max(self._versions[root]):
                raise ValueError(f"chain {root} has other versions than its live one tells")


def _check_origin(memory: Record) -> None:
    named = memory.origin
    texts = (named.session, named.tool_call, named.model, named.memory, named.name)
    if not all(text is None or isinstance(text, str) for text in texts):
        raise ValueError(f"the origin of memory {memory.id} must be named by texts")
    if named.turn is not None and (type(named.turn) is not int or not 0 <= named.turn < MOST_TURNS):
        raise ValueError(f"the turn of memory {memory.id} must be a whole number from 0")


_PAYLOAD_TEXTS = ("id", "at", "scope", "actor", "salt")
_PAYLOAD = frozenset({*_PAYLOAD_TEXTS, "type", "subjects", "reasons", "details"})


def check_payload(seq: int, payload: Any, owner: Scope) -> None:
    """Check that a payload is an event of an owner, in the form that readers of the trail expect.

    Args:
        seq: Its number in the chain.
        payload: Its JSON.
        owner: Owner of the chain.

    Raises:
        ValueError: If it is not.
    """
    if not isinstance(payload, Mapping) or payload.keys() != _PAYLOAD:
        raise ValueError(f"event {seq} has not the fields of an event")
    EventType(payload["type"])
    for name in _PAYLOAD_TEXTS:
        if not isinstance(payload[name], str):
            raise ValueError(f"{name} of event {seq} must be text")
    datetime.fromisoformat(payload["at"])
    bytes.fromhex(payload["salt"])
    lists = payload["subjects"], payload["reasons"]
    if not all(isinstance(x, list) and all(isinstance(n, str) for n in x) for x in lists):
        raise ValueError(f"subjects and reasons of event {seq} must be lists of texts")
    if not isinstance(payload["details"], dict):
        raise ValueError(f"details of event {seq} must be an object")
    scope = Scope.parse(payload["scope"])
    # An org's trail has events of its users and of global memories too. An event of an erasure does
    # not name its subject.
    is_nameless = payload["type"] == EventType.ERASED and scope == Scope.of_global()
    if owner.user is not None and scope.owner != owner and not is_nameless:
        raise ValueError(f"event {seq} is of {scope.path}")
